/** Servers as real processes, for the tests of the page: one for all tests of a file. */
import { after } from "node:test";
import { startCli, type CliChild } from "../rig/cli.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";

export interface Portal extends Server {
  /** Lets the job `gated` go on. */
  readonly openGate: () => Promise<unknown>;
  /** Kills the process, as a crash of the machine does. */
  readonly kill: () => Promise<void>;
  /** Starts a run of the job `maintain` without the page, once for all tests that only look at it: its id. */
  readonly maintained: () => Promise<string>;
}

/** Longer than a page is wide, and without a place to break. */
const long = "x".repeat(128);

const entry = `
models: { driving: gpt-5-mini, writing: claude-sonnet-4.5 }
# The gate is in the folder of which a rehearsal uses a copy.
permissions: { preset: workspace, sandbox: off }
grid:
  - keyword: Every night
    jobs: [{ name: Maintain, jobName: maintain }]
  - keyword: By hand
    jobs: [{ name: Ask, jobName: ask }, null, { name: Gated, jobName: gated }]
tasks:
  look:
    model: { category: driving }
    prompt: Look at the folder.
    criteria: { toolExecuted: [job_prepare_document], failureAction: { retryTimes: 1 } }
  find:
    model: { category: driving }
    prompt: Is anything left?
    criteria: { toolExecuted: [job_boolean_true], failureAction: { retryTimes: 0 } }
  correct:
    model: { category: writing }
    prompt: Correct it.
    criteria:
      runConditionInSameSession: false
      condition: "Is it correct? Call job_boolean_true or job_boolean_false."
      failureAction: { retryTimes: 1, additionalPrompt: "Refused: $reported-false-reason" }
  recover: { model: { category: writing }, prompt: Crash once. }
  answer: { model: { category: driving }, requireUserInput: true, prompt: "Answer: $user-input" }
  wait: { model: { category: driving }, prompt: Wait for the gate. }
  hang: { model: { category: driving }, prompt: Never end. }
  ${long}: { model: { category: driving }, prompt: Be long. }
jobs:
  maintain:
    work:
      kind: Seq
      works:
        - { kind: Ref, taskId: look }
        - kind: Par
          works:
            - { kind: Loop, preCondition: [true, { kind: Ref, taskId: find }], body: { kind: Ref, taskId: correct }, atMost: 3 }
            - { kind: Ref, taskId: recover }
  ask: { work: { kind: Ref, taskId: answer } }
  other: { work: { kind: Ref, taskId: answer } }
  gated: { work: { kind: Seq, works: [{ kind: Ref, taskId: look }, { kind: Ref, taskId: wait }] } }
  branches:
    work:
      kind: Seq
      works: [{ kind: Ref, taskId: look }, { kind: Par, works: [${"{ kind: Ref, taskId: hang },".repeat(9)}] }, { kind: Ref, taskId: look }]
  endless: { work: { kind: Ref, taskId: hang } }
  "..": { work: { kind: Ref, taskId: ${long} } }
  ".": { work: { kind: Ref, taskId: hang } }
`;

const rehearsal = (gate: string, written: Written): string => `
entry: entry.yml
job: ${written.job}
${written.userInput === undefined ? "" : `userInput: ${written.userInput}`}
limits: { idleMinutes: 5, parallel: 12 }
workspace: { git: true, files: { README.md: "# Shop\\n" } }
sessions:
  - task: look
    optional: true
    turns:
      - replies:
          - reasoning: I think about **the folder** first.
            tools: [{ name: view, arguments: { path: "\${workingDirectory}/README.md" } }]
            usage: { input: 1200, output: 40 }
          - tools: [{ name: job_prepare_document, arguments: { argument: README.md } }]
          - text: "There is a file, **README.md**:\\n\\n- it has a heading\\n- and nothing else\\n\\n3. third\\n\\n| n |\\n| -: |\\n| 1 |"
  - task: find
    iteration: 1
    optional: true
    turns: [{ replies: [{ tools: [{ name: job_boolean_true, arguments: { argument: one is left } }] }, One.] }]
  - task: find
    iteration: 2
    optional: true
    turns: [{ replies: [{ tools: [{ name: job_boolean_false, arguments: { argument: nothing is left } }] }, None.] }]
  - task: correct
    role: task
    retry: 0
    optional: true
    turns: [Done at once.]
  - task: correct
    role: driving
    retry: 0
    optional: true
    turns: [{ replies: [{ tools: [{ name: job_boolean_false, arguments: { argument: nothing was changed } }] }, No.] }]
  - task: correct
    role: task
    retry: 1
    optional: true
    turns: [{ prompt: "Refused: nothing was changed", text: Done in the second try. }]
  - task: correct
    role: driving
    retry: 1
    optional: true
    turns: [{ replies: [{ tools: [{ name: job_boolean_true, arguments: { argument: it is right now } }] }, Yes.] }]
  - { task: recover, attempt: 1, optional: true, turns: [{ error: { status: 503, message: overloaded } }] }
  - { task: recover, attempt: 2, optional: true, turns: [Recovered.] }
  - task: answer
    optional: true
    turns: [{ prompt: Why is the sky blue?, text: Because of scattering. }]
  - task: wait
    optional: true
    turns:
      - replies:
          - text: Waiting at the gate.
            tools: [{ name: bash, arguments: { command: "until test -e '${gate}'; do sleep 0.1; done", description: Wait } }]
          - text: The gate is open.
  - { task: hang, optional: true, repeat: any, turns: [{ text: I begin, hang: true }] }
  - optional: true
    repeat: any
    turns:
      - { prompt: Who are you?, reasoning: A question about me., text: "I am **a script**." }
      - prompt: Look at the folder
        replies:
          - tools: [{ name: job_prepare_document, arguments: { argument: README.md } }]
          - text: I looked.
`;

