/** From the event to the calls of GitHub's API, by the action under the runner's contract. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { RepositoryOptions } from "../rig/github-repository.ts";
import { asReal } from "../journal/rig.ts";
import type { StepOptions, StepResult } from "../rig/runner.ts";
import { head, repositoryWith, type World } from "./repository-rig.ts";

const fixtures = fileURLToPath(new URL("../../../test/fixtures/outputs/", import.meta.url));
const diff = { "src/a.ts": "@@ -1 +1,3 @@\n one\n+two\n+three" };

async function world(t: TestContext, options: Partial<RepositoryOptions> = {}): Promise<World> {
  const read = (name: string): Promise<string> => readFile(join(fixtures, name), "utf8");
  const source = "one\ntwo\nthree\n";
  const files = {
    "deliver.yml": await read("deliver.yml"),
    "deliver.rehearsal.yml": await read("deliver.rehearsal.yml"),
    "src/a.ts": source,
  };
  return repositoryWith(t, files, { diff, files: { [`${head}:src/a.ts`]: source }, ...options });
}

interface StepSetting extends Partial<StepOptions> {
  readonly runId?: string;
  readonly attempt?: string;
}

function step(
  here: World,
  { runId = "99", attempt = "1", inputs, ...more }: StepSetting,
): Promise<StepResult> {
  return here.step({
    mode: "deliver",
    event: "pull-request-target",
    env: { GITHUB_RUN_ID: runId, GITHUB_RUN_ATTEMPT: attempt },
    inputs: { entry: "deliver.yml", ...inputs },
    ...more,
  });
}

/** A job without permission to write: it leaves a journal and its digest. */
async function reviewed(world: World): Promise<StepResult> {
  const inputs = { files: "deliver.rehearsal.yml", "output-dir": "out" };
  const result = await step(world, { mode: "rehearse", inputs });
  assert.equal(result.code, 0, result.raw);
  assert.deepEqual(world.github.calls, []);
  // A rehearsal asks nobody what is there, either.
  assert.ok(
    !world.github.asked.some((path) => /graphql|\/pulls\//.test(path)),
    String(world.github.asked),
  );
  return result;
}

const journal = { journal: "out/journal.jsonl" };

/** A fork's pull request that was reviewed, and the inputs that deliver its journal. */
async function reviewedFork(t: TestContext) {
  const here = await world(t, { headRepository: 2002 });
  await reviewed(here);
  const bytes = await readFile(join(here.workspace.path, journal.journal));
  const rehearsed = createHash("sha256").update(bytes).digest("hex");
  const refused = await step(here, { inputs: { ...journal, "journal-digest": rehearsed } });
  assert.equal(refused.code, 1, refused.raw);
  assert.match(refused.outputs["reason"] ?? "", /is of a rehearsal: a script played the model/);
  assert.deepEqual(here.github.calls, []);
  const digest = await asReal(join(here.workspace.path, "out/journal.jsonl"));
  return { here, inputs: { ...journal, "journal-digest": digest } };
}
const statuses = ({ outputs }: StepResult): unknown =>
  JSON.parse(outputs["deliveries"] ?? "[]").map(({ what, status }: Record<string, string>) => [
    what,
    status,
  ]);

describe("the action deliver", () => {
  it("delivers the journal of a fork's review, once, and says what it did, and no journal that may not be what it says", async (t) => {
    const { here, inputs } = await reviewedFork(t);
    const refusals: readonly (readonly [string, StepSetting, RegExp])[] = [
      ["without its digest", { inputs: journal }, /The digest is missing/],
      [
        "with another digest",
        { inputs: { ...journal, "journal-digest": "0".repeat(64) } },
        /The journal was changed: its SHA-256 is/,
      ],
      [
        "of another workflow run",
        { runId: "100", inputs: journal },
        /is of workflow run 99\. This is run 100/,
      ],
      ["of another event", { event: "issues", inputs }, /is about #7 at c+, and this event/],
      [
        "of another job",
        { inputs: { ...inputs, job: "other" } },
        /is of job "review", and "other" is to be/,
      ],
    ];
    for (const [name, setting, reason] of refusals) {
      const result = await step(here, setting);
      assert.equal(result.code, 1, name);
      assert.match(result.outputs["reason"] ?? "", reason, name);
    }
    assert.deepEqual(here.github.calls, []);
    const first = await step(here, { inputs });
    assert.equal(first.code, 0, first.log);
    assert.deepEqual(statuses(first), [
      ["review of #7", "skipped"],
      ["report comment on #7", "done"],
      ["labels bug on #7", "done"],
    ]);
    const { comments, reviews, threads, labels } = here.github;
    // A rehearsed change has no head that could be read, so its findings are in the report comment.
    assert.deepEqual([comments.length, reviews.length, threads.length], [1, 0, 0]);
    assert.deepEqual(labels, ["bug"]);
    const again = await step(here, { inputs, attempt: "2" });
    assert.equal(again.code, 0, again.log);
    assert.deepEqual([comments.length, reviews.length, labels.length], [1, 0, 1]);
    const staged = await step(here, { inputs: { ...inputs, staged: "true" } });
    assert.match(staged.summary, /staged/);

    await appendFile(join(here.workspace.path, "out/journal.jsonl"), "\n");
    const changed = await step(here, { inputs });
    assert.match(changed.outputs["reason"] ?? "", /The journal out\/journal\.jsonl is damaged/);
    assert.deepEqual([changed.code, comments.length, reviews.length], [1, 1, 0]);
  });

  it("says what was refused in a warning and below the heading, and fails for it on request", async (t) => {
    const locked = { status: 403, answer: { message: "Unable to comment: issue is locked." } };
    const here = await world(t, {
      headRepository: 2002,
      breaks: ({ method, path }) =>
        method === "POST" && path.endsWith("/comments")
          ? locked
          : path.endsWith("/labels")
            ? { status: 403 }
            : undefined,
    });
    await reviewed(here);
    const digest = await asReal(join(here.workspace.path, "out/journal.jsonl"));
    const inputs = { ...journal, "journal-digest": digest };
    // The token to deliver with counts, whatever the environment has.
    const env = { GITHUB_TOKEN: "ghs_another" };
    here.github.tokens.clear();
    const lenient = await step(here, { inputs, env });
    assert.equal(lenient.code, 0, lenient.raw);
    assert.deepEqual([...here.github.tokens], ["token ghs_0123456789abcdef"]);
    const causes = [
      "report comment on #7: refused: the conversation is locked: GitHub answered 403",
      "labels bug on #7: refused: needs `issues: write`",
    ];
    const warnings = lenient.commands.filter(({ name }) => name === "warning");
    assert.equal(warnings.length, 2, lenient.raw);
    const [heading = "", ...lines] = lenient.summary.split(/\n+/);
    assert.equal(heading, "## Delivery");
    for (const [index, cause] of causes.entries()) {
      assert.ok(warnings[index]?.message.startsWith(cause), warnings[index]?.message);
      assert.match(lines[index] ?? "", /^\*\*Not delivered:\*\* (report comment|labels)/);
    }
    const strict = await step(here, { inputs: { ...inputs, "fail-on": "refused" } });
    const { result, reason } = strict.outputs;
    assert.deepEqual([strict.code, result], [1, "success"], strict.raw);
    assert.match(reason ?? "", /^Refused deliveries: 2 of 3 \(`fail-on: refused`\)\.\nreport/);
    assert.match(strict.outputs["deliveries"] ?? "", /refused/);
  });

  it("does so in the step of the job itself, too", async (t) => {
    const entry = JSON.stringify({
      models: { driving: "m" },
      outputs: { report: { comment: "sticky" } },
      permissions: { preset: "workspace", sandbox: "off" },
      tasks: {},
      jobs: { main: { work: { kind: "Run", run: "echo hello" } } },
    });
    const here = await repositoryWith(t, { "deliver.yml": entry }, { diff, writes: [] });
    for (const failOn of ["failure", "refused", "never"]) {
      const inputs = { "fail-on": failOn };
      const result = await step(here, { mode: "run", event: "pull-request", inputs });
      assert.equal(result.code, failOn === "refused" ? 1 : 0, result.raw);
      const [heading, second] = result.summary.split(/\n+/);
      assert.match(heading ?? "", /^## ✓/);
      assert.match(
        second ?? "",
        /^\*\*Not delivered:\*\* report comment on .*pull-requests: write/,
      );
      assert.match(result.summary, /### Delivered\n\n- ✗ report comment/);
      const warnings = result.commands.filter(({ name }) => name === "warning");
      assert.match(warnings.at(-1)?.message ?? "", /^report comment on #7: refused: needs/);
      assert.equal(
        /Refused deliveries: 1 of 1/.test(result.outputs["reason"] ?? ""),
        failOn === "refused",
      );
    }
  });

  it("writes nothing if the base has no such job", async (t) => {
    const { here, inputs } = await reviewedFork(t);
    const missing = await step(here, { inputs: { ...inputs, entry: "other.yml" } });
    assert.equal(missing.code, 0, missing.log);
    assert.match(missing.outputs["deliveries"] ?? "", /other\.yml is not in the base/);
    // The base counts also where the event's own commit is the merge of a pull request.
    const event = "pull-request-review-fork";
    const merge = await step(here, { event, inputs: { ...inputs, entry: "other.yml" } });
    assert.match(merge.outputs["deliveries"] ?? "", /not in the base \(commit b{40}\)/);
    assert.deepEqual(here.github.calls, []);
  });

  it("takes the journal of the run that started it only for the pull request of that run", async (t) => {
    const { here } = await reviewedFork(t);
    const event = "workflow-run-fork";
    const file = join(here.workspace.path, "out/journal.jsonl");
    // An attempt that no re-run would reach.
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace('"attempt":1,', '"attempt":900,'));
    const delivered = await step(here, { event, runId: "100", inputs: journal });
    assert.equal(delivered.code, 0, delivered.log);
    assert.equal(here.github.comments.length, 1);
    assert.match(here.github.comments[0]?.body ?? "", /runs\/99\/attempts\/1\)/);
    // A run for a head in the repository itself refuses this journal.
    const wrong = await step(here, { event: "workflow-run", runId: "100", inputs: journal });
    assert.equal(wrong.code, 1);
    assert.match(wrong.outputs["reason"] ?? "", /#7 is not from the repository/);
    // Written by hand, for a commit that the run was not for.
    await writeFile(file, (await readFile(file, "utf8")).replaceAll(head, "f".repeat(40)));
    const forged = await step(here, { event, runId: "100", inputs: journal });
    assert.equal(forged.code, 1);
    assert.match(forged.outputs["reason"] ?? "", /about commit f+|damaged/);
  });
});
