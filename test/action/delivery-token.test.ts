/** `delivery-token`: it writes what a job publishes. Everything else is done with the other token, and nobody else sees it. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { it, type TestContext } from "node:test";
import { cliExits } from "../rig/cli.ts";
import { bash, modelServer } from "../rig/model-server.ts";
import { readFixture } from "../rig/runner.ts";
import { repositoryWith } from "./repository-rig.ts";

const token = "ghs_deliveryonly0123456789";
const other = "ghs_0123456789abcdef";
const entry = JSON.stringify({
  models: { driving: "gpt-5" },
  permissions: { preset: "read-only", shell: true, sandbox: "off" },
  outputs: {
    report: { comment: "sticky" },
    // Threads of the delivery token are its own for nobody else.
    findings: { review: "comment", since: "last-review" },
    proposals: { label: { allowed: ["bug"] } },
  },
  tasks: {
    look: {
      model: { category: "driving" },
      prompt: "Look, then call job_report and job_propose.",
    },
  },
  jobs: {
    look: {
      work: {
        kind: "Seq",
        works: [
          { kind: "Run", run: "env | sort; tr '\\0' '\\n' < /proc/self/environ" },
          { kind: "Ref", taskId: "look" },
        ],
      },
    },
  },
});

/** A repository whose requests are told apart by their token, and a step in it. */
async function world(t: TestContext) {
  const used = new Map<string, string>();
  const { workspace, github, ...here } = await repositoryWith(
    t,
    { "e.yml": entry },
    {
      breaks({ method, path, body, authorization = "" }) {
        const what = path === "/graphql" ? String(body["query"]).split("(")[0] : method;
        const by = authorization.replace(/^\w+ /, "");
        used.set(`${what} ${path} ${by}`, by);
        return undefined;
      },
    },
  );
  const model = await modelServer(t, ({ toolResults }) => {
    if (toolResults.length > 1) return { text: "Done." };
    if (toolResults.length === 0)
      return { toolCalls: [bash("env; tr '\\0' '\\n' < /proc/$PPID/environ")] };
    const markdown = "It is done.";
    const labels = { kind: "label", labels: ["bug"] };
    return {
      toolCalls: [
        { name: "job_report", arguments: { markdown } },
        { name: "job_propose", arguments: labels },
      ],
    };
  });
  const step = (inputs: Readonly<Record<string, string>>) =>
    here.step({
      inputs: {
        entry: "e.yml",
        "github-token": other,
        "provider-base-url": model.baseUrl,
        "provider-api-key": "key-0123456789",
        "output-dir": "out",
        ...inputs,
      },
    });
  const isWrittenWithIt = (): void => {
    const written = github.calls.map(({ authorization }) => authorization);
    assert.deepEqual([...new Set(written)], [`token ${token}`]);
    const others = [...used].filter(([, by]) => by !== token).map(([what]) => what);
    assert.notEqual(others.length, 0);
    assert.ok(others.every((what) => what.startsWith("GET ")));
  };
  return { workspace, github, used, model, step, isWrittenWithIt };
}

it("writes with the delivery token alone, which no agent, command, log, output or journal has", async (t) => {
  const { workspace, github, used, model, step, isWrittenWithIt } = await world(t);
  const result = await step({ "delivery-token": token });
  assert.equal(result.code, 0, result.raw);
  assert.equal(github.comments.length, 1);
  assert.deepEqual(github.labels, ["bug"]);
  isWrittenWithIt();
  const asked = [...used].find(([what]) => what.includes("/collaborators/"));
  assert.equal(asked?.[1], other);
  const masked = result.commands.filter(({ name }) => name === "add-mask");
  assert.ok(masked.some(({ message }) => message === token));
  const log = result.raw.replaceAll(/^::add-mask::.*$/gm, "");
  const journal = await readFile(join(workspace.path, "out/journal.jsonl"), "utf8");
  const seen = model.requests.map((request) => JSON.stringify(request));
  assert.match(seen.join(), /PATH=/);
  for (const text of [log, journal, result.summary, JSON.stringify(result.outputs), ...seen])
    assert.ok(!text.includes(token), text);
});

it("is read from the environment by agent-jobs deliver", async (t) => {
  const { workspace, github, used, step, isWrittenWithIt } = await world(t);
  const staged = await step({ staged: "true" });
  assert.equal(staged.code, 0, staged.raw);
  assert.deepEqual(github.calls, []);
  used.clear();
  const { event, payload } = await readFixture("pull-request");
  const digest = staged.outputs["journal-digest"] ?? "";
  const args = ["deliver", "out/journal.jsonl", "--entry", "e.yml", "--digest", digest];
  const file = await workspace.write("event.json", JSON.stringify(payload));
  // In a workflow, the variable of a secret that isn't set is empty.
  for (const [builtIn, own] of [
    [token, ""],
    [other, token],
  ] as const) {
    const { stdout } = await cliExits(0, args, {
      cwd: workspace.path,
      env: {
        GITHUB_TOKEN: builtIn,
        AGENT_JOBS_DELIVERY_TOKEN: own,
        GITHUB_REPOSITORY: "octo/shop",
        GITHUB_RUN_ID: "99",
        GITHUB_API_URL: github.url,
        GITHUB_EVENT_NAME: event,
        GITHUB_EVENT_PATH: file,
      },
    });
    assert.doesNotMatch(stdout, /refused/);
  }
  assert.equal(github.comments.length, 1);
  isWrittenWithIt();
});