/** The browser's message about a stream that the server refused: the page asks why, and shows it. */
export const notAStream = /EventSource's response has a MIME type/;

export interface Server {
  /** The address of the page, with a slash at the end. */
  readonly address: string;
  readonly child: CliChild;
  readonly workspace: Workspace;
}

interface Owner {
  after(hook: () => unknown): void;
}

/** Returns the value that `start` makes, for all tests of a file, when the first one asks for it. */
export function useStarted<Value>(start: (owner: Owner) => Promise<Value>): () => Promise<Value> {
  const afters: (() => unknown)[] = [];
  let started: Promise<Value> | undefined;
  after(async () => {
    for (const hook of afters.toReversed()) await hook();
  });
  return () => (started ??= start({ after: (hook) => void afters.push(hook) }));
}

export function usePortal(args: readonly string[] = [], written?: Written): () => Promise<Portal> {
  return useStarted((owner) => startPortal(owner, args, written));
}

/** `agent-jobs serve ARGS` in a workspace. `release`: lets what waits go on, before the end. */
export async function startServer(
  owner: Owner,
  workspace: Workspace,
  args: readonly string[],
  release: () => Promise<unknown> = () => Promise.resolve(),
): Promise<Server> {
  const child = startCli(["serve", "--port", "0", ...args], { cwd: workspace.path });
  let isRunning = true;
  void child.exited.then(() => (isRunning = false));
  owner.after(async () => {
    await release();
    if (isRunning) child.signal("SIGTERM");
    await child.ended;
  });
  await child.printed("/api/");
  const [address] = /http:\/\/[^/]*:\d+\//.exec(child.output.stdout) ?? [];
  if (address === undefined) throw new Error(`No address: ${child.output.stdout}`);
  return { address, child, workspace };
}

/** The job and the input that a rehearsal was written for. */
export interface Written {
  readonly job: string;
  readonly userInput?: string;
}

export async function startPortal(
  owner: Owner,
  args: readonly string[] = [],
  written: Written = { job: "maintain" },
): Promise<Portal> {
  const workspace = await makeWorkspace(owner);
  await workspace.write("entry.yml", entry);
  await workspace.write("all.rehearsal.yml", rehearsal(`${workspace.path}/gate`, written));
  const openGate = (): Promise<unknown> => workspace.write("gate", "");
  const server = await startServer(
    owner,
    workspace,
    ["--entry", "entry.yml", "--rehearse", "all.rehearsal.yml", ...args],
    openGate,
  );
  const { address, child } = server;
  let runId: Promise<string> | undefined;
  return {
    ...server,
    maintained: () => (runId ??= startMaintain(address, workspace.path)),
    openGate,
    async kill() {
      child.signalGroup("SIGKILL");
      await child.ended;
    },
  };
}

async function startMaintain(address: string, folder: string): Promise<string> {
  const started = await fetch(`${address}api/copilot/job/start/maintain`, {
    method: "POST",
    body: folder,
  });
  const [, id] = /"jobId":"([^"]+)"/.exec(await started.text()) ?? [];
  if (id === undefined) throw new Error(`The job was not started: ${started.status}`);
  return id;
}
