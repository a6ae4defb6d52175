import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { isRunning } from "../../src/platform/processes.ts";
import { callsRig, failureOf, secret, toolsRig } from "./rig.ts";

const node = process.execPath;
const js = (code: string): { readonly command: string[] } => ({ command: [node, "-e", code] });

test("a command gets its arguments without a shell, its params as JSON on stdin, and its stdout is the result", async (t) => {
  const { resultOf, workspace } = await toolsRig(t, {
    echo: js(`
      let text = "";
      process.stdin.on("data", (piece) => text += piece);
      process.stdin.on("end", () => console.log(JSON.stringify({ got: JSON.parse(text), cwd: process.cwd() })));
    `),
    args: { command: [node, "-p", "JSON.stringify(process.argv.slice(1))", "$HOME", "a b", "*"] },
    deaf: js(`process.stdin.destroy(); console.log("done")`),
    deep: js('console.log("[".repeat(100_000) + "]".repeat(100_000));'),
  });
  const params = { text: "$(id) `id` ' \" \n ü", list: [1, null] };
  assert.deepEqual(await resultOf("echo", params), { got: params, cwd: workspace });
  assert.deepEqual(await resultOf("args"), ["$HOME", "a b", "*"]);
  assert.equal(await resultOf("deaf", { large: "x".repeat(5_000_000) }), "done");
  // Values that are nested too deeply are cut off.
  assert.ok(JSON.stringify(await resultOf("deep")).length < 250_000);
});

test("the lines of stderr are progress, and their percentages are recognized", async (t) => {
  const lines = [
    "reading",
    '{"percent": 20, "message": "parsing"}',
    '{"percent": 250}',
    '{"other": 1}',
    "[ 50%] linking",
    "",
    "\u001b[32mgreen\u001b[0m",
  ];
  const { call } = await toolsRig(t, {
    work: { command: [node, "-e", "process.stderr.write(process.argv[1])", lines.join("\n")] },
  });
  const { progress } = await call("work");
  assert.deepEqual(progress, [
    { message: "reading" },
    { percent: 20, message: "parsing" },
    { percent: 100 },
    { message: '{"other": 1}' },
    { percent: 50, message: "linking" },
    { message: "green" },
  ]);
});

test("a line that could be the beginning of a secret is progress after a second of silence", async (t) => {
  const { start, clock } = await toolsRig(t, {
    slow: js(`console.error("started !\\n40%"); setInterval(() => {}, 1000)`),
  });
  const call = await start("slow");
  await call.said("started");
  clock.pass(1000);
  assert.deepEqual(await call.said("", 40), { percent: 40 });
});

test("of a flood of lines only the first hundred of a second are progress", async (t) => {
  const { call } = await toolsRig(t, {
    flood: js(`for (let i = 0; i < 5000; i += 1) console.error("line " + i)`),
  });
  const { progress } = await call("flood");
  assert.equal(progress.length, 100);
});

test("a command that exits with another code than 0, or by a signal, fails with the end of its log", async (t) => {
  const { failure } = await toolsRig(t, {
    broken: js(`
      console.log("src/a.ts: expected a semicolon");
      for (let i = 0; i < 2000; i += 1) console.error("noise " + i);
      console.error("It is broken.");
      process.exitCode = 3;
    `),
    killed: js(`console.error("until here"); process.kill(process.pid, "SIGKILL")`),
  });
  const { reason, tail } = await failure("broken");
  assert.match(reason, /exited with code 3/);
  assert.ok(tail.length <= 4001, `${tail.length} characters`);
  assert.ok(tail.endsWith("It is broken."));
  assert.match(tail, /expected a semicolon/, "compilers print their errors to stdout");
  const killed = await failure("killed");
  assert.match(killed.reason, /SIGKILL/);
  assert.equal(killed.tail, "until here");
});

test("a program that doesn't exist is named with the field of the entry", async (t) => {
  const files = { "no-permission.sh": "echo", "no-interpreter.sh": "#!/no/such/program\n" };
  const { failure } = await callsRig(t, files, {
    missing: { command: ["no-such-program-anywhere", "x"] },
    path: { command: ["./no-such-file"] },
    interpreter: { command: ["./no-interpreter.sh"] },
    permission: { command: ["./no-permission.sh"] },
    invalid: { command: [node, "a\0b"] },
  });
  const reasons: Record<string, string> = {};
  for (const name of ["missing", "path", "interpreter", "permission", "invalid"]) {
    reasons[name] = (await failure(name)).reason;
  }
  assert.match(
    reasons["missing"] ?? "",
    /tools\.missing\.command.*no-such-program-anywhere was not found/,
  );
  assert.match(reasons["path"] ?? "", /tools\.path\.command.*no-such-file.*was not found/);
  assert.match(reasons["interpreter"] ?? "", /interpreter/);
  assert.match(reasons["permission"] ?? "", /execute permission/);
  assert.match(reasons["invalid"] ?? "", /tools\.invalid\.command/);
});

test("a working directory that is gone is what the failure names", async (t) => {
  const { failure } = await toolsRig(t, { work: js("0") }, { workingDirectory: "/no/such/folder" });
  assert.match((await failure("work")).reason, /working directory \/no\/such\/folder/);
});

