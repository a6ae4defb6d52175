/** A model that tries one tool call after the other, on the real runtime, in a repository with links to the outside. */
import assert from "node:assert/strict";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import type { Permissions } from "../../src/entry/model.ts";
import type { ScriptedCall } from "../rig/model-server.ts";
import { makeRepository, makeWorkspace } from "../rig/workspace.ts";
import { completed, makeRig, turn } from "./rig.ts";
import type { Rig, Run } from "./rig.ts";

export const secret = "OUTSIDE-SECRET";

const scripts = new Map<string, readonly ScriptedCall[]>();

/** A model that makes one call after the other, then says what it is asked to. */
export async function attempts(
  rig: Rig,
  permissions: Permissions,
  calls: readonly ScriptedCall[],
  modelId = "claude-test",
): Promise<{ run: Run; results: string[] }> {
  const session = await rig.open({ permissions, modelId });
  const prompt = `script ${scripts.size}`;
  scripts.set(prompt, calls);
  const run = await turn(session, prompt);
  assert.equal(completed(run).text, "The end.", "the turn goes on after denials");
  await session.close();
  const last = rig.server.requests.findLast((request) => request.prompt === prompt);
  return { run, results: [...(last?.toolResults ?? [])] };
}

export async function makeAttemptRig(
  t: Parameters<typeof makeRig>[0],
): Promise<Rig & { outside: string }> {
  const outside = await makeWorkspace(t, { "secret.txt": `${secret}\n` });
  const workspace = await makeRepository(t, {
    "inside.txt": "inside\n",
    "sub/deep.txt": "deep\n",
    "private/key.txt": "PRIVATE-KEY\n",
  });
  await symlink(outside.path, join(workspace.path, "linked-folder"));
  await symlink(join(outside.path, "not-yet.txt"), join(workspace.path, "dangling"));
  await symlink(join(outside.path, "secret.txt"), join(workspace.path, "linked-file"));
  const rig = await makeRig(
    t,
    ({ prompt, toolResults }) => {
      const call = scripts.get(prompt)?.[toolResults.length];
      return call === undefined ? { text: "The end." } : { toolCalls: [call] };
    },
    { workspace },
  );
  return { ...rig, outside: outside.path };
}

export const view = (path: string): ScriptedCall => ({ name: "view", arguments: { path } });

export const create = (path: string): ScriptedCall => ({
  name: "create",
  arguments: { path, file_text: "new" },
});

export function patch(body: string): ScriptedCall {
  return { name: "apply_patch", arguments: `*** Begin Patch\n${body}\n*** End Patch` };
}
