import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { embeddedTrainerSchema, trlTrainerSchema, verlTrainerSchema } from "../../core/index.js";
import { absoluteTrainer, launcherOf } from "./engine-paths.js";

const dir = mkdtempSync(join(tmpdir(), "envwright-engine-paths-"));
const at = (name: string) => join(dir, name);
afterAll(() => rmSync(dir, { recursive: true, force: true }));
mkdirSync(at("venv/bin"), { recursive: true });
for (const name of ["launch", "gpus.yaml", "venv/bin/python", "venv/bin/accelerate"]) writeFileSync(at(name), "");

test("a launcher named alone is that beside the engine's Python where there is one, so that no environment need be activated", () => {
  const python = at("venv/bin/python");
  expect(launcherOf({ python, launch: ["accelerate", "launch"] })).toBe(at("venv/bin/accelerate"));
  expect(launcherOf({ python, launch: ["torchrun"] })).toBe("torchrun");
  expect(launcherOf({ python, launch: ["/opt/accelerate"] })).toBe("/opt/accelerate");
  expect(launcherOf({ python: "python3", launch: ["accelerate"] })).toBe("accelerate");
  expect(launcherOf({ python, launch: [] })).toBeUndefined();
});

test("relative names of files that are there become absolute, alone and behind an option; all else stays as it is", () => {
  const trl = trlTrainerSchema.parse({
    kind: "trl",
    python: "venv/bin/python",
    launch: ["accelerate", "launch", "--config_file", "gpus.yaml", "--config_file=gpus.yaml", "--num_processes=4", "absent.yaml", ""],
  });
  expect(absoluteTrainer(trl, dir)).toEqual({
    ...trl,
    python: at("venv/bin/python"),
    launch: [
      ...["accelerate", "launch", "--config_file", at("gpus.yaml"), `--config_file=${at("gpus.yaml")}`],
      ...["--num_processes=4", "absent.yaml", ""],
    ],
  });
  const moved = absoluteTrainer({ ...trl, python: "python3", launch: ["venv/bin/accelerate", "launch"] }, dir);
  expect(moved).toMatchObject({ python: "python3", launch: [at("venv/bin/accelerate"), "launch"] });
});

test("a cluster's Python is left alone, and the embedded engine has none", () => {
  const verl = (over: object) => absoluteTrainer(verlTrainerSchema.parse({ kind: "verl", python: "venv/bin/python", ...over }), dir);
  expect(verl({})).toMatchObject({ python: at("venv/bin/python") });
  expect(verl({ ray: "http://head:8265" })).toMatchObject({ python: "venv/bin/python" });
  const embedded = embeddedTrainerSchema.parse({ kind: "embedded" });
  expect(absoluteTrainer(embedded, dir)).toEqual(embedded);
});
