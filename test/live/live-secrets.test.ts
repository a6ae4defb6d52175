/** What no reader of a feed gets. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry } from "../../src/entry/model.ts";
import { callbacksOf, drain, makeLive, parsed, started } from "./live-rig.ts";

const secret = "correct horse battery staple";
const entry: Entry = {
  models: { driving: "driver" },
  tasks: { t: { model: { category: "driving" }, prompt: "$user-input", requireUserInput: true } },
  jobs: { j: { work: { kind: "Ref", taskId: "t" } } },
};

test("no feed, error or state of a server holds a secret", async (t) => {
  const says = { text: `It is ${secret}.`, reasoning: `Should I say ${secret}?` };
  const fails = { replies: [{ error: { status: 400, message: `The key ${secret} is wrong.` } }] };
  const rig = await makeLive(
    t,
    entry,
    [{ task: "t", attempt: 1, turns: [says] }, { turns: [says, fails] }],
    { environment: { PATH: process.env["PATH"], PASSPHRASE: secret } },
  );
  const { jobId } = started(await rig.live.startJob("j", `Say ${secret}.`, rig.folder));
  const job = await drain(rig.live, "job", jobId);
  const taskId = String(job[0]?.["taskId"]);
  const task = await drain(rig.live, "task", taskId);
  const sessions = [String(task[0]?.["sessionId"])];
  const { sessionId } = started(await rig.live.startSession("driver", rig.folder));
  sessions.push(sessionId);
  for (const [prompt, last] of [
    ["one", "onIdle"],
    ["two", "sessionError"],
  ] as const) {
    rig.live.query(sessionId, prompt);
    for (let name = ""; name !== last;) {
      const taken = await rig.live.take("session", sessionId, 60_000);
      assert.ok(taken.kind === "response");
      [name = ""] = callbacksOf([parsed(taken.json)]);
    }
  }
  const shown = JSON.stringify([
    rig.live.jobs,
    job,
    task,
    ...sessions.map((id) => rig.live.feed("session", id)?.read(0)),
    rig.live.feed("journal", jobId)?.read(0),
  ]);
  assert.ok(!shown.includes(secret));
  assert.ok(shown.includes("It is ***.") && shown.includes("The key *** is wrong."));
  assert.ok(shown.includes("Say ***."));
});
