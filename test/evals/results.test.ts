/** The results of an eval that was killed: it goes on, pays for no run twice, and no other eval takes part. */
import assert from "node:assert/strict";
import { linkSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Results } from "../../src/evals/results.ts";
import { startCli, cliExits } from "../rig/cli.ts";
import { startModelServer } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { entry, evalFile, resultOf, saysInTurn } from "./rig.ts";

const results = "a.eval.results.jsonl";
const isRun = (line: string): boolean => line.startsWith('{"type":"run"');

describe("an eval that was killed", () => {
  it("ends as a whole one, whatever line of its results was the last", async (t) => {
    const fields = { runs: 1, parallel: 1, cases: [saysInTurn("a", "yes"), saysInTurn("b", "no")] };
    const workspace = await makeWorkspace(t, {
      "entry.yml": entry,
      "a.eval.yml": evalFile(fields),
    });
    const args = ["eval", "a.eval.yml", "--format", "json"];
    const whole = await cliExits(0, args, { cwd: workspace.path });
    const lines = (await workspace.read(results)).trimEnd().split("\n");
    assert.deepEqual(
      [lines.length, lines.filter(isRun).length],
      [5, 2],
      "a line for each turn and each run, and the end",
    );
    const counts = (text: string): unknown => {
      const { cases, missing } = JSON.parse(text);
      return [
        missing,
        cases.map(({ key, passed, runs }: Record<string, unknown>) => [key, passed, runs]),
      ];
    };
    // In the first run, between two runs, and before the end.
    for (const cut of [1, 2, 4]) {
      // Half of the next line was written.
      const half = (lines[cut] ?? "").slice(0, 8);
      const before = lines.slice(0, cut);
      await workspace.write(results, [...before, half].join("\n"));
      const { stdout } = await cliExits(0, args, { cwd: workspace.path });
      assert.deepEqual(counts(stdout), counts(whole.stdout), String(cut));
      const after = (await workspace.read(results)).trimEnd().split("\n");
      assert.deepEqual(after.slice(0, cut), before, `${cut}: what is there stays`);
      const again = after.filter(isRun).map((line) => {
        const { key, run } = JSON.parse(line);
        return `${key} ${run}`;
      });
      assert.deepEqual(again.toSorted(), ["a 1", "b 1"], `${cut}: each run once`);
      // A turn whose run was cut off has been paid for, and is run again.
      const lost = cut % 2;
      assert.equal(JSON.parse(stdout).spent.tokens, 10 * (2 + lost), `${cut}: all that was spent`);
    }
  });
});

describe("results of which a line was cut off", () => {
  it("are replaced as a whole, so that a kill or a full disk loses none of them", async (t) => {
    const run = JSON.stringify(resultOf("a", 1, true));
    const workspace = await makeWorkspace(t, { "r.jsonl": `${run}\n{"type"` });
    const [file, before] = [join(workspace.path, "r.jsonl"), join(workspace.path, "before")];
    linkSync(file, before);
    assert.deepEqual(new Results(file).runs, [resultOf("a", 1, true)]);
    assert.equal(await workspace.read("r.jsonl"), `${run}\n`);
    assert.equal(await workspace.read("before"), `${run}\n{"type"`, "the file itself was not cut");
    assert.deepEqual(readdirSync(workspace.path).toSorted(), ["before", "r.jsonl"]);
  });
});

describe("a second eval with the same results", () => {
  it("is refused while the first one runs, and not after it was killed", async (t) => {
    let asked = (): void => {};
    const isAsked = new Promise<void>((resolve) => (asked = resolve));
    const server = await startModelServer(() => {
      asked();
      return { hang: "before" };
    });
    t.after(() => server.close());
    const live = { name: "one", userInput: "one" };
    const workspace = await makeWorkspace(t, {
      "entry.yml": entry,
      "a.eval.yml": evalFile({ runs: 1, cases: [live] }),
    });
    const args = ["eval", "a.eval.yml", "--provider-base-url", server.baseUrl];
    const first = startCli(args, { cwd: workspace.path });
    await isAsked;
    const second = await cliExits(2, args, { cwd: workspace.path });
    assert.equal(
      second.stderr,
      `agent-jobs: Another eval is writing ${results} (${results}.lock). Wait until it has ended, or use another --output-dir.\n`,
    );
    first.kill();
    await first.ended;
    await workspace.write("a.eval.yml", evalFile({ runs: 1, cases: [saysInTurn("one", "yes")] }));
    await cliExits(0, args, { cwd: workspace.path });
  });
});
