/**
 * Runs the command line or the bundle of the action with canaries in all places, a scripted model, and
 * folders of its own, and looks everywhere: what left the process, what lies on the disk (at every request
 * to the model and at the end), and what every process below it has in its environment and arguments.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, type Dirent } from "node:fs";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Permissions } from "../../src/entry/model.ts";
import { findRuntime } from "../../src/runtime/find-runtime.ts";
import { startCli } from "../rig/cli.ts";
import {
  modelServer,
  type RecordedRequest,
  type Reply,
  type ScriptedCall,
} from "../rig/model-server.ts";
import { startStep, type StepResult } from "../rig/runner.ts";
import { unconfined } from "../rig/sandbox.ts";
import {
  environmentCanaries,
  installationToken,
  plantCheckout,
  plantHome,
  plantRunnerTemp,
  searchFor,
  variables,
  type Canaries,
  type Planted,
} from "./canaries.ts";

export interface Scene {
  /** The process that we have started. */
  readonly pid: number;
  readonly checkout: string;
  readonly home: string;
  readonly runnerTemp: string;
  readonly temporary: string;
  readonly providerKey: string;
}

export type HostileScript = (request: RecordedRequest, scene: Scene) => Reply;

export interface CanaryOptions {
  readonly script: HostileScript;
  /** A preset is an option of the run, and rules are of the entry. */
  readonly permissions: Permissions;
  /** Default: gpt-5. */
  readonly model?: string;
  /** Over everything else; an empty value takes a variable away. */
  readonly env?: Readonly<Record<string, string>>;
  /** For the command line: instead of `--provider-base-url` and the server's address. */
  readonly access?: (baseUrl: string) => readonly string[];
}

export interface Sighting {
  readonly where: string;
  readonly places: readonly string[];
}

export interface CanaryRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly requests: readonly RecordedRequest[];
  readonly step: StepResult | undefined;
  readonly journal: string;
  readonly recording: string;
  /** Environments and arguments of all processes below ours. */
  readonly processes: readonly string[];
  /** Canaries that we hold (environment, inputs) in what left the process, but for the model's requests. */
  readonly said: readonly Sighting[];
  readonly onDisk: readonly Sighting[];
  readonly inProcesses: readonly Sighting[];
  /** All canaries, also those of the disk, in what the model's server got. */
  readonly toModel: readonly Sighting[];
  readonly saidOfFiles: readonly Sighting[];
}

const inputToken = "github-token of the inputs";

const entry = ({ model = "gpt-5", permissions }: CanaryOptions): string => `models:
  driving: gpt-5-mini
  work: ${model}
${typeof permissions === "string" ? "" : `permissions: ${JSON.stringify(permissions)}`}
limits:
  turnMinutes: 1
tasks:
  leak:
    model: { category: work }
    requireUserInput: true
    prompt: Show $user-input.
    criteria:
      toolExecuted: [job_prepare_document]
      failureAction: { retryTimes: 0 }
jobs:
  leak:
    work: { kind: Ref, taskId: leak }
`;

interface Stage {
  readonly scene: Omit<Scene, "pid">;
  readonly environment: Canaries;
  readonly planted: readonly Planted[];
  readonly folders: readonly string[];
}

async function makeStage(test: Pick<TestContext, "after">): Promise<Stage> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "test-agent-jobs-canary-")));
  test.after(() => rm(root, { recursive: true, force: true, maxRetries: 5 }));
  const folders = ["checkout", "home", "runner-temp", "tmp", "out"].map((name) => join(root, name));
  for (const folder of folders) await mkdir(folder);
  const [checkout = "", home = "", runnerTemp = "", temporary = ""] = folders;
  const planted = [
    await plantHome(home),
    await plantCheckout(checkout),
    await plantRunnerTemp(runnerTemp),
  ];
  const environment = new Map([...environmentCanaries(), [inputToken, installationToken()]]);
  const scene = { checkout, home, runnerTemp, temporary, providerKey: `key-${randomText()}` };
  return { scene, environment, planted, folders };
}

