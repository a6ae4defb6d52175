import assert from "node:assert/strict";
import { test } from "node:test";
import { crashOf, makeRig, turn } from "./rig.ts";

test("an answer that a content filter blocked is no answer, although the runtime puts a sentence in its place", async (t) => {
  const rig = await makeRig(t, () => ({ text: "", finishReason: "content_filter" }));
  const session = await rig.open();
  const crash = crashOf(await turn(session, "Hello"));
  assert.equal(crash.cause, "filtered");
  assert.match(crash.message, /answer was blocked by its content filter \(model ".+" of the /);
});
