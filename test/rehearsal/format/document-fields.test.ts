import assert from "node:assert/strict";
import { test } from "node:test";
import { readMessage } from "../../../src/protocol/read-message.ts";
import {
  completeDocument,
  shortDocument,
  type DocumentFields,
} from "../../../src/rehearsal/format/rehearsal-schema.ts";
import { ScriptedModel } from "../../../src/rehearsal/player/scripted-model.ts";
import { ask, play, prompt, script, system } from "../rig.ts";

const action = { action: "build", type: "tool", params: {} };
const rest = { thoughts: [], actions: null, response: null };

const defaults: readonly (readonly [short: DocumentFields, whole: DocumentFields])[] = [
  [{}, { status: "SUCCESS", ...rest, stop: true }],
  [{ response: "Done." }, { status: "SUCCESS", ...rest, stop: true, response: "Done." }],
  [{ actions: [] }, { status: "SUCCESS", ...rest, actions: [], stop: true }],
  [{ stop: false }, { status: "EXECUTING", ...rest, stop: false }],
  [{ actions: [action] }, { status: "EXECUTING", ...rest, actions: [action], stop: false }],
  [
    { actions: [action], stop: true, status: "TASK_STARTED" },
    { status: "TASK_STARTED", ...rest, actions: [action], stop: true },
  ],
  [
    { thoughts: [{ type: "PLAN", content: "Look", actions: [action] }] },
    {
      ...rest,
      status: "EXECUTING",
      thoughts: [{ type: "PLAN", content: "Look", actions: [action] }],
      stop: false,
    },
  ],
];

for (const [short, whole] of defaults) {
  test(`the document ${JSON.stringify(short)} gets what it leaves out`, () => {
    assert.deepEqual(completeDocument(short), whole);
    const { kind } = readMessage(JSON.stringify(whole));
    assert.equal(kind, "read");
    const again = shortDocument(whole);
    assert.deepEqual(completeDocument(again), whole);
    assert.ok(JSON.stringify(again).length <= JSON.stringify({ actions: [], ...short }).length);
  });
}

test("a wrong document is sent as it is", async () => {
  const { model } = play(
    "  - turns: [{ document: { status: 3, actions: none, thoughts: { actions: 1 }, extra: [] } }]",
  );
  const { text } = await ask(model, [system, prompt("Begin")]);
  assert.deepEqual(JSON.parse(text), {
    status: 3,
    thoughts: { actions: 1 },
    actions: "none",
    stop: true,
    response: null,
    extra: [],
  });
});

test("a path is escaped in a document, as in the arguments of a tool", async () => {
  const sessions = `  - turns:
      - document: { response: "in \${workingDirectory}" }
        tools: [{ name: view, arguments: { path: "\${workingDirectory}" } }]`;
  const model = new ScriptedModel(script(sessions), {
    clock: { sleep: () => Promise.resolve() },
    workingDirectory: "C:\\repo",
  });
  const { text, tools } = await ask(model, [system, prompt("Begin")]);
  assert.equal(JSON.parse(text).response, "in C:\\repo");
  assert.deepEqual(JSON.parse(tools[0]?.input ?? ""), { path: "C:\\repo" });
});