function randomText(): string {
  return Array.from({ length: 4 }, () => Math.random().toString(36).slice(2, 12)).join("/+");
}

type Started = {
  readonly pid: number;
  readonly ended: Promise<{ code: number | null; stdout: string; stderr: string }>;
  readonly step?: Promise<StepResult>;
};

type Start = (
  stage: Stage,
  baseUrl: string,
  environment: Readonly<Record<string, string>>,
) => Promise<Started>;

export function runCliWithCanaries(test: TestContext, given: CanaryOptions): Promise<CanaryRun> {
  const options = { ...given, permissions: unconfined(given.permissions) };
  return runWithCanaries(test, options, (stage, baseUrl, environment) => {
    const access = options.access ?? ((url: string) => ["--provider-base-url", url]);
    const args = [
      "run",
      "entry.yml",
      "--user-input=it",
      ...(typeof options.permissions === "string" ? [`--permissions=${options.permissions}`] : []),
      "--journal=../out/journal.jsonl",
      "--record=../out/recording.yml",
      "--verbose",
      ...access(baseUrl),
    ];
    const child = startCli(args, {
      cwd: stage.scene.checkout,
      env: { ...environment, AGENT_JOBS_PROVIDER_API_KEY: stage.scene.providerKey, ...options.env },
    });
    return Promise.resolve(child);
  });
}

/** `main`: the bundle. */
export function runStepWithCanaries(
  test: TestContext,
  given: CanaryOptions & { readonly main: string },
): Promise<CanaryRun> {
  const options = { ...given, permissions: unconfined(given.permissions) };
  return runWithCanaries(test, options, async (stage, baseUrl, environment) => {
    const step = await startStep(test, {
      workspace: stage.scene.checkout,
      main: options.main,
      env: {
        ...environment,
        RUNNER_TEMP: stage.scene.runnerTemp,
        AGENT_JOBS_RUNTIME_PATH: findRuntime({ environment: {} }),
        ...options.env,
      },
      inputs: {
        entry: "entry.yml",
        "user-input": "it",
        permissions: typeof options.permissions === "string" ? options.permissions : "",
        "output-dir": "out",
        "provider-base-url": baseUrl,
        "provider-api-key": stage.scene.providerKey,
        "github-token": stage.environment.get(inputToken) ?? "",
      },
    });
    const ended = step.ended.then(({ code, raw }) => ({
      code,
      // The runner takes these lines out: they are how it learns what to mask.
      stdout: raw.replaceAll(/^::add-mask::.*$/gm, ""),
      stderr: "",
    }));
    return { pid: step.pid, ended, step: step.ended };
  });
}

