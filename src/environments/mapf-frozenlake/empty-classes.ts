export const EMPTY_CLASSES: Readonly<Record<string, "wait" | "no-wait" | "both">> = {};
