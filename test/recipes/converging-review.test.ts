/**
 * Three pushes to a pull request, from the event to the calls of GitHub's API: the workflow that `init review --workflow`
 * writes, and the one of the README's quick start. The bundle of the action runs with the inputs of the workflow, and its
 * token has the permissions of the job and no more. The rehearsals of the template answer for its models, and what a run
 * leaves on GitHub is what the next rehearsal says it finds.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it, type TestContext } from "node:test";
import type { Conversation } from "../../src/events/output-shapes.ts";
import { viewsOf } from "../../src/events/view.ts";
import { readJournal } from "../../src/journal/read.ts";
import { systemClock } from "../../src/platform/system-clock.ts";
import { loadScript } from "../../src/rehearsal/format/script.ts";
import type { Script } from "../../src/rehearsal/format/script.ts";
import { ScriptedModel } from "../../src/rehearsal/player/scripted-model.ts";
import { cliExits } from "../rig/cli.ts";
import { GithubRepository, type Call, type Permission } from "../rig/github-repository.ts";
import { modelServer, type Script as Answers } from "../rig/model-server.ts";
import type { StepResult } from "../rig/runner.ts";
import { makeRepository, type Workspace } from "../rig/workspace.ts";
import { agentSteps, jobsOf, optional, read, recipe, type Recipe } from "./pages.ts";
import { play } from "./play.ts";
import { pullRequestEvent, serve } from "./pull-request.ts";

const file = "src/discount.js";
const scripts = ["review", "review-2", "review-3"].map((name) => {
  const loaded = loadScript(read(`examples/review/${name}.rehearsal.yml`), `${name}.rehearsal.yml`);
  return loaded.kind === "loaded" ? loaded.script : assert.fail(name);
});
/** The file after each push. */
const versions = scripts.map((one) => one.workspace?.commits?.at(-1)?.files[file] ?? assert.fail());
const start = scripts[0]?.workspace?.files ?? {};

interface PushedTo {
  readonly github: GithubRepository;
  /** Plays the workflow for the head after a push, or for a re-run of its run. */
  readonly push: (
    number: number,
    answers: (folder: string) => Answers,
    attempt?: number,
  ) => Promise<Pushed>;
}

interface Pushed {
  readonly step: StepResult;
  /** The calls that show how far the job is, each once: a slow machine makes more of them, and they have no order. */
  readonly progress: readonly string[];
  /** The calls of the delivery, in their order. */
  readonly delivered: readonly string[];
  /** What the run has read of the earlier ones. */
  readonly conversation: Conversation | undefined;
}

