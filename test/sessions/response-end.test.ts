import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { untilItsEnd } from "../../src/sessions/model-response.ts";
import { eventsOf } from "../rig/wires.ts";
import { holds } from "../rig/fuzz.ts";

const url = "https://models.example/openai/responses?api-version=1";
const stream = { headers: { "content-type": "text/event-stream; charset=utf-8" } };

const answer = (finishReason?: string): string[] =>
  eventsOf("responses", "m", {
    text: 'Äöü 🙂 [}\\ {"type":"response.completed","response":{}}',
    ...(finishReason === undefined ? {} : { finishReason }),
  });

/** With its last event changed. */
function ending(change: (event: Record<string, unknown>) => object): string {
  const events = answer();
  const last: unknown = JSON.parse(events.pop()?.split("data: ")[1] ?? "");
  assert.ok(typeof last === "object" && last !== null);
  return `${events.join("")}data: ${JSON.stringify(change({ ...last }))}\n\n`;
}

const inTwoLines = answer()
  .join("")
  .replace(/data: \{(?=[^\n]*\n\n$)/, "data: {\ndata:");

const whole: Readonly<Record<string, string>> = {
  completed: answer().join(""),
  "cut at the output limit": answer("max_output_tokens").join(""),
  filtered: answer("content_filter").join(""),
  "without a last line break": answer().join("").trimEnd(),
  "with CRLF": answer().join("").replaceAll("\n", "\r\n"),
  "without names of events": answer()
    .join("")
    .replace(/^event: .*\n/gm, ""),
  "without a space": answer().join("").replaceAll("data: ", "data:"),
  "with data in two lines": inTwoLines,
  "with data in two lines and CRLF": inTwoLines.replaceAll("\n", "\r\n"),
  "with data in two lines and CR": inTwoLines.replaceAll("\n", "\r"),
  "with something after its end": `${answer().join("")}data: [DONE]\n\n`,
  "without a status": ending(({ type }) => ({ type, response: {} })),
  "with the end of other servers": ending(() => ({
    type: "response.done",
    response: { status: "completed" },
  })),
  "in one piece, without a type": JSON.stringify({ status: "completed", output: [] }),
};

const brokenOff: Readonly<Record<string, string>> = {
  nothing: "",
  "no end": answer().slice(0, -1).join(""),
  "half an end": answer().join("").trimEnd().slice(0, -3),
  "incomplete for a reason that the runtime doesn't pass on": answer("quota").join(""),
  failed: ending((event) => ({ ...event, type: "response.failed" })),
  "an error": ending(() => ({ type: "error", message: "overloaded" })),
  "completed, and yet canceled": ending((event) => ({
    ...event,
    response: { status: "cancelled" },
  })),
  "done, and yet failed": ending(() => ({
    type: "response.done",
    response: { status: "failed" },
  })),
  "an end in a list": ending((event) => ({ ...event, response: [{ status: "completed" }] })),
};

async function read(text: string, cuts: readonly number[] = []): Promise<string> {
  const bytes = new TextEncoder().encode(text);
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b)];
  const pieces = places.map((place, index) => bytes.subarray(place, places[index + 1]));
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  return untilItsEnd(url, new Response(body, stream)).text();
}

test("an answer of the responses API is passed on, and its stream breaks where it isn't whole", async () => {
  for (const [name, text] of Object.entries(whole)) assert.equal(await read(text), text, name);
  for (const [name, text] of Object.entries(brokenOff))
    await assert.rejects(read(text), /broke off/, name);
});

test("an answer without an end says what to do, and one that failed does not", async () => {
  const parts = answer().slice(0, -1).join("");
  for (const text of [parts, `${parts}data: [DONE]\n\n`]) {
    await assert.rejects(read(text), /without `response\.completed`.*`provider-wire-api`/);
  }
  for (const name of ["failed", "an error"]) {
    await assert.rejects(read(brokenOff[name] ?? ""), /broke off its answer\.$/, name);
  }
});

test("an event that is too long is no end, and not the end of another event", async () => {
  const end = JSON.stringify({ type: "response.completed", response: {} });
  const long = "x".repeat(8_500_000);
  const longEnd = JSON.stringify({ type: "response.completed", response: { text: long } });
  for (const text of [longEnd, `${end}\ndata: ${long}`, `${long}\ndata: ${end}`]) {
    const whole = `data: ${text}\n\n`;
    await assert.rejects(read(whole), /broke off/);
    await assert.rejects(read(whole, [100, whole.length - 100, whole.length - 50]), /broke off/);
  }
});

test("an answer is whole, or not, however it is cut into pieces", async (t) => {
  const texts = [...Object.values(whole), ...Object.values(brokenOff)];
  await holds(
    t,
    fc.asyncProperty(
      fc.constantFrom(...texts),
      fc.array(fc.nat(), { maxLength: 8 }),
      async (text, cuts) => {
        const found = await read(text, cuts).catch(() => undefined);
        assert.equal(found, Object.values(whole).includes(text) ? text : undefined);
      },
    ),
    100,
  );
});

test("errors, answers in one piece and other addresses are left alone", async () => {
  const failed = new Response("data: x\n\n", { ...stream, status: 500 });
  const json = Response.json({ status: "completed" });
  const chat = new Response("data: x\n\n", stream);
  assert.equal(untilItsEnd(url, failed), failed);
  assert.equal(untilItsEnd(url, json), json);
  assert.equal(untilItsEnd("https://models.example/v1/chat/completions", chat), chat);
});
