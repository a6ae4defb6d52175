/** Warnings of `validate` about tools, servers, relics and monuments, with the real permissions. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { diagnosticLine } from "../../src/document/diagnostic.ts";
import { loadEntry } from "../../src/run/entry-files.ts";
import { entryWith, entryWithTask } from "../entry/rig.ts";

function warningsOf(text: string, file = "e.yml"): string[] {
  const loaded = loadEntry(text, file);
  if (loaded.kind === "rejected") assert.fail(loaded.diagnostics.map(diagnosticLine).join("\n"));
  return loaded.warnings.map((one) => diagnosticLine(one).replace(/^\S* (?:warning: )?/, ""));
}

const of = (entry: object): string[] => warningsOf(JSON.stringify(entry, null, 1), "e.json");

const build = { description: "Builds.", parameters: {}, command: ["make"] };
const parts = {
  tools: { build },
  mcpServers: { docs: { command: "docs-server", tools: ["search"] } },
};
const all = { permissions: { tools: ["*"] } };
const retry = { failureAction: { retryTimes: 1 } };

/** The example of the documentation, without permissions. */
const ship = `
models: { driving: gpt-5-mini, planning: gpt-5 }
tools:
  build:
    description: Builds the project.
    parameters: { type: object, properties: { target: { type: string } } }
    command: [npm, run, build]
    timeoutSeconds: 600
    parallelSafe: false
relics:
  docs: { description: Project documentation, files: ["docs/**/*.md"], maxTokens: 4000 }
monuments:
  release: { tools: [build], relics: [docs] }
tasks:
  ship:
    protocol: actions
    iterations: 20
    model: { category: planning }
    prompt: [Build the project and write the notes of the release.]
jobs:
  ship: { work: { kind: Ref, taskId: ship } }
`;

describe("a tool that no task may call", () => {
  it("is a warning, and the only one of an entry that leaves its permissions out", () => {
    assert.deepEqual(warningsOf(ship), [
      'entry.tools["build"]: No task may call this tool: permissions.tools doesn\'t allow it. (name it in the permissions of a task: { tools: [build] })',
    ]);
    for (const permissions of ["{ tools: [build] }", '{ tools: ["*"] }', "all"]) {
      assert.deepEqual(warningsOf(`${ship}permissions: ${permissions}\n`), []);
    }
    assert.equal(warningsOf(`${ship}permissions: { preset: all, tools: ["!build"] }\n`).length, 1);
    assert.equal(warningsOf(`${ship}permissions: workspace\n`).length, 1);
  });

  it("is none if any task may call it", () => {
    const task = { model: { category: "fast" }, prompt: "x" };
    const tasks = { a: { ...task, permissions: { tools: ["build"] } }, b: task };
    const work = { kind: "Seq", works: ["a", "b"].map((taskId) => ({ kind: "Ref", taskId })) };
    assert.deepEqual(of(entryWith({ tools: { build }, tasks, jobs: { j: { work } } })), []);
    // The permissions of a task replace those of the entry.
    const own = { tasks: { a: { ...task, permissions: "workspace" } }, permissions: "all" };
    assert.equal(of(entryWith({ tools: { build }, ...own })).length, 1);
  });

  it("may be a whole server", () => {
    const { mcpServers } = parts;
    const [line, ...more] = of(entryWith({ mcpServers }));
    assert.match(
      line ?? "",
      /^entry\.mcpServers\["docs"\]: No task may use this server: .*"docs\/\*"/,
    );
    assert.deepEqual(more, []);
    for (const pattern of ["docs/*", "docs/search", "*"]) {
      assert.deepEqual(of(entryWith({ mcpServers, permissions: { tools: [pattern] } })), []);
    }
  });
});

