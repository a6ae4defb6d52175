/**
 * Plays the runner of GitHub Actions, and reads what the action says the way the runner does (commands of both
 * syntaxes on both streams, and the files of a step). `runStep` runs the step in this process. `startStep` and
 * `runBundledStep` start the bundle as the runner does; `AGENT_JOBS_TEST_NODE` names another Node for it.
 */
import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import * as core from "@actions/core";
import { runAction } from "../../src/action/action.ts";
import type { Mode } from "../../src/action/actions.ts";
import { cancelOnSignals } from "../../src/run/cancellation.ts";
import { actionMain, actionPost } from "./dist.ts";
import { tolerateAsTheProductDoes } from "./broken-pipes.ts";
import { outputOf, type Output } from "./output.ts";
import { inThisProcess } from "./this-process.ts";

const fixtures = fileURLToPath(new URL("../../../test/fixtures/events/", import.meta.url));

export interface StepOptions {
  /** Becomes `GITHUB_WORKSPACE` and the current directory. */
  readonly workspace: string;
  readonly inputs: Readonly<Record<string, string>>;
  /** The name of a file in `test/fixtures/events`; its `event` and `actor` are those of the runner. */
  readonly event?: string;
  /** Over those of the event. */
  readonly env?: Readonly<Record<string, string>>;
  readonly apiUrl?: string;
  /** The action. Default: the main one. */
  readonly mode?: Mode;
  /** The main script. Default: the bundle of the action. */
  readonly main?: string;
  /** False: no step has checked out. Else the workspace is at `GITHUB_SHA`, unless `env` names another commit. */
  readonly checkedOut?: false;
}

export interface Command {
  readonly name: string;
  readonly properties: Readonly<Record<string, string>>;
  readonly message: string;
}

export interface StepResult {
  readonly code: number | null;
  readonly log: string;
  readonly raw: string;
  readonly commands: readonly Command[];
  readonly outputs: Readonly<Record<string, string>>;
  readonly state: Readonly<Record<string, string>>;
  readonly summary: string;
}

export interface Step {
  readonly pid: number;
  readonly ended: Promise<StepResult>;
  /** The state saved so far for its post step, also by a killed step. */
  state(): Promise<Readonly<Record<string, string>>>;
  /** Resolves when the raw output holds `text`; rejects if the process ends first. */
  printed(text: string): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** Simulates a runner that is gone: nobody reads the output of the step from now on. */
  stopReading(): void;
}

interface Fixture {
  readonly event: string;
  readonly actor: string;
  readonly payload: object;
}

export async function readFixture(name: string): Promise<Fixture> {
  const text = await readFile(join(fixtures, `${name}.json`), "utf8");
  const fixture: unknown = JSON.parse(text);
  assertFixture(fixture);
  return fixture;
}

function assertFixture(value: unknown): asserts value is Fixture {
  const fields = typeof value === "object" && value !== null ? Object.keys(value).join() : "";
  if (fields !== "event,actor,payload") throw new Error(`A fixture has the fields ${fields}`);
}

/** The commit that the fixtures call `GITHUB_SHA`, for workspaces that are no repository. */
export const eventSha = "1".repeat(40);

const run = promisify(execFile);

async function checkOut(workspace: string): Promise<string> {
  try {
    return (await run("git", ["rev-parse", "HEAD"], { cwd: workspace })).stdout.trim();
  } catch {
    for (const folder of ["objects", "refs"])
      await mkdir(join(workspace, ".git", folder), { recursive: true });
    await writeFile(join(workspace, ".git/HEAD"), `${eventSha}\n`);
    return eventSha;
  }
}

interface Prepared {
  /** The runner's files, by the names of their variables. */
  readonly files: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
}

