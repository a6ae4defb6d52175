/** The key of an own model server: it reaches that server with every request, and never the runtime. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { createServer } from "node:http";
import { describe, it } from "node:test";
import type { ProviderOptions } from "../../src/sessions/provider.ts";
import { withDefaults } from "../../src/sessions/provider.ts";
import { listen } from "../rig/listen.ts";
import { startModelServer, type RecordedRequest, type Script } from "../rig/model-server.ts";
import type { Owner } from "../rig/workspace.ts";
import { completed, crashOf, makeRig, turn, type Rig } from "./rig.ts";

async function keyed(
  t: Parameters<typeof makeRig>[0],
  script: Script,
  provider: Omit<ProviderOptions, "baseUrl">,
): Promise<{ readonly rig: Rig; readonly requests: readonly RecordedRequest[] }> {
  const server = await startModelServer(script);
  t.after(() => server.close());
  const asked = withDefaults({ ...provider, baseUrl: server.baseUrl });
  const rig = await makeRig(t, () => assert.fail("another server"), { provider: asked });
  return { rig, requests: server.requests };
}

/** Every byte that a process may write to, and its environment. */
function* memoryOf(pid: number): Generator<Buffer> {
  yield readFileSync(`/proc/${pid}/environ`);
  const memory = openSync(`/proc/${pid}/mem`, "r");
  try {
    for (const line of readFileSync(`/proc/${pid}/maps`, "utf8").split("\n")) {
      const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
      if (from === undefined || to === undefined) continue;
      const [start, end] = [from, to].map((text) => Number.parseInt(text, 16));
      const bytes = Buffer.alloc(Math.min(Number(end) - Number(start), 256 * 1024 * 1024));
      try {
        yield bytes.subarray(0, readSync(memory, bytes, 0, bytes.length, Number(start)));
      } catch {
        // Some of its regions can't be read.
      }
    }
  } finally {
    closeSync(memory);
  }
}

/** Whether the memory of the runtimes contains the text, as UTF-8 or UTF-16. */
function holds({ sessions }: Rig, text: string): boolean {
  const forms = [Buffer.from(text, "utf8"), Buffer.from(text, "utf16le")];
  assert.ok(sessions.runtimePids.length > 0);
  return sessions.runtimePids.some((pid) => {
    for (const part of memoryOf(pid)) if (forms.some((form) => part.includes(form))) return true;
    return false;
  });
}

const isLinux = process.platform === "linux";

describe("the key of a model server", () => {
  for (const [type, wireApi, header, written] of [
    ["openai", "completions", "authorization", "Bearer KEY"],
    ["openai", "responses", "authorization", "Bearer KEY"],
    ["anthropic", "completions", "x-api-key", "KEY"],
    ["azure", "completions", "api-key", "KEY"],
  ] as const)
    it(`reaches a server of the type ${type} (${wireApi}), and is not in the runtime`, async (t) => {
      const key = `key-${randomUUID()}`;
      const extra = `header-${randomUUID()}`;
      const said = `prompt-${randomUUID()}`;
      const { rig, requests } = await keyed(
        t,
        ({ headers }) =>
          headers[header] === written.replace("KEY", key) && headers["x-gateway"] === extra
            ? { text: "Welcome." }
            : { status: 403 },
        { type, wireApi, apiKey: key, headers: { "x-gateway": extra } },
      );
      const session = await rig.open();
      assert.equal(completed(await turn(session, said)).text, "Welcome.");
      assert.ok(requests.length > 0);
      if (!isLinux) return;
      assert.equal(holds(rig, said), true, "the memory is searched");
      assert.equal(holds(rig, key), false);
      assert.equal(holds(rig, extra), false);
    });

  it("reaches it from a session of an application and with the headers of an entry, too", async (t) => {
    const { rig, requests } = await keyed(t, () => ({ text: "Yes." }), { apiKey: "the-key-1" });
    const lent = await rig.lend();
    await lent.rawSection.sendAndWait({ prompt: "Hello" });
    const headers = { "x-of-entry": "mine-1" };
    completed(await turn(await rig.open({ modelServer: { headers } }), "Hello"));
    assert.deepEqual(
      requests.map((one) => [one.headers["authorization"], one.headers["x-of-entry"]]),
      [
        ["Bearer the-key-1", undefined],
        ["Bearer the-key-1", "mine-1"],
      ],
    );
    if (isLinux) assert.equal(holds(rig, "mine-1"), false);
  });

  it("goes to no other server that the first one leads to", async (t) => {
    const seen: string[] = [];
    const elsewhere = await listenTo(t, (headers) => seen.push(JSON.stringify(headers)));
    const moved = { status: 307, headers: { location: `${elsewhere}/v1/chat/completions` } };
    const { rig } = await keyed(t, () => ({ ...moved, raw: "" }), {
      apiKey: "the-key-2",
      headers: { "x-gateway": "the-header-2" },
    });
    crashOf(await turn(await rig.open(), "Hello"));
    assert.notEqual(seen.length, 0);
    assert.doesNotMatch(seen.join(), /the-key-2|the-header-2/);
  });

  it("may come from a function, which is asked again if the server refuses it", async (t) => {
    const rejections: (string | undefined)[] = [];
    let key = "key-1";
    const { rig, requests } = await keyed(
      t,
      ({ headers }) =>
        headers["authorization"] === "Bearer key-2" ? { text: "Yes." } : { status: 401 },
      {
        apiKey: async (rejected) => {
          rejections.push(rejected);
          if (rejected === key) key = "key-2";
          return key;
        },
      },
    );
    assert.equal(completed(await turn(await rig.open(), "Hello")).text, "Yes.");
    assert.ok(rejections.includes("key-1"));
    assert.deepEqual(
      requests.map(({ headers }) => headers["authorization"]),
      ["Bearer key-1", "Bearer key-2"],
    );
  });

  it("that can't be had ends the attempts with the reason, before anything is asked", async (t) => {
    const apiKey = () => Promise.reject(new Error("the vault is sealed"));
    const { rig, requests } = await keyed(t, () => ({ text: "Yes." }), { apiKey });
    const crash = crashOf(await turn(await rig.open(), "Hello"));
    assert.equal(crash.cause, "configuration");
    assert.match(crash.message, /There is no key for the model server: the vault is sealed\./);
    assert.deepEqual(requests, []);
  });
});

function listenTo(t: Owner & Parameters<typeof listen>[0], see: (headers: object) => void) {
  const server = createServer(({ headers }, response) => {
    see(headers);
    response.writeHead(403).end();
  });
  return listen(t, server);
}
