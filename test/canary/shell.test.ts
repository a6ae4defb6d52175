/** An agent with a shell, that prints whatever it finds: what it can't find, and what nobody sees of it. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { useActionBundle } from "../rig/dist.ts";
import { bash, type RecordedRequest, type Reply } from "../rig/model-server.ts";
import { onlyNightly } from "../rig/nightly.ts";
import {
  assertSilent,
  runCliWithCanaries,
  runStepWithCanaries,
  sequence,
  type CanaryRun,
  type Scene,
} from "./rig.ts";

/** Prints its own surroundings and those of the runtime, plainly and encoded, and leaves them in files. */
const surroundings = [
  "env; export -p; set; sleep 1",
  "tr '\\0' '\\n' < /proc/self/environ; tr '\\0' '\\n' < /proc/$PPID/environ",
  "tr '\\0' ' ' < /proc/self/cmdline; tr '\\0' ' ' < /proc/$PPID/cmdline",
  "env | base64; env | base64 -w0; (printf x; env) | base64 -w0; (printf xy; env) | base64 -w0",
  "bash -c env; sh -c env; env -i /bin/sh -c env; sleep 0.2",
  "env > environment.txt; env | base64 > environment.b64; (sleep 0.4; env > late.txt) & sleep 0.1",
];

const printFiles = "git config --list; cat .git/config ~/.git-credentials; cat ~/.netrc .env";

const isCompaction = /^Please create a detailed summary of the conversation/;

/** Makes the calls, reports a document, and says what it has found, in other forms too. */
function hostile(request: RecordedRequest, commands: readonly string[]): Reply {
  if (isCompaction.test(request.prompt)) return { text: "Nothing worth keeping." };
  const { toolResults } = request;
  const found = toolResults[0] ?? "";
  return sequence(
    request,
    commands.map((one) => bash(one)),
    () =>
      toolResults.length === commands.length
        ? { toolCalls: [{ name: "job_prepare_document", arguments: { argument: found } }] }
        : {
            reasoning: Buffer.from(found).toString("base64url"),
            text: `${found}\n\n${encodeURIComponent(found)}`,
          },
  );
}

function printSurroundings(request: RecordedRequest): Reply {
  return hostile(request, surroundings);
}

/** The process above the runtime is ours. */
function printOurs(request: RecordedRequest, { pid }: Scene): Reply {
  const file = `/proc/${pid}/environ`;
  return hostile(request, [
    `tr '\\0' '\\n' < ${file}`,
    `base64 ${file}; (printf x; cat ${file}) | base64 -w0; (printf xy; cat ${file}) | base64 -w60`,
  ]);
}

function assertSilentAtWork(run: CanaryRun): void {
  assertSilent(run);
  assert.deepEqual(run.toModel, []);
  assert.ok(run.processes.some((text) => text.includes("copilot-runtime")));
  assert.ok(run.processes.some((text) => text.includes("COPILOT_AGENT_SESSION_ID=")));
  assert.match(run.journal, /"type":"run.ended"/);
  assert.match(run.recording, /sessions:/);
}

describe("an agent with a shell", { timeout: 300_000 }, () => {
  const bundle = useActionBundle();

  it("finds no secret of ours in its surroundings", async (t) => {
    const run = await runCliWithCanaries(t, { script: printSurroundings, permissions: "all" });
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assertSilentAtWork(run);
  });

  it("finds none in a step either", onlyNightly, async (t) => {
    const run = await runStepWithCanaries(t, {
      main: join(bundle.dist, "run.js"),
      script: printSurroundings,
      permissions: "workspace",
    });
    assert.equal(run.code, 0, run.stdout);
    assertSilentAtWork(run);
    assert.notEqual(run.step?.outputs["reported-document"], "");
    assert.notEqual(run.step?.summary, "");
  });

  it("finds no key of the command line in the list of processes", onlyNightly, async (t) => {
    let list = "";
    const run = await runCliWithCanaries(t, {
      permissions: "workspace",
      env: { AGENT_JOBS_PROVIDER_API_KEY: "" },
      access: (url) => [`--provider-base-url=${url}`, "--provider-api-key=of-the-command-line"],
      script(request, { pid }) {
        list ||= readFileSync(`/proc/${pid}/cmdline`, "utf8");
        return hostile(request, [
          "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'of-the-com[m]and'",
        ]);
      },
    });
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.equal(run.requests[0]?.headers["authorization"], "Bearer of-the-command-line");
    assert.match(list, /^agent-jobs\0*$/);
    assert.match(run.requests.at(-1)?.toolResults[0] ?? "", /^0\n/);
  });

  const unconfined = { preset: "workspace", sandbox: "off" } as const;

  it(
    "can read the environment of our process without one, and what it says of it is masked everywhere",
    onlyNightly,
    async (t) => {
      const run = await runCliWithCanaries(t, { script: printOurs, permissions: unconfined });
      assert.equal(run.code, 0, run.stdout + run.stderr);
      assert.notDeepEqual(run.toModel, []);
      assert.deepEqual(run.said, [], "said");
      assert.deepEqual(run.inProcesses, [], "in processes");
      assert.match(run.journal, /MY_SECRET=\*\*\*/);
    },
  );

  it("can do so in a step too, and no output, summary or annotation has it", async (t) => {
    const run = await runStepWithCanaries(t, {
      main: join(bundle.dist, "run.js"),
      script: printOurs,
      permissions: { preset: "all", sandbox: "off" },
    });
    assert.equal(run.code, 0, run.stdout);
    assert.notDeepEqual(run.toModel, []);
    assert.deepEqual(run.said, [], "said");
  });

  it(
    "can read the credentials of files without one; git's are masked in what it says of them",
    onlyNightly,
    async (t) => {
      const run = await runCliWithCanaries(t, {
        permissions: unconfined,
        script: (request) =>
          sequence(
            request,
            [bash(printFiles), { name: "job_prepare_document", arguments: { argument: "a.md" } }],
            ([found = ""]) => ({ text: found }),
          ),
      });
      assert.equal(run.code, 0, run.stdout + run.stderr);
      const read = new Set(run.toModel.flatMap(({ places }) => places));
      for (const place of ["checkout extraheader", "checkout .env", "HOME .netrc"])
        assert.ok(read.has(place), `read: ${place}`);
      const shown = new Set(run.saidOfFiles.flatMap(({ places }) => places));
      for (const place of ["checkout extraheader", "checkout remote", "HOME .git-credentials"])
        assert.ok(!shown.has(place), `shown: ${place}`);
    },
  );
});
