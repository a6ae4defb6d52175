import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { makeWorkspace } from "./rig/workspace.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const config = await readFile(join(root, ".oxlintrc.json"), "utf8");
const oxlint = join(root, "node_modules", "oxlint", "bin", "oxlint");

/** What lint says of one file, as `rule: message` lines. */
async function lint(
  t: Parameters<typeof makeWorkspace>[0],
  file: string,
  text: string,
): Promise<string> {
  const workspace = await makeWorkspace(t, { ".oxlintrc.json": config, [file]: text });
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [oxlint, "--format", "unix"],
      { cwd: workspace.path },
      (_error, stdout) => resolve(stdout),
    );
  });
}

const imports = (from: string): string =>
  `import * as it from "${from}";\nexport const use = it;\n`;

describe("the folder rules of the design, as lint enforces them", () => {
  const refused: [string, string][] = [
    ["src/entry/a.ts", "../events/event.ts"],
    ["src/entry/a.ts", "node:fs"],
    ["src/events/a.ts", "../engine/ports.ts"],
    ["src/events/a.ts", "node:fs/promises"],
    ["src/engine/a.ts", "../sessions/session.ts"],
    ["src/engine/a.ts", "../platform/clock.ts"],
    ["src/engine/a.ts", "node:timers"],
    ["src/engine/a.ts", "p-limit"],
    ["src/permissions/a.ts", "@github/copilot-sdk"],
    ["src/permissions/a.ts", "node:fs"],
    ["src/permissions/a.ts", "../sessions/session.ts"],
    ["src/sessions/a.ts", "../engine/run-job.ts"],
    ["src/sessions/a.ts", "../entry/prepare.ts"],
    ["src/sessions/a.ts", "../app/run.ts"],
    ["src/rehearsal/a.ts", "../entry/load-entry.ts"],
    ["src/rehearsal/a.ts", "../sessions/session.ts"],
    ["src/rehearsal/a.ts", "@github/copilot-sdk"],
    ["src/reporters/a.ts", "../engine/ports.ts"],
    ["src/reporters/a.ts", "../app/run.ts"],
    ["src/platform/a.ts", "../events/event.ts"],
    ["src/app/a.ts", "../cli/main.ts"],
    ["src/app/a.ts", "@github/copilot-sdk"],
    ["src/cli/a.ts", "../engine/run-job.ts"],
    ["src/cli/a.ts", "../reporters/text.ts"],
    ["src/index.ts", "./cli/main.ts"],
  ];
  for (const [file, from] of refused) {
    it(`refuse ${from} in ${file}`, async (t) => {
      assert.match(await lint(t, file, imports(from)), /no-restricted-imports/);
    });
  }

  const allowed: [string, string][] = [
    ["src/document/a.ts", "yaml"],
    ["src/events/a.ts", "../entry/model.ts"],
    ["src/engine/a.ts", "../events/event.ts"],
    ["src/permissions/a.ts", "../entry/glob.ts"],
    ["src/sessions/a.ts", "../permissions/policy.ts"],
    ["src/sessions/a.ts", "@github/copilot-sdk"],
    ["src/sessions/a.ts", "../engine/ports.ts"],
    ["src/rehearsal/a.ts", "../sessions/transport.ts"],
    ["src/reporters/a.ts", "node:fs"],
    ["src/app/a.ts", "../engine/run-job.ts"],
    ["src/cli/a.ts", "commander"],
  ];
  for (const [file, from] of allowed) {
    it(`allow ${from} in ${file}`, async (t) => {
      assert.doesNotMatch(await lint(t, file, imports(from)), /no-restricted-imports/);
    });
  }

  const rules: [string, string, string, RegExp][] = [
    [
      "an environment read outside the edges",
      "src/app/a.ts",
      'export const a = process.env["A"];\n',
      /no-process-env/,
    ],
    [
      "a clock of the engine's own",
      "src/engine/a.ts",
      "export const a = (): number => Date.now();\n",
      /no-restricted-globals/,
    ],
    ["any", "src/app/a.ts", "export const a = (b: any): unknown => b;\n", /no-explicit-any/],
    [
      "a file of over 400 lines",
      "src/app/a.ts",
      "export const a = 1;\n"
        .repeat(401)
        .replaceAll(/a = 1/g, () => `a${Math.random().toString(36).slice(2)} = 1`),
      /max-lines/,
    ],
  ];
  for (const [name, file, text, rule] of rules) {
    it(`refuse ${name}`, async (t) => {
      assert.match(await lint(t, file, text), rule);
    });
  }

  it("refuse a cycle of imports", async (t) => {
    const workspace = await makeWorkspace(t, {
      ".oxlintrc.json": config,
      "src/app/a.ts": 'import { b } from "./b.ts";\nexport const a = (): unknown => b;\n',
      "src/app/b.ts": 'import { a } from "./a.ts";\nexport const b = (): unknown => a;\n',
    });
    const output = await new Promise<string>((resolve) => {
      execFile(
        process.execPath,
        [oxlint, "--format", "unix"],
        { cwd: workspace.path },
        (_error, stdout) => resolve(stdout),
      );
    });
    assert.match(output, /no-cycle/);
  });
});
