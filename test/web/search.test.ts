import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunModel } from "../../web/model/run-model.ts";
import { search } from "../../web/model/search.ts";
import { story } from "../events/samples.ts";
import { hostile, largeRun } from "./large-run.ts";
import { fold } from "./fold.ts";

const model = fold(largeRun({ events: 1200 }));

const kinds = (model: RunModel, query: string): string[] => [
  ...new Set(search(model, query).places.map(({ kind }) => kind)),
];

test("a search finds prompts, messages, reasoning, tool calls, results, decisions and denials", () => {
  assert.deepEqual(kinds(model, "Read what changed"), ["turn"]);
  assert.deepEqual(kinds(model, "I look at the commit"), ["message"]);
  assert.deepEqual(kinds(model, "at the file itself"), ["reasoning"]);
  assert.deepEqual(kinds(model, "job_prepare_document"), ["call"]);
  assert.deepEqual(kinds(model, "value119"), ["call"]);
  assert.deepEqual(kinds(model, "Show the latest"), ["call"]);
  assert.deepEqual(kinds(model, "criteria.condition holds"), ["decision"]);
  assert.deepEqual(kinds(model, "no pattern allows it"), ["denial"]);
});

test("case does not matter, and every character stands for itself", () => {
  assert.equal(
    search(model, "JOB_PREPARE_document").places.length,
    search(model, "job_prepare_document").places.length,
  );
  assert.deepEqual(search(model, ".*").places, []);
  for (const text of hostile) assert.doesNotThrow(() => search(model, text));
  assert.notEqual(search(model, hostile[3]).places.length, 0);
});

test("an empty query finds nothing, and a frequent one is cut off", () => {
  assert.deepEqual(search(model, "  "), { places: [], more: false });
  const some = search(model, "e", 10);
  assert.equal(some.places.length, 10);
  assert.equal(some.more, true);
});

test("hits are in the order of the run", () => {
  const found = search(fold(story()), "grep").places;
  assert.deepEqual(
    found.map((place) => (place.kind === "decision" ? place.decision.kind : place.kind)),
    ["criteria-failed", "criteria-retry"],
  );
});
