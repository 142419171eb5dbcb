import { defineConfig } from "vitest/config";

const shared = { pool: "forks" as const, hookTimeout: 300_000 };

/** `quick` runs on every change; `slow` holds what needs minutes (training runs, large fuzzes). */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...shared,
          name: "quick",
          include: ["src/**/*.test.ts", "test/**/*.test.ts"],
          exclude: ["**/*.slow.test.ts", "node_modules/**"],
          testTimeout: 20_000,
        },
      },
      {
        test: { ...shared, name: "slow", include: ["src/**/*.slow.test.ts", "test/**/*.slow.test.ts"], testTimeout: 1_200_000 },
      },
    ],
  },
});
