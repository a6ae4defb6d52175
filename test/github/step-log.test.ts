import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { RunEvent } from "../../src/events/event.ts";
import * as arbitrary from "../events/samples.ts";
import { anyCharacter } from "../rig/any-character.ts";
import { FlowTelling, work } from "../rig/flow-events.ts";
import { report } from "./summary-rig.ts";
import { allCommandsOf, commandsOf } from "./runner.ts";
import * as samples from "./samples.ts";
import { rounds } from "../rig/nightly.ts";

/** The names of the groups, each with its lines. */
function groupsOf(lines: readonly string[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  let open: string[] | undefined;
  for (const line of lines) {
    if (line.startsWith("::group::")) {
      assert.equal(open, undefined, "groups are not nested");
      open = [];
      groups.set(line.slice("::group::".length), open);
    } else if (line === "::endgroup::") {
      assert.ok(open !== undefined);
      open = undefined;
    } else open?.push(line);
  }
  assert.equal(open, undefined, "every group is closed");
  return groups;
}

test("each work has one group, whole, though works run at the same time", async () => {
  const { lines } = await report(samples.failure().events);
  const groups = groupsOf(lines);
  assert.deepEqual(
    [...groups.keys()],
    [
      "#0 gather succeeded after 00:23, 2 attempts, 1 model call",
      "#2 review-tests succeeded after 00:14, 1 attempt, 1 model call",
      "#1 review-correctness failed after 00:56, 2 attempts, 2 model calls",
      "#3 review-docs crashed after 01:29, 3 attempts, 0 model calls",
    ],
  );
  const review = groups.get("#1 review-correctness failed after 00:56, 2 attempts, 2 model calls");
  assert.deepEqual(review?.slice(0, 4), [
    "::stop-commands::token-3",
    "00:23 started, model gpt-5.4-mini",
    "00:23 [OPERATION] Session started: s1, model gpt-5.4-mini",
    "00:23 [OPERATION] Denied shell npm publish --tag next: not allowed by `shell: [npm test]`",
  ]);
  assert.ok(review?.includes("      |   Looks good to me."));
  assert.equal(review?.at(-1), "::token-3::");
});

test("each line of a command's output has one mark", async () => {
  const told = new FlowTelling()
    .begin({ activity: "EXECUTE_BUILD", input: { kind: "execute", scripts: [] } })
    .say({ type: "step.output", work, step: 1, script: 0, text: "\n> a@1 build\n::error::x\n" });
  const [lines = []] = groupsOf((await report(told.events)).lines).values();
  const from = lines.findIndex((line) => line.endsWith(" |"));
  assert.deepEqual(lines.slice(from + 1, -1), ["      | > a@1 build", "      | ::error::x"]);
});

test("what matters is told at once, and the table is at the end", async () => {
  const { lines } = await report(samples.failure().events);
  const outside: string[] = [];
  let inside = false;
  for (const line of lines) {
    if (/^::(?:error|warning|notice) /.test(line)) continue;
    if (line.startsWith("::group::")) inside = true;
    if (!inside) outside.push(line);
    if (line === "::endgroup::") inside = false;
  }
  assert.equal(outside[0], "00:00 job review started: 5 steps");
  assert.equal(outside[1], "00:00 #0 gather: started, model gpt-5.4-mini");
  assert.ok(
    outside.includes(
      "00:11 #0 gather: [SESSION CRASHED] Prompt, attempt 1 of 5: 502 Bad Gateway from the model server",
    ),
  );
  // A denial is not a detail.
  assert.ok(
    outside.includes(
      "00:23 #1 review-correctness: [OPERATION] Denied shell npm publish --tag next: not allowed by `shell: [npm test]`",
    ),
  );
  assert.ok(
    outside.includes(
      "01:19 #1 review-correctness: [TASK FAILED] criteria not met: no file was read before the verdict",
    ),
  );
  assert.match(outside.at(-2) ?? "", /^ +total .* 01:52$/);
  assert.equal(outside.at(-1), "01:52 cost: 1.32 credits (0.013 USD)");
});

test("a work that was never reported as ended has its group when the reporter finishes", async () => {
  const { lines } = await report(samples.canceled().events);
  assert.deepEqual([...groupsOf(lines).keys()].slice(1), [
    "#1 review-correctness did not end",
    "#2 review-tests did not end",
  ]);
});

test("of a work that says very much the last lines are kept", async () => {
  const telling = new samples.Telling("job", ["talk"]).start(0);
  for (let step = 0; step < 4000; step += 1) {
    telling.decide(0, { kind: "note", text: `step ${step} ${"x".repeat(2000)}` });
  }
  const { events } = telling.end(0, { kind: "succeeded" });
  const { lines } = await report(events, { journal: "j.jsonl" });
  assert.ok(lines.length < 500, `${lines.length}`);
  assert.ok(lines.every((line) => line.length < 1100));
  assert.ok(lines.some((line) => line.includes("step 3999 ")));
  assert.ok(lines.some((line) => /^… \d+ lines omitted: see the journal$/.test(line)));
  const unkept = await report(events);
  assert.ok(unkept.lines.some((line) => /^… \d+ lines omitted$/.test(line)));
});

/** Markers, whole and in pieces, with what a comparison may overlook between them. */
const pieces = [
  "::",
  ":",
  "##[",
  "#",
  "[",
  "]",
  "\n",
  "\r",
  "\u2028",
  "\u0085",
  " ",
  "\t",
  "\u001B[1m",
  "\u200B",
  "\u00AD",
  "\u200D",
  "\uFE0F",
  "\u0301",
  "\u0000",
  "\uFEFF",
  "\u{E0041}",
  "\u034F",
  "error",
  "set-env name=A",
  "add-mask",
  "stop-commands",
  "token-1",
  "ENDGROUP",
] as const;
const marker = fc.oneof(
  fc.constantFrom(...pieces),
  fc.string({ unit: anyCharacter, maxLength: 5 }),
);
const nasty = fc.array(marker, { maxLength: 30 }).map((parts) => parts.join(""));
const attack = fc.oneof(
  nasty,
  fc.constantFrom("::error::x", "##[error]x", "a\n::add-mask::e", "# #\u00AD#\u200B[group]x"),
);

function hostileRun(text: string): RunEvent[] {
  const telling = new samples.Telling(text, [text, "calm"], text)
    .start(0)
    .start(1)
    .decide(0, { kind: "note", text })
    .deny(0, text, text, text)
    .crash(0, text, 1)
    .turn(0, text)
    .act(0, { kind: "tool.started", toolCallId: "t", toolName: text, arguments: text })
    .act(0, { kind: "tool.ended", toolCallId: "t", succeeded: true, result: { content: text } })
    .end(0, { kind: "failed", reason: text })
    .turn(1, text)
    .decide(null, { kind: "note", text })
    .over({ kind: "failed", reason: text });
  return [...telling.events];
}

test("no text can be a command for the runner, in either syntax, inside and outside of groups", async () => {
  await fc.assert(
    fc.asyncProperty(attack, async (text) => {
      const { output } = await report(hostileRun(text));
      const group = ["group", "stop-commands", "endgroup"];
      assert.deepEqual(
        commandsOf(output).map(({ name }) => name),
        // One failed task; a denial (its decision) and a crash; the result.
        [...group, ...group, "error", "warning", "warning", "notice"],
      );
      // The broken markers alone would be enough, should commands ever not be stopped.
      assert.equal(allCommandsOf(output).length, 10);
    }),
    rounds(300),
  );
});

test("whatever the events and their order, groups are whole and nothing throws", async () => {
  await fc.assert(
    fc.asyncProperty(arbitrary.events, async (events) => {
      const { lines } = await report(events);
      groupsOf(lines);
    }),
    rounds(200),
  );
});
