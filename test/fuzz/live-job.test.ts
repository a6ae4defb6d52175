/** The feeds of random jobs, of which works are stopped and which are canceled: their order, whatever happens. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { Feed } from "../../src/host/feed.ts";
import { JobFeeds, Questions, stateOf } from "../../src/host/live-job.ts";
import type { Work } from "../../src/entry/model.ts";
import { fakeHost, jobSpec } from "../rig/fake-host.ts";
import { sessionCrash } from "../rig/crashes.ts";
import { holds } from "../rig/fuzz.ts";

type Fate = "succeeds" | "fails" | "crashes" | "is stopped" | "cancels the job";

const { work: works } = fc.letrec<{ work: Work }>((tie) => ({
  work: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constant<Work>({ kind: "Ref", taskId: "t" }),
    fc
      .array(tie("work"), { minLength: 1, maxLength: 3 })
      .map((all): Work => ({ kind: "Seq", works: all })),
    fc
      .array(tie("work"), { minLength: 1, maxLength: 3 })
      .map((all): Work => ({ kind: "Par", works: all })),
    fc
      .record({ condition: tie("work"), trueWork: tie("work"), falseWork: tie("work") })
      .map((parts): Work => ({ kind: "Alt", ...parts })),
    tie("work").map((body): Work => ({ kind: "Loop", body, atMost: 2, atMostReached: "succeed" })),
  ),
}));

const fates = fc.array(
  fc.constantFrom<Fate>(
    "succeeds",
    "succeeds",
    "succeeds",
    "fails",
    "crashes",
    "is stopped",
    "cancels the job",
  ),
  { minLength: 1, maxLength: 12 },
);

interface Entry {
  readonly of: string;
  readonly name: string;
  readonly workId?: number;
  readonly taskId?: string;
}

class NotedFeed extends Feed {
  readonly #note: (response: object) => void;
  constructor(clock: ConstructorParameters<typeof Feed>[0]["clock"], note: (one: object) => void) {
    super({ clock });
    this.#note = note;
  }
  override append(response: object): void {
    assert.ok(!this.closed, `nothing comes after the end: ${JSON.stringify(response)}`);
    this.#note(response);
    super.append(response);
  }
}

test("the feeds of a job tell each start, its task and its end in this order", async (t) => {
  await holds(
    t,
    fc.asyncProperty(works, fates, async (work, plan) => {
      const log: Entry[] = [];
      const note =
        (of: string) =>
        (response: object): void => {
          const [name] = Object.values(response).filter((one) => typeof one === "string");
          log.push({ of, name: "callback" in response ? String(name) : "error", ...response });
        };
      const tasks = new Map<string, Feed>();
      let next = 0;
      const fake = fakeHost(({ label }) => {
        const fate = plan[(next += 1) % plan.length] ?? "succeeds";
        if (fate === "is stopped") queueMicrotask(() => run.stopWork(label.workId, "stopped"));
        if (fate === "cancels the job") {
          feeds.stopped = true;
          run.cancel("stopped");
        }
        if (fate === "crashes") return { crash: sessionCrash };
        if (fate === "succeeds") return { tools: ["job_boolean_true"] };
        return fate === "fails" ? {} : { hang: true };
      });
      const feed = new NotedFeed(fake.clock, note("job"));
      const journal = new Feed({ clock: fake.clock });
      const feeds = new JobFeeds({
        feed,
        journal,
        openTask(taskId) {
          const task = new NotedFeed(fake.clock, note(taskId));
          tasks.set(taskId, task);
          return task;
        },
      });
      const criteria = { toolExecuted: ["job_boolean_true"], failureAction: { retryTimes: 0 } };
      const task = { model: { category: "driving" }, prompt: "Go.", criteria } as const;
      const run = fake.host.run(jobSpec({ t: task }, work), { reporters: [feeds] });
      await fake.clock.runUntil(run.ended);

      const job = log.filter(({ of }) => of === "job");
      const end = job.at(-1)?.name ?? "";
      assert.match(end, /^job(Succeeded|Failed|Canceled)$/);
      assert.equal(job.filter(({ name }) => /^job[A-Z]/.test(name)).length, 1);
      const questions = new Questions(fake.clock, (text) => text);
      const asked = { jobName: "j", startTime: 0, workingDirectory: "/", userInput: "" };
      const state = stateOf({ run, feeds, questions, asked: { ...asked, params: {}, inputs: {} } });
      assert.equal(state.status, end.slice(3));
      assert.ok(feed.closed && journal.closed);
      const running = new Map<number, string>();
      for (const [index, { of, name, workId = -1, taskId = "" }] of log.entries()) {
        if (of !== "job") assert.ok([...running.values()].includes(of), `${name} outside its work`);
        if (name === "workStarted") {
          assert.ok(!running.has(workId), "it runs already");
          running.set(workId, taskId);
        }
        if (name !== "workStopped") continue;
        const own = log.slice(0, index).filter((one) => one.of === running.get(workId));
        assert.match(own.at(-1)?.name ?? "", /^task(Succeeded|Failed)$/);
        running.delete(workId);
      }
      assert.equal(running.size, 0);
      for (const { status, taskId } of state.tasks) {
        assert.ok(status !== "Waiting" && status !== "Running");
        assert.equal(taskId === undefined, status === "Skipped");
      }
      for (const own of tasks.values()) assert.ok(own.closed);
    }),
    150,
  );
});
