/** The rig's own promise: tests name the results of parallel calls by the place of the call. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRequest } from "../rig/model-server.ts";

const ids = ["a", "b"];
const bodies = {
  "/v1/chat/completions": {
    messages: [
      { role: "user", content: "go" },
      {
        role: "assistant",
        tool_calls: ids.map((id) => ({ id, function: { name: "t", arguments: "{}" } })),
      },
      ...ids.toReversed().map((id) => ({ role: "tool", tool_call_id: id, content: id })),
      { role: "assistant", tool_calls: [{ id: "c", function: { name: "t", arguments: "{}" } }] },
      { role: "tool", tool_call_id: "c", content: "c" },
    ],
  },
  "/v1/responses": {
    input: [
      { role: "user", content: "go" },
      ...ids.map((id) => ({ type: "function_call", call_id: id, name: "t", arguments: "{}" })),
      ...ids.toReversed().map((id) => ({ type: "function_call_output", call_id: id, output: id })),
      { type: "function_call", call_id: "c", name: "t", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output: "c" },
    ],
  },
  "/v1/messages": {
    messages: [
      { role: "user", content: "go" },
      { role: "assistant", content: ids.map((id) => ({ type: "tool_use", id, name: "t" })) },
      {
        role: "user",
        content: ids
          .toReversed()
          .map((id) => ({ type: "tool_result", tool_use_id: id, content: id })),
      },
      { role: "assistant", content: [{ type: "tool_use", id: "c", name: "t" }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: "c" }] },
    ],
  },
};

for (const [path, body] of Object.entries(bodies)) {
  test(`results stand in the order of the calls, whichever ended first: ${path}`, () => {
    const { toolResults } = parseRequest(0, path, {}, JSON.stringify(body));
    assert.deepEqual(toolResults, ["a", "b", "c"]);
  });
}
