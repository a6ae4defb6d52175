import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { crashRemedy, type Crash } from "../../src/events/crash.ts";
import { atModel, withoutSecrets } from "../../src/sessions/model-error.ts";
import { holds } from "../rig/fuzz.ts";

const asked = { modelId: "m1", baseUrl: "http://user:secret@host:1/v1?key=secret" };
const error = (more: Partial<Crash> = {}): Crash => ({
  kind: "session-error",
  message: "the runtime's words",
  ...more,
});

describe("an error of the model server", () => {
  for (const [failure, words] of [
    ['{"message":"no such model","code":1}', "no such model"],
    ['{"error":{"message":"no such model"}}', "no such model"],
    ['{"error":"no such model"}', "no such model"],
    ['"no such model"', "no such model"],
    ["no such model", "no such model"],
    ['{"detail":1}', '{"detail":1}'],
  ] as const) {
    it(`is told in the server's own words: ${failure}`, () => {
      const { message } = atModel(error({ statusCode: 404 }), failure, asked);
      assert.equal(
        message,
        `The model server http://host:1/v1 answered 404 for model "m1": "${words}".`,
      );
    });
  }

  it("without a status keeps what the runtime says, and adds where it was", () => {
    const { message } = atModel(error({ message: "No luck." }), undefined, asked);
    assert.equal(message, 'No luck (model "m1" of the model server http://host:1/v1).');
    const service = atModel(error(), undefined, { modelId: "m1", baseUrl: undefined });
    assert.equal(service.message, `the runtime's words (model "m1" of the Copilot service).`);
  });

  for (const words of [
    "gemma:2b does not support tools",
    "`tools` are not supported by this model",
    "model doesn't support function calling",
    "This model does not support native tool use",
  ]) {
    it(`is a model without tools: ${words}`, () => {
      const crash = atModel(error({ statusCode: 400 }), JSON.stringify({ message: words }), asked);
      assert.match(crash.message, /this model does not support tools/);
      assert.match(JSON.stringify(crashRemedy(crash)), /give-up.*can call tools/);
    });
  }

  it("is nothing but that: other crashes stay what they are", () => {
    const crash: Crash = { kind: "turn-deadline", message: "late" };
    assert.equal(atModel(crash, "x", asked), crash);
  });
});

it("an address is shown without its name, password and query, whatever it is", async (t) => {
  assert.equal(withoutSecrets(asked.baseUrl), "http://host:1/v1");
  const property = fc.property(fc.oneof(fc.webUrl(), fc.string()), (address) => {
    withoutSecrets(address);
    const { message } = atModel(error({ statusCode: 500 }), address, {
      modelId: "m",
      baseUrl: address,
    });
    assert.ok(message.length < 5_000);
  });
  await holds(t, property, 200);
});
