/** `copilot/test/installJobsEntry`, which exists with `--test` alone, and what is listed of an installed entry. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { Answer } from "../rig/answer.ts";
import { startServer } from "../rig/server.ts";
import { entryOf, model, models, ref, seq, sessions } from "../rig/server-fixtures.ts";

const server = await startServer({ entry: entryOf({ job: ref("ok") }), sessions });
after(() => server.stop());
const entries = join(server.folder, "entries");

async function write(name: string, content: unknown): Promise<string> {
  const file = join(entries, name);
  await writeFile(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

const install = (file: string): Promise<Answer> =>
  server.post("copilot/test/installJobsEntry", file);

describe("copilot/test/installJobsEntry", () => {
  it("installs an entry in place of the one before", async () => {
    const grid = [{ keyword: "all", jobs: [{ name: "run", jobName: "other" }, null] }];
    const file = await write("other.json", {
      models,
      tasks: {
        plain: { model: { category: "driving" }, prompt: ["Do", "it."] },
        asks: { model: { category: "driving" }, prompt: "Do $user-input.", requireUserInput: true },
      },
      jobs: { other: { work: seq(ref("plain"), seq(ref("asks"))) } },
      grid,
    });
    assert.deepEqual(await install(file), { result: "OK" });
    assert.deepEqual(await server.get("copilot/task"), {
      tasks: [
        { name: "plain", requireUserInput: false },
        { name: "asks", requireUserInput: true },
      ],
    });
    const listed = await server.get("copilot/job");
    assert.deepEqual(listed["grid"], grid);
    const works = ["plain", "asks"].map((id, workIdInJob) => ({ ...ref(id), workIdInJob }));
    const other = { requireUserInput: true, work: { kind: "Seq", works } };
    assert.deepEqual(listed["jobs"], { other });
  });

  it("refuses an entry with a mistake, with the message of validateEntry", async () => {
    const file = await write("wrong.json", {
      ...entryOf({ job: ref("nothing") }),
      models: { driving: model },
    });
    const { result, error, ...others } = await install(file);
    assert.deepEqual({ result, others }, { result: "InvalidateEntry", others: {} });
    assert.match(String(error), /entry\.jobs\["job"\]\.work\.taskId: /);
  });

  it("refuses what is no entry, and keeps the one before", async () => {
    const before = await server.get("copilot/job");
    const { result, error } = await install(await write("wrong.json", "{"));
    assert.equal(result, "InvalidateEntry");
    assert.equal(typeof error, "string");
    assert.doesNotMatch(String(error), /\n\s+at /, "a stack trace");
    assert.deepEqual(await server.get("copilot/job"), before);
  });

  it("refuses any entry while a session runs", async () => {
    const file = await write("right.json", entryOf({ job: ref("ok"), second: ref("ok") }));
    const id = await server.startSession();
    const { result, error, ...others } = await install(file);
    assert.deepEqual({ result, others }, { result: "Rejected", others: {} });
    assert.match(String(error), /running/);
    await server.close(`copilot/session/${id}`);
    assert.deepEqual(await install(file), { result: "OK" });
  });
});
