/** Tasks with `protocol: actions` on the real runtime, whose actions call commands of the repository. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { dirname } from "node:path";
import type { Entry } from "../../src/entry/model.ts";
import { processesMarked } from "../../src/platform/processes.ts";
import { stopped } from "../protocol/dialogue-rig.ts";
import { action, documentOf, group, internal } from "../protocol/rig.ts";
import { runActions } from "./actions-rig.ts";
import { makeHost, taskLog } from "./host-rig.ts";

const model = { category: "driving" };
const delegate = (params: Record<string, string>, more: object = {}) =>
  internal("delegate", params, { action_id: "d", ...more });

describe("a task with protocol: actions", () => {
  it("runs what the documents say, in five turns", async (t) => {
    const { outcome, prompts, requests, report, ended, calls } = await runActions(t, {
      task: { prompt: "Ship $user-input.", requireUserInput: true },
      answers: [
        documentOf(
          [
            action("build", {
              action_id: "b",
              params: { target: "${{variables.target}}", until: "go.txt" },
              execution: "ASYNC",
            }),
            action("echo", {
              action_id: "e",
              params: { said: "$user-input ${{variables.target}}" },
            }),
          ],
          { context: { variables: { target: "//main" } } },
        ),
        documentOf([
          action("touch", { action_id: "go", params: { file: "go.txt" } }),
          internal("task_manager", { operation: "wait", ids: ["b"] }, { action_id: "w" }),
        ]),
        documentOf([
          action("echo", {
            action_id: "use",
            params: { id: "${{results.b.id}}" },
            depends_on: "b",
          }),
          action("fail", { action_id: "f" }),
          action("echo", { action_id: "never", depends_on: ["f"] }),
        ]),
        documentOf([group("g", [action("echo", { action_id: "in", params: { a: [1] } })])]),
        stopped("It is shipped."),
      ],
    });
    assert.deepEqual(outcome, { kind: "succeeded" });
    assert.equal(report, "It is shipped.");
    const all =
      "b succeeded,e succeeded,f failed,g succeeded,go succeeded,in succeeded,never skipped";
    assert.equal(ended.toSorted().join(), `${all},use succeeded,w succeeded`);
    assert.ok(ended.indexOf("b succeeded") < ended.indexOf("w succeeded"));
    assert.ok(ended.indexOf("in succeeded") < ended.indexOf("g succeeded"));
    assert.equal(requests.length, 5);
    assert.match(JSON.stringify(requests[0]?.messages[0]), /# Action protocol/);
    assert.ok(!requests[0]?.tools.includes("echo"), "a tool of the entry is a function");
    assert.match(prompts[1] ?? "", /Action "b" \(build\) is running/);
    assert.match(prompts[1] ?? "", /\{"said":"\$user-input \/\/main"\}/);
    assert.match(prompts[2] ?? "", /"id":"build-7"/);
    assert.match(prompts[3] ?? "", /\{"id":"build-7"\}/);
    assert.match(prompts[3] ?? "", /"f" \(fail\) failed:[^]*it broke/);
    assert.match(prompts[3] ?? "", /"never" \(echo\) was skipped/);
    assert.match(prompts[4] ?? "", /\{"in":\{"a":\[1\]\}\}/);
    assert.equal((await calls()).toSorted().join(), "build,echo,echo,echo,fail,touch");
  });

  it("goes on in a new session that knows the conversation, after a crash in the third turn", async (t) => {
    const first = documentOf([action("echo", { action_id: "a", params: { n: 1 } })]);
    const second = documentOf([action("echo", { action_id: "b", params: { n: 2 } })]);
    const third = documentOf([
      internal("task_manager", { operation: "get_result", ids: ["a"] }, { action_id: "c" }),
    ]);
    const run = await runActions(t, { answers: [first, second, { text: "" }, third, stopped()] });
    assert.deepEqual(run.outcome, { kind: "succeeded" });
    const { prompts } = run;
    assert.equal(
      prompts[3],
      `The session crashed, please redo and here is the last request:\n${prompts[2]}`,
    );
    const said = JSON.stringify(run.requests[3]?.messages);
    let place = -1;
    for (const text of [prompts[0], first, prompts[1], second, "The session crashed"]) {
      const found = said.indexOf(JSON.stringify(text).slice(1, -1), place + 1);
      assert.ok(found > place, `${text} is not there`);
      place = found;
    }
    assert.match(prompts[4] ?? "", /"c" \(task_manager\) succeeded[^]*\\"n\\":1|"n":1/);
    assert.deepEqual(await run.calls(), ["echo", "echo"]);
    const sessions = run.events.filter(({ type }) => type === "session.started");
    assert.equal(sessions.length, 2);
  });

  it("has no function of the protocol that the permissions deny", async (t) => {
    const { outcome, prompts, requests, ended } = await runActions(t, {
      task: { permissions: { preset: "workspace", tools: ["*", "!trap_card", "!task_manager"] } },
      answers: [
        documentOf([
          internal("trap_card", { operation: "list" }),
          action("task_manager", { params: { operation: "list" } }),
        ]),
        documentOf([action("text", { params: { length: 10_000 } })]),
        stopped(),
      ],
    });
    assert.deepEqual(outcome, { kind: "succeeded" });
    assert.match(prompts[1] ?? "", /Unknown internal function \\"trap_card\\"/);
    assert.match(prompts[1] ?? "", /Unknown tool \\"task_manager\\"/);
    assert.match(prompts[2] ?? "", /the first 8000 of 10000 characters; the whole result is in/);
    assert.deepEqual(ended, ["i1-1 succeeded"]);
    const taught = JSON.stringify(requests[0]?.messages);
    assert.match(taught, /Internal functions|# Action protocol/);
    assert.doesNotMatch(taught, /trap_card|task_manager/);
  });

  it("keeps long results in files that the tools and the agent may read, until the run ends", async (t) => {
    let path = "";
    const { outcome, prompts, requests } = await runActions(t, {
      answers: [
        documentOf([action("text", { action_id: "t", params: { length: 20_000 } })]),
        ({ prompt }) => {
          path = /the whole result is in the file "([^"]+)"/.exec(prompt)?.[1] ?? "";
          return documentOf([
            action("size", { action_id: "s", params: { path } }),
            action("env", { action_id: "where", params: { name: "AGENT_JOBS_RESULTS" } }),
          ]);
        },
        () => ({ toolCalls: [{ name: "view", arguments: { path } }] }),
        stopped(),
      ],
    });
    assert.deepEqual(outcome, { kind: "succeeded" });
    assert.match(prompts[1] ?? "", /the first 8000 of 20000 characters/);
    assert.match(prompts[2] ?? "", /\{"size":20000\}/);
    const folder = dirname(path);
    assert.ok(prompts[2]?.includes(JSON.stringify({ value: folder })), prompts[2]);
    assert.match(requests[3]?.toolResults.join() ?? "", /xxxxxxxx/);
    assert.equal(existsSync(folder), false);
  });

  it("never shows the model a secret in a result", async (t) => {
    const secret = "hunter2-hunter2-hunter2";
    const { outcome, prompts, requests, events } = await runActions(t, {
      options: { environment: { ...process.env, DEPLOY_TOKEN: secret }, env: ["DEPLOY_TOKEN"] },
      answers: [
        documentOf([
          action("env", { action_id: "e", params: { name: "DEPLOY_TOKEN" } }),
          action("echo", { action_id: "u", params: { it: "${{results.e.value}}" } }),
        ]),
        stopped(),
      ],
    });
    assert.deepEqual(outcome, { kind: "succeeded" });
    assert.match(prompts[1] ?? "", /\{"value":"\*\*\*"\}/);
    assert.match(prompts[1] ?? "", /\{"it":"\*\*\*"\}/);
    assert.ok(!JSON.stringify(requests).includes(secret));
    assert.ok(!JSON.stringify(events).includes(secret));
  });

  it("leaves no process if it is canceled while actions run", async (t) => {
    const abort = new AbortController();
    let started = 0;
    const user = randomUUID();
    let pids: readonly number[] = [];
    const { outcome, ended } = await runActions(t, {
      signal: abort.signal,
      options: { environment: { ...process.env, USER: user } },
      answers: [
        documentOf([
          action("hang", { action_id: "bg", execution: "ASYNC" }),
          action("build", { action_id: "fg", params: { target: "x", until: "never" } }),
        ]),
      ],
      onEvent: (event, place) => {
        if (event.type !== "action" || event.action.type !== "action.started") return;
        started += 1;
        if (started < 2) return;
        void place
          .holds("begun.txt", "begun")
          .then(async () => (pids = await processesMarked("USER", user)))
          .then(() => abort.abort());
      },
    });
    assert.equal(outcome.kind, "canceled");
    assert.deepEqual(ended.toSorted(), ["bg cancelled", "fg cancelled"]);
    // Programs in a sandbox don't know the numbers of their processes outside. The runtime goes on.
    assert.ok(pids.length > 2, pids.join());
    assert.deepEqual(
      pids.map(commandOf).filter((command) => command.includes("tool.mjs")),
      [],
    );
  });

  it("delegates to other tasks, in the foreground and in the background", async (t) => {
    const { outcome, prompts, events } = await runActions(t, {
      entry: {
        tasks: { review: { prompt: "OTHER: review $user-input", requireUserInput: true, model } },
      },
      answers: [
        documentOf([
          delegate({ task: "review", input: "a.ts" }),
          delegate({ task: "review", input: "b.ts" }, { action_id: "bg", execution: "ASYNC" }),
        ]),
        documentOf([internal("task_manager", { operation: "wait" }, { action_id: "w" })]),
        stopped(),
      ],
      others: ({ prompt }) => ({ text: `Reviewed: ${prompt}` }),
    });
    assert.deepEqual(outcome, { kind: "succeeded" });
    assert.match(
      prompts[1] ?? "",
      /"d" \(delegate\)[^]*\{"text":"Reviewed: OTHER: review a\.ts"\}/,
    );
    assert.match(prompts.slice(1).join("\n"), /Reviewed: OTHER: review b\.ts/);
    const delegated = events.filter(
      (event) => event.type === "session.started" && event.work.taskId === "review",
    );
    assert.equal(delegated.length, 2);
  });

  it("delegates to a task with more permissions only if its own name it", async (t) => {
    for (const tools of [["*"], ["*", "delegate/deploy"]]) {
      const { requests, events } = await runActions(t, {
        task: { permissions: { preset: "workspace", tools } },
        entry: { tasks: { deploy: { prompt: "OTHER: go", model, permissions: "all" } } },
        answers: [documentOf([delegate({ task: "deploy", input: "" })]), stopped()],
      });
      const began = events.some(
        (event) => event.type === "session.started" && event.work.taskId === "deploy",
      );
      assert.equal(began, tools.length > 1, requests.map(({ prompt }) => prompt).join("\n---\n"));
    }
  });

  it("masks secrets in what a delegated task answers", async (t) => {
    const secret = "hunter2-hunter2-hunter2";
    const { outcome, prompts } = await runActions(t, {
      options: { environment: { ...process.env, DEPLOY_TOKEN: secret } },
      entry: { tasks: { review: { prompt: "OTHER: review", model } } },
      answers: [documentOf([delegate({ task: "review", input: "" })]), stopped()],
      others: () => ({ text: `It is ${secret}.` }),
    });
    assert.deepEqual(outcome, { kind: "succeeded" });
    assert.match(prompts[1] ?? "", /\{"text":"It is \*\*\*\."\}/);
  });

  it("has the relics and monuments of the entry that its permissions allow", async (t) => {
    const { outcome, prompts, requests, calls } = await runActions(t, {
      files: { "docs/log.md": "# Logging\n\nLogging is set in log.yml.", ".env": "A=1" },
      entry: {
        relics: { docs: { description: "The docs.", files: ["docs/*.md", ".env"] } },
        monuments: { kit: { tools: ["echo"], relics: ["docs"] }, other: { tools: ["echo"] } },
      },
      task: {
        monuments: ["kit"],
        permissions: { preset: "workspace", tools: ["echo"] },
        criteria: { toolExecuted: ["echo"], failureAction: { retryTimes: 0 } },
      },
      answers: [
        documentOf([action("touch", { params: { file: "x" } })]),
        documentOf([action("other.echo", { type: "monument" })]),
        documentOf(
          [
            action("kit.echo", { type: "monument", params: { a: 1 } }),
            action("docs", { type: "relic", params: { query: "logging" } }),
          ],
          { context: { knowledge_relics: ["docs"] } },
        ),
        stopped(),
      ],
    });
    assert.deepEqual(outcome, { kind: "succeeded" });
    assert.match(prompts[1] ?? "", /unknown_tool/);
    assert.match(prompts[2] ?? "", /unknown_monument/);
    assert.match(prompts[3] ?? "", /Relic "docs":[^]*log\.yml/);
    assert.ok(!JSON.stringify(requests).includes("A=1"), "a private file");
    assert.deepEqual(await calls(), ["echo"]);
  });

  it("takes place in a session that the caller lends, if it is told how", async (t) => {
    const prompts: string[] = [];
    const command = [process.execPath, "-e", "console.log('said')"];
    const entry: Entry = {
      models: { driving: "m" },
      permissions: { tools: ["say"] },
      tools: { say: { description: "Says it.", parameters: { type: "object" }, command } },
      tasks: { ship: { prompt: "Ship it.", protocol: "actions", model: { id: "m" } } },
      jobs: {},
    };
    const { host, folder, events, startTask } = await makeHost(t, entry, ({ prompt }) => {
      prompts.push(prompt);
      return { text: prompts.length === 1 ? documentOf([action("say")]) : stopped("Done.") };
    });
    const [session] = await host.helperSessionStart("lent", folder);
    t.after(() => session.stop());
    const { log, callback, ended } = taskLog();
    await startTask("ship", callback, { session });
    await ended;
    assert.equal(log.at(-1), "taskSucceeded");
    assert.match(prompts[0] ?? "", /^# Action protocol\n[^]*"name":"say"[^]*\n\nShip it\.$/);
    assert.match(prompts[1] ?? "", /\(say\) succeeded:\n```\nsaid/);
    assert.doesNotMatch(prompts[1] ?? "", /# Action protocol/);
    const report = events.find((event) => event.type === "work.ended");
    assert.ok(report?.type === "work.ended" && report.report === "Done.");
  });
});

/** Empty if it has ended. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
