/** Servers that break the protocol, end, hang or say too much: each is a failure of its own, and nothing else. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { waitUntilGone } from "../../../src/platform/processes.ts";
import { outcomeOf } from "../../../src/tools/mcp/result.ts";
import { longestResult } from "../../../src/tools/tool-output.ts";
import type { ToolOutcome } from "../../../src/tools/tool.ts";
import { createRedactor } from "../../../src/redaction/redactor.ts";
import { call, failure, makeMcpRig, never, ready, reasonOf, toolNamed, value } from "./rig.ts";

const names = (found: { readonly tools: readonly { readonly name: string }[] }): string[] =>
  found.tools.map(({ name }) => name);

test("a server that doesn't answer fails its start in bounded time", async (t) => {
  const rig = await makeMcpRig(t);
  const run = rig.run();
  for (const behavior of ["hangs", "hangs-in-list", "slow-pages"]) {
    // Enough for a busy machine to get as far as the list.
    const server = rig.misbehaving(behavior, { startSeconds: 1.5 });
    const found = await run.toolsOf(behavior, server, never);
    assert.equal(reasonOf(found), "It did not start within 1.5 s (startSeconds).");
  }
  const mute = rig.misbehaving("hangs-in-list", { startSeconds: 0.4 });
  const again = async (): Promise<string> =>
    reasonOf(await run.toolsOf("hangs-in-list", mute, never));
  assert.match(await again(), /^It did not start within 0\.4 s/);
  assert.match(await again(), /^It did not start within 0\.4 s/);
  assert.match(await again(), /not started again in this run/);
  assert.ok(await waitUntilGone(rig.pids(), 30_000));
});

test("a host that is closed ends a start that is under way", async (t) => {
  const rig = await makeMcpRig(t);
  const starting = rig.run().toolsOf("docs", rig.misbehaving("stubborn-start"), never);
  await rig.logged("child");
  await rig.servers.close();
  assert.equal(reasonOf(await starting), "The host was closed.");
  assert.ok(await waitUntilGone(rig.pids(), 30_000));
});

test("a server that exits at its start is told with the end of its stderr, and may be tried again", async (t) => {
  const rig = await makeMcpRig(t, { secrets: ["hunter2hunter2"] });
  const exits = rig.misbehaving("exits", { env: { GIVEN: "hunter2hunter2" } });
  const run = rig.run();
  const reason = reasonOf(await run.toolsOf("docs", exits, never));
  assert.match(reason, /exit code 7/);
  assert.match(reason, /Can't open \*+/);
  assert.doesNotMatch(reason, /hunter2/);
  for (let turn = 0; turn < 4; turn += 1) {
    assert.match(reasonOf(await run.toolsOf("docs", exits, never)), /exit code 7/);
  }
  const last = reasonOf(await run.toolsOf("docs", exits, never));
  assert.match(last, /exit code 7[^]*not started again in this run/);
  // Each start is tried in both ways of the protocol.
  assert.equal(rig.log().length, 6);
  assert.match(reasonOf(await rig.run().toolsOf("docs", exits, never)), /exit code 7/);
  assert.equal(rig.log().length, 8);
});

test("a program that isn't there is a failed start", async (t) => {
  const rig = await makeMcpRig(t);
  const found = await rig.run().toolsOf("docs", { command: "no-such-program" }, never);
  assert.match(reasonOf(found), /ENOENT/);
});

test("a server that exits at a question it doesn't know is started in the old way", async (t) => {
  const rig = await makeMcpRig(t);
  const found = await rig.run().toolsOf("docs", rig.misbehaving("strict"), never);
  assert.equal(value(await call(toolNamed(found, "docs/call"))), "done");
  assert.equal(rig.log().filter((line) => line.startsWith("start")).length, 2);
});

test("a server that only knows the newest version is asked which ones it knows, and needs no handshake", async (t) => {
  const rig = await makeMcpRig(t);
  const found = await rig.run().toolsOf("docs", rig.misbehaving("modern"), never);
  assert.equal(value(await call(toolNamed(found, "docs/call"))), "done");
  assert.deepEqual(rig.log().slice(1), ["server/discover", "tools/list", "tools/call"]);
});

test("a server that dies in a call fails the calls under way, and is started again twice", async (t) => {
  const rig = await makeMcpRig(t, { secrets: ["hunter2hunter2"] });
  const run = rig.run();
  const dies = rig.misbehaving("dies", { env: { GIVEN: "hunter2hunter2" } });
  const tool = toolNamed(await run.toolsOf("docs", dies, never), "docs/call");
  const [first, second] = await Promise.all([call(tool), call(tool)]);
  for (const outcome of [first, second]) {
    assert.match(failure(outcome), /^The server ended: exit code 3\.\nThe disk is on fire: \*+/);
  }
  ready(await run.toolsOf("docs", dies, never));
  assert.match(failure(await call(tool)), /exit code 3/);
  // A call starts it, too.
  assert.match(failure(await call(tool)), /exit code 3/);
  assert.match(failure(await call(tool)), /not available[^]*exit code 3[^]*not started again/);
  assert.equal(rig.log().filter((line) => line.startsWith("start")).length, 3);
  assert.match(reasonOf(await run.toolsOf("docs", dies, never)), /not started again/);
  // A later run starts afresh.
  ready(await rig.run().toolsOf("docs", dies, never));
});

test("a call that is never answered ends with its signal, and the server hears of it", async (t) => {
  const rig = await makeMcpRig(t);
  const found = await rig.run().toolsOf("docs", rig.misbehaving("silent"), never);
  const abort = new AbortController();
  const calling = call(toolNamed(found, "docs/call"), {}, abort.signal);
  await rig.logged("call");
  abort.abort("timed_out");
  assert.equal((await calling).kind, "timed_out");
  await rig.logged("cancelled");
});

test("a message of more than 12 MB ends its server, which is started again", async (t) => {
  const rig = await makeMcpRig(t);
  const found = await rig.run().toolsOf("docs", rig.misbehaving("big"), never);
  const tool = toolNamed(found, "docs/call");
  for (const _ of [1, 2])
    assert.match(failure(await call(tool)), /ended: it sent a message of more than 12 MB\./);
  assert.equal(rig.log().filter((line) => line.startsWith("start")).length, 2);
});

test("a reason of more than 10 MB is not shown: a secret would be cut before it is masked", async () => {
  const secret = randomBytes(50_000).toString("hex");
  const text = secret.repeat(Math.ceil(longestResult / secret.length));
  const redactor = createRedactor([secret]);
  const result = { isError: true, content: [{ type: "text" as const, text }] };
  const outcome = await outcomeOf(result, redactor.stream);
  assert.equal(outcome.kind, "failed");
  assert.ok(!JSON.stringify(outcome).includes(secret.slice(0, 100)));
  const shorter = { ...result, content: [{ type: "text" as const, text: `No: ${secret}` }] };
  assert.deepEqual(await outcomeOf(shorter, redactor.stream), {
    kind: "failed",
    reason: "No: ***",
  });
});

test("secrets are masked in results, names of fields included, also where they are colored", async (t) => {
  const rig = await makeMcpRig(t, { secrets: ["hunter2hunter2"] });
  const secret = rig.misbehaving("secret", { env: { GIVEN: "env:KEY" } });
  for (const KEY of ["hunter2hunter2", "hunter2\u001b[0mhunter2"]) {
    const found = await rig.run({ KEY }).toolsOf("docs", secret, never);
    const told = JSON.stringify(value(await call(toolNamed(found, "docs/call"))));
    assert.match(told, /^\{"\*+":\["\*+"\],"content":"the key is \*+"\}$/);
  }
});

test("garbage is ignored, failures are passed on, texts of resources as well, other data is described", async (t) => {
  const rig = await makeMcpRig(t);
  const answer = async (behavior: string): Promise<ToolOutcome> => {
    const found = await rig.run().toolsOf("docs", rig.misbehaving(behavior), never);
    return call(toolNamed(found, "docs/call"));
  };
  assert.equal(value(await answer("garbage")), "done");
  assert.equal(failure(await answer("killed")), "The server ended: SIGKILL.");
  assert.match((await answer("nested")).kind, /^(?:succeeded|failed)$/);
  const found = await rig.run().toolsOf("docs", rig.misbehaving("answers"), never);
  const told = (result: object): Promise<ToolOutcome> =>
    call(toolNamed(found, "docs/call"), { result });
  const closed = { content: [text("It is closed on Sundays.")], isError: true };
  assert.equal(failure(await told(closed)), "It is closed on Sundays.");
  const file = { uri: "file:///a.bin", blob: "MTIzNDU=" };
  const resources = [{ uri: "file:///a.txt", text: "12345" }, file];
  const parts = [
    text("Look:"),
    image,
    ...resources.map((resource) => ({ type: "resource", resource })),
    { type: "resource_link", uri: "file:///b.txt", name: "b" },
  ];
  assert.equal(
    value(await told({ content: parts })),
    `Look:\n${shot}\n[resource: file:///a.txt]\n12345\n[resource: file:///a.bin, 5 bytes]\n[resource: file:///b.txt]`,
  );
  const structuredContent = { shots: [image], file, count: 1 };
  assert.deepEqual(value(await told({ content: [], structuredContent })), {
    shots: [shot],
    file: "[resource: file:///a.bin, 5 bytes]",
    count: 1,
  });
});

test("a list of 1,000 tools on ten pages is read, and an endless one is a failure", async (t) => {
  const rig = await makeMcpRig(t);
  const run = rig.run();
  const { tools } = ready(await run.toolsOf("docs", rig.misbehaving("thousand"), never));
  assert.equal(tools.length, 1_000);
  assert.equal(tools.at(-1)?.name, "docs/tool_999");
  const reason = reasonOf(await run.toolsOf("endless", rig.misbehaving("endless"), never));
  assert.match(reason, /more than 100 pages/);
});

test("a tool that breaks the protocol costs only itself, unless nobody wants it, and null means absent", async (t) => {
  const rig = await makeMcpRig(t);
  const malformed = rig.misbehaving("malformed");
  const found = ready(await rig.run().toolsOf("docs", malformed, never));
  assert.deepEqual(
    names(found),
    ["fine", "required", "title", "output"].map((one) => `docs/${one}`),
  );
  assert.match(JSON.stringify(found.tools[0]?.parameters), /"default":null/);
  const told = found.problems?.join("\n") ?? "";
  assert.match(told, /"choice", "empty": its definition .*\(inputSchema\.type: /);
  assert.match(told, /"": its definition/);
  const wanted = await rig.run().toolsOf("docs", { ...malformed, tools: ["fine"] }, never);
  assert.deepEqual(ready(wanted).problems, []);
});

test("a list ends at a cursor that has been there", async (t) => {
  const rig = await makeMcpRig(t);
  const listed = async (behavior: string): Promise<unknown> => {
    const found = ready(await rig.run().toolsOf("docs", rig.misbehaving(behavior), never));
    return { names: names(found), problems: found.problems };
  };
  assert.deepEqual(await listed("repeats"), { names: ["docs/call", "docs/late"], problems: [] });
  assert.deepEqual(await listed("ignores-cursors"), { names: ["docs/call"], problems: [] });
});

const oddAnswers: Readonly<Record<string, readonly [object, RegExp]>> = {
  "no result": [{ result: null }, /neither a result nor an error/],
  "a result that is a text": [{ result: "done" }, /not an object/],
  "an error beside a result": [
    { result: { content: [] }, error: { code: -32_000, message: "It is closed." } },
    /It is closed\./,
  ],
  "an error without a code": [{ error: { message: "It is closed." } }, /It is closed\./],
  "an error that is a text": [{ error: "It is closed." }, /It is closed\./],
  "a null error": [
    { error: null, result: { content: [{ type: "text", text: "done", annotations: null }] } },
    /^done$/,
  ],
};

test("a server that is well is not told with its stderr", async (t) => {
  const rig = await makeMcpRig(t);
  const found = await rig.run().toolsOf("docs", rig.misbehaving("answers"), never);
  const closed = { error: { code: -32_000, message: "It is closed." } };
  for (let turn = 0; turn < 3; turn += 1)
    assert.equal(failure(await call(toolNamed(found, "docs/call"), closed)), "It is closed.");
});

const text = (value: string) => ({ type: "text", text: value });
const image = { type: "image", mimeType: "image/png", data: "MTIzNDU=" };
const shot = "[image: image/png, 5 bytes]";
const structuredResults: readonly (readonly [string, object, readonly object[], unknown])[] = [
  ["as JSON", { b: 1, a: [1] }, [text('{\n "a": [1], "b": 1 }')], { b: 1, a: [1] }],
  ["as a field", { result: "yes" }, [text("yes\n")], { result: "yes" }],
  ["as items", { result: [{ a: 1 }, 2] }, [text('{"a":1}'), text("2")], { result: [{ a: 1 }, 2] }],
  ["nothing", { a: 1 }, [text(" ")], { a: 1 }],
  ["as an image", { a: [image] }, [image], { a: [shot] }],
  ["not, beside an empty field", { a: "" }, [text("more")], { a: "", content: "more" }],
  ["not", { a: 1 }, [text("See below."), image], { a: 1, content: `See below.\n${shot}` }],
  [
    "not, beside a field of that name",
    { content: 1 },
    [text("more")],
    { structuredContent: { content: 1 }, content: "more" },
  ],
];
for (const [how, structuredContent, content, expected] of structuredResults)
  test(`what a structured result repeats ${how} is told once, the rest is passed on`, async (t) => {
    const rig = await makeMcpRig(t);
    const found = await rig.run().toolsOf("docs", rig.misbehaving("answers"), never);
    const result = { content, structuredContent };
    assert.deepEqual(value(await call(toolNamed(found, "docs/call"), { result })), expected);
  });

test("whatever has the id of a call answers it", async (t) => {
  const rig = await makeMcpRig(t);
  const found = await rig.run().toolsOf("docs", rig.misbehaving("answers"), never);
  for (const [what, [answer, expected]] of Object.entries(oddAnswers)) {
    const outcome = await call(toolNamed(found, "docs/call"), { ...answer });
    assert.match(
      what === "a null error" ? String(value(outcome)) : failure(outcome),
      expected,
      what,
    );
  }
});

test("a tool that can't be offered is left out and told, and what is offered is bounded", async (t) => {
  const rig = await makeMcpRig(t);
  const { tools, problems } = ready(await rig.run().toolsOf("docs", rig.misbehaving("odd"), never));
  assert.deepEqual(names({ tools }), [
    "docs/fine",
    // The arguments are checked by the server, so is what their schemas mean.
    "docs/uncompilable",
    "docs/elsewhere",
    "docs/huge",
  ]);
  assert.ok((tools[0]?.description ?? "").length < 5_000);
  const told = problems?.join("\n") ?? "";
  assert.match(told, /"fine": there is another one of the same name/);
  assert.match(told, /"a\/b", "x{80}…", "", "::error::\\n": its name must consist/);
  assert.equal(told.split("\n").length, 2);
});

test("a server that says it only reads is taken at its word, and a changed list is read again", async (t) => {
  const rig = await makeMcpRig(t);
  const run = rig.run();
  const changes = rig.misbehaving("changes");
  const before = await run.toolsOf("docs", changes, never);
  assert.deepEqual(names(ready(before)), ["docs/call", "docs/look"]);
  assert.equal(toolNamed(before, "docs/look").readOnly, true);
  assert.equal(toolNamed(before, "docs/call").readOnly, false);
  await call(toolNamed(before, "docs/call"));
  assert.deepEqual(names(ready(await run.toolsOf("docs", changes, never))), [
    "docs/call",
    "docs/look",
    "docs/late",
  ]);
});

test("a server that is mute when its changed list is read is ended in bounded time, and started again", async (t) => {
  const rig = await makeMcpRig(t);
  const run = rig.run();
  const server = rig.misbehaving("hangs-later", { startSeconds: 2 });
  await call(toolNamed(await run.toolsOf("docs", server, never), "docs/call"));
  assert.equal(
    reasonOf(await run.toolsOf("docs", server, never)),
    "Its tools can't be listed: It did not list its tools within 2 s (startSeconds).",
  );
  ready(await run.toolsOf("docs", server, never));
});

test("a server that ignores the end of its stdin and SIGTERM is ended with its children", async (t) => {
  // Long enough for a busy machine to tell it of the signal.
  const rig = await makeMcpRig(t, { graceMs: 2_000 });
  ready(await rig.run().toolsOf("docs", rig.misbehaving("stubborn"), never));
  const pids = rig.pids();
  assert.equal(pids.length, 2);
  await rig.servers.close();
  // A process that has lost its parent is gone once the system has noticed.
  assert.ok(await waitUntilGone(pids, 30_000));
  assert.ok(rig.log().includes("SIGTERM"));
  const late = await rig.run().toolsOf("docs", rig.misbehaving("stubborn"), never);
  assert.equal(reasonOf(late), "The host is closed.");
});

test("a process without time ends its servers at once", async (t) => {
  const rig = await makeMcpRig(t);
  ready(await rig.run().toolsOf("docs", rig.misbehaving("stubborn"), never));
  rig.servers.kill();
  assert.ok(await waitUntilGone(rig.pids(), 30_000));
});