async function prepareStep(folder: string, options: StepOptions): Promise<Prepared> {
  const fixture = await readFixture(options.event ?? "workflow-dispatch");
  const files = Object.fromEntries(
    ["OUTPUT", "STEP_SUMMARY", "STATE", "ENV", "PATH"].map((name) => [
      `GITHUB_${name}`,
      join(folder, name),
    ]),
  );
  for (const file of Object.values(files)) await writeFile(file, "");
  const eventPath = join(folder, "event.json");
  await writeFile(eventPath, JSON.stringify(fixture.payload));
  const sha = options.checkedOut === false ? eventSha : await checkOut(options.workspace);
  const env = {
    ...files,
    CI: "true",
    GITHUB_ACTIONS: "true",
    GITHUB_WORKSPACE: options.workspace,
    GITHUB_EVENT_NAME: fixture.event,
    GITHUB_EVENT_PATH: eventPath,
    GITHUB_ACTOR: fixture.actor,
    GITHUB_REPOSITORY: "octo/shop",
    GITHUB_SHA: sha,
    GITHUB_RUN_ID: "99",
    GITHUB_ACTION: "step",
    // A closed port, unless a test wants an answer.
    GITHUB_API_URL: options.apiUrl ?? "http://127.0.0.1:9",
    RUNNER_TEMP: folder,
    RUNNER_TOOL_CACHE: join(folder, "tools"),
    ...Object.fromEntries(
      Object.entries(options.inputs).map(([name, value]) => [`INPUT_${name.toUpperCase()}`, value]),
    ),
    ...options.env,
  };
  return { files, env };
}

/** The folder of a step's own. */
async function makeFolder(): Promise<string> {
  return realpath(await mkdtemp(join(tmpdir(), "test-agent-jobs-runner-")));
}

const remove = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 5 });

export async function startStep(
  test: Pick<TestContext, "after">,
  options: StepOptions,
): Promise<Step> {
  const folder = await makeFolder();
  let step: Step | undefined;
  test.after(async () => {
    // A test that failed may have left it; its files are read when it ends.
    step?.signal("SIGKILL");
    await step?.ended.catch(() => undefined);
    await remove(folder);
  });
  const { files, env } = await prepareStep(folder, options);
  step = spawnStep(
    options.main ?? actionMain(options.mode ?? "run"),
    options.workspace,
    files,
    env,
  );
  return step;
}

export async function runBundledStep(
  test: Pick<TestContext, "after">,
  options: StepOptions,
): Promise<StepResult> {
  return (await startStep(test, options)).ended;
}

export async function runStep(
  test: Pick<TestContext, "after">,
  options: Omit<StepOptions, "main">,
): Promise<StepResult> {
  const folder = await makeFolder();
  test.after(() => remove(folder));
  const { files, env } = await prepareStep(folder, options);
  return inThisProcess(options.workspace, env, async () => {
    tolerateAsTheProductDoes();
    // The toolkit keeps the path of the first summary that it has written.
    Reflect.set(core.summary, "_filePath", undefined);
    const { output, stop } = captureOutput();
    const cancellation = cancelOnSignals({
      signals: [],
      exitCode: 1,
      patienceMs: 4_000,
      secondExits: false,
    });
    const ending = await runAction(options.mode ?? "run", cancellation).finally(stop);
    return resultOf(ending === "failed" ? 1 : 0, output, files);
  });
}

/** The chunks that are texts. Chunks of bytes are reports of `node --test`. */
function captureOutput(): { readonly output: Output; readonly stop: () => void } {
  const output = { stdout: "", stderr: "" };
  const stops = (["stdout", "stderr"] as const).map((name) => {
    const stream = process[name];
    const write = stream.write.bind(stream);
    stream.write = (chunk: string | Uint8Array, ...more: unknown[]): boolean => {
      if (typeof chunk !== "string") return Boolean(Reflect.apply(write, stream, [chunk, ...more]));
      output[name] += chunk;
      const done = more.find((one) => typeof one === "function");
      if (done !== undefined) process.nextTick(done);
      return true;
    };
    return (): void => void (stream.write = write);
  });
  return { output, stop: () => stops.forEach((stop) => stop()) };
}

/** The post step, with the state that the main step left. */
export async function runPost(
  workspace: string,
  state: Readonly<Record<string, string>>,
  main = actionPost,
  env: Readonly<Record<string, string>> = {},
): Promise<StepResult> {
  const states = Object.entries(state).map(([name, value]) => [`STATE_${name}`, value]);
  return spawnStep(main, workspace, {}, { ...env, ...Object.fromEntries(states) }).ended;
}

