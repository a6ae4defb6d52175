/** `$failed-checks` in a run: in a rehearsal, in its recording, and where GitHub isn't. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { cliExits } from "../rig/cli.ts";
import { modelServer } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const entry = `models: { driving: gpt-5 }
tasks: { fix: { model: { category: driving }, prompt: "Fix this. $failed-checks" } }
jobs: { fix: { work: { kind: Ref, taskId: fix } } }
`;
const rehearsal = `entry: e.yml
github:
  failedChecks: [{ name: CI / test, log: "::error::it is 100, not 119 hunter2hunter2" }]
sessions:
  - turns:
      - prompt: { contains: ['"CI / test"', "| ::error::it is 100, not 119"], excludes: hunter2 }
        text: Done.
`;

it("a rehearsal brings the failed checks, whose secrets no model sees, and a recording keeps them", async (t) => {
  const workspace = await makeWorkspace(t, {
    "e.yml": entry,
    "r.rehearsal.yml": rehearsal,
  });
  const { path: cwd } = workspace;
  const env = { MY_SECRET: "hunter2hunter2" };
  const args = ["--rehearse", "r.rehearsal.yml", "--record", "again.rehearsal.yml"];
  await cliExits(0, ["run", "e.yml", ...args], { cwd, env });
  const recording = await workspace.read("again.rehearsal.yml");
  assert.match(recording, /github:\n +failedChecks:\n +- name: CI \/ test\n +log: .*it is 100/);
  assert.doesNotMatch(recording, /hunter2/);
  await cliExits(0, "rehearse again.rehearsal.yml", { cwd });
});

it("a rehearsal without them is refused, and a run outside of GitHub says that they are unknown", async (t) => {
  const without = rehearsal.replace(/^github:\n.*\n/m, "");
  const { path: cwd } = await makeWorkspace(t, { "e.yml": entry, "r.rehearsal.yml": without });
  const { stderr } = await cliExits(2, "run e.yml --rehearse r.rehearsal.yml", { cwd });
  assert.match(
    stderr,
    /uses \$failed-checks, and r\.rehearsal\.yml has none\. Add `github: \{ failed/,
  );
  const server = await modelServer(t, () => ({ text: "Done." }));
  await cliExits(0, `run e.yml --provider-base-url ${server.baseUrl}`, { cwd });
  assert.match(server.requests[0]?.prompt ?? "", /Which checks failed is unknown/);
});
