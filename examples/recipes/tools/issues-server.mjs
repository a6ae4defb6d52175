// An MCP server over stdin and stdout, without dependencies. It stands for the server of your issue tracker.
import { createInterface } from "node:readline";

const issues = [
  { number: 7, title: "The cart is slow with more than 100 items" },
  { number: 9, title: "The logo is blurred" },
];
const text = { type: "object", properties: { words: { type: "string" } }, required: ["words"] };
const id = { type: "object", properties: { number: { type: "integer" } }, required: ["number"] };
const tools = [
  {
    name: "search_issues",
    description: "Finds issues by words of their title.",
    inputSchema: text,
  },
  { name: "delete_issue", description: "Deletes an issue.", inputSchema: id },
];

function search(words) {
  const wanted = words.toLowerCase().split(/\s+/);
  return issues.filter(({ title }) => wanted.some((word) => title.toLowerCase().includes(word)));
}

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "issues", version: "1.0.0" },
  }),
  "tools/list": () => ({ tools }),
  "tools/call": ({ name, arguments: { words } }) =>
    name === "search_issues"
      ? { content: [{ type: "text", text: JSON.stringify(search(words)) }] }
      : { content: [{ type: "text", text: `${name} is not for this example.` }], isError: true },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue; // a notification
  const answer = methods[method]
    ? { result: methods[method](params) }
    : { error: { code: -32601, message: "Method not found" } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
}
