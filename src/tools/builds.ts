/** A build succeeds once for a key and hash; those of the same key never run at once; a call that is canceled stops waiting, and the build goes on for others. */
import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { defined } from "../text/guards.ts";
import type { ToolBuild } from "../entry/model.ts";
import { isUnder } from "../permissions/paths.ts";
import type { Clock } from "../platform/clock.ts";
import { openJudged } from "../platform/files.ts";
import { errorMessage } from "../platform/system-error.ts";
import { startTimeLimit, unlessAborted } from "../platform/waiting.ts";
import { truncate } from "../text/truncate.ts";
import { matchingFiles } from "./matching-files.ts";
import { type Program, type Programs, canceled, failureOf, withTail } from "./tool-programs.ts";
import { failed, type CallContext, type ToolFailure, type ToolOutcome } from "./tool.ts";
import type { Diagnostic } from "../document/diagnostic.ts";
import { readDocument } from "../document/read-document.ts";
import { schemaCheck } from "../document/schema-check.ts";
import { object } from "../entry/schema-parts.ts";

export interface BuildPlan {
  readonly tool: string;
  readonly key: string;
  /** Changes when it has to be built again. Reads files. Default: the key. */
  readonly hash?: (signal: AbortSignal) => Promise<string | ToolFailure>;
  readonly steps: readonly Program[];
  readonly minutes?: number | undefined;
}

const defaultMinutes = 10;

interface RunningBuild {
  readonly hash: string;
  readonly ended: Promise<ToolOutcome | undefined>;
}

export class Builds {
  readonly #programs: Programs;
  readonly #clock: Clock;
  readonly #built = new Map<string, string>();
  readonly #running = new Map<string, RunningBuild>();

  constructor(programs: Programs) {
    this.#programs = programs;
    this.#clock = programs.options.clock;
  }

  /** Undefined: the tool can be called. Its time is no part of the call's time limit. */
  async prepare(plan: BuildPlan, context: CallContext): Promise<ToolOutcome | undefined> {
    const resume = context.pauseTimeLimit?.();
    try {
      return await this.#prepare(plan, context);
    } finally {
      resume?.();
    }
  }

  async #prepare(plan: BuildPlan, context: CallContext): Promise<ToolOutcome | undefined> {
    for (;;) {
      const hash = (await plan.hash?.(context.signal)) ?? plan.key;
      if (context.signal.aborted) return canceled;
      if (typeof hash !== "string") return hash;
      if (this.#built.get(plan.key) === hash) return undefined;
      const build = this.#running.get(plan.key) ?? this.#start(plan, hash, context);
      const command = plan.steps[0]?.command.join(" ") ?? "";
      context.onProgress({ message: `Building ${plan.tool}: ${truncate(command, 200, "…")}` });
      const ended = await unlessAborted(build.ended, context.signal);
      if (ended === undefined) return canceled;
      if (build.hash === hash) return ended.value;
    }
  }

  /** Only the call that starts it gets progress. */
  #start(plan: BuildPlan, hash: string, context: CallContext): RunningBuild {
    const run = async (): Promise<ToolOutcome | undefined> => {
      const fail = (error: unknown): ToolOutcome => failed(errorMessage(error));
      const outcome = await this.#run(plan, context).catch(fail);
      if (outcome === undefined) this.#built.set(plan.key, hash);
      this.#running.delete(plan.key);
      return outcome;
    };
    const build: RunningBuild = { hash, ended: Promise.resolve().then(run) };
    this.#running.set(plan.key, build);
    return build;
  }

  async #run(
    { tool, steps, minutes = defaultMinutes }: BuildPlan,
    { onProgress, confineBuild }: CallContext,
  ): Promise<ToolOutcome | undefined> {
    const limit = startTimeLimit(this.#clock, minutes * 60_000);
    const context: CallContext = {
      signal: limit.signal,
      // A percentage would be that of the build, not of the call.
      onProgress: ({ message }) => onProgress(defined({ message })),
    };
    try {
      const sandbox = await confineBuild?.();
      for (const step of steps) {
        const ended = await this.#programs.run(step, { ...context, sandbox });
        if (limit.isOver) {
          const late = failed(`The build of ${tool} took longer than ${minutes} minutes.`);
          return withTail(late, ended.tail);
        }
        const failure = failureOf(step.command[0] ?? "", ended);
        if (failure !== undefined) {
          const where = sandbox ? " in the sandbox that a build has when agents may write" : "";
          return { ...failure, reason: `The build of ${tool} failed${where}. ${failure.reason}` };
        }
      }
      return undefined;
    } finally {
      limit.end();
    }
  }
}

const mostInputs = 20_000;
const mostNames = 200_000;

export function buildPlan(tool: string, build: ToolBuild, workingDirectory: string): BuildPlan {
  const { command, inputs: globs, minutes } = build;
  const field = `tools.${tool}.build`;
  const hash = async (signal: AbortSignal): Promise<string | ToolFailure> => {
    const bounds = { mostFiles: mostInputs, mostNames };
    const found = await matchingFiles({ folder: workingDirectory, globs, signal, ...bounds });
    if (!found.complete) {
      return failed(
        `${field}.inputs match more than ${mostInputs} files, or take too long to find.`,
      );
    }
    const root = await realpath(workingDirectory);
    const all = createHash("sha256").update(JSON.stringify(command));
    for (const file of found.files) {
      if (signal.aborted) return canceled;
      const content = await contentHash(join(workingDirectory, file), root);
      all.update(JSON.stringify([file, content]));
    }
    return all.digest("hex");
  };
  const step: Program = { command, field: `${field}.command`, result: "none" };
  return { tool, key: JSON.stringify([command, globs]), hash, steps: [step], minutes };
}

