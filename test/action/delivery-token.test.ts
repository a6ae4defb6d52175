/** `delivery-token`: it writes what a job publishes. Everything else is done with the other token, and nobody else sees it. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { GithubRepository } from "../rig/github-repository.ts";
import { bash, modelServer } from "../rig/model-server.ts";
import { runStep } from "../rig/runner.ts";
import { makeRepository } from "../rig/workspace.ts";

const head = "c".repeat(40);
const token = "ghs_deliveryonly0123456789";
const entry = JSON.stringify({
  models: { driving: "gpt-5" },
  permissions: { preset: "read-only", shell: ["env"], sandbox: "off" },
  outputs: { report: { comment: "sticky" }, proposals: { label: { allowed: ["bug"] } } },
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

it("writes with the delivery token alone, which no agent, command, log, output or journal has", async (t) => {
  const workspace = await makeRepository(t, { "e.yml": entry });
  const commit = (await workspace.git("rev-parse", "HEAD")).trim();
  const used = new Map<string, string>();
  const github = await GithubRepository.start(t, {
    head,
    files: { [`${commit}:e.yml`]: entry },
    breaks({ method, path, body, authorization = "" }) {
      const what = path === "/graphql" ? String(body["query"]).split("(")[0] : method;
      used.set(`${what} ${path}`, authorization.replace(/^\w+ /, ""));
      return undefined;
    },
  });
  const model = await modelServer(t, ({ toolResults }) => {
    if (toolResults.length > 1) return { text: "Done." };
    if (toolResults.length === 0) return { toolCalls: [bash("env")] };
    const markdown = "It is done.";
    const labels = { kind: "label", labels: ["bug"] };
    return {
      toolCalls: [
        { name: "job_report", arguments: { markdown } },
        { name: "job_propose", arguments: labels },
      ],
    };
  });
  const result = await runStep(t, {
    workspace: workspace.path,
    event: "pull-request",
    apiUrl: github.url,
    env: { GITHUB_RUN_ID: "99" },
    inputs: {
      entry: "e.yml",
      "github-token": "ghs_0123456789abcdef",
      "delivery-token": token,
      "provider-base-url": model.baseUrl,
      "provider-api-key": "key-0123456789",
      "output-dir": "out",
    },
  });
  assert.equal(result.code, 0, result.raw);
  assert.equal(github.comments.length, 1);
  assert.deepEqual(github.labels, ["bug"]);
  const written = github.calls.map(({ authorization }) => authorization);
  assert.deepEqual([...new Set(written)], [`token ${token}`]);
  const others = [...used].filter(([, by]) => by !== token).map(([what]) => what);
  assert.ok(others.some((what) => what.includes("/collaborators/")));
  assert.ok(others.every((what) => what.startsWith("GET ")));
  const masked = result.commands.filter(({ name }) => name === "add-mask");
  assert.ok(masked.some(({ message }) => message === token));
  const log = result.raw.replaceAll(/^::add-mask::.*$/gm, "");
  const journal = await readFile(join(workspace.path, "out/journal.jsonl"), "utf8");
  const seen = model.requests.map((request) => JSON.stringify(request));
  assert.match(seen.join(), /PATH=/);
  for (const text of [log, journal, result.summary, JSON.stringify(result.outputs), ...seen])
    assert.ok(!text.includes(token), text);
});