describe("a task that can't do what it should", () => {
  it("has criteria that name a tool which its permissions don't allow", () => {
    const criteria = { toolExecuted: ["job_boolean_true", "build", "docs/search"], ...retry };
    const task = { criteria, permissions: { tools: ["docs/*"] } };
    const lines = of(entryWithTask(task, { ...parts, permissions: "all" }));
    assert.equal(lines.length, 2);
    assert.match(
      lines.join("\n"),
      /toolExecuted\[1\]: The criteria can't hold, because the task may not call "build"\./,
    );
    assert.deepEqual(of(entryWithTask({ criteria, ...all }, parts)), []);
  });
});

describe("a pattern of permissions.tools", () => {
  const lines = (...tools: string[]): string =>
    of(entryWithTask({ permissions: { tools: ["*", ...tools] } }, parts)).join("\n");

  it("names something", () => {
    const names =
      "build ./build docs/* docs/search bash sql task job_boolean_true !view delegate delegate/* delegate/a task_manager";
    assert.equal(lines(...names.split(" ")), "");
  });

  it("or a similar name is suggested", () => {
    const at = /^entry\.tasks\["a"\]\.permissions\.tools\[1\]: /;
    for (const [pattern, expected] of [
      ["biuld", 'There is no tool "biuld". (did you mean "build"?)'],
      ["!bahs", 'There is no tool "bahs". (did you mean "bash"?)'],
      ["docs", 'There is no tool "docs". (write "docs/*" for the tools of this server)'],
      ["doc/*", 'There is no MCP server "doc". (did you mean "docs"?)'],
      [
        "docs/serach",
        'The tools of the MCP server "docs" don\'t include "serach". (did you mean "search"?)',
      ],
      ["delegate/b", 'There is no task "b".'],
      ["zzzzzz", 'There is no tool "zzzzzz".'],
    ] as const) {
      assert.match(lines(pattern), at);
      assert.equal(lines(pattern).replace(at, ""), expected);
    }
  });
});

describe("a declaration with a likely mistake", () => {
  const lines = (more: object): string => of(entryWith({ ...all, ...more })).join("\n");

  it("is a credential in the file", () => {
    const token = `ghp_${"a1B2".repeat(9)}`;
    const sent = (Authorization: string): object => ({
      url: "http://x",
      headers: { Authorization },
    });
    for (const [server, place] of [
      [{ command: "x", env: { TOKEN: token } }, 'env["TOKEN"]'],
      [{ command: "x", args: ["--token", token] }, "args[1]"],
      [sent(`Bearer ${token}`), 'headers["Authorization"]'],
      [sent("Bearer abc"), 'headers["Authorization"]'],
      [{ url: "https://me:pass@x" }, "url"],
    ] as const) {
      const found = lines({ mcpServers: { docs: server } });
      const said = `entry.mcpServers["docs"].${place}: This looks like a credential.`;
      assert.ok(found.startsWith(said), found);
      assert.ok(!found.includes(token) && !found.includes("\n"), found);
    }
    const tool = { ...build, command: ["x", token] };
    assert.match(lines({ tools: { build: tool } }), /command\[1\]: This looks/);
    assert.equal(lines({ mcpServers: { docs: sent("Bearer env:TOKEN") } }), "");
  });

  it("is a variable that isn't inserted", () => {
    for (const value of ["$TOKEN", "${TOKEN}", "${{ secrets.TOKEN }}", "Bearer ${TOKEN}"]) {
      assert.match(
        lines({ mcpServers: { docs: { url: "http://x", headers: { "X-Key": value } } } }),
        /^[^\n]*headers\["X-Key"\]: This text is passed as it is: [^\n]*\(write env:TOKEN\)$/,
      );
    }
    assert.equal(lines({ mcpServers: { docs: { command: "x", env: { A: "costs 5 $" } } } }), "");
  });

  it("is a line for a shell", () => {
    const tool = { ...build, command: ["npm run build"] };
    const program = /command(?:\[0\])?: This is taken as the name of one program/;
    assert.match(lines({ tools: { build: tool } }), program);
    assert.match(lines({ mcpServers: { docs: { command: "npx -y docs" } } }), program);
    assert.equal(lines({ mcpServers: { docs: { command: "C:\\Program Files\\docs.exe" } } }), "");
  });
});
