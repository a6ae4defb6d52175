/** The failed runs of an eval: their journals, what they answered, and `--failed`, which repeats them. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { runCli } from "../rig/cli.ts";
import type { Workspace } from "../rig/workspace.ts";
import { again, evalFile, evaluated, rows, saysInTurn } from "./rig.ts";

const out = ["--output-dir", "out"] as const;
const journals = ({ path }: Workspace): readonly string[] => {
  try {
    return readdirSync(join(path, "out/failed")).toSorted();
  } catch {
    return [];
  }
};
const fields = (...words: readonly string[]): object => ({
  runs: 3,
  cases: [saysInTurn("a b", "yes", ...words), saysInTurn("fine", "yes")],
});

describe("the failed runs of an eval", () => {
  it("keep their journals, and the report shows their answers side by side", async (t) => {
    const { workspace } = await evaluated(t, fields("<b>no</b>", "never"), ...out);
    const kept = journals(workspace);
    assert.deepEqual(
      kept.map((name) => name.replace(/-[0-9a-f]{8}-/, "-HASH-")),
      ["a-b-HASH-2.jsonl", "a-b-HASH-3.jsonl"],
    );
    const page = await workspace.read("out/report.html");
    const [, answers = ""] =
      /<h2 class="">Failed: a b<\/h2>\n<div class="runs">([^]*?)<\/div>/.exec(page) ?? [];
    const [second = "", third = ""] = answers.split("</article>");
    assert.match(second, /<h3>Run 2<\/h3>[^]*say:&#10;&#60;b&#62;no&#60;\/b&#62;/);
    assert.match(third, /<h3>Run 3<\/h3>[^]*say:&#10;never/);
    assert.ok(second.includes(`<a href="failed/${kept[0]}">`));
    const { code, stdout } = await runCli(["report", "out/failed", "-o", "r.html"], {
      cwd: workspace.path,
    });
    assert.equal(code, 0, stdout);
    assert.match(stdout, /2 runs/);
  });

  it("are not kept without a folder for them, or when an eval starts anew", async (t) => {
    const { workspace } = await evaluated(t, fields("no"));
    assert.deepEqual(readdirSync(workspace.path).toSorted(), [
      "a.eval.results.jsonl",
      "a.eval.yml",
      "entry.yml",
    ]);
    await again(workspace, ...out);
    assert.equal(journals(workspace).length, 1);
    await again(workspace, ...out, "--runs", "1");
    assert.deepEqual(journals(workspace), []);
  });
});

describe("eval --failed", () => {
  it("repeats the runs that failed with what the file says now, and no others", async (t) => {
    const { workspace, ...first } = await evaluated(t, fields("no", "no"), ...out);
    assert.deepEqual(rows(first.stdout), ["a b 3 33 % flaky", "fine 3 100 %", "all cases 6 67 %"]);
    // Run 3 still fails.
    await workspace.write("a.eval.yml", evalFile(fields("yes", "no")));
    const second = await again(workspace, ...out, "--failed", "--verbose");
    assert.match(second.stdout, /^Repeating 2 runs that failed\.$/m);
    assert.deepEqual(second.stdout.match(/^(?:ok|FAIL) .*#\d/gm)?.toSorted(), [
      "FAIL  a b #3",
      "ok    a b #2",
    ]);
    assert.deepEqual(rows(second.stdout)[0], "a b 3 67 % flaky");
    const warning = "Only failed runs were repeated, so the pass rates may be too high.";
    assert.ok(second.stdout.includes(`\n${warning}\n`), second.stdout);
    assert.equal(second.code, 0);
    assert.equal(journals(workspace).length, 1);
    assert.deepEqual(JSON.parse(await workspace.read("out/eval.json")).warnings, [warning]);

    await workspace.write("a.eval.yml", evalFile(fields("yes", "yes")));
    const third = await again(workspace, ...out, "--failed");
    assert.match(third.stdout, /^Repeating 1 run that failed\.$/m);
    assert.match(third.stdout, /^6 of 6 runs passed/m);
    assert.match(third.stdout, /spent 90 tokens/, "all that the eval has cost");
    assert.deepEqual(journals(workspace), []);

    const more = await again(workspace, ...out, "--failed", "--runs", "4");
    assert.equal(more.code, 1);
    assert.match(more.stdout, /^No run failed\.$[^]*^Missing: 2 runs\.$/m);

    const anew = await again(workspace, ...out);
    assert.match(anew.stdout, /spent 60 tokens/, "without --failed, the eval starts anew");
  });

  it("says what it could not repeat, and repeats it the next time", async (t) => {
    const short = { ...fields("no", "no"), parallel: 1, budget: { tokens: 75 } };
    const { workspace } = await evaluated(t, short, ...out);
    const { code, stdout } = await again(workspace, ...out, "--failed");
    assert.equal(code, 1);
    assert.match(stdout, /^Missing: 1 run, because the budget is used up: 70 of 75 \(tokens\)/m);
    const names = journals(workspace).map((name) => name.replace(/-[0-9a-f]{8}-/, "-HASH-"));
    assert.deepEqual(names, ["a-b-HASH-2.jsonl", "a-b-HASH-3.jsonl"]);
    await workspace.write("a.eval.yml", evalFile(fields("yes", "yes")));
    const rest = await again(workspace, ...out, "--failed");
    assert.match(rest.stdout, /^6 of 6 runs passed/m, rest.stdout);
  });

  for (const [name, args, said] of [
    ["with a baseline", ["--baseline", "base.json"], /--failed can't be used with --baseline/],
    ["without an earlier eval", [], /--failed requires a finished eval in out/],
  ] as const) {
    it(`is refused ${name}`, async (t) => {
      const { code, stderr } = await evaluated(t, fields("no"), ...out, "--failed", ...args);
      assert.equal(code, 2);
      assert.match(stderr, said);
    });
  }

  it("is refused for an eval that was interrupted", async (t) => {
    const { workspace } = await evaluated(t, { ...fields("no"), budget: { tokens: 25 } }, ...out);
    const { code, stderr } = await again(workspace, ...out, "--failed");
    assert.equal(code, 2);
    assert.match(stderr, /requires a finished eval in out.* Run it without --failed first\./);
  });
});
