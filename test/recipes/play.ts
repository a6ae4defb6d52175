/**
 * Plays a workflow as GitHub would: jobs in the order of their needs, steps with their conditions, the contexts
 * and the files of a step. Scripts run in the real bash, agent-jobs runs in this process or as its bundle, git is
 * real; what of the actions of others the recipes use is played here. Whatever it does not know is an error.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { TestContext } from "node:test";
import { promisify } from "node:util";
import picomatch from "picomatch";
import { parse } from "yaml";
import { actions, inputName, type Mode } from "../../src/action/actions.ts";
import { parseFileCommand, runBundledStep, runStep, type StepResult } from "../rig/runner.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { checkOut } from "./checkout.ts";
import { holds, interpolate, type Contexts, type Status } from "./expressions.ts";
import { fields, modeOf, jobsOf, list, optional, read, type Fields, type Recipe } from "./pages.ts";

export interface World {
  readonly event: string;
  readonly actor: string;
  readonly payload: object;
  /** The repository on the server. */
  readonly url: string;
  readonly ref: string;
  readonly sha: string;
  readonly runId?: string;
  readonly headRef?: string;
  /** The folder of the artifacts. */
  readonly artifacts: string;
  readonly apiUrl: string;
  /** Called with the folder of each job before its first step. */
  onWorkspace?(folder: string): void;
  readonly called?: Readonly<Record<string, unknown>>;
  /** Over the secrets of the repository. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** Which attempt of the workflow run it is. */
  readonly attempt?: number;
  /** Called for each job that is about to run; one leg of a matrix after the other. */
  readonly before?: (id: string, leg: number) => Promise<void> | void;
  readonly job?: string;
  /** Over the inputs of every step that runs agent-jobs: the model server of the test. */
  readonly inputs: Readonly<Record<string, string>>;
  /** Whether agent-jobs runs as the bundle, in a process of its own. */
  readonly isBundled?: true;
  /** Over the environment of the steps that run agent-jobs. */
  readonly stepEnv?: Readonly<Record<string, string>>;
  /** Over the environment of the scripts. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface PlayedJob {
  readonly result: "success" | "failure" | "skipped";
  readonly outputs: Readonly<Record<string, string>>;
  readonly agents: readonly StepResult[];
  /** The folder of the job; empty if it was skipped. */
  readonly workspace: string;
  readonly log: string;
}

type Played = Record<string, PlayedJob>;

export async function play(
  test: Pick<TestContext, "after">,
  recipe: Recipe,
  world: World,
): Promise<Readonly<Record<string, PlayedJob>>> {
  const played: Played = {};
  for (const { id, job } of jobsOf(recipe)) {
    const needed = [job["needs"] ?? []].flat().map(String);
    assert.ok(
      needed.every((name) => name in played),
      "jobs stand in the order of their needs",
    );
    const needs = Object.fromEntries(needed.map((name) => [name, played[name]]));
    const contexts: Contexts = { ...contextsOf(recipe, world), needs };
    const { strategy, ...rest } = job;
    const legs: PlayedJob[] = [];
    for (const matrix of legsOf(optional(strategy), contexts)) {
      await world.before?.(id, legs.length);
      const given = { ...contexts, matrix };
      legs.push(await playJob(test, rest, given, { ...world, job: id }));
    }
    played[id] = together(legs);
  }
  return played;
}

/** One for a job without a matrix. */
function legsOf(strategy: Fields, contexts: Contexts): readonly unknown[] {
  const { matrix } = strategy;
  if (matrix === undefined) return [null];
  assert.ok(typeof matrix === "string", "only a matrix of an expression is played here");
  // An object as text is not JSON, unlike the argument of fromJSON.
  const argument = matrix.replace(/fromJSON\((.*)\)/, "$1");
  const text = interpolate(argument, contexts, { failed: false, cancelled: false });
  return text === "" ? [null] : list(fields(parse(text))["include"]);
}

