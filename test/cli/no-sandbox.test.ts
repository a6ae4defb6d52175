/** Runs on a machine without bubblewrap. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { chmod, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { runCli, type CliResult } from "../rig/cli.ts";
import { modelServer } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const files = {
  "touch.sh": "#!/bin/sh\ntouch ran\n",
  "f.wf.md": `---
permissions: { shell: [touch ran] }
---
# Workflow

\`\`\`mermaid
flowchart TD
START --> EXECUTE_A["touch ran"] --> SUCCESS
EXECUTE_A -->|FAILED| SUCCESS
\`\`\`
`,
  "e.yml": `models: { driving: m }
permissions: { read: ["**"] }
mcpServers: { s: { command: ./touch.sh } }
tools:
  t: { description: d, parameters: { type: object }, command: [./touch.sh], build: { command: [./touch.sh], inputs: [touch.sh] } }
tasks:
  files: { prompt: Go, model: { category: driving } }
  shell: { prompt: Go, model: { category: driving }, permissions: { shell: ["touch *"] } }
  tool: { prompt: Go, model: { category: driving }, permissions: { tools: [t] } }
  server: { prompt: Go, model: { category: driving }, permissions: { tools: ["s/*"] } }
  actions: { prompt: Go, model: { category: driving }, protocol: actions, permissions: { tools: [t] } }
  off: { prompt: Go, model: { category: driving }, permissions: { shell: ["touch *"], write: ["**"], sandbox: "off" } }
jobs:
  files: { work: { kind: Ref, taskId: files } }
  shell: { work: { kind: Ref, taskId: shell } }
  tool: { work: { kind: Ref, taskId: tool } }
  server: { work: { kind: Ref, taskId: server } }
  actions: { work: { kind: Ref, taskId: actions } }
  off: { work: { kind: Seq, works: [{ kind: Ref, taskId: off }, { kind: Ref, taskId: off }] } }
  execute: { work: { kind: Flow, file: f.wf.md } }
`,
  "r.yml": `entry: e.yml
job: shell
sessions:
  - turns:
      - replies:
          - tools: [{ name: bash, arguments: { command: touch made, description: d } }]
          - text: Done.
`,
};

type Test = Parameters<typeof makeWorkspace>[0];

async function onMachine(t: Test) {
  const { path: cwd } = await makeWorkspace(t, files);
  await chmod(join(cwd, "touch.sh"), 0o755);
  const { path: bin } = await makeWorkspace(t);
  for (const name of ["bash", "git", "sh", "touch"])
    await symlink(`/usr/bin/${name}`, join(bin, name));
  const call = { name: "bash", arguments: { command: "touch made", description: "d" } };
  const server = await modelServer(t, ({ toolResults }) =>
    toolResults.length === 0 ? { toolCalls: [call] } : { text: "Done." },
  );
  const tried = async (...args: readonly string[]): Promise<CliResult & { requests: number }> => {
    const before = server.requests.length;
    const result = await runCli(args, { cwd, env: { PATH: bin } });
    return { ...result, requests: server.requests.length - before };
  };
  const run = (...args: readonly string[]) =>
    tried("run", "e.yml", ...args, "--provider-base-url", server.baseUrl);
  return { cwd, tried, run };
}

describe("on a machine without bubblewrap", () => {
  it("whatever starts programs is refused before the model is asked", async (t) => {
    const { cwd, run } = await onMachine(t);
    const sentence =
      /This machine has no sandbox \(bubblewrap is not installed\)\. Install it with `sudo apt-get install bubblewrap`, or accept that commands can do whatever this user can: `sandbox: off`\.$/m;
    for (const job of ["shell", "tool", "server", "actions", "execute"]) {
      const { code, stdout, stderr, requests } = await run(job);
      assert.deepEqual([code, requests], [1, 0], stdout + stderr);
      assert.match(stdout, sentence);
    }
    const required = await run("files", "--sandbox", "required");
    assert.match(
      required.stdout,
      /This machine has no sandbox \(.*\)\. Install it with `[^`]*`\.$/m,
    );
    assert.deepEqual([required.code, required.requests], [1, 0]);
    for (const name of ["ran", "made"]) assert.equal(existsSync(join(cwd, name)), false);
    const reading = await run("files");
    assert.equal(reading.code, 0, reading.stdout + reading.stderr);
  });

  it("commands run in a rehearsal, and where the entry says so, which is told once", async (t) => {
    const { cwd, run, tried } = await onMachine(t);
    const told = /Commands run without a sandbox: .*/g;
    const off = await run("off");
    assert.equal(off.code, 0, off.stdout + off.stderr);
    const nothing = "Nothing enforces the permissions for them";
    assert.deepEqual(off.stdout.match(told), [
      `Commands run without a sandbox: the sandbox is off. ${nothing}`,
    ]);
    assert.equal(existsSync(join(cwd, "made")), true);
    const rehearsed = await tried("run", "e.yml", "shell", "--rehearse", "r.yml");
    assert.equal(rehearsed.code, 0, rehearsed.stdout + rehearsed.stderr);
    assert.deepEqual(rehearsed.stdout.match(told), [
      `Commands run without a sandbox: bubblewrap is not installed. ${nothing}`,
    ]);
    const required = await tried("rehearse", "r.yml", "--sandbox", "required");
    assert.equal(required.code, 1);
    assert.match(required.stdout, /This machine has no sandbox \(bubblewrap is not installed\)/);
  });

  it("the option turns off nothing that the entry doesn't", async (t) => {
    const { run } = await onMachine(t);
    const { code, stderr, requests } = await run("shell", "--sandbox", "off");
    assert.deepEqual([code, requests], [2, 0], stderr);
    assert.match(
      stderr,
      /^agent-jobs: --sandbox can't turn off the sandbox unless the entry allows it with `permissions: \{ sandbox: off \}`, for each task of the job\.$/m,
    );
    const strict = await run("off", "--sandbox", "auto");
    assert.deepEqual([strict.code, strict.requests], [1, 0], strict.stdout);
  });

  it("doctor says what is missing and what to do", async (t) => {
    const { tried } = await onMachine(t);
    const bare = await tried("doctor");
    assert.equal(bare.code, 1);
    assert.match(bare.stdout, /^ok {4}Node: \d+\./);
    assert.match(bare.stdout, /^ok {4}Copilot runtime: \/.*copilot-runtime$/m);
    assert.match(bare.stdout, /^FAIL {2}Sandbox: bubblewrap is not installed\. Install it with `/m);
    assert.match(bare.stdout, /^FAIL {2}Models: No model is configured\. Set a GitHub token/m);
    assert.match(bare.stdout, /^ok {4}Git: \/.*git$/m);
    const json = await tried("doctor", "--json", "--runtime-path", "/no/runtime");
    assert.match(json.stdout, /"name": "Copilot runtime",\s+"ok": false/);
  });
});
