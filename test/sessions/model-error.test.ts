import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { crashRemedy, crashStatus } from "../../src/events/crash.ts";
import {
  causeOf,
  failureWords,
  modelCrash,
  serverName,
  withoutSecrets,
  type ReportedError,
} from "../../src/sessions/model-error.ts";
import { rehearsalProvider, transportProvider } from "../../src/sessions/provider.ts";
import { holds } from "../rig/fuzz.ts";

const asked = { modelId: "m1", baseUrl: "http://user:secret@host:1/v1?key=secret" };
const error = (more: Partial<ReportedError> = {}): ReportedError => ({
  message: "the runtime's words",
  errorType: "query",
  ...more,
});

describe("an error of the model server", () => {
  it("is told in the server's own words, in whatever form they come", () => {
    for (const [failure, words] of [
      ['{"message":"no such model","code":1}', "no such model"],
      ['{"error":{"message":"no such model"}}', "no such model"],
      ['{"error":"no such model"}', "no such model"],
      ['"no such model"', "no such model"],
      ["no such model", "no such model"],
      ['{"detail":1}', '{"detail":1}'],
    ] as const) {
      const { message } = modelCrash(error({ statusCode: 404 }), failure, asked);
      const expected = `The model server http://host:1/v1 answered 404 for model "m1": "${words}".`;
      assert.equal(message, expected);
    }
  });

  it("without a status keeps what the runtime says, and adds where it was", () => {
    const { message } = modelCrash(error({ message: "No luck." }), undefined, asked);
    assert.equal(message, 'No luck (model "m1" of the model server http://host:1/v1).');
    const service = modelCrash(error(), undefined, { modelId: "m1", baseUrl: undefined });
    assert.equal(service.message, `the runtime's words (model "m1" of the Copilot service).`);
  });

  it("may be a model without tools", () => {
    for (const message of [
      "gemma:2b does not support tools",
      "`tools` are not supported by this model",
      "model doesn't support function calling",
      "This model does not support native tool use",
    ]) {
      const crash = modelCrash(error({ statusCode: 400 }), JSON.stringify({ message }), asked);
      assert.match(crash.message, /this model does not support tools/, message);
      assert.match(JSON.stringify(crashRemedy(crash)), /give-up.*supports tools/);
    }
  });

  it("has a status that says its cause, and the remedy", () => {
    for (const [statusCode, cause, remedy] of [
      [302, "session-error", "retry"],
      [400, "rejected", "give-up"],
      [401, "auth", "give-up"],
      [403, "forbidden", "give-up"],
      [404, "not-found", "give-up"],
      [408, "session-error", "retry"],
      [413, "too-large", "give-up"],
      [422, "rejected", "give-up"],
      [429, "rate-limited", "retry-later"],
      [500, "overloaded", "retry-later"],
      [529, "overloaded", "retry-later"],
    ] as const) {
      const crash = modelCrash(error({ statusCode }), undefined, asked);
      const found = [crashStatus(crash), crash.cause, crashRemedy(crash).kind];
      assert.deepEqual(found, [statusCode, cause, remedy]);
    }
  });

  const refused = "Failed native model HTTP request: … Connection refused (os error 111)";
  for (const [what, reported, failure, cause] of [
    ["no credentials", error({ errorType: "authentication" }), undefined, "auth"],
    ["no permission", error({ errorType: "authorization" }), undefined, "auth"],
    ["no token", error({ message: "No GitHub OAuth token found" }), undefined, "auth"],
    ["no server", error(), `${refused} [ECONNREFUSED]`, "unreachable"],
    ["no name", error({ message: "dns error: not known [ENOTFOUND]" }), undefined, "unreachable"],
    ["no local server", error({ message: "Could not connect to x" }), undefined, "unreachable"],
    ["a reset", error({ message: "Connection reset [ECONNRESET]" }), undefined, "session-error"],
    ["anything else", error(), undefined, "session-error"],
  ] as const) {
    it(`without a status that comes from ${what} is ${cause}`, () => {
      assert.equal(modelCrash(reported, failure, asked).cause, cause);
    });
  }

  it("of a session that does not start can be missing credentials", () => {
    assert.equal(causeOf("Error: Not authenticated. Please log in."), "auth");
  });
});

it("a failed call is told without the layers around the cause", () => {
  const refused =
    "Failed native model HTTP request: error sending request for url (http://h/v1): client error (Connect): tcp connect error: Connection refused (os error 111) [ECONNREFUSED]";
  assert.equal(failureWords(JSON.stringify(refused)), "Connection refused (ECONNREFUSED)");
  assert.equal(failureWords('{"message":"out of memory"}'), "out of memory");
});

it("only the script of a rehearsal is called one", () => {
  assert.equal(serverName(rehearsalProvider), "the script of the rehearsal");
  assert.equal(serverName(transportProvider), "the model transport");
});

it("an address is shown without its name, password and query, whatever it is", async (t) => {
  assert.equal(withoutSecrets(asked.baseUrl), "http://host:1/v1");
  const property = fc.property(fc.oneof(fc.webUrl(), fc.string()), (address) => {
    withoutSecrets(address);
    const given = { modelId: "m", baseUrl: address };
    assert.ok(modelCrash(error({ statusCode: 500 }), address, given).message.length < 5_000);
  });
  await holds(t, property, 200);
});