function together(legs: readonly PlayedJob[]): PlayedJob {
  const [first] = legs;
  assert.ok(first !== undefined, "a matrix has a leg at least");
  const failed = legs.find(({ result }) => result === "failure");
  return { ...(failed ?? first), agents: legs.flatMap(({ agents }) => agents) };
}

function nameOf(ref: string): string {
  return ref.replace(/^refs\/(?:heads|tags|pull)\//, "");
}

function contextsOf({ workflow }: Recipe, world: World): Contexts {
  const { event, actor, payload, ref, sha, headRef, apiUrl } = world;
  return {
    github: {
      event_name: event,
      actor,
      ref,
      ref_name: nameOf(ref),
      sha,
      head_ref: headRef ?? "",
      repository: "octo/shop",
      token: "ghs_0123456789abcdef",
      api_url: apiUrl,
      event: payload,
    },
    job: { workflow_repository: "org/agent-jobs", workflow_sha: "a".repeat(40) },
    inputs:
      world.called === undefined
        ? optional(fields(payload)["inputs"])
        : { ...presets(optional(workflow["on"])["workflow_call"]), ...world.called },
    secrets: {
      MODELS_KEY: "key-0123456789",
      "provider-api-key": "key-0123456789",
      ...world.secrets,
    },
  };
}

const jobKeys = new Set(
  "if needs runs-on timeout-minutes permissions environment outputs env steps".split(" "),
);

async function playJob(
  test: Pick<TestContext, "after">,
  job: Fields,
  contexts: Contexts,
  world: World,
): Promise<PlayedJob> {
  const needs = Object.values(optional(contexts["needs"])).map(optional);
  const status = { failed: needs.some(({ result }) => result !== "success"), cancelled: false };
  if (!holds(job["if"], contexts, status)) {
    return { result: "skipped", outputs: {}, agents: [], workspace: "", log: "" };
  }
  assert.deepEqual(
    Object.keys(job).filter((key) => !jobKeys.has(key)),
    [],
    "not played here",
  );
  const { path } = await makeWorkspace(test);
  const workspace = join(path, "workspace");
  await mkdir(workspace);
  world.onWorkspace?.(workspace);
  const temporary = join(path, "temp");
  await mkdir(temporary);
  const running = new RunningJob(test, world, workspace, temporary, optional(job["env"]));
  for (const step of list(job["steps"]).map(fields)) await running.step(step, contexts);
  const given = { ...contexts, steps: running.steps };
  // The runner hands no output of a job on that holds what a step has masked.
  const masked = running.agents.flatMap(({ commands }) =>
    commands.flatMap(({ name, message }) => (name === "add-mask" ? [message] : [])),
  );
  const outputs = Object.entries(optional(job["outputs"]))
    .map(([name, text]) => [name, interpolate(String(text), given, running.status)] as const)
    .filter(([, text]) => !masked.some((secret) => secret !== "" && text.includes(secret)));
  return {
    result: running.status.failed ? "failure" : "success",
    outputs: Object.fromEntries(outputs),
    agents: running.agents,
    workspace,
    log: running.log,
  };
}

interface Ended {
  readonly passed: boolean;
  readonly outputs: Readonly<Record<string, string>>;
}

class RunningJob {
  readonly steps: Record<string, unknown> = {};
  readonly agents: StepResult[] = [];
  status: Status = { failed: false, cancelled: false };
  log = "";
  readonly #test: Pick<TestContext, "after">;
  readonly #world: World;
  readonly #workspace: string;
  readonly #temporary: string;
  readonly #env: Fields;
  /** What steps have written to `GITHUB_ENV`. */
  readonly #exported: Record<string, string> = {};

  constructor(
    test: Pick<TestContext, "after">,
    world: World,
    workspace: string,
    temporary: string,
    env: Fields,
  ) {
    this.#env = env;
    this.#test = test;
    this.#world = world;
    this.#workspace = workspace;
    this.#temporary = temporary;
  }

  async step(step: Fields, needed: Contexts): Promise<void> {
    const contexts = { ...needed, steps: this.steps, runner: { temp: this.#temporary } };
    if (!holds(step["if"], contexts, this.status)) return;
    const text = (value: unknown): string => interpolate(String(value), contexts, this.status);
    const texts = (value: unknown): Record<string, string> =>
      Object.fromEntries(Object.entries(optional(value)).map(([name, one]) => [name, text(one)]));
    const { passed, outputs } = await this.#run(step, texts);
    const outcome = passed ? "success" : "failure";
    if (!passed) this.status = { ...this.status, failed: true };
    if (typeof step["id"] === "string") this.steps[step["id"]] = { outputs, outcome };
  }

  async #run(step: Fields, texts: (value: unknown) => Record<string, string>): Promise<Ended> {
    const env = { ...texts(this.#env), ...this.#exported, ...texts(step["env"]) };
    const { uses, run } = step;
    if (typeof run === "string") return this.#script(run, env);
    assert.ok(typeof uses === "string");
    const mode = modeOf(uses);
    if (mode !== undefined)
      return this.#agents(mode, texts({ ...defaults(mode), ...optional(step["with"]) }), env);
    const inputs = texts(step["with"]);
    const [action = ""] = uses.split("@");
    switch (action) {
      case "actions/checkout": {
        // The actions of a called workflow are those of this repository.
        if (inputs["path"] === ".agent-jobs-action") return { passed: true, outputs: {} };
        const { url, ref, sha } = this.#world;
        await checkOut(inputs, { workspace: this.#workspace, url, ref, sha });
        return { passed: true, outputs: {} };
      }
      case "actions/setup-node":
        return { passed: true, outputs: {} };
      case "actions/upload-artifact":
      case "actions/download-artifact":
        await this.#artifact(action, inputs);
        return { passed: true, outputs: {} };
      default:
        assert.ok(uses.startsWith("./"), `The action ${action} is not played here.`);
        return this.#composite(uses, texts);
    }
  }

  /** An action of the checkout. */
  async #composite(
    path: string,
    texts: (value: unknown) => Record<string, string>,
  ): Promise<Ended> {
    const text = await readFile(join(this.#workspace, path, "action.yml"), "utf8");
    const runs = fields(fields(parse(text))["runs"]);
    assert.equal(runs["using"], "composite");
    for (const step of list(runs["steps"]).map(fields))
      if (!(await this.#run(step, texts)).passed) return { passed: false, outputs: {} };
    return { passed: true, outputs: {} };
  }

  async #agents(
    mode: Mode,
    inputs: Readonly<Record<string, string>>,
    env: Readonly<Record<string, string>>,
  ): Promise<Ended> {
    const { event, actor, payload, sha, ref, apiUrl, runId, attempt, job, isBundled } = this.#world;
    const eventPath = join(this.#temporary, "event.json");
    await writeFile(eventPath, JSON.stringify(payload));
    const result = await (isBundled === true ? runBundledStep : runStep)(this.#test, {
      workspace: this.#workspace,
      mode,
      inputs: { ...inputs, ...this.#serverInputs(mode) },
      apiUrl,
      env: {
        GITHUB_EVENT_NAME: event,
        GITHUB_EVENT_PATH: eventPath,
        GITHUB_ACTOR: actor,
        GITHUB_SHA: sha,
        GITHUB_REF: ref,
        RUNNER_TEMP: this.#temporary,
        ...(runId !== undefined && { GITHUB_RUN_ID: runId }),
        ...(attempt !== undefined && { GITHUB_RUN_ATTEMPT: String(attempt) }),
        ...(job !== undefined && { GITHUB_JOB: job }),
        ...env,
        ...this.#serverVariables(mode),
        ...this.#world.stepEnv,
      },
    });
    this.agents.push(result);
    return { passed: result.code === 0, outputs: result.outputs };
  }

  /** A rehearsal asks nobody, and a sister finds the model server in the environment. */
  #serverInputs(mode: Mode): Readonly<Record<string, string>> {
    const { inputs } = this.#world;
    const names: readonly string[] = actions[mode].inputs;
    const declared = names.map((field) => inputName(field));
    return mode === "rehearse"
      ? {}
      : Object.fromEntries(Object.entries(inputs).filter(([name]) => declared.includes(name)));
  }

  #serverVariables(mode: Mode): Readonly<Record<string, string>> {
    const { "provider-base-url": url } = this.#world.inputs;
    return mode === "run" || mode === "rehearse" || url === undefined
      ? {}
      : { AGENT_JOBS_PROVIDER_BASE_URL: url };
  }

  /** Files by the name of their artifact; those of a pattern each in a folder of its own. */
  async #artifact(
    action: string,
    { name = "", pattern, path = "" }: Readonly<Record<string, string>>,
  ): Promise<void> {
    const { artifacts } = this.#world;
    if (action === "actions/upload-artifact") {
      for (const one of path
        .trim()
        .split("\n")
        .map((line) => line.trim())) {
        const at = resolve(this.#workspace, one);
        await copyFiles(dirname(at), join(artifacts, name), [basename(at)]);
      }
      return;
    }
    const to = resolve(this.#workspace, path);
    if (pattern === undefined) return copyFiles(join(artifacts, name), to, ["*"]);
    for (const found of await readdir(artifacts))
      if (picomatch.isMatch(found, pattern))
        await copyFiles(join(artifacts, found), join(to, found), ["*"]);
  }

  async #script(script: string, env: Readonly<Record<string, string>>): Promise<Ended> {
    const file = join(this.#temporary, "script.sh");
    const output = join(this.#temporary, "output");
    const exported = join(this.#temporary, "env");
    await writeFile(file, script);
    await writeFile(output, "");
    await writeFile(exported, "");
    const { PATH = "", HOME = "" } = process.env;
    try {
      const { stdout, stderr } = await promisify(execFile)("bash", ["-e", file], {
        cwd: this.#workspace,
        env: {
          PATH,
          HOME,
          GITHUB_ACTIONS: "true",
          GITHUB_ENV: exported,
          GITHUB_OUTPUT: output,
          GITHUB_REPOSITORY: "octo/shop",
          GITHUB_REF_NAME: nameOf(this.#world.ref),
          GITHUB_REF_TYPE: this.#world.ref.startsWith("refs/tags/") ? "tag" : "branch",
          GITHUB_SHA: this.#world.sha,
          RUNNER_TEMP: this.#temporary,
          ...env,
          ...this.#world.env,
        },
      });
      this.log += stdout + stderr;
      Object.assign(this.#exported, parseFileCommand(await readFile(exported, "utf8")));
      return { passed: true, outputs: parseFileCommand(await readFile(output, "utf8")) };
    } catch (error) {
      this.log += [optional(error)["stdout"], error].map(String).join("");
      return { passed: false, outputs: {} };
    }
  }
}

async function copyFiles(from: string, to: string, patterns: readonly string[]): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const file of await readdir(from, { withFileTypes: true }))
    if (file.isFile() && patterns.some((pattern) => picomatch.isMatch(file.name, pattern)))
      await copyFile(join(from, file.name), join(to, file.name));
}

/** The inputs that action.yml fills in. */
function defaults(mode: Mode): Fields {
  return presets(parse(read(mode === "run" ? "action.yml" : `${mode}/action.yml`)));
}

function presets(declared: unknown): Fields {
  const inputs = Object.entries(fields(fields(declared)["inputs"]));
  return Object.fromEntries(inputs.map(([name, input]) => [name, fields(input)["default"] ?? ""]));
}
