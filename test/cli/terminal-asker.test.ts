/** On a real terminal: questions below a live view, answered by typing. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { noTerminal, startOnTerminal, type TerminalChild } from "../rig/terminal.ts";

const program = fileURLToPath(new URL("ask-child.js", import.meta.url));

/** `typed`: before anything is asked. */
async function ask(
  t: TestContext,
  questions: readonly string[],
  typed?: string,
): Promise<TerminalChild> {
  const child = startOnTerminal(program, questions, { cwd: "/" });
  t.after(() => child.type("\u0003\u0003"));
  await child.printed(".\r\n");
  const [, pid = ""] = /pid (\d+)\./.exec(child.output.stdout) ?? [];
  if (typed !== undefined) {
    child.type(typed);
    await child.printed(typed.trim());
  }
  process.kill(Number(pid), "SIGUSR2");
  return child;
}

async function answersOf(child: TerminalChild): Promise<unknown> {
  const { stdout, code } = await child.ended;
  assert.equal(code, 0, stdout);
  return JSON.parse(stdout.slice(stdout.lastIndexOf('[{"kind"')));
}

const answered = (text: string): unknown => ({ kind: "answered", text });

/** When it is answered. */
const prompted = (child: TerminalChild, question: string): Promise<void> =>
  child.printed("\u001B[0J> ", question);

describe("a person at a terminal", { skip: noTerminal }, () => {
  it("answers one question after the other, while the log waits, and nothing by what was typed before", async (t) => {
    const questions = [
      "Delete it?",
      "Sure?\nReally \u001B[31msure\u001B[0m?",
      "One?",
      "Two?",
      "Three?",
      "Is it hunter2hunter2?",
      "Gone?",
      "Still there?",
    ];
    const child = await ask(t, questions, "early\n");
    await child.printed("ASK_0 of w.wf.md asks:\r\nDelete it?\r\n");
    await prompted(child, "Delete it?");
    child.type("miao\u007f\u007fan\r");
    await prompted(child, "\r\nReally sure?");
    child.type("yes\r");
    // A backslash continues a line, and pasted lines are one answer.
    await prompted(child, "One?");
    child.type("first\\\r");
    await prompted(child, "first\\");
    child.type("b\r");
    await prompted(child, "Two?");
    child.type("one \\\rtwo\r");
    await prompted(child, "Three?");
    child.type("uno\rdos");
    await prompted(child, "uno");
    child.type(" tres\r");
    await prompted(child, "Is it ");
    child.type("\r");
    await prompted(child, "Gone?");
    child.type("\u0004");
    await prompted(child, "Still there?");
    child.type("still there\r");
    assert.deepEqual(await answersOf(child), [
      answered("mian"),
      answered("yes"),
      answered("first\nb"),
      answered("one \\\ntwo"),
      answered("uno\ndos tres"),
      answered(""),
      { kind: "unanswered", reason: "The person gave no answer to ASK_6 (Ctrl-D)." },
      answered("still there"),
    ]);
    const { stdout } = child.output;
    assert.ok(stdout.indexOf("started, model m1") > stdout.indexOf("mi"), stdout);
    assert.equal(stdout.split("started, model m1").length, 2);
    assert.doesNotMatch(stdout, /hunter2/);
  });

  it("cancels the run with Ctrl-C", async (t) => {
    const child = await ask(t, ["A?", "B?"]);
    await prompted(child, "A?");
    child.type("half of\u0003");
    const canceled = { kind: "unanswered", reason: "The run was canceled." };
    assert.deepEqual(await answersOf(child), [canceled, canceled]);
    assert.doesNotMatch(child.output.stdout, /B\?\r\n/);
  });
});
