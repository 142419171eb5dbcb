/** Options that were given where they change nothing: refused, since whoever gave them counts on their effect. */
import { InputError } from "../core/index.js";

/** @param effect where the option changes something @throws {InputError} */
export function refuseWithoutEffect(option: string, given: string | number | undefined, hasEffect: boolean, effect: string): void {
  if (given === undefined || hasEffect) return;
  throw new InputError({
    message: `${option} ${given} has no effect here`,
    value: given,
    expected: `${option} with ${effect}`,
    remedy: `leave ${option} out`,
  });
}
