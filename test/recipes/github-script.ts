/** actions/github-script: the script is the body of an async function with these parameters. */
import { getOctokit } from "@actions/github";
import assert from "node:assert/strict";
import type { Fields } from "./pages.ts";

export interface ScriptSetting {
  readonly event: string;
  readonly actor: string;
  readonly payload: object;
  readonly sha: string;
  readonly ref: string;
  readonly apiUrl: string;
}

export async function runGithubScript(
  { script, ...others }: Fields,
  env: Readonly<Record<string, string>>,
  { event, actor, payload, sha, ref, apiUrl }: ScriptSetting,
): Promise<void> {
  assert.deepEqual(others, {}, "inputs that are not played here");
  const number = "number" in payload ? payload.number : undefined;
  const repo = { owner: "octo", repo: "shop" };
  const context = { eventName: event, actor, payload, sha, ref, repo, issue: { ...repo, number } };
  const said: string[] = [];
  const core = { info: say, notice: say, warning: say, debug: say, setOutput: say };
  function say(text: string): void {
    said.push(text);
  }
  const github = getOctokit("ghs_0123456789abcdef", { baseUrl: apiUrl });
  // eslint-disable-next-line typescript/no-implied-eval -- what the action does, with text of our own pages
  const AsyncFunction: unknown = (async () => undefined).constructor;
  assert.ok(isConstructor(AsyncFunction));
  const body = new AsyncFunction("github", "context", "core", "process", String(script));
  await body(github, context, core, { env });
}

type Constructor = new (...texts: string[]) => (...values: unknown[]) => Promise<unknown>;

function isConstructor(value: unknown): value is Constructor {
  return typeof value === "function";
}