test("results, progress and failures are redacted, also where a secret is printed in pieces", async (t) => {
  const pieces = `
    const write = (stream, text, done) => [...text].reduceRight(
      (next, char) => () => stream.write(char, () => setTimeout(next, 1)), done)();
  `;
  const { call } = await toolsRig(t, {
    result: js(`${pieces} write(process.stdout, JSON.stringify({ key: "${secret}" }), () => {})`),
    fails: js(`${pieces} write(process.stderr, "key ${secret}\\nmore\\n", () => process.exit(1))`),
  });
  const { outcome } = await call("result");
  assert.deepEqual(outcome, { kind: "succeeded", value: { key: "***" } });
  const failed = await call("fails");
  assert.equal(failureOf(failed.outcome).tail, "key ***\nmore");
  assert.deepEqual(failed.progress, [{ message: "key ***" }, { message: "more" }]);
});

test("a secret is masked where a color or a control character stands in it", async (t) => {
  const split = "\\u001b[01;31m\\u001b[K\\u0000";
  const printed = `"key ${secret.slice(0, 6)}${split}${secret.slice(6)} after\\n"`;
  const { call } = await toolsRig(t, {
    json: js(`process.stdout.write(JSON.stringify({ a: ${printed} }))`),
    fails: js(`process.stderr.write(${printed}, () => process.exit(1))`),
  });
  const json = await call("json");
  assert.deepEqual(json.outcome, { kind: "succeeded", value: { a: "key *** after\n" } });
  const failed = await call("fails");
  assert.equal(failureOf(failed.outcome).tail, "key *** after");
  assert.deepEqual(failed.progress, [{ message: "key *** after" }]);
});

test("a result of more than 10 MB ends the tool and fails the call", async (t) => {
  const { call, leftovers, failure } = await toolsRig(t, {
    endless: js(
      `const piece = "x".repeat(65536); const go = () => process.stdout.write(piece, go); go()`,
    ),
    large: js(`process.stdout.write("x".repeat(9_000_000))`),
  });
  assert.match((await failure("endless")).reason, /more than 10 MB/);
  assert.deepEqual(await leftovers(), []);
  const { outcome } = await call("large");
  assert.equal(outcome.kind === "succeeded" && String(outcome.value).length, 9_000_000);
});

test("canceling a call ends its processes, also children that ignore SIGTERM or have left the group", async (t) => {
  const child = `process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)`;
  const { start, leftovers } = await toolsRig(t, {
    stubborn: js(`
      const { spawn } = require("node:child_process");
      const child = ${JSON.stringify(child)};
      process.on("SIGTERM", () => {});
      const pids = [{}, { detached: true }].map((options) =>
        spawn(process.execPath, ["-e", child], { stdio: "ignore", ...options }).pid);
      console.error("started !");
      setInterval(() => {}, 1000);
    `),
  });
  const call = await start("stubborn");
  await call.said("started");
  assert.equal((await leftovers()).length, 3);
  call.cancel("enough");
  assert.deepEqual(await call.ended, { kind: "cancelled", reason: "enough" });
  assert.deepEqual(await leftovers(), []);
});

test("a tool can end in an orderly way when it is canceled", async (t) => {
  const { start, workspace } = await toolsRig(
    t,
    {
      tidy: js(`
      process.on("SIGTERM", () => { require("node:fs").writeFileSync("ended", "tidily"); process.exit(0); });
      console.error("started !");
      setInterval(() => {}, 1000);
    `),
    },
    { graceMs: 30_000 },
  );
  const call = await start("tidy");
  await call.said("started");
  call.cancel("enough");
  await call.ended;
  assert.equal(readFileSync(`${workspace}/ended`, "utf8"), "tidily");
});

test("what a tool leaves running lives until the toolbox is closed", async (t) => {
  const { call, toolbox, leftovers } = await toolsRig(t, {
    serve: js(`
      const { spawn } = require("node:child_process");
      const server = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore", detached: true });
      server.unref();
      console.log(server.pid);
    `),
  });
  const { outcome } = await call("serve");
  const pid = outcome.kind === "succeeded" ? Number(outcome.value) : 0;
  assert.ok(isRunning(pid));
  await toolbox.close();
  assert.deepEqual(await leftovers(), []);
});

test("closing the toolbox ends calls that are under way, and no call starts afterwards", async (t) => {
  const { start, toolbox, leftovers, failure } = await toolsRig(t, {
    slow: js(`console.error("started !"); setInterval(() => {}, 1000)`),
  });
  const running = await start("slow");
  await running.said("started");
  await toolbox.close();
  assert.match(failureOf(await running.ended).reason, /canceled/);
  assert.deepEqual(await leftovers(), []);
  assert.match((await failure("slow")).reason, /canceled/);
});

test("a tool sees the environment that scripts see, and the variables that were allowed", async (t) => {
  const environment = {
    PATH: process.env["PATH"],
    GITHUB_TOKEN: "ghp_secret",
    NODE_OPTIONS: "--no-warnings",
    LANG: "C.UTF-8",
  };
  const variables = { ALLOWED: "yes" };
  const { call } = await toolsRig(
    t,
    { env: js("console.log(JSON.stringify(process.env))") },
    { environment, variables },
  );
  const { outcome } = await call("env");
  assert.ok(outcome.kind === "succeeded");
  const seen = Object.keys(Object(outcome.value)).toSorted();
  assert.deepEqual(
    seen.filter((name) => !name.startsWith("AGENT_JOBS_")),
    ["ALLOWED", "LANG", "PATH"],
  );
  assert.ok(seen.includes("AGENT_JOBS_RUN"));
});
