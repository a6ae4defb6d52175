import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import * as fc from "fast-check";
import type { Log } from "sarif";
import { severities } from "../../src/entry/outputs.ts";
import type { RunEventBody, WorkOutcome } from "../../src/events/event.ts";
import type { Finding, RefusedOutput } from "../../src/events/output-shapes.ts";
import { checkFinding, hasLine, mapBlock } from "../../src/outputs/check-finding.ts";
import { collectOutputs, selectFindings } from "../../src/outputs/collect.ts";
import { lineAddress } from "../../src/outputs/line-address.ts";
import { sarifLog } from "../../src/outputs/sarif.ts";
import { applyEvent, createRunView, type RunView } from "../../src/events/view.ts";
import { testSuiteOf } from "../../src/outputs/junit.ts";
import { judge, verdictLine } from "../../src/outputs/verdict.ts";
import { previousFinding } from "../rig/conversation.ts";
import { plannedTasks } from "../rig/plan.ts";
import { anyCharacter } from "../rig/any-character.ts";

const lines = ["one", "two", "three"];
const read = (path: string) =>
  Promise.resolve(path === "src/a.ts" ? { path, lines, head: lines } : undefined);
const call = { path: "src/a.ts", line: 2, severity: "warning", message: "Item 12 is wrong." };

async function accepted(value: object, seen: readonly string[] = lines): Promise<Finding> {
  const found = await checkFinding(value, "review", (path) =>
    Promise.resolve({ path, lines: seen }),
  );
  if (found.kind === "refused") throw new Error(found.reason);
  return found.value;
}

const refusals: readonly (readonly [string, object, RegExp])[] = [
  ["a file that doesn't exist", { path: "src/b.ts" }, /There is no text file "src\/b\.ts"/],
  ["a path with ..", { path: "src/../a.ts" }, /without "\.\."/],
  ["an absolute path", { path: "/etc/passwd" }, /relative to the root/],
  ["a path with a newline", { path: "a\nb" }, /relative to the root/],
  ["a line beyond the end", { line: 4 }, /`line` is 4, but "src\/a\.ts" has 3 lines/],
  ["a line that is no number", { line: "2" }, /line number, from 1/],
  ["an end before the start", { endLine: 1 }, /must not be less than `line` \(2\)/],
  ["an unknown severity", { severity: "blocker" }, /one of: notice, warning, error/],
  ["an empty message", { message: " " }, /`message` is required/],
  ["a suggestion that changes nothing", { suggestion: "two\n" }, /equal to the lines/],
  ["a suggestion of 101 lines", { suggestion: "x\n".repeat(101) }, /at most 100 lines/],
];
for (const [name, fields, reason] of refusals) {
  test(`${name} is refused with what to do`, async () => {
    const found = await checkFinding({ ...call, ...fields }, "review", read);
    assert.equal(found.kind, "refused");
    assert.match(found.kind === "refused" ? found.reason : "", reason);
  });
}

test("a finding has the task as rule by default", async () => {
  assert.equal((await accepted(call)).rule, "review");
});

test("a finding stays the same when its line moves, whatever its words are", async () => {
  const before = await accepted(call);
  const moved = ["new", ...lines.map((one) => `  ${one}`)];
  const after = await accepted({ ...call, line: 3, message: "In other words." }, moved);
  assert.equal(after.fingerprint, before.fingerprint);
  assert.equal(after.lineDigest, before.lineDigest);
  for (const [fields, seen] of [
    [{ line: 3 }, lines],
    [{ rule: "tests" }, lines],
    [{ line: 3 }, ["one", "two", "two"]],
  ] as const)
    assert.notEqual((await accepted({ ...call, ...fields }, seen)).fingerprint, before.fingerprint);
});

test("a digest finds its line wherever it is, and no other", async () => {
  const { lineDigest: digest = "" } = await accepted(call);
  assert.equal(hasLine(["x", "\ttwo  ", "y"], digest), true);
  assert.equal(hasLine(["x", "twofold"], digest), false);
});

const previous = [previousFinding("F1"), previousFinding("F2")];
const again = (sameAs: unknown) => checkFinding({ ...call, sameAs }, "review", read, previous);

