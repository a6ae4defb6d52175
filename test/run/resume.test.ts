import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { describe, it, type TestContext } from "node:test";
import { DiagnosticsError } from "../../src/document/diagnostic.ts";
import { UsageError } from "../../src/run/options.ts";
import { prepareRun, type RunOptions } from "../../src/run/prepare.ts";
import { executeRun, type RunReport } from "../../src/run/execute.ts";
import { parseJournal } from "../../src/journal/read.ts";
import type { FlowResult } from "../../src/workflow/run/run-flow.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";
import { workflowText } from "../workflow/rig.ts";

const flow = `---
permissions: { preset: workspace, shell: true }
---
${workflowText(`PARAMS["NAME"]
START --> SET_A[A={{PLACE}} {{NAME}}] --> EXECUTE_A[Execute: echo {{A}}; printenv LOUD] --> SET_B[B={{RESULT}}] --> ASK_A[Ask: who?] --> EXECUTE_B[Execute: echo {{RESULT}}] --> SUCCESS`)}`;

interface Setup {
  readonly workspace: Workspace;
  readonly path: (name: string) => string;
  readonly run: (more: Partial<RunOptions>) => Promise<RunReport>;
  /** Why the run is not resumed; undefined: it can be. */
  readonly refusal: (journal: string, more?: Partial<RunOptions>) => Promise<string | undefined>;
  /** A journal that ends with the end of an activity; the whole one is `whole.jsonl`. */
  readonly cutAfter: (activity: string, more?: Partial<RunOptions>) => Promise<readonly string[]>;
}

async function setup(t: TestContext, text = flow): Promise<Setup> {
  const workspace = await makeWorkspace(t, { "flow.wf.md": text });
  const path = (name: string): string => `${workspace.path}/${name}`;
  const { PATH = "", HOME = "" } = process.env;
  const optionsOf = (more: Partial<RunOptions>): RunOptions => ({
    entryFile: path("flow.wf.md"),
    workingDirectory: workspace.path,
    environment: { PATH, HOME, PLACE: "here" },
    env: ["PLACE"],
    params: { NAME: "it" },
    answers: { ASK_A: ["me"] },
    ...more,
  });
  const run = async (more: Partial<RunOptions>): Promise<RunReport> => {
    const options = optionsOf(more);
    return executeRun(await prepareRun(options), options);
  };
  return {
    workspace,
    path,
    run,
    async refusal(journal, more = {}) {
      try {
        const { params: _params, ...options } = optionsOf({ resume: path(journal), ...more });
        const prepared = await prepareRun(
          more.params === undefined ? options : { ...options, ...more },
        );
        await prepared.cleanUp();
        return undefined;
      } catch (error) {
        assert.ok(error instanceof UsageError || error instanceof DiagnosticsError);
        return error.message.replaceAll(`${workspace.path}/`, "");
      }
    },
    async cutAfter(activity, more = {}) {
      if (!existsSync(path("whole.jsonl"))) await run({ ...more, journal: path("whole.jsonl") });
      const lines = (await workspace.read("whole.jsonl")).split(/(?<=\n)/);
      const last = lines.findLastIndex(
        (line) => line.includes('"step.ended"') && line.includes(`"activity":"${activity}"`),
      );
      await workspace.write("cut.jsonl", lines.slice(0, last + 1).join(""));
      return lines.slice(0, last + 1);
    },
  };
}

