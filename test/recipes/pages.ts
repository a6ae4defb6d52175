/** The workflows that people copy: those of the pages and of `examples/`, and the agents' own ones of this repository. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { parseDocument } from "yaml";
import { actions, type Mode } from "../../src/action/actions.ts";

export const root = new URL("../../../", import.meta.url);

export const templates = ["review", "fix-ci", "nightly", "triage", "release-notes"] as const;

export interface Recipe {
  /** The page, and the name of the workflow or else its place on the page. */
  readonly title: string;
  /** `README.md`, `examples/github/rehearse.yml`, `.github/workflows/agent-review.yml`… */
  readonly file: string;
  readonly text: string;
  readonly workflow: Fields;
}

export type Fields = Readonly<Record<string, unknown>>;

export function recipes(): readonly Recipe[] {
  const pages = ["README.md", ...namesOf("docs/", /\.md$/)];
  const files = [
    ...namesOf("examples/github/", /\.yml$/),
    ...templates.map((name) => `examples/${name}/agent-${name}.yml`),
    ...namesOf(".github/workflows/", /^agent-.*\.ya?ml$/),
  ];
  return [
    ...pages.flatMap((file) => yamlBlocks(read(file)).flatMap((text) => recipe(file, text))),
    ...files.flatMap((file) => recipe(file, read(file))),
  ];
}

/** Played in a repository of its own, into which `agent-jobs init` has written. */
export function isTemplate({ file }: Recipe): boolean {
  return /^examples\/[\w-]+\/agent-/.test(file);
}

/** A workflow of this repository. */
export function workflowOf(name: string): Recipe {
  const file = `.github/workflows/${name}`;
  const [found] = recipe(file, read(file));
  assert.ok(found !== undefined, file);
  return found;
}

export function read(name: string): string {
  return readFileSync(new URL(name, root), "utf8");
}

export function namesOf(folder: string, pattern: RegExp): string[] {
  return readdirSync(new URL(folder, root))
    .filter((name) => pattern.test(name))
    .map((name) => `${folder}${name}`);
}

/** Fenced blocks, also inside of lists; fences longer than three are no YAML of ours. */
function yamlBlocks(page: string): string[] {
  const blocks = page.matchAll(/^( *)```ya?ml[^\n]*\n(.*?)^\1```$/gms);
  return [...blocks].map(([, indent = "", text = ""]) =>
    text.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
  );
}

/** Nothing for a block that is no workflow: an entry, a rehearsal, a part of either. */
export function recipe(file: string, text: string): Recipe[] {
  const document = parseDocument(text);
  assert.deepEqual(document.errors, [], `${file}:\n${text}`);
  const value: unknown = document.toJS();
  if (typeof value !== "object" || value === null) return [];
  const workflow = fields(value);
  const isWorkflow =
    "on" in workflow ||
    Object.values(optional(workflow["jobs"])).some((job) => "steps" in optional(job));
  if (!isWorkflow) return [];
  const name = typeof workflow["name"] === "string" ? workflow["name"] : "without a name";
  return [{ title: `${file}: ${name}`, file, text, workflow }];
}

export function fields(value: unknown): Fields {
  assert.ok(typeof value === "object" && value !== null, JSON.stringify(value));
  return { ...value };
}

/** The fields of something that may be absent, or a text. */
export function optional(value: unknown): Fields {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

export function list(value: unknown): readonly unknown[] {
  assert.ok(Array.isArray(value), JSON.stringify(value));
  return value;
}

/** The names of the events that start it. */
export function triggersOf({ workflow }: Recipe): readonly string[] {
  const on = workflow["on"];
  return typeof on === "string"
    ? [on]
    : Array.isArray(on)
      ? on.map(String)
      : Object.keys(fields(on));
}

export interface Job {
  readonly id: string;
  readonly job: Fields;
  readonly steps: readonly Fields[];
}

export function jobsOf({ workflow }: Recipe): readonly Job[] {
  return Object.entries(fields(workflow["jobs"])).map(([id, value]) => {
    const job = fields(value);
    return { id, job, steps: list(job["steps"]).map(fields) };
  });
}

/** The steps that run this action or one of its sisters, with their inputs. */
export function agentSteps(recipe: Recipe): readonly Fields[] {
  return jobsOf(recipe)
    .flatMap(({ steps }) => steps)
    .filter(({ uses }) => isThisAction(uses))
    .map((step) => optional(step["with"]));
}

export function isThisAction(uses: unknown): boolean {
  return modeOf(uses) !== undefined;
}

/** Which of the actions a step uses, from this repository, from a checkout of it, or by the name that users give. */
export function modeOf(uses: unknown): Mode | undefined {
  const [, slug = ""] = /github\.com\/(.+)\.git"/.exec(read("package.json")) ?? [];
  const [, sister = "run"] = new RegExp(
    `^(?:\\.|\\./\\.agent-jobs-action|${slug})(?:/(\\w+|))?(?:@.*)?$`,
  ).exec(typeof uses === "string" ? uses : "?") ?? [undefined, "none"];
  const mode = sister === "" ? "run" : sister;
  return isMode(mode) ? mode : undefined;
}

function isMode(name: string): name is Mode {
  return Object.hasOwn(actions, name);
}
