/** What the command line prints by itself: no control sequence, no secret, no workflow command. */
import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { text as readAll } from "node:stream/consumers";
import { test } from "node:test";
import * as fc from "fast-check";
import { createOutput, type Output } from "../../src/cli/output.ts";
import { holds } from "../rig/fuzz.ts";

const secret = "hunter2-hunter2";

interface Printed {
  readonly stdout: string;
  readonly stderr: string;
}

async function printed(
  { isTTY = false, inActions = false },
  print: (output: Output) => unknown,
): Promise<Printed> {
  const stdout = Object.assign(new PassThrough(), { isTTY });
  let stderr = "";
  const output = createOutput(
    stdout,
    { write: (text: string) => (stderr += text) },
    { DB_PWD: secret, ...(inActions ? { GITHUB_ACTIONS: "true" } : {}) },
  );
  const read = readAll(stdout);
  await print(output);
  await output.end(1000);
  stdout.end();
  return { stdout: await read, stderr };
}

const part = fc.oneof(
  fc.constantFrom(
    secret,
    "\n",
    "\r",
    "\t",
    "::error::x",
    "##[error]x",
    "\u001b]8;;http://a.b\u001b\\link",
    "\u001b]52;c;aGk=\u0007",
    "\u001bP1$r\u001b\\",
    "\u001b[200~pasted\u001b[201~",
    "\u001b[2J\u001b[1;1H",
    "\u001b[?1049h",
    "\u009b2J",
    "\u009d0;title\u009c",
    "\u001bc",
    "\u202e",
    "\u2066",
    "\u200f",
    "\u0007",
    "\b\b\b",
    "\ud83d",
  ),
  fc.string({ unit: "binary", maxLength: 6 }),
);
const hostile = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(""));

/** Each way of printing, with what is foreign in it. */
const ways: readonly (readonly [string, (output: Output, text: string) => unknown])[] = [
  ["print", (output, text) => output.print(text)],
  ["printError", (output, text) => output.printError(text)],
  ["printData", (output, text) => output.printData(text)],
  ["printJson", (output, text) => output.printJson({ [text]: [text] })],
  ["printFile", (output, text) => output.printFile([text])],
];

for (const [name, print] of ways) {
  test(`on a terminal, nothing that is printed moves the cursor or reorders text: ${name}`, async (t) => {
    const property = fc.asyncProperty(hostile, async (text) => {
      const { stdout, stderr } = await printed({ isTTY: true }, (output) => print(output, text));
      assert.doesNotMatch(
        stdout + stderr,
        /[^\P{Cc}\n]|[\u061C\u200E\u200F\u2028-\u202E\u2060-\u206F]|\p{Surrogate}/u,
      );
    });
    await holds(t, property, 100);
  });

  if (name === "printFile") continue;
  test(`no secret of the environment is printed: ${name}`, async () => {
    const { stdout, stderr } = await printed({}, (output) => print(output, `a ${secret}\nb`));
    assert.match(stdout + stderr, /a \*\*\*/);
    assert.doesNotMatch(stdout + stderr, /hunter2/);
  });

  test(`in GitHub Actions, no line is a command: ${name}`, async (t) => {
    const property = fc.asyncProperty(hostile, async (text) => {
      const { stdout, stderr } = await printed({ inActions: true }, (output) =>
        print(output, text),
      );
      const seen = `${stdout}\n${stderr}`.replace(/[^\P{Cc}\n\r]|[\p{Cf}\p{Mn}\uFFFD]/gu, "");
      for (const line of seen.split(/\r\n|\r|\n/)) assert.doesNotMatch(line, /^\s*::|##\[/u);
    });
    await holds(t, property, 100);
  });
}

test("on a pipe, data keeps its control characters, and JSON is the same JSON", async () => {
  const text = "a\tb\u001b[31mred\u009b\u202e";
  assert.equal((await printed({}, (output) => output.printData(text))).stdout, `${text}\n`);
  for (const [inActions, data] of [
    [false, text],
    [true, "::error::x\n##[error]x\r::notice::x"],
  ] as const) {
    const { stdout } = await printed({ inActions }, (output) => output.printJson([data]));
    assert.deepEqual(JSON.parse(stdout), [data]);
  }
});

test("what is meant as a command has no secret, control sequence or second command in it", async () => {
  const { stdout } = await printed({ inActions: true }, (output) =>
    output.printCommand(`::error file=a::before ${secret} \u001b[2J ##[error]x \u202e after`),
  );
  assert.match(stdout, /^::error file=a::before .* after\n$/u);
  assert.ok(!stdout.includes(secret) && !stdout.includes("##["), stdout);
  // eslint-disable-next-line no-control-regex
  assert.doesNotMatch(stdout, /[\u001b\u202e]/u);
});
