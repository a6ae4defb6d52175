/** Plays one case: the real command line, the real runtime, a scripted model; then looks at all that is left. */
import { execFileSync } from "node:child_process";
import {
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  readdir,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defined } from "../../src/text/guards.ts";
import { isRunning, processesMarked, programIn, sendSignal } from "../../src/platform/processes.ts";
import { parseJournal, type ParsedJournal } from "../../src/journal/read.ts";
import { findRuntime } from "../../src/runtime/find-runtime.ts";
import { startCli } from "../rig/cli.ts";
import { startModelServer } from "../rig/model-server.ts";
import { unconfined } from "../rig/sandbox.ts";
import { JUMP_SIGNAL, type ProbeNote, type ProbePlan } from "./probe.ts";
import { expectationOf, type Case } from "./rules.ts";
import { prompts, scriptOf, tellCommand } from "./script.ts";

export interface Observation {
  readonly exitCode: number | null;
  /** It had to be ended, because it took longer than any rule allows. */
  readonly overdue: boolean;
  readonly stdout: string;
  readonly stderr: string;
  /** Undefined: there is none. */
  readonly journal: ParsedJournal | undefined;
  readonly milliseconds: number;
  /** From the (first) failure to the end; undefined if it never happened. */
  readonly sinceFailure: number | undefined;
  readonly processesLeft: readonly string[];
  readonly filesLeft: readonly string[];
  readonly notes: readonly ProbeNote[];
  /** How long the event loop was blocked at most. Undefined: its process was killed. */
  readonly blockedMs: number | undefined;
  /** Output of the next start, for failures that kill our own process. */
  readonly nextStart: string;
}

const probe = new URL("./probe.js", import.meta.url).href;
const realRuntime = findRuntime({ environment: {} });
let count = 0;

