/** A model server for the demo, which reports on each item and counts the tokens. */
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
export const TOKENS_OF_TURN = 2 * usage.total_tokens;

export async function startModel(latencyMs) {
  /** How often each item was started. */
  const paid = new Map();
  const model = {
    paid,
    /** Items that were started again after a kill. */
    repeated: new Set(),
    tokens: 0,
    /** The prompt of the summary. */
    summarized: "",
    close: () => (server.closeAllConnections(), server.close()),
  };

  async function answer(request, response) {
    const body = await text(request);
    if (request.method !== "POST") return response.end('{ "data": [] }');
    const { model: id, messages } = JSON.parse(body);
    const prompt = JSON.stringify(messages.findLast(({ role }) => role === "user").content);
    const item = /Look at (\S+) /.exec(prompt)?.[1];
    const isSecond = messages.at(-1).role === "tool";
    model.tokens += usage.total_tokens;
    if (item === undefined) model.summarized = prompt.slice(prompt.indexOf("Summarize"));
    else if (!isSecond) {
      if (paid.has(item)) model.repeated.add(item);
      paid.set(item, (paid.get(item) ?? 0) + 1);
    }
    await sleep(latencyMs);
    const count = prompt.match(/Seen: /g)?.length ?? 0;
    const markdown = item === undefined ? `${count} items were seen.` : `Seen: ${item}`;
    const called = { name: "job_report", arguments: JSON.stringify({ markdown }) };
    const call = { index: 0, id: "call", type: "function", function: called };
    const delta = isSecond ? { content: "Done." } : { tool_calls: [call] };
    const finish_reason = isSecond ? "stop" : "tool_calls";
    const chunk = { id: "answer", object: "chat.completion.chunk", created: 0, model: id };
    const choices = [{ index: 0, delta: { role: "assistant", ...delta }, finish_reason }];
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(`data: ${JSON.stringify({ ...chunk, choices, usage })}\n\ndata: [DONE]\n\n`);
  }

  const server = createServer((request, response) => void answer(request, response));
  await once(server.listen(0, "127.0.0.1"), "listening");
  return Object.assign(model, { url: `http://127.0.0.1:${server.address().port}/v1` });
}
