import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { renderSummary, type SummaryOptions } from "../../src/github/summary.ts";
import { alive, type AliveOptions } from "./alive.ts";
import { hostile, hostileText } from "./hostile.ts";
import { finding, hostileFinding, origin } from "./published.ts";
import { reviewed, runWith, type Results } from "./results.ts";
import { viewOf } from "./samples.ts";
import { nightly, rounds } from "../rig/nightly.ts";

function render(results: Results, changed: Partial<SummaryOptions> = {}): string {
  return page(runWith(results), changed);
}

function page(
  events: Parameters<typeof viewOf>[0]["events"],
  changed: Partial<SummaryOptions> = {},
): string {
  return renderSummary(viewOf({ events }), {
    summary: "full",
    entryFile: "e.yml",
    chart: () => "flowchart TD",
    ...changed,
  });
}

/** Our own tags with their escaped texts, our chart, and links to findings. */
const ours: AliveOptions = {
  html: /^(?:<\/?(?:details|summary|code|b|sub)>|[^<>])*$/,
  fences: /^(?:mermaid|text)$/,
  links: ["https://github.com/o/r/blob/"],
};

/** The headings, and the titles of folds. */
function outline(text: string): string[] {
  return text
    .split("\n")
    .filter((line) => /^#{2,6} |^<summary>/.test(line))
    .map((line) => line.replace(/<\/?(?:summary|b|code)>/g, ""));
}

test("the verdict comes first, then the report, the findings, and in folds how it came to them", () => {
  const text = page(reviewed());
  assert.deepEqual(outline(text), [
    "## ⚠ Needs work: a turn that never starts is never stopped, and no test plays one",
    "### Report",
    "#### What changes",
    "### Findings: 1 error, 1 warning, 1 notice",
    "Steps",
    "Chart",
    "Denied permissions",
    "### Decisions",
    "#0 review ✓ succeeded, 3 decisions",
  ]);
  assert.match(text, /<sub>✓ Job <code>review<\/code> succeeded · <code>e.yml<\/code>/);
  assert.match(text, /^<b>#0<\/b> <code>review<\/code>\n\n\*\*Review of `4f2a91c`\*\*$/m);
  assert.match(text, /^2\. \*\*Tests\*\*: .* Asked `@octocat`, see `#12` and `https:/m);
  assert.match(
    text,
    /^\| ✗\u00A0error \| \[`src\/engine\/attempt.ts:42-47`\]\(https:.*#L44-L49\) \| `review` \| \*\*The deadline is armed too late\*\* `stopAfter` is/m,
  );
  assert.deepEqual(alive(text, ours), []);
});

test("that agents failed comes before what they think; a verdict without a reason is one word", () => {
  const verdict = { verdict: "pass", reason: "" } as const;
  assert.deepEqual(outline(render({ verdict }))[0], "## ✓ Pass");
  const failed = render({ verdict, outcome: { kind: "failed", reason: "no *tests*" } });
  assert.deepEqual(outline(failed).slice(0, 3), [
    "## ✗ Job review failed",
    "### ✓ Pass",
    "### Failures",
  ]);
  const long = render({ verdict: { verdict: "reject", reason: `${"why ".repeat(50)}\n- one` } });
  assert.match(long, /^## ✗ Rejected\n\nwhy why [^\n]*\n\n- one\n\n\*\*Threshold reached:\*\*/);
});

test("it says which verdict or finding lets the step fail", () => {
  const findings = [finding({ severity: "error" })];
  const threshold = (results: Results): string | undefined =>
    /\*\*Threshold reached:\*\* (.*)/.exec(render(results))?.[1];
  assert.equal(threshold({ findings }), undefined);
  assert.equal(
    threshold({ findings, outputs: { findings: { failOn: "error" } } }),
    "1 finding is an error (`outputs.findings.failOn: error`).",
  );
  const verdict = { verdict: "reject", reason: "r" } as const;
  assert.match(threshold({ verdict }) ?? "", /^The verdict is reject/);
  assert.equal(threshold({ verdict, outputs: { verdict: { failOn: "never" } } }), undefined);
});

test("reports are those of the tasks that the entry names", () => {
  const of = (task: string): string =>
    render({ report: "All is well.", outputs: { report: { from: [task] } } });
  assert.match(of("review"), /### Report\n[^]*All is well\./);
  assert.doesNotMatch(of("merge"), /### Report|All is well/);
});

test("without results nothing is folded away; compact has the findings, off has nothing", () => {
  assert.deepEqual(outline(render({})).slice(1, 4), [
    "### Steps",
    "### Chart",
    "### Denied permissions",
  ]);
  const findings = [finding()];
  assert.deepEqual(outline(render({ findings, report: "r" }, { summary: "compact" })), [
    "## ✓ Job review succeeded",
    "### Findings: 1 warning",
    "### Steps",
  ]);
  assert.equal(render({ findings }, { summary: "off" }), "");
});

test("the findings are bounded by the entry, and the rest is counted", () => {
  const findings = Array.from({ length: 7 }, (_, index) => finding({ fingerprint: `${index}` }));
  const text = render({ findings, outputs: { findings: { max: 3 } } });
  assert.equal(text.match(/The error is swallowed/g)?.length, 3);
  assert.match(text, /^\| {2}\| and 4 more \| {2}\| {2}\|$/m);
});

test("nothing that an agent hands in is alive in the summary, and it is never longer than GitHub takes", () => {
  const check = (text: string): void => {
    const results: Results = {
      report: text,
      title: text,
      findings: [hostileFinding(text)],
      verdict: { verdict: "reject", reason: text },
    };
    for (const outcome of [{ kind: "succeeded" }, { kind: "failed", reason: "no" }] as const) {
      const summary = render({ ...results, outcome });
      assert.deepEqual(alive(summary, ours).slice(0, 3), [], summary.slice(0, 3000));
      assert.ok(Buffer.byteLength(summary) < 1024 * 1024);
      // The page continues as usual after it.
      assert.match(summary, /\n### Decisions\n\n<details>\n<summary>/);
    }
  };
  check(hostileText);
  fc.assert(fc.property(hostile, check), rounds(200));
  for (const text of ["`", "<b>", "**a ", "> - ", "日本", "|a|b|\n|-|-|\n"])
    check(text.repeat((nightly ? 1_000_000 : 400_000) / text.length));
});

test("links of a report to files of the repository work, and no others", () => {
  const text = render({
    report: `[a](https://github.com/o/r/blob/${origin.head}/a.ts#L1) [b](https://github.com/p/q)`,
  });
  assert.match(text, /\n\[a\]\(https:\S*\/a\.ts#L1\) b \(`https:\/\/github\.com\/p\/q`\)\n/);
});