describe("a run that is resumed", () => {
  it("goes on with the parameters of the earlier run, also if the front matter has changed", async (t) => {
    const { cutAfter, refusal, workspace, run, path } = await setup(t);
    await cutAfter("EXECUTE_A");
    assert.equal(await refusal("cut.jsonl"), undefined);
    assert.equal(await refusal("cut.jsonl", { params: { NAME: "it" } }), undefined);
    await workspace.write(
      "flow.wf.md",
      `\n${flow.replace("shell: true }", "shell: true }\nlimits: { activityHits: 7 }")}\nMore.\n`.trimStart(),
    );
    assert.equal(await refusal("cut.jsonl"), undefined);
    const { outcome } = await run({ resume: path("cut.jsonl"), journal: path("2.jsonl") });
    assert.equal(outcome.kind, "succeeded");
  });

  it("has nothing to do if it has succeeded, and ends with the same result", async (t) => {
    const { workspace, run, path } = await setup(t);
    const ends: FlowResult[] = [];
    const onResult = (result: FlowResult): void => void ends.push(result);
    await run({ journal: path("whole.jsonl"), onResult });
    const again = { resume: path("whole.jsonl"), journal: path("again.jsonl"), onResult };
    const { outcome, view } = await run(again);
    assert.deepEqual(outcome, { kind: "succeeded" });
    assert.equal(view.totals.modelCalls, 0);
    const written = await workspace.read("again.jsonl");
    assert.match(written, /the run [0-9a-f-]+ has already succeeded: nothing to do/);
    const [first, second] = ends;
    assert.ok(first !== undefined && second !== undefined);
    assert.deepEqual(second, first);
    await run({ resume: path("again.jsonl"), journal: path("third.jsonl"), onResult });
    assert.deepEqual(ends[2], first);
  });

  it("starts anew if its journal is empty", async (t) => {
    const { workspace, run, path } = await setup(t);
    await run({ journal: path("whole.jsonl") });
    const [header = ""] = (await workspace.read("whole.jsonl")).split(/(?<=\n)/);
    for (const text of ["", header.slice(0, 9), header, `${header}{"v":3,"seq":1,`]) {
      await workspace.write("empty.jsonl", text);
      const { outcome, view } = await run({ resume: path("empty.jsonl") });
      assert.deepEqual(outcome, { kind: "succeeded" }, text);
      assert.equal(view.plan?.resumed, undefined);
    }
  });

  it("is refused if anything is not what it was", async (t) => {
    const { cutAfter, refusal, workspace, path } = await setup(t);
    await cutAfter("SET_B");
    const { PATH = "" } = process.env;
    const cases: readonly (readonly [Partial<RunOptions>, RegExp])[] = [
      [
        { environment: { PATH, PLACE: "there" } },
        /Step 2 \(SET_A\) would now be different\. .*environment has changed\.$/,
      ],
      [{ env: [] }, /Step 2 \(SET_A\)/],
      [
        { params: { NAME: "other" } },
        /the parameter NAME had another value in that run\. Omit --param [^]* start anew without --resume\.$/,
      ],
      [{ params: { NAME: "it", X: "1" } }, /that run did not have the parameter X\. Omit --param /],
      [{ userInput: "other" }, /the user input had another value in that run\. Omit --user-input /],
      [
        { journal: path("cut.jsonl") },
        /The journal cut\.jsonl would overwrite cut\.jsonl\. Choose another file\.$/,
      ],
      [{ record: path("r.yml") }, /--record can't be combined with --resume/],
      [{ resume: path("none.jsonl") }, /can't resume none\.jsonl: /],
    ];
    for (const [more, reason] of cases)
      assert.match((await refusal("cut.jsonl", more)) ?? "", reason);
    const before = await workspace.read("cut.jsonl");
    await workspace.write("flow.wf.md", flow.replace("Ask: who?", "Ask: whom?"));
    assert.match(
      (await refusal("cut.jsonl")) ?? "",
      /can't resume cut\.jsonl: "flow\.wf\.md" had already started in that run and has changed since\.$/,
    );
    await workspace.write("flow.wf.md", flow);
    await workspace.write("g.wf.md", flow.replace("Ask: who?", "Ask: whom?"));
    assert.match(
      (await refusal("cut.jsonl", { entryFile: path("g.wf.md") })) ?? "",
      /it belongs to the job "flow\.wf\.md", not "g\.wf\.md"\.$/,
    );
    assert.equal(await workspace.read("cut.jsonl"), before);
  });

  it("is refused if the journal is none, or is damaged", async (t) => {
    const { cutAfter, refusal, workspace } = await setup(t);
    const lines = await cutAfter("SET_B");
    const cases: Readonly<Record<string, readonly [string, RegExp]>> = {
      text: ["hello\nworld\n", /line 1: The file is not a journal\.$/],
      changed: [lines.join("").replace('"here it"', "5"), /line \d+: Invalid event\./],
      gap: [
        lines.filter((_line, index) => index !== 6).join(""),
        /line 7: .*missing, repeated or out of order\.$/,
      ],
    };
    for (const [name, [text, reason]] of Object.entries(cases)) {
      await workspace.write(name, text);
      assert.match((await refusal(name)) ?? "", reason, name);
    }
    await workspace.write("torn", `${lines.join("")}{"v":2,"seq":`);
    assert.equal(await refusal("torn"), undefined);
  });

  it("is refused if the rest may need a text that the journal does not hold, because it was a secret", async (t) => {
    const secret = "a-very-secret-text";
    const { refusal, cutAfter, workspace } = await setup(
      t,
      flow
        .replace("--> SET_B[B={{RESULT}}]", "--> SET_B[B=b]")
        .replace("echo {{A}}; printenv LOUD", `echo ${secret.slice(0, 9)}${secret.slice(9)}`),
    );
    const { PATH = "" } = process.env;
    const environment = { PATH, PLACE: "here", MY_TOKEN: secret };
    await cutAfter("SET_B", { environment });
    assert.ok(!(await workspace.read("whole.jsonl")).includes(secret));
    assert.match(
      (await refusal("cut.jsonl", { environment })) ?? "",
      /The journal does not hold all that came of step 3 \(EXECUTE_A\): it contained a secret, or was too long\. The rest of the run may need it\.$/,
    );
    // The answer has replaced RESULT.
    await cutAfter("ASK_A");
    assert.equal(await refusal("cut.jsonl", { environment }), undefined);
  });

  it("needs secret parameters again", async (t) => {
    const { cutAfter, refusal } = await setup(t);
    const params = { NAME: "a-very-secret-text" };
    const { PATH = "" } = process.env;
    const environment = { PATH, PLACE: "here", MY_TOKEN: params.NAME };
    await cutAfter("SET_A", { environment, params });
    assert.match(
      (await refusal("cut.jsonl", { environment })) ?? "",
      /does not hold the whole value of the parameter NAME\. Give it again with --param\.$/,
    );
    assert.equal(await refusal("cut.jsonl", { environment, params }), undefined);
  });

  it("goes on where an answer was missing, and shows the whole path", async (t) => {
    const { run, workspace, path } = await setup(t);
    const failed = await run({ answers: {}, journal: path("1.jsonl") });
    assert.equal(failed.outcome.kind, "failed");
    const { outcome, view } = await run({
      resume: path("1.jsonl"),
      journal: path("2.jsonl"),
      outputDir: path("out"),
    });
    assert.equal(outcome.kind, "succeeded");
    assert.equal([...view.works.values()][0]?.flow?.stepCount, 7);
    assert.equal((await readdir(path("out/steps"))).length, 7);
    const { events } = parseJournal(await workspace.read("2.jsonl"));
    const ended = events.filter((event) => event.type === "step.ended");
    const own = ended.filter(({ past }) => past !== true);
    assert.equal(
      own.map(({ activity, restored }) => `${activity}${restored === true ? "*" : ""}`).join(" "),
      "START* SET_A* EXECUTE_A* SET_B* ASK_A EXECUTE_B SUCCESS",
    );
  });
});
