/** The tools that a session with a list of tools offers, on the real runtime, over its three wire APIs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ownerOf } from "../../src/entry/permissions.ts";
import type { SessionTool } from "../../src/engine/ports.ts";
import { completed, denials, sharedRig, successes, turn } from "./rig.ts";

const stamp: SessionTool = {
  name: "stamp",
  description: "Stamps a form.",
  parameters: { type: "object", properties: {} },
  allowed: "always",
  run: () => ({ succeeded: true, text: "Stamped." }),
};

const systemPrompt = { mode: "replace", text: "You are a clerk." } as const;

for (const wire of ["completions", "responses", "messages"] as const) {
  test(`${wire}: with an empty list, a request has the system prompt and the prompt, and no tools`, async (t) => {
    const rig = await sharedRig(
      t,
      ({ messages }) =>
        messages.at(-1)?.role === "tool"
          ? { text: "Then not." }
          : { toolCalls: [{ name: "job_boolean_true", arguments: { argument: "yes" } }] },
      { wire },
    );
    const session = await rig.open({ availableTools: [], systemPrompt, tools: [stamp] });
    const run = await turn(session, "Hello");
    assert.equal(completed(run).text, "Then not.");
    assert.deepEqual(successes(run), [false]);
    const [first] = rig.server.requests;
    assert.deepEqual(first?.tools, []);
    assert.deepEqual(
      first.messages.map(({ role, content }) => `${role}: ${content.replace(/<.*>\n\n/, "")}`),
      ["system: You are a clerk.", "user: Hello"],
    );
  });
}

test("no tool of an entry can have the name of one that the runtime offers", async (t) => {
  const rig = await sharedRig(t, () => ({ text: "Yes" }));
  completed(await turn(await rig.open({ permissions: "all" }), "Hello"));
  const offered = rig.server.requests.at(-1)?.tools ?? [];
  assert.ok(offered.includes("bash"));
  assert.deepEqual(
    offered.filter((name) => ownerOf(name) === undefined),
    [],
  );
});

test("the listed tools are offered as far as the permissions can allow them, and no others", async (t) => {
  const rig = await sharedRig(t, () => ({ text: "Yes" }));
  const odd = ["nonsense", "", "*", "builtin:*", "custom:*", "mcp:*", "stamp ", "View"];
  const names = ["view", "job_boolean_true", "stamp", "bash", "task", "sql", "view", ...odd];
  const offered = async (
    permissions: "read-only" | "all",
    availableTools: readonly string[],
  ): Promise<readonly string[]> => {
    const session = await rig.open({ permissions, availableTools, tools: [stamp] });
    completed(await turn(session, "Hello"));
    return (rig.server.requests.at(-1)?.tools ?? []).toSorted();
  };
  assert.deepEqual(await offered("read-only", names), ["job_boolean_true", "stamp", "view"]);
  assert.deepEqual(await offered("all", ["view", "bash", ...odd]), ["bash", "view"]);
  assert.deepEqual(await offered("all", odd), []);
});

test("a listed tool is judged by the permissions when it is called", async (t) => {
  const rig = await sharedRig(t, ({ messages }) =>
    messages.at(-1)?.role === "tool"
      ? { text: "Done" }
      : { toolCalls: [{ name: "view", arguments: { path: "/etc/passwd" } }] },
  );
  const session = await rig.open({ availableTools: ["view"] });
  const run = await turn(session, "Look");
  assert.equal(denials(run).length, 1);
  assert.deepEqual(successes(run), [false]);
});