function spawnStep(
  main: string,
  cwd: string,
  files: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>>,
): Step {
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(process.env["AGENT_JOBS_TEST_NODE"] ?? process.execPath, [main], {
    cwd,
    env: { PATH, HOME, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const { output, closed, printed } = outputOf(child);
  const ended = closed.then((code) => resultOf(code, output, files));
  return {
    pid: child.pid ?? 0,
    ended,
    state: async () => parseFileCommand(await readOf(files, "STATE")),
    printed,
    signal: (signal) => void child.kill(signal),
    stopReading() {
      child.stdout.destroy();
      child.stderr.destroy();
    },
  };
}

async function readOf(files: Prepared["files"], name: string): Promise<string> {
  const file = files[`GITHUB_${name}`];
  return file === undefined ? "" : readFile(file, "utf8");
}

async function resultOf(
  code: number | null,
  output: Output,
  files: Prepared["files"],
): Promise<StepResult> {
  const said = [output.stdout, output.stderr].map(readStream);
  return {
    code,
    log: said.map(({ log }) => log).join(""),
    raw: output.stdout + output.stderr,
    commands: said.flatMap(({ commands }) => commands),
    outputs: parseFileCommand(await readOf(files, "OUTPUT")),
    state: parseFileCommand(await readOf(files, "STATE")),
    summary: await readOf(files, "STEP_SUMMARY"),
  };
}

/** One stream, line by line, as the runner's `ActionCommandManager` does. */
export function readStream(text: string): {
  readonly log: string;
  readonly commands: readonly Command[];
} {
  const commands: Command[] = [];
  let log = "";
  let stopToken: string | undefined;
  for (const line of text.split(/\r?\n/)) {
    const command = parseCommand(line, stopToken);
    if (command === undefined) log += `${line}\n`;
    else if (stopToken !== undefined) stopToken = undefined;
    else if (command.name === "stop-commands") stopToken = command.message;
    else commands.push(command);
  }
  return { log, commands };
}

function parseCommand(line: string, stopToken: string | undefined): Command | undefined {
  const isKnown = (name: string): boolean =>
    stopToken === undefined ? knownCommands.has(name) : name === stopToken;
  const [, name = "", rest = "", message = ""] =
    /^::([^\s:]+)(?: ([^]*?))?::([^]*)$/.exec(line.trim()) ?? [];
  if (isKnown(name)) {
    return { name, properties: pairs(rest, ","), message: unescape(message) };
  }
  const [, old = "", oldRest = "", oldMessage = ""] =
    /##\[([^\s\]]+)(?: ([^\]]*))?\]([^]*)$/.exec(line) ?? [];
  return isKnown(old)
    ? { name: old, properties: pairs(oldRest, ";"), message: unescape(oldMessage) }
    : undefined;
}

function pairs(text: string, separator: string): Record<string, string> {
  const found = text.split(separator).flatMap((pair) => {
    const [, name = "", value = ""] = /^([^=]*)=([^]*)$/.exec(pair) ?? [];
    return pair.includes("=") ? [[name.trim(), unescape(value)]] : [];
  });
  return Object.fromEntries(found);
}

function unescape(text: string): string {
  return text
    .replaceAll("%3A", ":")
    .replaceAll("%2C", ",")
    .replaceAll("%0D", "\r")
    .replaceAll("%0A", "\n")
    .replaceAll("%25", "%");
}

/** `name=value` and `name<<DELIMITER` … `DELIMITER`; a later value replaces an earlier one. */
export function parseFileCommand(text: string): Record<string, string> {
  const values: Record<string, string> = {};
  const lines = text.split(/\r?\n/);
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? "";
    if (line === "") continue;
    const [, name, delimiter] = /^([^=]+?)<<(.+)$/.exec(line) ?? [];
    if (name === undefined || delimiter === undefined) {
      const at = line.indexOf("=");
      if (at < 1) throw new Error(`The runner can't read the line ${JSON.stringify(line)}`);
      values[line.slice(0, at)] = line.slice(at + 1);
      continue;
    }
    const end = lines.indexOf(delimiter, index + 1);
    if (end < 0) throw new Error(`The delimiter ${delimiter} is missing`);
    values[name] = lines.slice(index + 1, end).join("\n");
    index = end;
  }
  return values;
}

/* The commands that the runner knows, and those that it once knew. */

export const knownCommands: ReadonlySet<string> = new Set([
  "add-mask",
  "add-matcher",
  "add-path",
  "debug",
  "echo",
  "endgroup",
  "error",
  "group",
  "internal-set-repo-path",
  "notice",
  "remove-matcher",
  "save-state",
  "set-env",
  "set-output",
  "stop-commands",
  "warning",
]);
