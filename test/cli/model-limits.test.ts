/** How much a model reads and writes, at the command line, on the real runtime with a scripted model server. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type CliResult, runCli } from "../rig/cli.ts";
import {
  modelServer,
  type ModelServerOptions,
  type RecordedRequest,
  type Script,
} from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { entryOf } from "./rig.ts";

interface Case extends ModelServerOptions {
  readonly tasks?: number;
  readonly idleSeconds?: number;
  readonly prompt?: string;
  readonly model?: unknown;
  readonly script?: Script;
  readonly files?: Readonly<Record<string, string>>;
}

async function run(
  t: TestContext,
  {
    tasks = 1,
    idleSeconds,
    prompt = "Hello.",
    model = "m",
    script = () => ({ text: "Hi." }),
    files,
    ...server
  }: Case,
): Promise<CliResult & { readonly requests: readonly RecordedRequest[] }> {
  const { baseUrl, requests } = await modelServer(t, script, server);
  const works = Array.from({ length: tasks }, () => ({ kind: "Ref", taskId: "a" }));
  const entry = {
    models: { driving: model },
    jobs: { job: { work: { kind: "Par", works } } },
    ...(idleSeconds === undefined ? {} : { limits: { idleMinutes: idleSeconds / 60 } }),
  };
  const text = entryOf(entry, { prompt });
  const { path: cwd } = await makeWorkspace(t, { "a.json": text, ...files });
  const ran = await runCli(`run a.json --provider-base-url ${baseUrl}`, { cwd });
  return { ...ran, requests };
}

/** Ollama 0.17.4 loads what was trained with 32,768 tokens with 4,096, unless there is a large GPU. */
function ofOllama(loadedWith?: number, ofCloud?: object): Case {
  const loaded: object[] = loadedWith === undefined ? [] : [ollamaModel(loadedWith)];
  const load = () => {
    loaded.push(ollamaModel(1_024));
    return { model: "m", done: true, done_reason: "load" };
  };
  return {
    models: [{ id: "m:latest", owned_by: "library" }],
    others: {
      "/api/ps": () => ({ models: loaded }),
      "/api/show": () => ofCloud ?? { model_info: { "qwen2.context_length": 32_768 } },
      ...(ofCloud === undefined ? { "/api/generate": load } : {}),
    },
  };
}
const ollamaModel = (context: number) => ({ name: "m:latest", context_length: context });

describe("a prompt that doesn't fit into the context of the model", () => {
  for (const [who, server] of Object.entries<Case>({
    "llama.cpp tells": { models: [{ id: "m", meta: { n_ctx: 1_024 } }] },
    "vLLM tells": { models: [{ id: "m", max_model_len: 1_024 }] },
    "another server tells": { models: [{ id: "m", context_length: 1_024 }] },
    "Ollama tells of a loaded model": ofOllama(1_024),
    "Ollama tells of a model once it is loaded": ofOllama(undefined),
    "Ollama tells of a model in its cloud": ofOllama(undefined, {
      model_info: { "qwen3.context_length": 1_024 },
      remote_host: "https://ollama.com:443",
    }),
    "the entry says": {
      models: [{ id: "m", meta: { n_ctx: 32_000 } }],
      model: { id: "m", contextTokens: 1_024 },
    },
  })) {
    it(`is not sent, and both numbers are said: a context that ${who}`, async (t) => {
      const { code, stdout, requests } = await run(t, server);
      assert.equal(code, 1);
      assert.equal(requests.length, 0);
      assert.match(
        stdout.trimEnd().split("\n").at(-1) ?? "",
        /about \d,\d{3} tokens, and the model "m" of .* reads 1,024, of which 256 .* -c, .*contextTokens/,
      );
      // The runtime may say first that there was no response; then the reason follows in the second attempt.
      assert.doesNotMatch(stdout, /attempt 3/);
    });
  }

  it("is not sent if only the text itself is too long", async (t) => {
    const { code, stdout, requests } = await run(t, {
      models: [{ id: "m", meta: { n_ctx: 8_192 } }],
      prompt: "word ".repeat(20_000),
    });
    assert.equal(code, 1);
    assert.equal(requests.length, 0);
    assert.match(stdout, /about 2\d,\d{3} tokens, .* reads 8,192/);
    // No server has answered with this status.
    assert.doesNotMatch(stdout, /\(400\)/);
  });

  it("is sent where it fits, or where nobody knows the context", async (t) => {
    for (const models of [["m"], [{ id: "m", meta: { n_ctx: 8_192 } }], [{ id: "other" }]]) {
      const { code, stdout, requests } = await run(t, { models });
      assert.equal(code, 0, stdout);
      assert.equal(requests.length, 1);
    }
  });

  it("is no matter of a conversation that grows, which is compacted", async (t) => {
    const read = { toolCalls: [{ name: "view", arguments: { path: "long.txt" } }] };
    const { code, stdout, requests } = await run(t, {
      models: [{ id: "m", meta: { n_ctx: 12_000 } }],
      files: { "long.txt": "word ".repeat(2_000) },
      script: ({ index, tools }) =>
        tools.length > 0 && index < 6 ? read : { text: "It has many words." },
    });
    assert.equal(code, 0, stdout);
    assert.ok(requests.some(({ messages }) => /summar/i.test(JSON.stringify(messages))));
    const longest = Math.max(...requests.map(({ body }) => JSON.stringify(body).length));
    assert.ok(longest < 60_000, `${longest}`);
  });
});

describe("an answer without an end", () => {
  for (const of of ["text", "reasoning", "arguments"] as const)
    it(`is cut off at the model's outputTokens, as if the server had done it: ${of}`, async (t) => {
      const { code, stdout, requests } = await run(t, {
        model: { id: "m", outputTokens: 300 },
        script: () => ({ flood: { of, chunk: 40, bytesPerSecond: 20_000 } }),
      });
      assert.equal(code, 1);
      assert.match(stdout.trimEnd().split("\n").at(-1) ?? "", /cut at the model's output limit/);
      assert.equal(requests.length, 1);
    });

  it("is cut off at 8,192 tokens of a model server of one's own", async (t) => {
    const { code, stdout } = await run(t, { script: () => ({ flood: { chunk: 400 } }) });
    assert.equal(code, 1);
    assert.match(stdout.trimEnd().split("\n").at(-1) ?? "", /cut at the model's output limit/);
  });
});

describe("calls in the queue of a model server", () => {
  it("wait while others are answered, and one line names limits.parallel", async (t) => {
    let last: Promise<unknown> = Promise.resolve();
    const oneByOne: Script = async () => {
      last = last.then(() => new Promise((resolve) => setTimeout(resolve, 800)));
      await last;
      return { text: "Hi." };
    };
    const { code, stdout, requests } = await run(t, {
      tasks: 4,
      idleSeconds: 1.2,
      script: oneByOne,
    });
    assert.equal(code, 0, stdout);
    assert.equal(requests.length, 4);
    assert.equal(stdout.match(/calls are queuing: .* lower limits\.parallel/g)?.length, 1, stdout);
  });

  it("are silent if none is answered", async (t) => {
    const { code, stdout } = await run(t, {
      tasks: 2,
      idleSeconds: 1.2,
      script: ({ index }) => (index < 10 ? { hang: "before" } : { text: "Hi." }),
    });
    assert.equal(code, 1);
    assert.match(stdout, /was silent for 1\.2 s \(limits\.idleMinutes\)/);
    assert.doesNotMatch(stdout, /are queuing/);
  });
});
