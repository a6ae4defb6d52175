/** The executor of actions as an application uses it: through the library, without a job. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import {
  actionDocumentSchema,
  type ActionTool,
  createActionExecutor,
  teachingText,
} from "../../src/index.ts";

const root = new URL("../../../", import.meta.url);
const double: ActionTool = {
  name: "double",
  parameters: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
  run: ({ params }) => Promise.resolve({ kind: "succeeded", value: Number(params["n"]) * 2 }),
};

describe("what the library teaches a model", () => {
  const relics = [{ name: "docs", read: () => Promise.reject(new Error()) }];
  const options = { tools: [double], relics, limits: { parallel: 2 } };

  it("is made of the options of the executor, and shows a document that it accepts", async () => {
    const text = teachingText({ ...options, iterations: 5 });
    assert.match(text, /^- \{"name":"double","params":\{.*"n".*\}\}$/m);
    assert.match(text, /^- \{"name":"docs"\}$/m);
    assert.match(text, /5 documents.* 2 calls at once/);
    const shown = text.split("\n").find((line) => line.startsWith("{")) ?? "";
    const executor = createActionExecutor({ tools: [double] });
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
  it("runs the example", async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      new URL("build/examples/actions.js", root).pathname,
    ]);
    assert.match(stdout, /^Your answer was rejected[^]*"Must be text, not 5\."/);
    assert.match(stdout, /^build succeeded\nlook succeeded$/m);
  });
});