/** The branch `discounts` of a repository that has these files on `main`, as pull request 7. */
async function pullRequest(t: TestContext, work: Workspace, workflow: Recipe): Promise<PushedTo> {
  const shaOf = async (name: string): Promise<string> => (await work.git("rev-parse", name)).trim();
  const base = await shaOf("main");
  const commits: { readonly head: string; readonly merge: string }[] = [];
  for (const [number, text] of versions.entries()) {
    await work.git("switch", "--quiet", ...(number === 0 ? ["--create"] : []), "discounts");
    await work.write(file, text);
    await work.git("add", "--all");
    await work.git("commit", "--quiet", `--message=Push ${number + 1}`);
    const head = await shaOf("HEAD");
    await work.git("switch", "--quiet", "--detach", "main");
    await work.git("merge", "--quiet", "--no-ff", "--message=Merge", "discounts");
    const merge = await shaOf("HEAD");
    await work.git("update-ref", `refs/pull/7/merge-${number}`, merge);
    commits.push({ head, merge });
  }
  const url = await serve(t, work);
  const diff: Record<string, string> = {};
  const files: Record<string, string> = {};
  const writes = writesOf(workflow);
  const github = await GithubRepository.start(t, { head: "", diff, files, writes });
  let answers: Answers = () => ({ status: 400 });
  const server = await modelServer(t, (request) => answers(request));
  return {
    github,
    push: async (number, answersIn, attempt = 1) => {
      const { head, merge } = commits[number] ?? assert.fail();
      const lines = (versions[number] ?? "").trimEnd().split("\n");
      github.head = head;
      files[`${head}:${file}`] = lines.join("\n");
      diff[file] = [`@@ -0,0 +1,${lines.length} @@`, ...lines].join("\n+");
      const before = github.calls.length;
      const action = number === 0 ? "opened" : "synchronize";
      const jobs = await play(t, workflow, {
        ...(await pullRequestEvent({ base, head }, { action })),
        url,
        ref: "refs/pull/7/merge",
        sha: merge,
        runId: String(101 + number),
        attempt,
        artifacts: "",
        apiUrl: github.url,
        isBundled: true,
        inputs: {},
        stepEnv: {
          GITHUB_WORKFLOW_REF: "octo/shop/.github/workflows/agent-review.yml@refs/heads/main",
          AGENT_JOBS_PROVIDER_BASE_URL: server.baseUrl,
          ...(usesPrompt(workflow) && { AGENT_JOBS_MODEL: "m" }),
        },
        onWorkspace(folder) {
          answers = answersIn(folder);
        },
      });
      const [step] = jobs["review"]?.agents ?? [];
      assert.ok(step !== undefined);
      assert.equal(step.outputs["result"], "success", step.raw);
      const calls = github.calls.slice(before).map((call) => ({
        name: nameOf(call),
        isProgress:
          (/check-runs/.test(call.path) && call.body["conclusion"] === undefined) ||
          /^### Job `\w+` is (?:starting|running)/m.test(String(call.body["body"])),
      }));
      const names = (isProgress: boolean): string[] =>
        calls.filter((call) => call.isProgress === isProgress).map(({ name }) => name);
      const journal = await readFile(step.outputs["journal"] ?? "", "utf8");
      const [view] = viewsOf(readJournal(journal).events).values();
      return {
        step,
        progress: [...new Set(names(true))].toSorted(),
        delivered: names(false),
        conversation: view?.plan?.conversation,
      };
    },
  };
}

/** What the token may write. */
function writesOf(workflow: Recipe): readonly Permission[] {
  const [job] = jobsOf(workflow);
  const given = {
    ...optional(workflow.workflow["permissions"]),
    ...optional(job?.job["permissions"]),
  };
  const all: readonly Permission[] = ["checks", "contents", "issues", "pull-requests"];
  return all.filter((name) => given[name] === "write");
}

const usesPrompt = (workflow: Recipe): boolean =>
  agentSteps(workflow).some(({ prompt }) => prompt !== undefined);

