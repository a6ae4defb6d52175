/** Errors of model servers that the runtime doesn't pass on reach the user, and stop useless retries. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { runCli } from "../rig/cli.ts";
import { modelServer, type Reply } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const entry = `models: { driving: m }
tasks: { a: { prompt: Say hello, model: { category: driving } } }
jobs: { j: { work: { kind: Ref, taskId: a } } }
`;

const events = { "content-type": "text/event-stream" };
const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;
const chunk = (delta: object, finish: string | null = null): string =>
  event({
    id: "c",
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: finish }],
  });

interface Case {
  readonly reply: Reply;
  /** The end of the last line of the log. */
  readonly says: RegExp;
  readonly requests: number;
  readonly wire?: string;
}

const quota = { message: "You exceeded your current quota.", type: "insufficient_quota" };
const key = "API key not valid. Please pass a valid API key.";
const bad = { message: "this request is bad", type: "invalid_request_error", code: 400 };

const cases: Readonly<Record<string, Case>> = {
  "a used up quota": {
    reply: { status: 429, raw: JSON.stringify({ error: quota }) },
    says: /answered 429 .*"You exceeded your current quota\." Check the plan and the billing/,
    requests: 1,
  },
  "an error in an answer with status 200": {
    reply: { raw: JSON.stringify({ error: bad }) },
    says: /"this request is bad"\..*Check what/,
    requests: 2,
  },
  "an error in a stream": {
    reply: { raw: event({ error: bad }), headers: events },
    says: /"this request is bad"\..*Check what/,
    requests: 1,
  },
  "a failed response of the responses API": {
    reply: {
      raw: event({ type: "response.failed", response: { status: "failed", error: bad } }),
      headers: events,
    },
    wire: "responses",
    says: /"this request is bad"\..*Check what/,
    requests: 1,
  },
  "a refusal of the model": {
    reply: {
      raw: chunk({ refusal: "I won't do " }) + chunk({ refusal: "that." }, "stop"),
      headers: events,
    },
    says: /the model refused to answer: "I won't do that\." Gave up after 2 attempts\. Change the prompt/,
    requests: 2,
  },
  "a login page": {
    reply: {
      raw: "<html><title>Sign in</title><body>to Acme</body></html>",
      headers: { "content-type": "text/html" },
    },
    says: /answered with a web page .*"Sign in: to Acme".*a proxy or a login/,
    requests: 7,
  },
  "a list of errors, and a key that is not valid": {
    reply: { status: 400, raw: JSON.stringify([{ error: { code: 400, message: key } }]) },
    says: /answered 400 .*"API key not valid\. .*" Gave.* Check the token or the provider's API key\. The model server rejected it\.$/,
    requests: 2,
  },
  details: {
    reply: {
      status: 422,
      raw: JSON.stringify({ detail: [{ loc: ["body"], msg: "Field required" }] }),
    },
    says: /answered 422 .*"Field required"/,
    requests: 2,
  },
  errors: {
    reply: { status: 400, raw: JSON.stringify({ errors: ["too long: 9 tokens", "two"] }) },
    says: /answered 400 .*"too long: 9 tokens; two"\..* Check the length of the prompt/,
    requests: 2,
  },
  "a text": {
    reply: { status: 403, raw: "Blocked by Acme", headers: { "content-type": "text/plain" } },
    says: /answered 403 .*"Blocked by Acme"/,
    requests: 2,
  },
};

async function play(t: TestContext, { reply, wire = "completions" }: Case) {
  const server = await modelServer(t, () => reply);
  const { path: cwd } = await makeWorkspace(t, { "e.yml": entry });
  const args = ["run", "e.yml", "--provider-base-url", server.baseUrl];
  const { code, stdout } = await runCli([...args, "--provider-wire-api", wire], { cwd });
  assert.equal(code, 1);
  return { stdout, last: stdout.trimEnd().split("\n").at(-1) ?? "", count: server.requests.length };
}

describe("a run shows, and doesn't repeat in vain,", { concurrency: 4 }, () => {
  for (const [name, one] of Object.entries(cases)) {
    it(name, async (t) => {
      const { last, count, stdout } = await play(t, one);
      assert.match(last, one.says, stdout);
      assert.equal(count, one.requests, stdout);
    });
  }
});
