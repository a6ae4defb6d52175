import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { callsRig, failureOf, secret, toolsRig, writeFiles } from "./rig.ts";

const node = process.execPath;
const append = (text: string): string => `require("node:fs").appendFileSync("log", "${text}")`;
const tool = [node, "-e", append("c")];

function logOf(workspace: string): string {
  return readFileSync(`${workspace}/log`, "utf8");
}

test("a build runs before the first call, and again after its inputs have changed", async (t) => {
  const { call, workspace } = await callsRig(
    t,
    { "src/a/one.ts": "1", "src/generated/x.ts": "1", "readme.md": "1" },
    {
      a: {
        command: tool,
        build: { command: [node, "-e", append("b")], inputs: ["src/**/*.ts", "!src/generated/**"] },
      },
    },
  );
  const files = async (changed: Readonly<Record<string, string>>): Promise<string> => {
    writeFiles(workspace, changed);
    assert.equal((await call("a")).outcome.kind, "succeeded");
    return logOf(workspace);
  };
  assert.equal(await files({}), "bc");
  assert.equal(await files({}), "bcc");
  assert.equal(await files({ "readme.md": "2", "src/generated/x.ts": "2" }), "bccc");
  assert.equal(await files({ "src/a/one.ts": "2" }), "bcccbc");
  assert.equal(await files({ "src/two.ts": "" }), "bcccbcbc");
  // Other content, and the same size and names.
  assert.equal(await files({ "src/a/one.ts": "3" }), "bcccbcbcbc");
});

test("a build runs without the sandbox of the task whose call needs it", async (t) => {
  const { call, workspace } = await callsRig(
    t,
    { "a.txt": "", enter: '#!/bin/sh\necho "$3" >> entered\nexec "$@"\n' },
    { a: { command: tool, build: { command: [node, "-e", append("b")], inputs: ["a.txt"] } } },
    { confine: () => Promise.resolve({ enter: "./enter", close: () => {} }) },
  );
  assert.equal((await call("a")).outcome.kind, "succeeded");
  assert.equal(readFileSync(`${workspace}/entered`, "utf8"), `${append("c")}\n`);
});

test("calls that come together share one build, also those of another tool with the same build", async (t) => {
  const build = { command: [node, "-e", append("b")], inputs: ["*.txt"] };
  const { call, workspace } = await callsRig(
    t,
    { "a.txt": "" },
    { a: { command: tool, build }, b: { command: tool, build } },
  );
  const called = await Promise.all([call("a"), call("a"), call("b")]);
  assert.ok(called.every(({ outcome }) => outcome.kind === "succeeded"));
  assert.equal(logOf(workspace), "bccc");
  assert.match(called[1]?.progress[0]?.message ?? "", /^Building a: /);
});

test("a build that fails, fails every call that waits, with the end of its log; the next call tries again", async (t) => {
  const fails = `${append("b")}; console.log("line"); console.error("no ${secret}"); process.exit(2)`;
  const { call, workspace } = await toolsRig(t, {
    a: { command: tool, build: { command: [node, "-e", fails], inputs: [] } },
  });
  const called = await Promise.all([call("a"), call("a")]);
  for (const { outcome } of called) {
    const { reason, tail } = failureOf(outcome);
    assert.match(reason, /^The build of a failed\. .* exited with code 2\.$/);
    assert.equal(tail, "line\nno ***");
  }
  assert.equal(logOf(workspace), "b");
  await call("a");
  assert.equal(logOf(workspace), "bb");
});

test("a build whose program doesn't exist is named with its field", async (t) => {
  const build = { command: ["no-such-program-anywhere"], inputs: [] };
  const { failure } = await toolsRig(t, { a: { command: tool, build } });
  assert.match((await failure("a")).reason, /tools\.a\.build\.command/);
});

const waits = `
  const fs = require("node:fs");
  console.log("waiting !");
  const timer = setInterval(() => { if (fs.existsSync("go")) { clearInterval(timer); ${append("b")}; } }, 5);
`;

test("a build is no part of the time limit of the call, and has a limit of its own", async (t) => {
  const build = { command: [node, "-e", waits], inputs: [], minutes: 3 };
  const { start, workspace, clock, leftovers } = await toolsRig(t, { a: { command: tool, build } });
  const late = await start("a");
  await late.said("waiting");
  clock.pass(179_000);
  clock.pass(1_000);
  assert.match(failureOf(await late.ended).reason, /The build of a took longer than 3 minutes/);
  assert.deepEqual(await leftovers(), []);

  const call = await start("a");
  await call.said("waiting");
  clock.pass(120_000);
  writeFileSync(`${workspace}/go`, "");
  assert.equal((await call.ended).kind, "succeeded");
  assert.equal(logOf(workspace), "bc");
});

test("a call that is canceled stops waiting, and the build goes on for the others", async (t) => {
  const build = { command: [node, "-e", waits], inputs: [] };
  const { start, workspace } = await toolsRig(t, { a: { command: tool, build } });
  const [first, second] = [await start("a"), await start("a")];
  await first.said("waiting");
  await second.said("waiting");
  first.cancel("enough");
  assert.equal((await first.ended).kind, "cancelled");
  writeFileSync(`${workspace}/go`, "");
  assert.equal((await second.ended).kind, "succeeded");
  assert.equal(logOf(workspace), "bc");
});
