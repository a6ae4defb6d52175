import assert from "node:assert/strict";
import { open, readFile, stat, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { createRedactor } from "../../../src/redaction/redactor.ts";
import { processesMarked } from "../../../src/platform/processes.ts";
import { RUN_MARK } from "../../../src/platform/run-folder.ts";
import type { Executed } from "../../../src/workflow/run/script-runner.ts";
import { scriptsRig, type Rig } from "./scripts-rig.ts";

const minutes = (count: number): number => count * 60_000;

/** Runs a script, and calls `then` as soon as it has printed something. */
function whenHeard(
  { runner }: Rig,
  code: string,
  then: (text: string) => void,
  signal = new AbortController().signal,
): Promise<Executed> {
  return runner.execute(
    [
      { tag: "bash", code },
      { tag: "bash", code: "echo not reached" },
    ],
    {
      signal,
      onOutput: ({ text }) => then(text),
    },
  );
}

test("commandMinutes ends the process group, and the shell goes on from before the script", async (t) => {
  const rig = await scriptsRig(t, { limits: { commandMinutes: 5, commandIdleMinutes: 60 } });
  await rig.run("export A=before; f() { echo f; }; cd /usr");
  const ended = await whenHeard(
    rig,
    "export A=after; cd /; sleep 1000 & (trap '' TERM; sleep 1000) & echo on; sleep 1000; echo no",
    () => rig.clock.pass(minutes(5)),
  );
  assert.ok(ended.kind === "failed" && ended.because === "limit");
  assert.match(ended.reason, /limits\.commandMinutes \(5 minutes/);
  assert.deepEqual(
    ended.runs.map(({ output, timedOut, exitCode }) => [output, timedOut, exitCode]),
    [["on\n", true, 124]],
  );
  assert.deepEqual(await processesMarked(RUN_MARK, rig.folder.mark), []);
  assert.equal((await rig.run('echo "$A"; f; pwd')).output, "before\nf\n/usr\n");
});

test("the time is that of the activity: all of its scripts together", async (t) => {
  const rig = await scriptsRig(t, { limits: { commandMinutes: 5 } });
  const { signal } = new AbortController();
  const scripts = ["echo one", "echo two; sleep 1000"].map((code) => ({ tag: "sh", code }));
  const ended = await rig.runner.execute(scripts, {
    signal,
    onOutput: () => rig.clock.pass(minutes(2.5)),
  });
  assert.ok(ended.kind === "failed" && ended.because === "limit");
  assert.deepEqual(
    ended.runs.map(({ output }) => output),
    ["one\n", "two\n"],
  );
});

test("commandIdleMinutes counts from the last output", async (t) => {
  const rig = await scriptsRig(t, { limits: { commandIdleMinutes: 2 } });
  await rig.run("mkfifo go1 go2");
  let pieces = 0;
  const script = "echo 1; read <go1; echo 2; read <go2; echo 3; sleep 1000; echo no";
  const ended = await whenHeard(rig, script, () => {
    pieces += 1;
    rig.clock.pass(minutes(1.5));
    if (pieces < 3) void writeFile(`${rig.workspace}/go${pieces}`, "\n");
    else rig.clock.pass(minutes(0.5));
  });
  assert.ok(ended.kind === "failed" && ended.because === "limit");
  assert.match(ended.reason, /commandIdleMinutes \(2 minutes/);
  assert.match(ended.runs[0]?.output ?? "", /^1\n2\n3\n(?:Terminated\n)?$/);
});

test("a cancellation ends the script and all that it has started", async (t) => {
  const rig = await scriptsRig(t);
  await rig.run("export A=before");
  const controller = new AbortController();
  const ended = await whenHeard(
    rig,
    "A=after; sleep 1000 & echo on; sleep 1000",
    () => controller.abort(),
    controller.signal,
  );
  assert.equal(ended.kind, "canceled");
  // The shell may still get to say what became of its child.
  assert.match(ended.runs[0]?.output ?? "", /^on\n(?:Terminated\n)?$/);
  assert.deepEqual(await processesMarked(RUN_MARK, rig.folder.mark), []);
  assert.equal((await rig.run('echo "$A"')).output, "before\n");
});

test("a program may clean up when it is ended", async (t) => {
  const rig = await scriptsRig(t, { limits: { commandMinutes: 1 }, graceMs: 30_000 });
  const script =
    "bash -c \"trap 'echo cleaned; exit' TERM; echo on; while :; do sleep 0.01; done\"";
  const ended = await whenHeard(rig, script, (text) => {
    if (text.startsWith("on")) rig.clock.pass(minutes(1));
  });
  assert.match(ended.runs[0]?.output ?? "", /^on\n[^]*cleaned\n$/);
});

test("a close in the middle of a script ends it, and nothing is left", async (t) => {
  const rig = await scriptsRig(t);
  let closing: Promise<void> | undefined;
  const ended = await whenHeard(
    rig,
    "setsid sleep 1000 & (trap '' TERM; sleep 1000) & echo on; sleep 1000",
    () => {
      closing ??= rig.runner.close();
    },
  );
  await closing;
  assert.equal(ended.kind, "canceled");
  assert.deepEqual(await processesMarked(RUN_MARK, rig.folder.mark), []);
  assert.equal((await rig.execute("echo no")).kind, "canceled");
});

test("what scripts leave in the background is ended with the run, whatever became of their shell", async (t) => {
  const { run, runner, folder } = await scriptsRig(t);
  await run("sleep 1000 & setsid sleep 1000 & exit");
  await run("sleep 1000 & disown");
  // The shell that has exited may not be gone yet.
  assert.ok((await processesMarked(RUN_MARK, folder.mark)).length >= 4);
  await runner.close();
  assert.deepEqual(await processesMarked(RUN_MARK, folder.mark), []);
});

test("both ends of a long output are kept in memory, all of it in a file that others can't read", async (t) => {
  const { run } = await scriptsRig(t, { limits: { outputCharacters: 1_000 } });
  const { output, outputCharacters, outputFile } = await run("seq 100000");
  assert.equal(outputCharacters, 588_895);
  assert.match(output, /^1\n2\n[^]*\n\[(\d+) characters left out\]\n[^]*\n99999\n100000\n$/);
  assert.ok(output.length < 1_100);
  const all = Array.from({ length: 100_000 }, (_, index) => `${index + 1}\n`).join("");
  assert.equal(await readFile(outputFile, "utf8"), all);
  assert.equal((await stat(outputFile)).mode & 0o777, 0o600);
  const [head = "", tail = ""] = output.split(/\n\[\d+ characters left out\]\n/);
  const left = Number(/\[(\d+) characters/.exec(output)?.[1]);
  assert.equal(head.length + tail.length + left, outputCharacters);
  assert.ok(all.startsWith(head) && all.endsWith(tail));
});

test("a command that prints for ever is ended", async (t) => {
  const { execute, run } = await scriptsRig(t, { longestOutput: 1_000_000 });
  const ended = await execute("yes");
  assert.ok(ended.kind === "failed" && ended.because === "output");
  assert.match(ended.reason, /longer than 1000000 bytes/);
  assert.equal((await stat(ended.runs[0]?.outputFile ?? "")).size, 1_000_000);
  assert.equal((await run("echo on")).output, "on\n");
});

test("pieces of output come while the script runs, redacted; a secret in two of them as well", async (t) => {
  const redactor = createRedactor(["correct-horse-battery"]);
  const rig = await scriptsRig(t, { redact: redactor.stream });
  await rig.run("mkfifo go");
  const shown: string[] = [];
  const lines = "line\n".repeat(10_000);
  const code = `yes line | head -10000; printf 'correct-horse'; read <go; printf -- '-battery'; echo`;
  const executed = await rig.runner.execute([{ tag: "bash", code }], {
    signal: new AbortController().signal,
    onOutput: ({ text, script }) => {
      assert.equal(script, 0);
      shown.push(text);
      if (shown.length === 1) void writeFile(`${rig.workspace}/go`, "\n");
    },
  });
  assert.ok(shown.length > 1);
  assert.equal(shown.join(""), `${lines}***\n`);
  assert.equal(executed.runs[0]?.output, `${lines}correct-horse-battery\n`);
});

test("output is shown by whole lines, and the beginning of a line after a second", async (t) => {
  // The clock may pass hours before the question comes.
  const limits = { commandMinutes: 1_000, commandIdleMinutes: 1_000 };
  const rig = await scriptsRig(t, { redact: createRedactor([]).stream, limits });
  await rig.run("mkfifo go");
  // Opened for both, it never waits for the other side.
  const pipe = await open(`${rig.workspace}/go`, "r+");
  t.after(() => pipe.close());
  const go = (): void => void pipe.write("\n");
  const shown: string[] = [];
  // The question may come after the line before it.
  const passTime = (left = 10_000): void => {
    rig.clock.pass(1_000);
    if (left > 0 && !shown.some((text) => text.includes("Overwrite")))
      setImmediate(() => passTime(left - 1));
  };
  const running = rig.runner.execute(
    [
      {
        tag: "bash",
        code: String.raw`printf '\n> app@1 test\n> node test.js\n\nTests:'; read <go; printf ' 2 failed\nOverwrite? '; read <go; echo y`,
      },
    ],
    {
      signal: new AbortController().signal,
      onOutput: ({ text }) => {
        shown.push(text);
        if (text.includes("failed")) passTime();
        if (text.includes("Overwrite")) go();
      },
    },
  );
  go();
  await running;
  const lines = shown.join("|");
  assert.match(lines, /> node test\.js\n/);
  assert.match(lines, /Tests: 2 failed\n\|Overwrite\? ?\| ?y\n$/);
});
