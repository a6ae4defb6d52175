import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { test } from "node:test";
import { callsRig, secret } from "./rig.ts";

test("a function of a module is called with the params, and returns the result", async (t) => {
  const { resultOf } = await callsRig(
    t,
    {
      "tools/search.mjs": `
        export default (params) => ({ params });
        export async function search({ words }) { return words.toUpperCase(); }
        export const nothing = () => {};
      `,
      "tools/common.cjs": `exports.add = ({ a, b }) => a + b;`,
    },
    {
      whole: { module: "tools/search.mjs" },
      search: { module: "./tools/search.mjs", export: "search" },
      nothing: { module: "tools/search.mjs", export: "nothing" },
      add: { module: "tools/common.cjs", export: "add" },
    },
  );
  assert.deepEqual(await resultOf("whole", { text: "ü" }), { params: { text: "ü" } });
  assert.equal(await resultOf("search", { words: "a b" }), "A B");
  assert.equal(await resultOf("nothing"), null);
  assert.equal(await resultOf("add", { a: 1, b: 2 }), 3);
});

test("a module can be TypeScript that imports other TypeScript", async (t) => {
  const { resultOf } = await callsRig(
    t,
    {
      "tools/search.ts": `
        import type { Params } from "./params.ts";
        import { readFileSync, type PathLike } from "node:fs";
        import { found } from "./lib/found.mts";
        const path: PathLike = "data.txt";
        export function search<T extends Params>({ words }: T): { hits: string[] } {
          return { hits: found(words as string, readFileSync(path, "utf8")!) satisfies string[] };
        }
      `,
      "tools/params.ts": `export interface Params { readonly words: string }`,
      "tools/lib/found.mts": `
        export const found = (words: string, text: string): string[] =>
          text.split("\\n").filter((line: string) => line.includes(words));
      `,
      "tools/plain.js": `exports.ask = async () => (await import("./lib/found.mts")).found("a", "a");`,
      "data.txt": "one a\ntwo\nthree a",
    },
    {
      search: { module: "tools/search.ts", export: "search" },
      plain: { module: "tools/plain.js", export: "ask" },
    },
  );
  assert.deepEqual(await resultOf("search", { words: "a" }), { hits: ["one a", "three a"] });
  assert.deepEqual(await resultOf("plain"), ["a"]);
});

test("what a module prints is progress and never part of the result", async (t) => {
  const { call } = await callsRig(
    t,
    {
      "talks.mjs": `
        import { execSync } from "node:child_process";
        console.log("loading");
        export default (params, { progress }) => {
          console.log("one");
          console.error("two");
          execSync("echo from a child", { stdio: "inherit" });
          progress({ percent: 50, message: "half" });
          progress("in words");
          progress(75);
          return "done";
        };
      `,
    },
    { talks: { module: "talks.mjs" } },
  );
  const { outcome, progress } = await call("talks");
  assert.deepEqual(outcome, { kind: "succeeded", value: "done" });
  const shown = progress.map(({ percent, message }) => `${percent ?? ""} ${message ?? ""}`.trim());
  // stdout and stderr are two streams: only the order within each is certain.
  assert.deepEqual(
    shown.filter((line) => ["loading", "one", "from a child"].includes(line)),
    ["loading", "one", "from a child"],
  );
  assert.deepEqual(
    shown.filter((line) => !["loading", "one", "from a child"].includes(line)),
    ["two", "50 half", "in words", "75"],
  );
});

