/** Shared by the tests of whole steps: an entry with a rehearsal, and a model server that nobody may ask. */
import assert from "node:assert/strict";
import type { Mode } from "../../src/action/actions.ts";
import { defined } from "../../src/text/guards.ts";
import { startGithubServer, type GithubServerOptions } from "../rig/github-server.ts";
import { modelServer, type ModelServer, type ScriptedCall } from "../rig/model-server.ts";
import { runStep, type Command, type StepOptions, type StepResult } from "../rig/runner.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";

/** `greet` needs user input, reports a document; the rehearsal answers. */
export const entry = `models:
  driving: gpt-5-mini
  work: gpt-5
tasks:
  greet:
    model: { category: work }
    requireUserInput: true
    prompt: Greet $user-input.
    criteria:
      toolExecuted: [job_prepare_document]
      failureAction: { retryTimes: 0 }
jobs:
  hello:
    work: { kind: Ref, taskId: greet }
`;

const note = (name: string): object => ({ kind: "Run", run: `echo ${name} >> done`, name });

/** An entry that has only commands, which show what is run and need no runtime. */
export const ofCommands = JSON.stringify({
  models: { driving: "m", other: "n" },
  permissions: { preset: "workspace", sandbox: "off" },
  inputs: { topic: { description: "A topic", default: "none" } },
  outputs: { report: { comment: "sticky" } },
  tasks: {},
  jobs: {
    main: { work: [note("list"), { kind: "Par", works: [note("a"), note("b")] }, note("end")] },
  },
});

export const rehearsal = `entry: hello.yml
userInput: a newcomer
sessions:
  - task: greet
    turns:
      - prompt: Greet
        replies:
          - tools:
              - name: job_prepare_document
                arguments: { argument: "docs/greeting.md" }
          - text: "Welcome!"
`;

export const failing = `entry: hello.yml
userInput: a newcomer
sessions:
  - task: greet
    turns:
      - prompt: Greet
        text: "I'd rather not."
`;

export const files = {
  "entries/hello.yml": entry,
  "entries/hello.rehearsal.yml": rehearsal,
  "entries/failing.rehearsal.yml": failing,
};

/** Of the action `rehearse`. */
export const inputs = { files: "entries/hello.rehearsal.yml" };

const modeOf = (given: StepOptions["inputs"]): Mode => ("files" in given ? "rehearse" : "run");

/** A model that calls these tools, one after the other, and ends. */
export function modelCalling(t: Test, ...calls: readonly ScriptedCall[]): Promise<ModelServer> {
  return modelServer(t, ({ toolResults }) => {
    const call = calls[toolResults.length];
    return call === undefined ? { text: "Welcome!" } : { toolCalls: [call] };
  });
}

/** What `greet` has to call. */
export const document: ScriptedCall = {
  name: "job_prepare_document",
  arguments: { argument: "docs/greeting.md" },
};

export type Test = Parameters<typeof runStep>[0];

/** A step in a workspace with `files`, and `added` beside or instead of them. */
export async function playStep(
  t: Test,
  given: StepOptions["inputs"],
  { added = {}, ...options }: PlayOptions = {},
): Promise<StepResult & { readonly workspace: Workspace }> {
  const workspace = await makeWorkspace(t, { ...files, ...added });
  const result = await runStep(t, {
    workspace: workspace.path,
    mode: modeOf(given),
    inputs: given,
    ...options,
  });
  return { ...result, workspace };
}

interface PlayOptions extends Partial<Omit<StepOptions, "workspace" | "inputs" | "main">> {
  readonly added?: Readonly<Record<string, string>>;
}

/** The commands with these names. */
export const named = (
  { commands }: Pick<StepResult, "commands">,
  ...names: string[]
): readonly Command[] => commands.filter(({ name }) => names.includes(name));

/** The rehearsal with another tool call before its last answer. */
export const callingFirst = (name: string, given: object): string => {
  const tools = `          - tools: [{ name: ${name}, arguments: ${JSON.stringify(given)} }]\n`;
  return rehearsal.replace("          - text:", (answer) => `${tools}${answer}`);
};

export interface Tried {
  readonly result: StepResult;
  /** The paths of the requests to GitHub. */
  readonly asked: readonly string[];
  /** With which tokens. */
  readonly tokens: readonly string[];
  readonly modelRequests: number;
  /** The prompts that the model got. */
  readonly prompts: readonly string[];
  /** Whole requests to the model, as JSON. */
  readonly bodies: readonly string[];
}

/** The event, with a model and a key that are ready to be used. */
export async function tryEvent(
  t: Test,
  event: string,
  {
    github = {},
    given = {},
    env = {},
    workspace,
    checkedOut,
    calls = [],
  }: {
    readonly github?: GithubServerOptions;
    readonly given?: StepOptions["inputs"];
    readonly env?: Readonly<Record<string, string>>;
    readonly workspace?: Workspace;
    readonly checkedOut?: false;
    readonly calls?: readonly ScriptedCall[];
  } = {},
): Promise<Tried> {
  // Whatever reaches it is a session that should not have been.
  const model = await modelCalling(t, ...calls);
  const api = await startGithubServer(t, github);
  const { path } = workspace ?? (await makeWorkspace(t, files));
  const live = {
    ...("prompt" in given ? {} : { entry: "entries/hello.yml", "user-input": "you" }),
    "github-token": "ghs_0123456789abcdef",
    "provider-base-url": model.baseUrl,
    "provider-api-key": "key-0123456789",
  };
  const mode = modeOf(given);
  const result = await runStep(t, {
    workspace: path,
    event,
    apiUrl: api.url,
    mode,
    inputs: { ...(mode === "run" && live), ...given },
    env,
    ...defined({ checkedOut }),
  });
  return {
    result,
    asked: api.requests.map((request) => request.path),
    tokens: api.requests.map(({ authorization }) => authorization),
    modelRequests: model.requests.length,
    prompts: model.requests.map(({ prompt }) => prompt),
    bodies: model.requests.map(({ body }) => JSON.stringify(body)),
  };
}

export function assertNothingRan(
  { result, modelRequests }: Tried,
  outcome: "failure" | "skipped",
): void {
  assert.equal(result.code, outcome === "failure" ? 1 : 0, result.raw);
  assert.equal(result.outputs["result"], outcome);
  assert.notEqual(result.outputs["reason"], "");
  assert.equal(modelRequests, 0);
  assert.doesNotMatch(result.raw, /Copilot runtime:/);
  assert.match(result.summary, new RegExp(`^## agent-jobs: ${outcome}`));
  const level = outcome === "failure" ? "error" : "notice";
  assert.deepEqual(
    named(result, "error", "warning", "notice").map(({ name, message }) => [name, message]),
    [[level, result.outputs["reason"]]],
  );
}
