/** Whom the order of calls covers besides the main agent of a session, and whom it doesn't. Real runtime, real git. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { makeRepository, makeWorkspace } from "../rig/workspace.ts";
import { bash } from "./attempts.ts";
import { completed, denials, makeRig, turn } from "./rig.ts";

const secret = "OUTSIDE-SECRET";

test("sub-agents of a session are kept apart as well", async (t) => {
  const outside = await makeWorkspace(t, { "f.txt": `${secret}\n` });
  const repository = await makeRepository(t, { "src/d/f.txt": "inside\n" });
  await repository.git("checkout", "--quiet", "-b", "x");
  await rm(join(repository.path, "src/d"), { recursive: true });
  await symlink(outside.path, join(repository.path, "src/d"));
  await repository.git("add", "--all");
  await repository.git("commit", "--quiet", "--message=A link");
  await repository.git("checkout", "--quiet", "main");
  const rounds = { swap: 0, look: 0, start: 0 };
  const view = { name: "view", arguments: { path: join(repository.path, "src/d/f.txt") } };
  const rig = await makeRig(
    t,
    ({ prompt }) => {
      const who = /swap|look|start/.exec(prompt)?.[0];
      assert.ok(who === "swap" || who === "look" || who === "start", prompt);
      rounds[who] += 1;
      if (who === "start") {
        if (rounds.start > 1) return { text: "The end." };
        return {
          toolCalls: ["swap", "look"].map((name) => ({
            name: "task",
            arguments: {
              name,
              description: "d",
              prompt: name,
              agent_type: "general-purpose",
              mode: "sync",
            },
          })),
        };
      }
      if (rounds[who] > 12) return { text: "Done." };
      if (who === "swap")
        return {
          toolCalls: [bash(`git checkout --quiet ${rounds.swap % 2 === 1 ? "x" : "main"}`)],
        };
      return { toolCalls: Array.from({ length: 20 }, () => view) };
    },
    { workspace: repository },
  );
  const session = await rig.open({
    permissions: { shell: ["git checkout *"], write: ["src/**"], tools: ["task"] },
  });
  const run = await turn(session, "start");
  await session.close();
  assert.equal(completed(run).text, "The end.");
  assert.ok(rounds.swap > 12 && rounds.look > 12, JSON.stringify(rounds));
  const shown = rig.server.requests.flatMap(({ toolResults }) => toolResults).join("\n");
  assert.doesNotMatch(shown, new RegExp(secret));
  assert.match(shown, /inside/);
  // Which answer a file tool belongs to is not known: a command of the other sub-agent may have to ask again.
  const unexpected = denials(run).filter(
    ({ reason }) => !/outside the working directory|in your next answer/.test(reason),
  );
  assert.deepEqual(unexpected, []);
});

test("a tool of an entry runs beside file tools, and neither waits for the other", async (t) => {
  const workspace = await makeWorkspace(t);
  const made = join(workspace.path, "made.txt");
  let answered = 0;
  const rig = await makeRig(
    t,
    () => {
      answered += 1;
      if (answered > 1) return { text: "The end." };
      return {
        toolCalls: [
          { name: "wait", arguments: {} },
          { name: "create", arguments: { path: made, file_text: "x" } },
        ],
      };
    },
    { workspace },
  );
  let seen = false;
  const session = await rig.open({
    permissions: { write: ["**"], shell: ["git log *"], tools: ["wait"] },
    tools: [
      {
        name: "wait",
        description: "Waits for the file",
        parameters: { type: "object" },
        async run(_given, { signal }) {
          while (!signal.aborted && !seen) {
            seen = existsSync(made);
            await new Promise((resolve) => setImmediate(resolve));
          }
          return { succeeded: true, text: "It is there." };
        },
      },
    ],
  });
  const run = await turn(session, "go");
  await session.close();
  assert.deepEqual(denials(run), []);
  assert.equal(seen, true);
  assert.equal(completed(run).text, "The end.");
});
