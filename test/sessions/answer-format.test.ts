/** The requests of a turn that asks for an answer in JSON, on the real runtime, over its three wire APIs. */
import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import type { AnswerFormat } from "../../src/engine/ports.ts";
import { isRecord } from "../../src/text/guards.ts";
import { withAnswerFormat } from "../../src/sessions/model-response.ts";
import type { RecordedRequest } from "../rig/model-server.ts";
import { completed, crashOf, makeRig, scriptedTransport, sharedRig, turn } from "./rig.ts";

const answerFormat: AnswerFormat = {
  name: "action_document",
  schema: { type: "object", properties: { stop: { type: "boolean" } }, required: ["stop"] },
};
const described = { ...answerFormat, strict: false };

const fields = (value: unknown): Readonly<Record<string, unknown>> =>
  isRecord(value) ? value : {};

/** The format that the request asks for, wherever its API has it. */
function asked(request: RecordedRequest | undefined): unknown {
  const { response_format: ofChat, text } = fields(request?.body);
  return ofChat ?? fields(text)["format"];
}

const json = { text: '{"stop":true}' };

describe("a turn with a format of its answer", () => {
  it("asks for it over chat completions, in each request of the turn and in no other", async (t) => {
    const rig = await sharedRig(t, ({ toolResults, prompt }) =>
      prompt === "First" && toolResults.length === 0
        ? { toolCalls: [{ name: "job_boolean_true", arguments: { argument: "yes" } }] }
        : json,
    );
    const session = await rig.open({ answersFormatted: true });
    assert.equal(completed(await turn(session, "First", { answerFormat })).text, json.text);
    completed(await turn(session, "Second"));
    const format = { type: "json_schema", json_schema: described };
    assert.deepEqual(rig.server.requests.map(asked), [format, format, undefined]);
  });

  it("asks for it over responses, beside what the runtime says about texts", async (t) => {
    const rig = await sharedRig(t, () => json, { wire: "responses" });
    const session = await rig.open({ answersFormatted: true });
    completed(await turn(session, "First", { answerFormat }));
    completed(await turn(session, "Second"));
    const format = { type: "json_schema", ...described };
    assert.deepEqual(rig.server.requests.map(asked), [format, undefined]);
    const [formatted, plain] = rig.server.requests.map(({ body }) => fields(fields(body)["text"]));
    const { format: _, ...rest } = formatted ?? {};
    assert.deepEqual(rest, plain);
  });

  it("is an ordinary one over Anthropic's messages, and needs no handler", async (t) => {
    const rig = await makeRig(t, () => json, { wire: "messages" });
    completed(await turn(await rig.open(), "First"));
    const session = await rig.open({ answersFormatted: true });
    assert.equal(completed(await turn(session, "First", { answerFormat })).text, json.text);
    const [plain, formatted] = rig.server.requests.map(({ body }) => fields(body));
    assert.deepEqual(Object.keys(formatted ?? {}), Object.keys(plain ?? {}));
    assert.equal(rig.sessions.runtimePids.length, 1);
  });

  it("has the history of its session as well", async (t) => {
    const rig = await sharedRig(t, () => json);
    const history = [{ role: "user", text: "Where are you?" }] as const;
    const session = await rig.open({ answersFormatted: true, history });
    completed(await turn(session, "First", { answerFormat }));
    const [request] = rig.server.requests;
    assert.ok(asked(request));
    assert.ok(request?.messages.some(({ content }) => content === "Where are you?"));
  });
});

describe("a server that refuses the format", () => {
  it("is asked without it at once, and no more", async (t) => {
    const rig = await sharedRig(t, (request) =>
      asked(request) === undefined ? json : { status: 422 },
    );
    for (let open = 0; open < 2; open += 1) {
      const session = await rig.open({ answersFormatted: true });
      completed(await turn(session, "First", { answerFormat }));
      completed(await turn(session, "Second", { answerFormat }));
    }
    const all = rig.server.requests.map((request) => asked(request) !== undefined);
    assert.deepEqual(all, [true, false, false, false, false]);
  });

  it("is remembered with its model: another model is asked for it", async (t) => {
    const rig = await sharedRig(t, (request) =>
      request.model === "old" && asked(request) !== undefined ? { status: 400 } : json,
    );
    for (const modelId of ["old", "new", "old"]) {
      const session = await rig.open({ answersFormatted: true, modelId });
      completed(await turn(session, "First", { answerFormat }));
    }
    assert.deepEqual(
      rig.server.requests.map((one) => `${one.model} ${asked(one) !== undefined}`),
      ["old true", "old false", "new true", "old false"],
    );
  });

  it("is not meant by a refusal that has another reason", async (t) => {
    const rig = await sharedRig(t, ({ prompt }) => (prompt === "Bad" ? { status: 400 } : json));
    const session = await rig.open({ answersFormatted: true });
    const crash = crashOf(await turn(session, "Bad", { answerFormat }));
    assert.match(JSON.stringify(crash), /400/);
    const next = await rig.open({ answersFormatted: true });
    completed(await turn(next, "Good", { answerFormat }));
    assert.ok(asked(rig.server.requests.at(-1)));
  });
});

test("a rehearsal is asked nothing new; an application's transport is", async (t) => {
  for (const scripted of [true, false]) {
    const requests: RecordedRequest[] = [];
    const transport = scriptedTransport((request) => (requests.push(request), json));
    const rig = await makeRig(t, () => ({}), {
      provider: undefined,
      transport: { ...transport, scripted },
    });
    const session = await rig.open({ answersFormatted: true });
    completed(await turn(session, "First", { answerFormat }));
    assert.deepEqual(
      requests.map((request) => asked(request) !== undefined),
      [!scripted],
    );
  }
});

test("a request that has a format, or none that is understood, stays as it is", () => {
  const url = "http://host/v1/chat/completions";
  const post = (body: unknown) => ({ url, method: "POST", body: JSON.stringify(body) });
  const own = post({ messages: [], response_format: { type: "text" } });
  assert.equal(withAnswerFormat(own, answerFormat), undefined);
  assert.equal(withAnswerFormat({ url, method: "POST", body: "no json" }, answerFormat), undefined);
  assert.equal(withAnswerFormat({ ...post({}), method: "GET" }, answerFormat), undefined);
  const other = { ...post({}), url: "http://host/v1/embeddings" };
  assert.equal(withAnswerFormat(other, answerFormat), undefined);
  const nothing = post({ messages: [], response_format: null });
  assert.ok(withAnswerFormat(nothing, answerFormat));
});
