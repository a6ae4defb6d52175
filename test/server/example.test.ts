/** `examples/client.mjs`, as a user runs it. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { recordOf } from "../rig/answer.ts";
import { startCli, type CliResult } from "../rig/cli.ts";
import { startServer } from "../rig/server.ts";
import { entryOf, jobFeed, ref, seq, sessions } from "../rig/server-fixtures.ts";

const server = await startServer({
  entry: entryOf({ job: seq(ref("ok"), ref("fails")) }),
  sessions,
});
after(() => server.stop());

const main = join(import.meta.dirname, "../../../examples/client.mjs");

function run(...args: readonly string[]): Promise<CliResult> {
  const env = { AGENT_JOBS_URL: server.url };
  return startCli(args, { cwd: server.workingDirectory, env, main }).ended;
}

describe("the example of a client", { concurrency: true }, () => {
  it("follows a job to its end", async () => {
    const { code, stdout, stderr } = await run("job");
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
    const answers = stdout.trimEnd().split("\n").map(recordOf);
    const lines = ["0 started", "0 succeeded", "1 started", "1 failed", "jobFailed"];
    assert.deepEqual(answers, jobFeed(lines, answers));
  });

  it("ends with the error of the server", async () => {
    const { code, stderr } = await run("nothing");
    assert.equal(code, 1);
    assert.match(stderr, /Error: JobNotFound/);
  });
});