test("a finding with `sameAs` is the earlier one", async () => {
  const found = await again("F2");
  assert.equal(found.kind === "accepted" && found.value.fingerprint, "key-of-F2");
});

for (const id of ["F3", "key-of-F2", "f2", 2])
  test(`\`sameAs: ${JSON.stringify(id)}\` is refused with the ids that there are`, async () => {
    const found = await again(id);
    assert.match(found.kind === "refused" ? found.reason : "", id === 2 ? /string/ : /F1, F2\./);
  });

const findings = fc.array(
  fc.record({
    path: fc.string({ minLength: 1, unit: anyCharacter }),
    line: fc.integer({ min: 1, max: 3 }),
    severity: fc.constantFrom(...severities),
    rule: fc.string({ unit: anyCharacter }),
    message: fc.string({ unit: anyCharacter }),
    task: fc.constant("review"),
    fingerprint: fc.constantFrom("a", "b", "c", "d"),
  }),
);

test("the selection doesn't depend on the order, has no finding twice, and keeps the worst", () => {
  fc.assert(
    fc.property(findings, fc.nat(5), (all, max) => {
      const { findings: kept, omitted } = selectFindings(all, { max });
      assert.deepEqual(selectFindings(all.toReversed(), { max }).findings, kept);
      assert.equal(new Set(kept.map((one) => one.fingerprint)).size, kept.length);
      const different = all.map(({ fingerprint, path, line, message }) =>
        JSON.stringify([
          fingerprint,
          path,
          line,
          message.toLowerCase().trim().replace(/\s+/gu, " "),
        ]),
      );
      assert.equal(kept.length + omitted, new Set(different).size);
      const ranks = kept.map(({ severity }) => severities.indexOf(severity));
      assert.deepEqual(
        ranks,
        [...ranks].sort((a, b) => b - a),
      );
    }),
  );
});

test("findings that differ in their line or in their words are two, and one that is reported twice is one", async () => {
  const text = ["}", "x", "}"];
  const at = (line: number, message: string): Promise<Finding> =>
    accepted({ ...call, line, message, severity: "error" }, text);
  const all = [
    await at(1, "Port 80 is open."),
    await at(1, "Port 443 is open."),
    await at(3, "Port 80 is open."),
    await at(1, "port 80  is open."),
  ];
  const { findings: kept } = selectFindings(all);
  assert.deepEqual(
    kept.map(({ line, message }) => [line, message]),
    [
      [1, "Port 443 is open."],
      [1, "Port 80 is open."],
      [3, "Port 80 is open."],
    ],
  );
  const [{ fingerprint } = { fingerprint: "" }] = all;
  assert.deepEqual(
    kept.map((one) => one.fingerprint),
    [fingerprint, `${fingerprint}-2`, all[2]?.fingerprint],
  );
  assert.deepEqual(selectFindings(kept).findings, kept);
});

test("findings below the minimum severity are dropped", async () => {
  assert.deepEqual(selectFindings([await accepted(call)], { minSeverity: "error" }), {
    findings: [],
    omitted: 0,
    dismissed: [],
  });
});

test("an ordinal never takes the key of an earlier finding", async () => {
  const one = { ...(await accepted(call)), fingerprint: "k" };
  const all = ["a", "b", "c"].map((message) => ({ ...one, message }));
  const earlier = { ...one, message: "d", fingerprint: "k-2" };
  const keys = selectFindings([...all, earlier]).findings.map((found) => found.fingerprint);
  assert.deepEqual(keys, ["k", "k-3", "k-4", "k-2"]);
});

test("a line is mapped by its text and its neighbors, and not guessed", () => {
  const mapLine = (seen: readonly string[], line: number, head: readonly string[], more = 0) =>
    mapBlock(seen, line, line + more, head);
  assert.equal(mapLine(lines, 2, ["new", ...lines]), 3);
  assert.equal(mapLine(["a", "}", "b", "}"], 4, ["a", "}", "x", "b", "}"]), 5);
  assert.equal(mapLine(["a", "}", "b"], 2, ["}", "x", "}"]), undefined);
  assert.equal(mapLine(lines, 2, ["one", "three"]), undefined);
  assert.equal(mapLine(lines, 2, ["new", ...lines], 1), 3);
  assert.equal(mapLine(lines, 2, ["new", "one", "two", "other"], 1), undefined);
  // Where nothing has moved, equal lines are no riddle.
  assert.equal(mapLine(["}", "}", "a"], 2, ["}", "}", "b"]), 2);
});