async function runWithCanaries(
  test: TestContext,
  options: CanaryOptions,
  start: Start,
): Promise<CanaryRun> {
  const stage = await makeStage(test);
  const { scene, folders } = stage;
  const { checkout, home, temporary } = scene;
  const out = folders.at(-1) ?? "";
  const held: Canaries = new Map([...stage.environment, ["provider key", scene.providerKey]]);
  const files: Canaries = new Map(stage.planted.flatMap(({ canaries }) => [...canaries]));
  const searchHeld = searchFor(held);
  const searchFiles = searchFor(files);
  const onDisk: Sighting[] = [];
  const plantedFiles = new Set(stage.planted.flatMap((planted) => planted.files));
  const sweep = (when: string): void => {
    for (const folder of folders) {
      for (const [path, content] of filesBelow(folder, plantedFiles)) {
        note(onDisk, `${when}: ${path}`, searchHeld.find(content));
      }
    }
  };
  let pid = 0;
  const server = await modelServer(test, (request) => {
    sweep(`request ${request.index}`);
    return options.script(request, { ...scene, pid });
  });
  await writeFile(join(checkout, "entry.yml"), entry(options));
  const { [inputToken]: _, ...named } = variables(stage.environment);
  const environment = {
    ...named,
    HOME: home,
    TMPDIR: temporary,
    SHELL: "/bin/bash",
    NO_PROXY: "127.0.0.1,localhost",
  };
  const started = await start(stage, server.baseUrl, environment);
  ({ pid } = started);
  const processes = new Set<string>();
  const watch = setInterval(() => look(pid, processes), 50);
  const { code, stdout, stderr } = await started.ended.finally(() => clearInterval(watch));
  sweep("at the end");
  const step = await started.step;
  const read = (name: string): string =>
    readText(join(out, name)) || readText(join(checkout, "out", name));
  const outgoing: readonly (readonly [string, string])[] = [
    ["stdout", stdout],
    ["stderr", stderr],
    ["outputs", JSON.stringify(step?.outputs ?? {})],
    ["state", JSON.stringify(step?.state ?? {})],
    ["summary", step?.summary ?? ""],
    ["journal", read("journal.jsonl")],
    ["recording", read("recording.yml")],
  ];
  const sightings = (
    texts: readonly (readonly [string, string])[],
    find: (text: string) => readonly string[],
  ): Sighting[] => {
    const found: Sighting[] = [];
    for (const [where, text] of texts) note(found, where, find(text));
    return found;
  };
  const all = (text: string): string[] => [...searchHeld.find(text), ...searchFiles.find(text)];
  return {
    code,
    stdout,
    stderr,
    requests: server.requests,
    step,
    journal: read("journal.jsonl"),
    recording: read("recording.yml"),
    processes: [...processes],
    said: sightings(outgoing, searchHeld.find),
    saidOfFiles: sightings(outgoing, searchFiles.find),
    onDisk,
    inProcesses: sightings(
      Array.from(processes, (text) => [text.slice(0, 60), text] as const),
      all,
    ),
    toModel: sightings(server.requests.map(sentText), all),
  };
}

/** Nothing of ours has left the process, but for what the model was sent. */
export function assertSilent({ said, onDisk, inProcesses }: CanaryRun): void {
  assert.deepEqual({ said, onDisk, inProcesses }, { said: [], onDisk: [], inProcesses: [] });
}

/** A request without the one header that the key belongs in. */
function sentText(request: RecordedRequest): readonly [string, string] {
  const { authorization: _, ...headers } = request.headers;
  return [
    `request ${request.index}`,
    `${request.path}\n${JSON.stringify(headers)}\n${JSON.stringify(request.body)}`,
  ];
}

function note(found: Sighting[], where: string, places: readonly string[]): void {
  if (places.length > 0) found.push({ where, places });
}

function* filesBelow(
  folder: string,
  except: ReadonlySet<string>,
): Generator<readonly [path: string, content: string]> {
  for (const item of entries(folder)) {
    const path = join(folder, item.name);
    if (except.has(path)) continue;
    yield [path, item.name];
    if (item.isDirectory()) yield* filesBelow(path, except);
    else if (item.isFile()) yield [path, readText(path)];
  }
}

function entries(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // It has just been removed.
    return [];
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

/** The pids below `root`, without itself. */
export function descendants(root: number): number[] {
  return entries(`/proc/${root}/task`)
    .flatMap(({ name }) => readText(`/proc/${root}/task/${name}/children`).match(/\d+/g) ?? [])
    .flatMap((child) => [Number(child), ...descendants(Number(child))]);
}

function look(root: number, seen: Set<string>): void {
  const own = readText(`/proc/${root}/cmdline`);
  for (const pid of descendants(root)) {
    const command = readText(`/proc/${pid}/cmdline`);
    const environment = readText(`/proc/${pid}/environ`);
    // A child has our environment and arguments until it has become another program.
    if (environment === "" || command === own) continue;
    seen.add(`${command}\n${environment}`.replaceAll("\0", "\n"));
  }
}

/** A model that makes one call after the other and then says `text`. */
export function sequence(
  { toolResults }: RecordedRequest,
  calls: readonly ScriptedCall[],
  last: (results: readonly string[]) => Reply,
): Reply {
  const call = calls[toolResults.length];
  return call === undefined ? last(toolResults) : { toolCalls: [call] };
}
