/** A real shell in a folder of its own, and a clock that stands still until a test moves it. */
import { realpathSync } from "node:fs";
import type { TestContext } from "node:test";
import type { Clock } from "../../../src/platform/clock.ts";
import {
  makeDirectory,
  makeTemporaryDirectory,
  removeDirectory,
} from "../../../src/platform/files.ts";
import { makeRunFolder, type RunFolder } from "../../../src/platform/run-folder.ts";
import {
  ScriptRunner,
  type CompleteRun,
  type Executed,
  type ScriptRunnerOptions,
} from "../../../src/workflow/run/script-runner.ts";
import { realFiles } from "../../../src/sessions/permission-handler.ts";

export class StillClock implements Clock {
  #now = 0;
  readonly #sleepers = new Set<{ readonly due: number; readonly wake: () => void }>();

  now(): number {
    return this.#now;
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      const sleeper = {
        due: this.#now + milliseconds,
        wake: () => {
          this.#sleepers.delete(sleeper);
          resolve();
        },
      };
      this.#sleepers.add(sleeper);
      signal?.addEventListener("abort", sleeper.wake, { once: true });
    });
  }

  /** Time passes. */
  pass(milliseconds: number): void {
    this.#now += milliseconds;
    for (const sleeper of this.#sleepers) if (sleeper.due <= this.#now) sleeper.wake();
  }
}

export interface Rig {
  readonly runner: ScriptRunner;
  readonly clock: StillClock;
  readonly folder: RunFolder;
  readonly workspace: string;
  /** Runs the scripts as bash, or as what their tag says. */
  readonly execute: (...scripts: readonly (string | Tagged)[]) => Promise<Executed>;
  /** The one run of one script; fails if it isn't there. */
  readonly run: (script: string) => Promise<CompleteRun>;
}

interface Tagged {
  readonly tag: string;
  readonly code: string;
}

export async function scriptsRig(
  t: TestContext,
  options: Partial<ScriptRunnerOptions> = {},
): Promise<Rig> {
  const folder = await makeRunFolder("scripts-");
  t.after(() => removeDirectory(folder.path));
  const root = realpathSync(await makeTemporaryDirectory("scripts-"));
  t.after(() => removeDirectory(root));
  const workspace = `${root}/work`;
  await makeDirectory(workspace);
  const clock = new StillClock();
  const runner = new ScriptRunner({
    folder,
    workingDirectory: workspace,
    permissions: "workspace",
    files: realFiles,
    environment: { PATH: process.env["PATH"], HOME: root, LANG: "C.UTF-8" },
    clock,
    graceMs: 500,
    ...options,
  });
  t.after(() => runner.close());
  const { signal } = new AbortController();
  const execute: Rig["execute"] = (...scripts) =>
    runner.execute(
      scripts.map((one) => (typeof one === "string" ? { tag: "bash", code: one } : one)),
      { signal },
    );
  return {
    runner,
    clock,
    folder,
    workspace,
    execute,
    async run(script) {
      const executed = await execute(script);
      const run = executed.runs[0];
      if (run === undefined) throw new Error(JSON.stringify(executed));
      return run;
    },
  };
}