test("verdict and findings fail a job from the configured level on, with the reason", async () => {
  const verdict = { verdict: "needs-work", reason: "The error\nis swallowed." } as const;
  const all = [await accepted(call)];
  assert.equal(verdictLine(verdict), "Needs work: The error is swallowed.");
  const refused: readonly RefusedOutput[] = [];
  const given = { verdict, findings: all, refused };
  assert.deepEqual(judge(given), { kind: "passed" });
  const failOn = { verdict: { failOn: "needs-work" }, findings: { failOn: "warning" } } as const;
  assert.deepEqual(judge(given, failOn), {
    kind: "failed",
    reason:
      "The verdict is needs-work (`outputs.verdict.failOn: needs-work`), and 1 finding is a warning or worse (`outputs.findings.failOn: warning`).",
  });
  assert.deepEqual(
    judge(
      { verdict: { verdict: "reject", reason: "" }, findings: all, refused },
      { verdict: { failOn: "never" }, findings: { failOn: "error" } },
    ),
    { kind: "passed" },
  );
});

function sarifOf(found: readonly Finding[], view: RunView = createRunView()): Log {
  const none = { report: undefined, result: undefined, verdict: undefined };
  const given = {
    workId: 0,
    taskId: "review",
    iteration: 1,
    items: [],
    place: [],
    refused: [],
    proposals: [],
    resolved: [],
    replies: [],
  };
  view.given.set("review", { ...given, ...none, findings: [...found] });
  return sarifLog("1.0.0", view);
}

