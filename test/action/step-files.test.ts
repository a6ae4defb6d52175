/** The files through which a step speaks to later steps: an agent with a shell that finds them doesn't go unnoticed. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { bash } from "../rig/model-server.ts";
import { withoutSandbox } from "../rig/sandbox.ts";
import { runStep, type StepResult } from "../rig/runner.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";
import { document, entry, files, modelCalling } from "./rig.ts";

async function play(
  t: TestContext,
  command: string,
  more: Readonly<Record<string, string>> = {},
  declared = "permissions: { preset: all, sandbox: off }\n",
): Promise<StepResult & { readonly workspace: Workspace }> {
  const workspace = await makeWorkspace(t, {
    ...files,
    "entries/hello.yml": `${declared}${entry}`,
    "step/env": "GIVEN=1\n",
    "step/path": "",
    "step/output": "",
    "step/step_summary": "",
  });
  const own = ["ENV", "PATH", "OUTPUT", "STEP_SUMMARY"].map((name) => [
    `GITHUB_${name}`,
    join(workspace.path, "step", name.toLowerCase()),
  ]);
  const result = await runStep(t, {
    workspace: workspace.path,
    inputs: {
      entry: "entries/hello.yml",
      "user-input": "you",
      "provider-base-url": (await modelCalling(t, bash(command), document)).baseUrl,
      ...more,
    },
    env: Object.fromEntries(own),
  });
  return { ...result, workspace };
}

describe("the files of a step", () => {
  it("can't be written in a sandbox", { skip: withoutSandbox }, async (t) => {
    const command = "for file in step/*; do echo A=1 >> $file; rm $file; done; echo tried";
    const result = await play(t, command, {}, "permissions: all\n");
    assert.equal(result.code, 0, result.raw);
    assert.match(result.raw, /Read-only file system[^]*tried/);
    assert.equal(await result.workspace.read("step/env"), "GIVEN=1\n");
  });

  it("fail the step if an agent without a sandbox writes to one, replaces it by a copy, or deletes it", async (t) => {
    const commands = [
      "echo BASH_ENV=/tmp/x >> step/env",
      "echo fine >> step/step_summary",
      "cp step/path step/x && mv step/x step/path",
      "rm step/output",
    ];
    const result = await play(t, commands.join("; "));
    assert.equal(result.code, 1, result.raw);
    const said = /^Something else has written to (.*) during the run/;
    const [names = ""] = result.commands.flatMap(({ name, message }) =>
      name === "warning" ? (said.exec(message)?.[1] ?? []) : [],
    );
    assert.deepEqual(names.split(", ").toSorted(), [
      "GITHUB_ENV",
      "GITHUB_OUTPUT",
      "GITHUB_PATH",
      "GITHUB_STEP_SUMMARY",
    ]);
  });

  it("may be written to by commands that are given their names", async (t) => {
    // Only entries with something to call take the input.
    const tools = `tools: { build: { description: d, parameters: { type: object }, command: ["true"] } }\n`;
    const declared = `${tools}permissions: { preset: all, sandbox: off }\n`;
    const result = await play(t, "echo A=1 >> step/env", { env: "GITHUB_ENV" }, declared);
    assert.equal(result.code, 0, result.raw);
  });
});