function nameOf({ method, path, body }: Call): string {
  return path === "/graphql"
    ? (/\w+(?=\(input)/.exec(String(body["query"]))?.[0] ?? path)
    : `${method} ${path.replace("/repos/octo/shop", "").replaceAll(/\d{3,}/g, "N")}`;
}

const tasks: Readonly<Record<string, string>> = {
  "claude-sonnet-4.5": "first-review",
  "gpt-5": "second-review",
  "gpt-5-mini": "merge",
};

/** A rehearsal that answers on a server. Each of its sessions has a model of its own. */
function rehearsing(script: Script) {
  let played: ScriptedModel | undefined;
  const answers =
    (workingDirectory: string): Answers =>
    async ({ prompt, model: modelId, path: url, body }) => {
      const [, changeDiff] = /diff is in the file (\S+)\. /.exec(prompt) ?? [];
      played ??= new ScriptedModel(script, { clock: systemClock, workingDirectory, changeDiff });
      const taskId = tasks[modelId] ?? "";
      const place = { workId: 0, iteration: 1, role: "both", retry: 0, attempt: 1 } as const;
      const response = await played.send({
        sessionId: taskId,
        label: { ...place, taskId, modelId },
        subAgent: false,
        url,
        method: "POST",
        headers: {},
        body: JSON.stringify(body),
        signal: new AbortController().signal,
        killRuntime: () => assert.fail(),
      });
      const type = response.headers.get("content-type") ?? "";
      const headers = { "content-type": type };
      return { status: response.status, headers, raw: await response.text() };
    };
  const faults = (): readonly string[] => [
    ...(played?.failures() ?? []),
    ...(played?.unused() ?? []),
  ];
  return { answers, faults };
}

/** What must be the same on GitHub and in a rehearsal. Comments have more words, and the person another name. */
function essence(conversation: Conversation | undefined): readonly object[] {
  return (conversation?.findings ?? []).map((one) => {
    const { id, key, severity, rule, path, thread, byPerson, outdated, gone, text, replies } = one;
    const words = text.replace(/^\*\*.*\*\*(?:: )?/, "").trim();
    return {
      id,
      key,
      severity,
      rule,
      path,
      thread,
      byPerson,
      outdated,
      // Nobody looks at the line of a thread that is closed.
      gone: thread === "open" && gone === true,
      text: words.split(/\n\n|: /, 1)[0],
      replies: replies.map((reply) => reply.text),
    };
  });
}

const texts = ({ comments, threads, reviews }: GithubRepository): unknown =>
  structuredClone([
    comments.map(({ id }) => id),
    threads.map(({ body, isResolved, replies }) => [body, isResolved, replies]),
    reviews,
  ]);

/** Of the deliveries: the others are about what the script does wrong. */
const warnings = ({ step }: Pushed): readonly string[] =>
  step.commands.flatMap(({ name, properties: { title }, message }) =>
    name === "warning" && title === "agent-jobs" ? [message] : [],
  );

describe("a review of three pushes", { timeout: 300_000 }, () => {
  it("by the template ends with a check that passes: two findings are fixed, one is dismissed, and none is repeated", async (t) => {
    const work = await makeRepository(t, start);
    await cliExits(0, ["init", "review", "--workflow"], { cwd: work.path });
    await work.git("add", "--all");
    await work.git("commit", "--quiet", "--message=Add agent jobs: review");
    const path = ".github/workflows/agent-review.yml";
    const [workflow] = recipe(path, await work.read(path));
    assert.ok(workflow !== undefined);
    const { github, push } = await pullRequest(t, work, workflow);
    const { threads, conversation, comments, checks } = github;

    async function reviewed(number: number, attempt?: number): Promise<Pushed> {
      const script = scripts[number] ?? assert.fail();
      const { answers, faults } = rehearsing(script);
      const pushed = await push(number, answers, attempt);
      assert.deepEqual(faults(), []);
      if (attempt === undefined)
        assert.deepEqual(essence(pushed.conversation), essence(script.conversation));
      return pushed;
    }
    const progress = ["PATCH /check-runs/N", "PATCH /issues/comments/N", "POST /check-runs"];
    const first = await reviewed(0);
    assert.deepEqual(first.progress, [...progress, "POST /issues/7/comments"]);
    assert.deepEqual(first.delivered, [
      "POST /pulls/7/reviews",
      "PATCH /issues/comments/N",
      "PATCH /check-runs/N",
    ]);
    const [unit] = threads;
    assert.ok(unit !== undefined);
    unit.isOutdated = true;
    const second = await reviewed(1);
    assert.deepEqual(second.progress, progress);
    assert.deepEqual(second.delivered, [
      "POST /pulls/7/reviews",
      "PATCH /pulls/comments/N",
      "resolveReviewThread",
      "PATCH /issues/comments/N",
      "PATCH /check-runs/N",
    ]);
    const [, half, tests] = threads;
    assert.ok(half !== undefined && tests !== undefined);
    half.isOutdated = true;
    conversation.replyTo(tests, "The tests of the shop cover them.", "maintainer");
    conversation.close(tests, "maintainer");
    const third = await reviewed(2);
    assert.deepEqual(third.progress, progress);
    assert.deepEqual(third.delivered, [
      "POST /pulls/7/comments/N/replies",
      "PATCH /pulls/comments/N",
      "resolveReviewThread",
      "PATCH /issues/comments/N",
      "PATCH /check-runs/N",
    ]);
    const left = texts(github);
    const again = await reviewed(2, 2);
    assert.deepEqual(again.progress, progress);
    assert.deepEqual(again.delivered, ["PATCH /issues/comments/N", "PATCH /check-runs/N"]);
    assert.deepEqual(texts(github), left);
    assert.deepEqual(
      threads.map(({ isResolved, resolvedBy, replies }) => [
        isResolved,
        resolvedBy,
        replies.length,
      ]),
      [
        [true, github.me, 0],
        [true, github.me, 0],
        [true, "maintainer", 2],
      ],
    );
    assert.deepEqual(
      checks.all.map(({ conclusion, title }) => [conclusion, title]),
      [
        ["success", "⚠ Needs work · 1 error: Discounts are computed wrongly."],
        ["success", "⚠ Needs work · 1 error, 1 warning: Half is computed wrongly."],
        ["success", "Pass: Nothing is left."],
        ["success", "Pass: Nothing is left."],
      ],
    );
    assert.deepEqual([first, second, third, again].flatMap(warnings), []);
    const [comment, ...others] = comments;
    assert.deepEqual([others, github.reviews.length], [[], 2]);
    assert.match(comment?.body ?? "", /Nothing is left\./);
  });

  it("by the quick start keeps one comment and one thread for each finding", async (t) => {
    const [, text = ""] = /^```yaml\n(.*?)^```$/ms.exec(read("README.md")) ?? [];
    assert.equal(text.trimEnd().split("\n").length, 15);
    const [workflow] = recipe("README.md", text);
    assert.ok(workflow !== undefined);
    const { github, push } = await pullRequest(t, await makeRepository(t, start), workflow);
    const { threads, conversation, comments } = github;
    const unit = { path: file, line: 2, severity: "error", message: "It takes euros off." };
    const found = [
      [unit, { path: file, line: 1, severity: "warning", message: "No test covers it." }],
      [{ path: file, line: 1, severity: "warning", message: "There should be tests." }],
      [{ path: file, line: 1, severity: "warning", message: "Tests are missing." }],
    ];
    const reviewed = (number: number, attempt?: number): Promise<Pushed> => {
      const findings = (found[number] ?? []).map((one) => ({
        name: "job_annotate",
        arguments: one,
      }));
      const report = { name: "job_report", arguments: { markdown: `Report ${number + 1}.` } };
      const answers: Answers = ({ prompt, toolResults: { length } }) => {
        const [, path = ""] = /Its diff is in (\S+):\n?.*src\/discount\.js/s.exec(prompt) ?? [];
        const turns = [[{ name: "view", arguments: { path } }], [...findings, report]];
        const toolCalls = turns[length];
        return toolCalls === undefined ? { text: "Done." } : { toolCalls };
      };
      return push(number, () => answers, attempt);
    };
    const first = await reviewed(0);
    assert.deepEqual(first.delivered, ["POST /pulls/7/reviews", "POST /issues/7/comments"]);
    const [fixed, tests] = threads;
    assert.ok(fixed !== undefined && tests !== undefined);
    fixed.isOutdated = true;
    const second = await reviewed(1);
    // Its token may not close threads, so the comment says that it is fixed. The client asks twice.
    const closing = ["resolveReviewThread", "resolveReviewThread"];
    assert.deepEqual(second.delivered, [
      "PATCH /pulls/comments/N",
      ...closing,
      "PATCH /issues/comments/N",
    ]);
    assert.match(fixed.body, /\*\*✓ Resolved\*\* at `\w+`: its line is gone\.$/);
    assert.match(comments[0]?.body ?? "", /^1 still open, 1 fixed$/m);
    conversation.close(tests, "maintainer");
    const third = await reviewed(2);
    assert.deepEqual(third.delivered, [...closing, "PATCH /issues/comments/N"]);
    assert.match(comments[0]?.body ?? "", /^#### Findings: none\n\n1 dismissed$/m);
    const left = texts(github);
    const again = await reviewed(2, 2);
    assert.deepEqual(again.delivered, [...closing, "PATCH /issues/comments/N"]);
    assert.deepEqual(texts(github), left);
    assert.deepEqual([first, second, third, again].flatMap(warnings), []);
    assert.match(comments[0]?.body ?? "", /Report 3\./);
  });
});
