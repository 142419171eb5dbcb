export * from "./mapf-frozenlake/family.js";
export * from "./registry.js";
