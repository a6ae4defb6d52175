import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { describe, it, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import { JobHost } from "../../src/host/job-host.ts";
import type { Entry } from "../../src/entry/model.ts";
import { waitUntilGone } from "../../src/platform/processes.ts";
import { modelServer } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { jobLog, taskLog } from "../run/host-rig.ts";

const root = new URL("../../../", import.meta.url);
const entry: Entry = {
  models: { driving: "driver" },
  tasks: {
    greet: { model: { category: "driving" }, prompt: "Greet $user-input", requireUserInput: true },
  },
  jobs: { greet: { work: { kind: "Ref", taskId: "greet" } } },
};

describe("a JobHost with many jobs", () => {
  it("gives every job a view of its own", async (t) => {
    const server = await modelServer(t, ({ prompt }) => ({ text: `hello ${prompt}` }));
    const lines = await play(
      t,
      `import { JobHost as Library } from LIBRARY;
      class JobHost extends Library {
        constructor(options) { super({ ...options, provider: PROVIDER }); }
      }
      const views = new Map();
      const host = new JobHost({
        reporters: [{ report: (event, view) => void views.set(event.runId, view) }],
      });
      await host.installJobsEntry(ENTRY);
      const nothing = () => undefined;
      await Promise.all(Array.from({ length: 10 }, (_, index) => new Promise((resolve) => {
        const started = host.startJob("greet", "number " + index, ".", {
          workStarted: nothing, workStopped: nothing, jobFailed: resolve, jobCanceled: resolve,
          async jobSucceeded() {
            const { status, works } = views.get((await started).runId);
            console.log([index, status, ...[...works.values()].map((work) => work.lastMessage)].join());
            resolve();
          },
        });
      })));
      await host.close();
      console.log(views.size);`,
      server.baseUrl,
    );
    const wanted = Array.from(
      { length: 10 },
      (_, index) => `${index},succeeded,hello Greet number ${index}`,
    );
    assert.equal(lines.pop(), "10");
    assert.deepEqual(lines.toSorted(), wanted);
  });
});

/** The lines that a program prints which uses the library as an application does. It must exit by itself. */
async function play(t: TestContext, program: string, baseUrl: string): Promise<string[]> {
  const { path } = await makeWorkspace(t);
  const library = pathToFileURL(new URL("build/src/index.js", root).pathname).href;
  const code = program
    .replace("LIBRARY", () => JSON.stringify(library))
    .replace("PROVIDER", () => JSON.stringify({ baseUrl }))
    .replace("ENTRY", () => JSON.stringify(entry));
  const child = spawn(process.execPath, ["--input-type=module", "--eval", code], {
    cwd: path,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [output] = await Promise.all([text(child.stdout), once(child, "exit")]);
  assert.equal(child.exitCode, 0);
  return output.trim().split("\n");
}

describe("JobHost.close", () => {
  it("cancels jobs, ends sessions, closes reporters once, and nothing starts afterwards", async (t) => {
    const server = await modelServer(t, () => ({ hang: "before" }));
    const { path: folder } = await makeWorkspace(t);
    const log: string[] = [];
    const host = new JobHost({
      provider: { baseUrl: server.baseUrl },
      reporters: [
        {
          report: ({ type }) => void log.push(type),
          close: async () => void log.push("closed"),
        },
      ],
    });
    await host.installJobsEntry(entry);
    const [session, id] = await host.helperSessionStart("driver", folder);
    const asked = session.sendRequest("hello?").then(
      () => "answered",
      (error: unknown) => String(error),
    );
    const job = jobLog();
    await new Promise<void>((resolve) => {
      void host.startJob("greet", "you", folder, { ...job.callback, workStarted: () => resolve() });
    });
    await Promise.all([host.close(), host[Symbol.asyncDispose]()]);
    await host.close();
    assert.deepEqual(job.log, ["workStopped 0 false", "jobCanceled"]);
    assert.match(await asked, /stopped/);
    assert.equal(host.helperGetSession(id), undefined);
    assert.equal(host.hasRunningSessions(), false);
    assert.deepEqual(log.slice(-2), ["run.ended", "closed"]);
    assert.equal(log.filter((line) => line === "closed").length, 1);
    const { callback } = jobLog();
    const closed = /The host is closed/;
    await assert.rejects(host.startJob("greet", "you", folder, callback), closed);
    await assert.rejects(host.runJob("greet"), closed);
    await assert.rejects(host.helperSessionStart("driver", folder), closed);
    const task = taskLog().callback;
    await assert.rejects(
      host.startTask("greet", "", undefined, true, task, undefined, folder, () => {}),
      closed,
    );
  });

  for (const end of ["", "process.exit();"])
    it(`is not needed for the process to exit, and its runtime ends with it: ${end}`, async (t) => {
      const server = await modelServer(t, () => ({ text: "hello" }));
      const [outcome, runtime, ...active] = await play(
        t,
        `import { readdirSync, readFileSync } from "node:fs";
        import { JobHost } from LIBRARY;
        const host = new JobHost({ provider: PROVIDER });
        await host.installJobsEntry(ENTRY);
        const { outcome } = await host.runJob("greet", { userInput: "you" });
        console.log(outcome.kind);
        const threads = process.platform === "linux" ? readdirSync("/proc/self/task") : [];
        console.log(...threads.map((one) => readFileSync("/proc/self/task/" + one + "/children", "utf8").trim()));
        // Besides its own output.
        for (const name of process.getActiveResourcesInfo()) if (name !== "PipeWrap") console.log(name);
        ${end}`,
        server.baseUrl,
      );
      assert.deepEqual([outcome, active], ["succeeded", []]);
      const pids = (runtime ?? "").split(" ").filter((pid) => pid !== "");
      assert.equal(pids.length, process.platform === "linux" ? 1 : 0);
      assert.ok(await waitUntilGone(pids.map(Number), 5_000));
    });
});