test("a function that fails, or returns no JSON, fails the call with the reason and the log", async (t) => {
  const cases: readonly (readonly [code: string, reason: RegExp])[] = [
    ["throw new Error('no such index')", /^no such index$/],
    ["throw 'a text'", /^a text$/],
    ["process.exit(0)", /ended its process with exit code 0 before/],
    ["return new Promise(() => {})", /never returns/],
    ["return 1n", /can't be written as JSON/],
    [
      "setTimeout(() => { throw new Error('later') }); return new Promise(() => {})",
      /with exit code/,
    ],
  ];
  const files = cases.map(([code], index) => [
    `bad${index}.mjs`,
    `export default () => { console.log("before"); ${code} };`,
  ]);
  const tools = cases.map((_, index) => [`bad${index}`, { module: `bad${index}.mjs` }]);
  const { failure } = await callsRig(t, Object.fromEntries(files), Object.fromEntries(tools));
  for (const [index, [code, expected]] of cases.entries()) {
    const { reason, tail } = await failure(`bad${index}`);
    assert.match(reason, expected, code);
    assert.match(tail, /before/, code);
  }
});

test("a module that can't be loaded fails the call with the reason", async (t) => {
  const { failure } = await callsRig(
    t,
    {
      "syntax.mjs": "export default () => {",
      "syntax.ts": "export default (a: = 1) => {",
      "other.mjs": "export const one = 1; export const two = () => {};",
    },
    {
      missing: { module: "no/such.mjs" },
      js: { module: "syntax.mjs" },
      ts: { module: "syntax.ts" },
      name: { module: "other.mjs", export: "one" },
    },
  );
  const reason = async (name: string): Promise<string> => (await failure(name)).reason;
  assert.match(
    await reason("missing"),
    /tools\.missing\.module: no\/such\.mjs is not a file of the working directory/,
  );
  assert.match(await reason("js"), /Unexpected/);
  assert.match(await reason("ts"), /syntax|expected|token/i);
  assert.match(await reason("name"), /no function one\. It exports one, two/);
});

test("a module outside of the working directory is not loaded", async (t) => {
  const { workspace, failure } = await callsRig(
    t,
    { "inside/a.mjs": "export default () => 1" },
    {
      up: { module: "../../../../../../../../etc/hosts" },
      absolute: { module: "/etc/hosts" },
      link: { module: "link.mjs" },
    },
  );
  symlinkSync("/etc/hosts", `${workspace}/link.mjs`);
  for (const name of ["up", "absolute", "link"]) {
    const { reason } = await failure(name);
    assert.match(
      reason,
      new RegExp(`tools\\.${name}\\.module: .* is not a file of the working directory`),
    );
  }
});

test("an endless loop is ended at the time limit", async (t) => {
  const files = { "loop.mjs": `export default () => { console.log("started !"); for (;;); }` };
  const { start, clock, leftovers } = await callsRig(t, files, { loop: { module: "loop.mjs" } });
  const call = await start("loop");
  await call.said("started");
  clock.pass(60_000);
  assert.deepEqual(await call.ended, { kind: "timed_out" });
  assert.deepEqual(await leftovers(), []);
});

test("the signal of a function aborts when the call is canceled", async (t) => {
  const { start, workspace } = await callsRig(
    t,
    {
      "tidy.mjs": `
        import { writeFileSync } from "node:fs";
        export default (params, { signal }) => new Promise((resolve, reject) => {
          console.log("started !");
          const timer = setInterval(() => {}, 1000);
          signal.addEventListener("abort", () => {
            clearInterval(timer);
            writeFileSync("ended", signal.reason.message);
            reject(signal.reason);
          });
        });
      `,
    },
    { tidy: { module: "tidy.mjs" } },
  );
  const call = await start("tidy");
  await call.said("started");
  call.cancel("enough");
  await call.ended;
  const { readFileSync } = await import("node:fs");
  assert.equal(readFileSync(`${workspace}/ended`, "utf8"), "The call was canceled.");
});

test("results and messages of a module are redacted", async (t) => {
  const { resultOf, failure } = await callsRig(
    t,
    {
      "leaks.mjs": `
        export default () => ({ key: "${secret}" });
        export const fails = () => { throw new Error("key ${secret}") };
      `,
    },
    { leaks: { module: "leaks.mjs" }, fails: { module: "leaks.mjs", export: "fails" } },
  );
  assert.deepEqual(await resultOf("leaks"), { key: "***" });
  const { reason, tail } = await failure("fails");
  assert.equal(reason, "key ***");
  assert.ok(!tail.includes(secret));
});
