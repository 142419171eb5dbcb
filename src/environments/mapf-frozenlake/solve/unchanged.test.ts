/**
 * Boards of two and three agents, their certified results and the plans that are demonstrated are part of what the shipped base policy was
 * trained on: they stay as they are, byte for byte, however the solver gets faster. The hashes were recorded before it did.
 */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { Seed } from "../../../core/index.js";
import { demonstrate } from "../demonstrate.js";
import { generateBalanced, generateTraining } from "../generate.js";
import { certify, solve } from "./solve.js";
import { randomBoard } from "./testing/random-board.js";

describe("what boards of two and three agents give", () => {
  it("is unchanged on 2,400 random boards: status, optima, flags and both plans", () => {
    const digest = createHash("sha256");
    const seed = Seed.root("solver-unchanged");
    for (let i = 0; i < 2_400; i++) {
      const random = seed.at(i);
      const size = random.between(3, 7);
      const board = randomBoard(random, size, random.below(Math.floor((size * size) / 2) + 1), random.between(2, 3), i % 4 === 0);
      if (board === undefined) continue;
      const { nodes: _certifyNodes, ...certificate } = certify(board);
      const { nodes: _solveNodes, ...solution } = solve(board);
      digest.update(`${JSON.stringify([certificate, solution])}\n`);
    }
    expect(digest.digest("hex")).toBe("9d42f546410f5884b108974023537999341884c5205bd1e07377a4f8484e565c");
  });

  it("is unchanged on generated boards of every wait and hole ratio: instances and demonstrations", async () => {
    const digest = createHash("sha256");
    const knobs = (hole_ratio: number, wait_ratio: number) => ({ data_ratio: 0.2, hole_ratio, wait_ratio });
    const configs = [
      { "3": knobs(0, 0.5), "4": knobs(0.1, 0.2), "5": knobs(0.2, 1), "6": knobs(0.3, 0.6), "7": knobs(0.2, 0.4) },
      { "3": knobs(0.3, 0.9), "4": knobs(0.5, 0.4), "5": knobs(0.4, 0), "6": knobs(0.05, 0.7), "7": knobs(0.5, 0.8) },
    ];
    for (const [i, sizes] of configs.entries()) {
      for (const objective of ["makespan", "sum_of_costs"] as const) {
        const config = { agents: [2, 3], objective, sizes };
        const training = await generateTraining(config, { count: 200, seed: Seed.root("unchanged").child(i), repeats: "allow" });
        const balanced = await generateBalanced(config, { count: 100, seed: Seed.root("unchanged-balanced").child(i), repeats: "allow" });
        for (const instance of [...training.instances, ...balanced.instances]) {
          digest.update(`${JSON.stringify(instance)}\n${demonstrate(instance, objective, "compact")}\n`);
        }
      }
    }
    expect(digest.digest("hex")).toBe("777a51cf976c61dfd2a54aa262d34dfbfa2727530e911983ac75c0fbcaf84de1");
  });
});
