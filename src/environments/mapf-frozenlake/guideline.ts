/** Module G: what an engineer of this family should know before it touches the knobs. Markdown; it names no evidence of its own. */
import { BALANCED_HOLES } from "./quota.js";

export const guideline = `## The knobs

Each map size has three. Sizes are strata of difficulty: plans get longer with the size, and every further step can break a rule.

- \`data_ratio\`: the share of the training boards at this size. The shares sum to 1; only their proportions matter.
- \`hole_ratio\`: holes divided by cells, from 0 to 0.5. Every board of the size has round(hole_ratio · size²) holes, so on a 3x3 map it moves in steps of 0.11. More holes mean detours, dead ends and narrow passages. It is the answer to \`hole\` failures. Above about 0.35 most maps fall into small pieces and paths become short again.
- \`wait_ratio\`: the share of boards on which some agent has to wait for another in every optimal plan, from 0 to 1. It is the answer to \`vertex-conflict\` and \`swap-conflict\` failures. A policy that never sees a necessary wait does not discover waiting.

## What can be generated

- The free cells must hold all agents. Small maps have few different boards; a size can run out of new ones when much data is asked of it over many stages.
- Waits are rare on large open maps with two agents, and boards without a wait are rare on small crowded ones with five. One agent never waits.
- Validation boards have hole ratios from ${BALANCED_HOLES[0]} to ${BALANCED_HOLES[1]}, and half of them have a conflict.

## How to choose

- Keep what works: where nothing fails, leave the knobs alone. A size that is mastered keeps a small share, or it is forgotten.
- Aim at the competence frontier, not at the hardest: a group of answers teaches only if some succeed and some fail. Success between 20 and 80 % is where data pays.
- A size with no success and no trend gives no gradient. Move its share to the largest size that does succeed sometimes; come back when that one is learned.
- Answer the commonest failure of a size with its own knob, and move one step at a time, in both directions: a knob that is only ever raised ends at its bound, where every board is of one kind.
- \`goal-missed\`, \`illegal-move\` and \`parse-error\` call for easier boards of the size or more data, not for more holes or waits. \`truncated\` means that answers are too long: prefer smaller sizes for a while.
`;