test("SARIF has a rule for each result, relative percent-encoded addresses and no links in messages", () => {
  fc.assert(
    fc.property(findings, (all) => {
      const [run] = sarifOf(all).runs;
      for (const one of run?.results ?? []) {
        assert.equal(run?.tool.driver.rules?.[one.ruleIndex ?? -1]?.id, one.ruleId);
        assert.match(
          one.locations?.[0]?.physicalLocation?.artifactLocation?.uri ?? "",
          /^[\w\-.!~*'()%/]+$/,
        );
        assert.doesNotMatch(one.message.text ?? "", /(?<!\\)(?:\\\\)*[[\]]/);
      }
    }),
  );
});

test("SARIF levels are those of code scanning", async () => {
  const finding = { ...(await accepted(call)), severity: "notice" as const, path: "a b/c:d#é.ts" };
  const result = sarifOf([finding]).runs[0]?.results?.[0];
  assert.equal(result?.level, "note");
  assert.equal(
    result?.locations?.[0]?.physicalLocation?.artifactLocation?.uri,
    "a%20b/c%3Ad%23%C3%A9.ts",
  );
});

test("a SARIF message has no links and arguments, and half a surrogate pair does no harm", async () => {
  const finding = { ...(await accepted(call)), path: "\uD800.ts", message: "[a](1) {0} \uD800" };
  const result = sarifOf([finding]).runs[0]?.results?.[0];
  assert.equal(result?.message.text, "\\[a\\](1) {{0}} \uFFFD");
  assert.equal(result?.locations?.[0]?.physicalLocation?.artifactLocation?.uri, "%EF%BF%BD.ts");
});

test("SARIF names the commit whose lines the findings are at, and the leg of the matrix", async () => {
  const view = createRunView();
  const origin = { repository: "o/r", server: "https://github.com", workflowRun: "1", attempt: 1 };
  const pull = { ...origin, event: "pull_request", head: "a".repeat(40), leg: "x", number: 1 };
  view.plan = { ...plannedTasks([]), origin: { ...pull, isPullRequest: true } };
  Object.assign(view, { jobName: "review", entryFile: "/home/me/review.yml", runId: "id" });
  const finding = await accepted(call);
  const place = (found: Finding) => {
    const { automationDetails, versionControlProvenance } = sarifOf([found], view).runs[0] ?? {};
    return [automationDetails?.id, ...(versionControlProvenance ?? [])];
  };
  const repositoryUri = "https://github.com/o/r";
  assert.deepEqual(place({ ...finding, headLine: finding.line }), [
    "agent-jobs/review.yml/review/x/id",
    { repositoryUri, revisionId: "a".repeat(40) },
  ]);
  // The merge has another line there.
  assert.deepEqual(place({ ...finding, headLine: 7 })[1], { repositoryUri });
});

test("a suggestion without lines deletes them with their line breaks", async () => {
  const found = { ...(await accepted(call)), suggestion: "", endLine: 3 };
  const [change] = sarifOf([found]).runs[0]?.results?.[0]?.fixes?.[0]?.artifactChanges ?? [];
  assert.deepEqual(change?.replacements, [
    {
      deletedRegion: { startLine: 2, startColumn: 1, endLine: 4, endColumn: 1 },
      insertedContent: { text: "" },
    },
  ]);
});

test("a finding whose line moves stays the same JUnit test, and two of one name are two", async () => {
  const names = (found: readonly Finding[]): readonly string[] => {
    const view = createRunView();
    sarifOf(found, view);
    return testSuiteOf(view).cases.map(({ name }) => name);
  };
  const at = async (line: number): Promise<Finding> => accepted({ ...call, line });
  assert.deepEqual(names([await at(2)]), ["src/a.ts Item 12 is wrong."]);
  assert.deepEqual(names([await at(3)]), ["src/a.ts Item 12 is wrong."]);
  assert.deepEqual(names([await at(1), await at(3)]), [
    "src/a.ts Item 12 is wrong.",
    "src/a.ts Item 12 is wrong. (2)",
  ]);
});

const work = { workId: 0, taskId: "review", iteration: 1 };

/** Whether an earlier finding that is no longer reported counts as gone. */
function isComplete(outcome: WorkOutcome, ...others: readonly RunEventBody[]): boolean {
  const view = createRunView();
  const events: readonly RunEventBody[] = [
    { type: "work.started", work, modelId: "m" },
    ...others,
    { type: "work.ended", work, outcome },
    { type: "run.ended", outcome: { kind: "succeeded" } },
  ];
  for (const event of events) applyEvent(view, { at: 0, runId: "r", ...event });
  return collectOutputs(view).complete;
}

test("findings are complete only if every work succeeded, and nothing was left out or refused", () => {
  const succeeded = { kind: "succeeded" } as const;
  assert.equal(isComplete(succeeded), true);
  assert.equal(isComplete({ kind: "failed", reason: "x" }), false);
  assert.equal(isComplete({ kind: "skipped", reason: "no changed file matches" }), false);
  const decision = { kind: "left-out", reason: "shard 2 is missing" } as const;
  assert.equal(isComplete(succeeded, { type: "decision", work, decision }), false);
  const refused = { kind: "finding", reason: "`line` is beyond the end." } as const;
  assert.equal(isComplete(succeeded, { type: "output.refused", work, refused }), false);
});

const found = {
  path: "src/a b.ts",
  line: 3,
  endLine: 4,
  severity: "error",
  rule: "r",
  message: "m",
  task: "t",
  fingerprint: "f",
} as const;
const target = { server: "https://github.com", repository: "octo/shop", head: "a".repeat(40) };

describe("the address of a finding", () => {
  it("is that of its lines", () => {
    const address = `https://github.com/octo/shop/blob/${"a".repeat(40)}/src/a%20b.ts#L3-L4`;
    assert.equal(lineAddress(found, target), address);
  });

  const wrong = [
    { server: "javascript:alert(1)//" },
    { server: "https://user@github.com" },
    { repository: "octo/shop/../../evil" },
    { head: "main/../x" },
  ];
  for (const part of wrong)
    it(`is none with ${JSON.stringify(part)}`, () =>
      assert.equal(lineAddress(found, { ...target, ...part }), undefined));

  for (const path of ["../a", "/a"])
    it(`is none of the path ${path}`, () =>
      assert.equal(lineAddress({ ...found, path }, target), undefined));
});
