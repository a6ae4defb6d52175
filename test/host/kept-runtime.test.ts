/** The runtime of a host that nothing uses is kept for a minute. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it, type TestContext } from "node:test";
import { JobHost } from "../../src/host/job-host.ts";
import type { Clock } from "../../src/platform/clock.ts";
import { isRunning, waitUntilGone } from "../../src/platform/processes.ts";
import { systemClock } from "../../src/platform/system-clock.ts";
import type { Entry } from "../../src/entry/model.ts";
import { ref } from "../rig/engine.ts";
import { modelServer } from "../rig/model-server.ts";

const skip = process.platform !== "linux" && "children are read from /proc";

function children(): readonly number[] {
  return readdirSync("/proc/self/task").flatMap((thread) =>
    Array.from(readFileSync(`/proc/self/task/${thread}/children`, "utf8").matchAll(/\d+/g), Number),
  );
}

const entry: Entry = {
  models: { driving: "m" },
  tasks: { greet: { model: { category: "driving" }, prompt: "Hello" } },
  jobs: { greet: { work: ref("greet") } },
};

interface Rig {
  readonly host: JobHost;
  /** The runtime after a job. */
  readonly runtime: () => Promise<number | undefined>;
  /** A minute passes. */
  readonly pass: () => void;
}

async function makeRig(t: TestContext): Promise<Rig> {
  const server = await modelServer(t, () => ({ text: "Hello." }));
  let listener: (() => void) | undefined;
  const clock: Clock = {
    ...systemClock,
    background(milliseconds, given) {
      assert.equal(milliseconds, 60_000);
      listener = given;
      return () => (listener = undefined);
    },
  };
  const host = new JobHost({ provider: { baseUrl: server.baseUrl }, clock });
  t.after(() => host.close());
  await host.installJobsEntry(entry);
  const before = new Set(children());
  return {
    host,
    async runtime() {
      const { outcome } = await host.runJob("greet");
      assert.equal(outcome.kind, "succeeded");
      return children().find((pid) => !before.has(pid));
    },
    pass: () => listener?.(),
  };
}

describe("the runtime of a JobHost", { skip }, () => {
  it("serves the next job, and ends a minute after the last one", async (t) => {
    const { runtime, pass } = await makeRig(t);
    const first = await runtime();
    assert.equal(await runtime(), first);
    assert.ok(first !== undefined && isRunning(first));
    pass();
    assert.ok(await waitUntilGone([first], 20_000));
    assert.notEqual(await runtime(), first);
  });

  it("ends with the host", async (t) => {
    const { host, runtime } = await makeRig(t);
    const pid = (await runtime()) ?? 0;
    await host.close();
    assert.ok(!isRunning(pid));
  });
});