/** Undefined for what can't be read, and for what is not in the working directory. */
async function contentHash(path: string, root: string): Promise<string | undefined> {
  const hash = createHash("sha256");
  try {
    const real = await realpath(path);
    const file = isUnder(real, root) ? await openJudged(real) : undefined;
    if (file === undefined) return undefined;
    for await (const piece of file.createReadStream()) hash.update(piece);
  } catch {
    return undefined;
  }
  return hash.digest("hex");
}

export const recipeFile = "build.tool.yml";

export interface Recipe {
  readonly from?: string;
  readonly packages?: readonly string[];
  readonly run?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const defaultImage = "debian:13-slim";

/** A longer line of a Dockerfile is refused by Docker (64 KB), and escaping makes lines longer. */
const longest = 10_000;

const recipeSchema = object(
  {
    from: {
      type: "string",
      pattern: "^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,499}$",
      description: "The name of an image, such as node:24-slim.",
    },
    packages: {
      type: "array",
      maxItems: 500,
      items: {
        type: "string",
        pattern: "^[a-z0-9][a-z0-9+.-]*(?::[a-z0-9]+)?(?:=[A-Za-z0-9.+:~-]+)?$",
      },
      description: "Debian packages.",
    },
    run: {
      type: "array",
      maxItems: 500,
      items: { type: "string", minLength: 1, maxLength: longest, pattern: "^[^\\u0000]*$" },
      description: "Lines for /bin/sh.",
    },
    env: {
      type: "object",
      maxProperties: 500,
      propertyNames: { pattern: "^[A-Za-z_][A-Za-z0-9_]*$" },
      // A Dockerfile has no way to write a line break in a value.
      additionalProperties: {
        type: "string",
        maxLength: longest,
        pattern: "^[^\\u0000-\\u001f\\u007f]*$",
      },
      description: "Variables of the environment.",
    },
  },
  [],
  { title: "Recipe of a tool" },
);

type ReadRecipe =
  | { readonly kind: "read"; readonly recipe: Recipe }
  | { readonly kind: "rejected"; readonly diagnostics: readonly Diagnostic[] };

const check = schemaCheck<Recipe>(recipeSchema, "recipe");

export function readRecipe(source: string | Uint8Array, file: string): ReadRecipe {
  const read = readDocument(source, { file, format: "yaml" });
  if (read.kind === "rejected") return read;
  const { value, locate } = read;
  if (check.accepts(value)) return { kind: "read", recipe: value };
  return { kind: "rejected", diagnostics: check.diagnose(value, { file, locate }).map(inWords) };
}

const meanings: readonly (readonly [field: RegExp, reason: string])[] = [
  [/^recipe\.from$/, "Must be the name of an image, such as node:24-slim."],
  [/^recipe\.packages\[/, "Must be the name of a Debian package, or name=version."],
  [/^recipe\.env\[/, "Must be one line without control characters."],
];

function inWords(diagnostic: Diagnostic): Diagnostic {
  if (!diagnostic.reason.includes("must match pattern")) return diagnostic;
  const meaning = meanings.find(([field]) => field.test(diagnostic.codePath));
  return meaning === undefined ? diagnostic : { ...diagnostic, reason: meaning[1] };
}

export function dockerfileOf(recipe: Recipe): string {
  const { from = defaultImage, packages = [], run = [], env = {} } = recipe;
  const lines = [`FROM ${from}`];
  for (const [name, value] of Object.entries(env))
    lines.push(`ENV ${name}="${value.replaceAll(/["\\$]/g, "\\$&")}"`);
  if (packages.length > 0) {
    lines.push(
      "RUN apt-get update \\",
      " && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \\",
      `    ${packages.join(" ")} \\`,
      " && rm -rf /var/lib/apt/lists/*",
    );
  }
  for (const line of run) {
    const parts = shell(line).map((part) => JSON.stringify(part));
    lines.push(`RUN [${parts.join(", ")}]`);
  }
  return `${lines.join("\n")}\n`;
}

/** Docker takes the texts of a list literally: no variables, options, continuations or here-documents. */
function shell(line: string): readonly string[] {
  return ["/bin/sh", "-ec", line];
}

export function imageOf(dockerfile: string): string {
  return `agent-jobs-tool:${createHash("sha256").update(dockerfile).digest("hex").slice(0, 32)}`;
}

/** What of a recipe only Docker provides. Undefined: its lines can run here. */
export function needsDocker({ from, packages = [] }: Recipe): string | undefined {
  const needs = [
    ...(from === undefined ? [] : [`the image ${from}`]),
    ...(packages.length === 0 ? [] : [`the packages ${packages.join(", ")}`]),
  ];
  return needs.join(" and ") || undefined;
}

export function commandsOf({ run = [] }: Recipe): readonly (readonly string[])[] {
  return run.map(shell);
}

export function scriptOf(recipe: Recipe): string {
  const variables = Object.entries(recipe.env ?? {});
  const exports = variables.map(([name, value]) => `export ${name}=${singleQuoted(value)}\n`);
  return [...exports, ...commandsOf(recipe).map((command) => `${wordsOf(command)}\n`)].join("");
}

export function wordsOf(command: readonly string[]): string {
  return command.map((text) => (/^[\w./-]+$/.test(text) ? text : singleQuoted(text))).join(" ");
}

function singleQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
