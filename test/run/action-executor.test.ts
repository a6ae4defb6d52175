/** The executor of actions as an application uses it: through the library, without a job. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import {
  actionDocumentSchema,
  type ActionEvent,
  type ActionTool,
  createActionExecutor,
  newsText,
  problemsText,
  teachingText,
} from "../../src/index.ts";

const root = new URL("../../../", import.meta.url);
const double: ActionTool = {
  name: "double",
  parameters: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
  run: ({ params }) => Promise.resolve({ kind: "succeeded", value: Number(params["n"]) * 2 }),
};
const documentOf = (...actions: object[]): object => ({
  status: "EXECUTING",
  thoughts: [],
  actions,
  stop: false,
  response: null,
});
const call = (id: string, n: unknown): object => ({
  action_id: id,
  action: "double",
  type: "tool",
  params: { n },
});

describe("what the library teaches a model", () => {
  const relics = [{ name: "docs", read: () => Promise.reject(new Error()) }];
  const options = { tools: [double], relics, limits: { parallel: 2 } };

  it("is made of the options of the executor, and shows a document that it accepts", async () => {
    const text = teachingText({ ...options, iterations: 5 });
    assert.match(text, /^- \{"name":"double","params":\{.*"n".*\}\}$/m);
    assert.match(text, /^- \{"name":"docs"\}$/m);
    assert.match(text, /5 documents.* 2 calls at once/);
    const shown = text.split("\n").find((line) => line.startsWith("{")) ?? "";
    const executor = createActionExecutor({ tools: [{ ...double, name: "TOOL", parameters: {} }] });
    assert.equal((await executor.execute(shown)).kind, "executed");
  });

  it("includes the published schema of a document", () => {
    const published: unknown = JSON.parse(
      readFileSync(new URL("schema/action-protocol.schema.json", root), "utf8"),
    );
    assert.deepEqual(JSON.parse(JSON.stringify(actionDocumentSchema)), published);
  });
});

describe("the executor of the library", () => {
  it("runs a document with the system's clock", async () => {
    const events: ActionEvent[] = [];
    const executor = createActionExecutor({
      tools: [double],
      limits: { parallel: 1 },
      emit: (event) => events.push(event),
    });
    const turn = await executor.execute(documentOf(call("b", "${{results.a}}"), call("a", 4)));
    assert.ok(turn.kind === "executed" && turn.next === "continue");
    const { results } = await executor.collect();
    assert.deepEqual(
      results.map(({ id, text }) => [id, text]),
      [
        ["a", "8"],
        ["b", "16"],
      ],
    );
    assert.equal(events.filter(({ type }) => type === "action.ended").length, 2);
    assert.deepEqual((await executor.finish()).background, []);
  });

  it("has texts for the next prompt", async () => {
    const executor = createActionExecutor({ tools: [double] });
    const rejected = await executor.execute(documentOf(call("a", "x")));
    assert.ok(rejected.kind === "rejected");
    assert.match(problemsText(rejected.problems), /"\/actions\/0\/params\/n"/);
    await executor.execute(documentOf(call("a", 4)));
    const text = newsText(await executor.collect(), await executor.standing());
    assert.match(text, /Action "a" \(double\) succeeded:\n```\n8\n```/);
  });

  it("runs the example", async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      new URL("build/examples/actions.js", root).pathname,
    ]);
    assert.match(stdout, /^Your answer was rejected[^]*"Must be text, not 5\."/);
    assert.match(stdout, /^build succeeded\nlook succeeded$/m);
  });
});
