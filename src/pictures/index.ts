export { animatedSvg } from "./animated-svg.js";
export { animatedBesideSvg, type BesideOptions, besideSvg, type Panel } from "./beside.js";
export { boardSvg, type PictureOptions } from "./board-svg.js";
export { planSvg } from "./plan-svg.js";
export * from "./read-answer.js";
export { type Broken, brokenSentence, type DrawnPlan, type Replay, replay } from "./replay.js";
export { THEMES, type Theme } from "./theme.js";
export { type Moment, type Timeline, timelineOf } from "./timeline.js";
