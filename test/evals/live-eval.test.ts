/** `agent-jobs eval` against a model server on loopback, as an eval of real models runs. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cliExits } from "../rig/cli.ts";
import { startModelServer, type RecordedRequest, type Script } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { entry, evalFile } from "./rig.ts";

const cases = ["one", "two"].map((name) => ({
  name,
  userInput: name,
  expect: { reports: { say: name } },
}));

/** Reports the word that it is asked for, then ends its turn. */
const obedient: Script = ({ prompt, toolResults }: RecordedRequest) =>
  toolResults.length > 0
    ? { text: "Done.", usage: { input: 50, output: 0 } }
    : {
        toolCalls: [
          {
            name: "job_report",
            arguments: { markdown: /Say (\w+) in/.exec(prompt)?.[1] ?? "?" },
          },
        ],
        usage: { input: 50, output: 0 },
      };

describe("an eval of models", () => {
  it("asks them, compares what they hand in, and stays within a budget", async (t) => {
    const server = await startModelServer(({ ...request }) =>
      request.prompt.includes("two") && request.toolResults.length === 0
        ? {
            toolCalls: [{ name: "job_report", arguments: { markdown: "three" } }],
            usage: { input: 50, output: 0 },
          }
        : obedient(request),
    );
    t.after(() => server.close());
    const { path } = await makeWorkspace(t, {
      "entry.yml": entry,
      "a.eval.yml": evalFile({ runs: 1, budget: { tokens: 1000 }, cases }),
    });
    const args = ["eval", "a.eval.yml", "--provider-base-url", server.baseUrl];
    const { stdout } = await cliExits(0, [...args, "--format", "json"], { cwd: path });
    const result = JSON.parse(stdout);
    assert.deepEqual(
      result.cases.map((one: { passed: number }) => one.passed),
      [1, 0],
    );
    assert.match(result.cases[1].failures[0].text, /three/);
    assert.equal(result.spent.tokens, 200);
    assert.equal(result.unpriced.length, 1, "A model without a price.");
    assert.deepEqual([result.cases[0].cost, result.totals[0].cost], [null, null]);
    const { stdout: text } = await cliExits(0, args, { cwd: path });
    assert.deepEqual(text.match(/^(?:one|two|all cases) .* unknown .*/gm)?.length, 3);
  });

  it("are stopped in the middle of a turn when the minutes of the budget are over", async (t) => {
    // No turn ever ends by itself.
    const server = await startModelServer(() => ({ hang: "before" }));
    t.after(() => server.close());
    const { path } = await makeWorkspace(t, {
      "entry.yml": entry,
      "a.eval.yml": evalFile({ runs: 5, parallel: 2, budget: { minutes: 0.05 }, cases }),
    });
    const args = ["eval", "a.eval.yml", "--provider-base-url", server.baseUrl];
    const { stdout } = await cliExits(1, args, { cwd: path });
    assert.match(stdout, /Missing: 10 runs, because the budget is used up \(minutes: 0\.05\)/);
    assert.ok(server.requests.length <= 2, "only the turns that were under way");
  });

  it("needs a model before it starts", async (t) => {
    const { path } = await makeWorkspace(t, {
      "entry.yml": entry,
      "a.eval.yml": evalFile({ cases }),
    });
    const { stderr } = await cliExits(2, ["eval", "a.eval.yml"], { cwd: path });
    assert.match(stderr, /--provider-base-url/);
  });
});
