/**
 * Compiles assembly/ to WebAssembly and writes it where the solver loads it from: `npm run build:searches`. A test says when it is out of date.
 */
import { writeFileSync } from "node:fs";
import { compileSearches } from "../src/environments/mapf-frozenlake/solve/testing/compile-searches.js";

const target = new URL("../src/environments/mapf-frozenlake/solve/searches-wasm.ts", import.meta.url);
writeFileSync(target, await compileSearches());