/** `patience`: how many times longer than the rules say it may take before it is ended. */
export async function play(one: Case, patience = 1): Promise<Observation> {
  const { failure, moment, shape } = one;
  count += 1;
  const mark = `chaos-${process.pid}-${count}`;
  const root = await realpath(await mkdtemp(join(tmpdir(), "test-agent-jobs-chaos-")));
  const at = (name: string): string => join(root, name);
  const log = at("probe.jsonl");
  for (const folder of ["home", "tmp", "work"]) await mkdir(at(folder));
  await writeFile(at("work/a.txt"), "the work\n");
  await writeFile(at("entry.json"), JSON.stringify(entryOf(one)));
  await symlink(realRuntime, at("runtime"));
  const paths = { RUNTIME_FILE: at("runtime"), WORK: at("work"), JOURNAL: at("journal.jsonl") };
  const { PATH = "" } = process.env;

  let child: ReturnType<typeof startCli> | undefined;
  let fired: number | undefined;
  const [released, releaseBusy] = occasion();
  const [busyRuns, busyStarted] = occasion();
  const [quickIsOver, quickEnded] = occasion();

  const server = await startModelServer(
    scriptOf(one, () => new URL(server.baseUrl).port, {
      siblingsReady: waitsForSiblings(one)
        ? Promise.all([busyRuns, quickIsOver]).then(() => {})
        : Promise.resolve(),
      fire() {
        fired ??= Date.now();
        // Else the busy sibling waits for the subject's end; a limit on all turns would hit it meanwhile.
        if (failure.limits?.["turnMinutes"] !== undefined) releaseBusy();
        if (child === undefined) return;
        if (failure.jump !== undefined) sendSignal(child.pid, JUMP_SIGNAL);
        if (failure.commands === undefined) return;
        const { pid } = notesIn(log).findLast((note) => note.kind === "spawned") ?? {};
        const RUNTIME = `${programIn(pid) ?? ""}`;
        const env = { PATH, ...paths, SELF: `${child.pid}`, RUNTIME };
        execFileSync("sh", ["-c", failure.commands], { env, stdio: "ignore" });
      },
      held() {
        busyStarted();
        return released;
      },
      refuse: () => server.refuse(),
    }),
  );
  try {
    if (failure.execute !== undefined) {
      const told = tellCommand(new URL(server.baseUrl).port, "fire");
      await writeFile(at("work/execute.sh"), `${told}\n${failure.execute}\n`);
      await writeFile(at("before.wf.md"), workflow);
    }
    const before = await filesUnder(root);
    const fromTheStart = moment === "starting" && failure.before !== undefined;
    if (fromTheStart && failure.before !== undefined) {
      execFileSync("sh", ["-c", failure.before], { env: { PATH, ...paths } });
      fired = Date.now();
    }
    const isHidden = moment === "starting" || moment === "creating" || moment === "stopping";
    const inProbe = isHidden && failure.execute === undefined;
    const plan: ProbePlan = {
      log,
      ...defined({ jump: failure.jump }),
      ...(inProbe && !fromTheStart && failure.commands !== undefined
        ? {
            ...probeMoment(one),
            lasting: one.lasting,
            commands: withPaths(failure.commands, paths),
          }
        : {}),
    };
    const start = Date.now();
    child = startCli(
      [
        "run",
        "entry.json",
        shape,
        "--working-directory=work",
        "--journal=journal.jsonl",
        "--runtime-path=runtime",
        `--provider-base-url=${failure.baseUrl ?? server.baseUrl}`,
      ],
      {
        cwd: root,
        env: {
          HOME: at("home"),
          TMPDIR: at("tmp"),
          // The allow-list lets it through: every process of the run carries our mark.
          USER: mark,
          NODE_OPTIONS: `--import=${probe}`,
          CHAOS_PROBE: JSON.stringify(plan),
        },
      },
    );
    const started = child;
    const { pid, ended } = started;
    const on = (text: string, then: () => void): void =>
      void started.printed(text).then(then, () => {});
    for (const end of ["succeeded", "failed", "crashed"]) on(`subject ${end} after`, releaseBusy);
    on("quicker succeeded after", quickEnded);
    if (!one.lasting) on("[SESSION CRASHED]", () => server.accept());

    let overdue = false;
    const timer = setTimeout(
      () => {
        overdue = true;
        sendSignal(pid, "SIGKILL");
      },
      patience * expectationOf(one).seconds * 1000 + 5_000,
    );
    const result = await ended;
    const end = Date.now();
    clearTimeout(timer);

    let nextStart = "";
    if (failure.leaves === "own-death") {
      const url = `--provider-base-url=${server.baseUrl}`;
      const args = ["run", "entry.json", "after", "--working-directory=work", url];
      const env = { HOME: at("home"), TMPDIR: at("tmp") };
      nextStart = (await startCli(args, { cwd: root, env }).ended).stdout;
    }
    const processesLeft = await whatRuns(mark);
    const notes = notesIn(log);
    fired ??= notes.find((note) => note.kind === "fired")?.at;
    const journal = await readFile(at("journal.jsonl"), "utf8").catch(() => undefined);
    const mayBe = new Set([...before, "probe.jsonl", "journal.jsonl"]);
    return {
      exitCode: result.code,
      overdue,
      stdout: result.stdout,
      stderr: result.stderr,
      journal: journal === undefined ? undefined : parseJournal(journal),
      milliseconds: end - start,
      sinceFailure: fired === undefined ? undefined : end - fired,
      processesLeft,
      filesLeft: (await filesUnder(root)).filter((name) => !mayBe.has(name)),
      notes,
      blockedMs: notes.find((note) => note.kind === "exit")?.blockedMs,
      nextStart,
    };
  } finally {
    releaseBusy();
    await server.close();
    for (const left of await processesMarked("USER", mark)) sendSignal(left, "SIGKILL");
    await rm(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

/** The moments that a failure can wait for, and how each is provoked. */
function occasion(): readonly [Promise<void>, () => void] {
  let happens = (): void => {};
  return [new Promise<void>((resolve) => (happens = resolve)), () => happens()];
}

/** Commands tell the server of models where they are. */
const rules = { preset: "workspace", hosts: ["localhost"] } as const;

/** Its EXECUTE may fail: the job goes on. */
const workflow = `---
permissions: { preset: workspace, hosts: [localhost] }
---

# Workflow

\`\`\`mermaid
flowchart TD
  START --> EXECUTE_A["Execute: . ./execute.sh"]
  EXECUTE_A --> SUCCESS
  EXECUTE_A -->|FAILED| SUCCESS
\`\`\`
`;

function entryOf({ failure, shape }: Case): object {
  const ref = (taskId: string): object => ({ kind: "Ref", taskId });
  const work =
    shape === "alone"
      ? failure.execute === undefined
        ? ref("subject")
        : { kind: "Seq", works: [{ kind: "Flow", file: "before.wf.md" }, ref("subject")] }
      : { kind: "Par", works: [ref("subject"), ref("quicker"), ref("at-work")] };
  return {
    models: {
      driving: { id: "driver", outputTokens: 1e12 },
      other: { id: "other", outputTokens: 1e12 },
    },
    limits: { idleMinutes: 1, turnMinutes: 5, commandMinutes: 0.05, ...failure.limits },
    ...failure.declares,
    permissions: unconfined(rules),
    tasks: {
      subject: {
        model: { category: "driving" },
        prompt: prompts.prompt,
        ...(failure.declares === undefined ? {} : { permissions: { ...rules, tools: ["*"] } }),
        availability: { condition: prompts.availability },
        criteria: {
          condition: prompts.criteria,
          failureAction: { retryTimes: 1, additionalPrompt: prompts.retry },
        },
      },
      quicker: { model: { category: "other" }, prompt: prompts.quick },
      "at-work": { model: { category: "other" }, prompt: prompts.busy },
    },
    jobs: { [shape]: { work }, after: { work: ref("quicker") } },
  };
}

/** A failure while all start hits any of them: they are not put in order first. */
function waitsForSiblings({ shape, moment }: Case): boolean {
  return shape === "par" && moment !== "starting" && moment !== "creating";
}

function probeMoment({ moment, shape }: Case): Pick<ProbePlan, "moment" | "from"> {
  switch (moment) {
    case "starting":
      return { moment: "spawn" };
    case "creating":
      return { moment: "session.create" };
    default:
      // In a Par the quick sibling is gone before.
      return { moment: "session.detach", from: shape === "par" ? 2 : 1 };
  }
}

function withPaths(commands: string, paths: Readonly<Record<string, string>>): string {
  const set = Object.entries(paths).map(([name, path]) => `${name}='${path}'`);
  return [...set, commands].join("\n");
}

function notesIn(log: string): ProbeNote[] {
  try {
    const lines = readFileSync(log, "utf8").trim().split("\n");
    return lines.map((line): ProbeNote => JSON.parse(line));
  } catch {
    return [];
  }
}

/** A process that was killed may need a moment to be gone on a busy machine; one that was not stays. */
async function whatRuns(mark: string): Promise<string[]> {
  const end = Date.now() + 20_000;
  for (;;) {
    const pids = (await processesMarked("USER", mark)).filter((pid) => isRunning(pid));
    if (pids.length === 0 || Date.now() > end) return pids.map(commandOf);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim().slice(0, 120);
  } catch {
    return `process ${pid}`;
  }
}

async function filesUnder(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries.map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1)).sort();
}
