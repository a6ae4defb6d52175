/** The published server that shows all of the protocol, over stdio and over HTTP. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ToolProgress } from "../../../src/tools/tool.ts";
import type { McpServer } from "../../../src/entry/model.ts";
import {
  call,
  everything,
  failure,
  makeMcpRig,
  never,
  ready,
  startEverything,
  toolNamed,
  value,
} from "./rig.ts";

const overStdio = { command: process.execPath, args: [everything, "stdio"] } as const;

for (const road of ["stdio", "HTTP"] as const) {
  test(`over ${road}, its tools are offered as server/tool, and answer`, async (t) => {
    const rig = await makeMcpRig(t);
    const declaration: McpServer =
      road === "stdio" ? overStdio : { url: (await startEverything(t)).url };
    const run = rig.run();
    const found = await run.toolsOf("all", declaration, never);
    const { tools, problems } = ready(found);
    assert.deepEqual(problems, [
      `Not offered: "simulate-research-query": it requires the protocol's tasks, which are not supported.`,
    ]);
    assert.ok(tools.length > 5);
    for (const { name } of tools) assert.match(name, /^all\/[a-z_-]+$/);
    const named = (name: string) => toolNamed(found, `all/${name}`);

    assert.match(named("echo").description ?? "", /echo/i);
    assert.equal(value(await call(named("echo"), { message: "hello" })), "Echo: hello");
    assert.match(failure(await call(named("echo"), { message: 5 })), /message/);
    const weather = await call(named("get-structured-content"), { location: "New York" });
    assert.match(JSON.stringify(value(weather)), /^\{"temperature":\d+,/);
    assert.match(
      String(value(await call(named("get-tiny-image")))),
      /\[image: image\/png, \d+ bytes\]/,
    );

    const listed = JSON.stringify(value(await call(named("list_resources"))));
    const [, uri = ""] = /"uri":"([^"]*architecture[^"]*)"/.exec(listed) ?? [];
    assert.match(listed, /"resourceTemplates":.*"uriTemplate":"demo:/);
    assert.match(
      String(value(await call(named("read_resource"), { uri }))),
      /^\[resource: .*architecture.*\]\n# /,
    );
    assert.match(failure(await call(named("read_resource"), { uri: "demo://none" })), /none/);

    const heard: ToolProgress[] = [];
    const slow = named("trigger-long-running-operation");
    await call(slow, { duration: 0.4, steps: 4 }, never, (one) => heard.push(one));
    // Progress that arrives together with the result may be lost.
    assert.deepEqual(heard.map(({ percent }) => percent).slice(0, 3), [25, 50, 75]);

    const abort = new AbortController();
    const running = call(slow, { duration: 60, steps: 60 }, abort.signal, () => abort.abort());
    assert.equal((await running).kind, "timed_out");
    assert.equal(value(await call(named("echo"), { message: "still here" })), "Echo: still here");
    const again = ready(await run.toolsOf("all", declaration, never));
    assert.equal(again.tools.length, tools.length);
  });
}

test("only the tools that the declaration names are offered, and an unknown name is told once", async (t) => {
  const rig = await makeMcpRig(t);
  const run = rig.run();
  const declaration = { ...overStdio, tools: ["echo", "ecko"] };
  const { tools, problems } = ready(await run.toolsOf("all", declaration, never));
  assert.deepEqual(
    tools.map(({ name }) => name),
    ["all/echo"],
  );
  assert.deepEqual(problems, ['Not offered: "ecko": the server has no such tool.']);
  assert.deepEqual(ready(await run.toolsOf("all", declaration, never)).problems, []);
});
