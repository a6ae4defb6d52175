/** What the system refuses: each command names it and says what to do, with no stack trace and no success. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod } from "node:fs/promises";
import { describe, it, type TestContext } from "node:test";
import { commandLine } from "../rig/dist.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";
import { workflowText } from "../workflow/rig.ts";

const files = {
  "e.yml": `models: { driving: m }
tools:
  hello: { description: Says hello., parameters: { type: object, properties: {} }, command: [echo, hi] }
tasks:
  t: { prompt: go, model: { category: driving }, permissions: { tools: [hello] } }
jobs:
  j: { work: { kind: Ref, taskId: t } }
`,
  "r.rehearsal.yml":
    "entry: e.yml\njob: j\nworkspace: { files: { a: b } }\nsessions:\n  - task: t\n    turns:\n      - text: ok\n",
  "flow.wf.md": `---
permissions: { preset: workspace, shell: true }
---

${workflowText("START --> EXECUTE_A[Execute: echo done] --> SUCCESS")}`,
};

/** The commands that need a temporary folder. */
const commands = [
  ["run", "flow.wf.md"],
  ["run", "e.yml", "--rehearse", "r.rehearsal.yml"],
  ["rehearse", "r.rehearsal.yml"],
  ["tool", "call", "hello", "--entry", "e.yml"],
  ["serve", "e.yml", "--port", "0", "--rehearse", "r.rehearsal.yml"],
];

interface Ended {
  readonly code: number | string | null | undefined;
  readonly text: string;
}

/** Runs a command behind `before`, which is a line of a shell. */
function runBehind(
  { path: cwd }: Workspace,
  before: string,
  args: readonly string[],
): Promise<Ended> {
  const { PATH = "", HOME = "" } = process.env;
  const shell = ["-c", `${before}; exec "$@"`, "sh", process.execPath, commandLine, ...args];
  return new Promise((resolve) => {
    execFile("bash", shell, { cwd, env: { PATH, HOME }, timeout: 60_000 }, (error, out, err) =>
      resolve({ code: error === null ? 0 : (error.code ?? error.signal), text: out + err }),
    );
  });
}

async function refused(
  t: TestContext,
  before: string,
  reason: RegExp,
  tried: readonly (readonly string[])[] = commands,
): Promise<void> {
  const workspace = await makeWorkspace(t, files);
  for (const args of tried) {
    const { code, text } = await runBehind(workspace, before, args);
    const what = `${args.join(" ")}: ${code}\n${text}`;
    assert.ok(code === 1 || code === 2, what);
    assert.match(text, reason, what);
    assert.doesNotMatch(text, /a bug in agent-jobs|^ +at |Cannot read|succeeded|1 passed/m, what);
  }
}

it("a runtime that the system can't start is a crash with its reason", async (t) => {
  const workspace = await makeWorkspace(t, files);
  await workspace.write("runtime", "#!/nowhere/at/all\n");
  await chmod(`${workspace.path}/runtime`, 0o755);
  const args = ["run", "e.yml", "--rehearse", "r.rehearsal.yml", "--runtime-path", "runtime"];
  const { code, text } = await runBehind(workspace, "true", args);
  assert.equal(code, 1, text);
  assert.match(text, /job j failed: task "t" crashed: .*runtime(?: ENOENT|: No such file)/);
  assert.doesNotMatch(text, /a bug in agent-jobs|ERR_STREAM_DESTROYED/);
});

describe("without room for temporary files", { skip: process.platform !== "linux" }, () => {
  it("a folder that doesn't exist is named", (t) =>
    refused(t, "export TMPDIR=/nowhere", /Can't (?:create|copy|make).*ENOENT.*\/nowhere/));

  it("a limit of the size of files is named, with what to do", (t) =>
    refused(t, "ulimit -f 0", /EFBIG.*ulimit -f/, commands.slice(0, 1)));
});
