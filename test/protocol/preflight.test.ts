import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Relic } from "../../src/tools/tool.ts";
import { createCatalogue } from "../../src/protocol/catalogue.ts";
import { type PlannedAction, preflight } from "../../src/protocol/preflight.ts";
import { readMessage } from "../../src/protocol/read-message.ts";
import { action, type Json, documentOf, group, shortly, tool } from "./rig.ts";

const docs: Relic = {
  name: "docs",
  read: () => Promise.resolve({ kind: "succeeded", value: "text" }),
};
const catalogue = createCatalogue({
  tools: [
    tool("build", {
      parameters: {
        type: "object",
        required: ["target"],
        additionalProperties: false,
        properties: {
          target: { type: "string" },
          jobs: { type: "integer", minimum: 1 },
          env: { type: "object", required: ["A"], properties: { A: { type: "string" } } },
          kind: { oneOf: [{ const: "fast" }, { type: "object", required: ["x"] }] },
        },
      },
    }),
    tool("any"),
    tool("look", { readOnly: true }),
    tool("safe", { parallelSafe: true }),
    tool("safe2", { parallelSafe: true }),
    ...["build_tool", "git_tool", "search_tool", "deploy_tool", "static_analyzer"].map((name) =>
      tool(name),
    ),
    ...["github_tool", "summarizer_tool"].map((name) => tool(name)),
  ],
  relics: [docs],
  monuments: [{ name: "release", tools: ["build", "absent"], relics: ["docs"] }],
  delegation: { tasks: ["review"], run: () => Promise.resolve({ kind: "timed_out" }) },
});

const known = {
  iteration: 2,
  hasTask: (id: string) => id === "earlier",
  hasVariable: (name: string) => name === "kept" || name === "last_build_id",
};

function check(answer: string): readonly PlannedAction[] | string[] {
  const read = readMessage(answer);
  if (read.kind === "rejected") return shortly(read.problems);
  const result = preflight(read.document, catalogue, known);
  return result.kind === "rejected" ? shortly(result.problems) : result.actions;
}

function problems(actions: Parameters<typeof documentOf>[0], fields?: object): string[] {
  const result = check(documentOf(actions, { ...fields }));
  return result.flatMap((one) => (typeof one === "string" ? [one] : []));
}

/** Id → the ids that it comes after. */
function orderOf(actions: Parameters<typeof documentOf>[0], fields?: object): object {
  const plan = check(documentOf(actions, { ...fields }));
  const all = plan.flatMap((one) => (typeof one === "string" ? [] : [one]));
  assert.equal(all.length, plan.length, JSON.stringify(plan));
  return Object.fromEntries(
    all.map(({ id, after, requires }) => [
      id,
      [...[...requires].map((one) => `!${one}`), ...[...after].map((index) => all[index]?.id)].join(
        " ",
      ),
    ]),
  );
}

const a = action("any", { action_id: "a" });
const b = action("any", { action_id: "b" });

describe("preflight", () => {
  const bad: Readonly<Record<string, readonly [readonly Json[], ...string[]]>> = {
    "an id that is used twice, in a group": [
      [a, group("g", [a])],
      "duplicate_id /actions/1/sub_actions/0/action_id",
    ],
    "the id __proto__": [
      [action("any", { action_id: "__proto__" })],
      "forbidden_name /actions/0/action_id",
    ],
    "an unknown dependency in a list": [
      [a, { ...b, depends_on: ["a", "toString"] }],
      "unknown_dependency /actions/1/depends_on/1",
    ],
    "an action that depends on itself": [
      [{ ...a, depends_on: "a" }],
      "self_dependency /actions/0/depends_on",
    ],
    "a cycle": [
      [
        { ...a, depends_on: "b" },
        { ...b, depends_on: "a" },
      ],
      "cyclic_dependency /actions/0/depends_on",
      "cyclic_dependency /actions/1/depends_on",
    ],
    "a cycle through references": [
      [
        { ...a, params: { x: "${{results.b}}" } },
        { ...b, depends_on: "a" },
      ],
      "cyclic_dependency /actions/0",
      "cyclic_dependency /actions/1/depends_on",
    ],
    "a member that depends on its group": [
      [group("g", [{ ...a, depends_on: "g" }])],
      "cyclic_dependency /actions/0/sub_actions/0/depends_on",
    ],
    "an unknown tool": [[action("biuld")], "unknown_tool /actions/0/action"],
    "an unknown relic": [[action("nope", { type: "relic" })], "unknown_relic /actions/0/action"],
    "an unknown monument": [
      [action("x.build", { type: "monument" })],
      "unknown_monument /actions/0/action",
    ],
    "a member whose tool may not be used": [
      [action("release.absent", { type: "monument" })],
      "unknown_member /actions/0/action",
    ],
    "a monument without a member": [
      [action("release", { type: "monument" })],
      "unknown_member /actions/0/action",
    ],
    "params of the wrong type": [
      [action("build", { params: { target: 1, jobs: "2" } })],
      "invalid_params /actions/0/params/target",
      "invalid_params /actions/0/params/jobs",
    ],
    "params of a member of a monument": [
      [action("release.build", { type: "monument", params: { x: 1, target: "t" } })],
      "invalid_params /actions/0/params/x",
    ],
    "wrong params beside references": [
      [action("build", { params: { target: "${{variables.kept}}", jobs: 0, env: {} } })],
      "invalid_params /actions/0/params/jobs",
      "invalid_params /actions/0/params/env/A",
    ],
    "params whose shape is wrong, whatever the references in them are": [
      [action("build", { params: { target: ["${{variables.kept}}"], x: "${{variables.kept}}" } })],
      "invalid_params /actions/0/params/x",
      "invalid_params /actions/0/params/target",
    ],
    "params of a relic": [
      [action("docs", { type: "relic", params: { q: 1 } })],
      "invalid_params /actions/0/params/q",
    ],
    "a wrong reference": [
      [action("any", { params: { x: "${{github.sha}}" } })],
      "invalid_reference /actions/0/params/x",
    ],
    "a reference to no action": [
      [action("any", { params: { x: "${{results.none.a}} ${{tasks.none.status}}" } })],
      "unknown_reference /actions/0/params/x",
      "unknown_reference /actions/0/params/x",
    ],
    "a reference to itself": [
      [action("any", { action_id: "me", params: { x: "${{results.me}}" } })],
      "self_dependency /actions/0/params/x",
    ],
    "groups that are too deep": [
      [group("1", [group("2", [group("3", [a])])])],
      "too_deep /actions/0/sub_actions/0/sub_actions/0/sub_actions",
    ],
    "more than 32 actions in groups": [
      [
        group(
          "g",
          Array.from({ length: 20 }, () => action("any")),
        ),
        group(
          "h",
          Array.from({ length: 20 }, () => action("any")),
        ),
      ],
      "too_many_actions /actions",
    ],
    "an operation without ids": [
      [action("task_manager", { params: { operation: "cancel" } })],
      "invalid_params /actions/0/params/ids",
    ],
    "delegation to an unknown task": [
      [action("delegate", { params: { task: "other", input: "" } })],
      "unknown_task /actions/0/params/task",
    ],
    "a card that changes something": [
      [card({ action: action("any") })],
      "not_read_only /actions/0/params/action/action",
    ],
    "a card that delegates": [
      [card({ action: action("delegate", { params: { task: "review", input: "" } }) })],
      "not_read_only /actions/0/params/action/action",
    ],
    "a card in the background": [
      [card({ action: action("look", { execution: "ASYNC" }) })],
      "not_sync /actions/0/params/action/execution",
    ],
    "a card with what is no reference": [
      [card({ action: action("look", { params: { p: "${{now}}" } }) })],
      "invalid_reference /actions/0/params/action/params/p",
    ],
    "a card that is a group": [
      [card({ action: group("g", [a]) })],
      "invalid_params /actions/0/params/action",
    ],
  };
  for (const [name, [actions, ...expected]] of Object.entries(bad)) {
    it(`rejects ${name}`, () => {
      assert.deepEqual(problems(actions), expected);
    });
  }

  it("rejects actions in thoughts that are not read-only or not SYNC", () => {
    const thought = (one: object): object => ({
      thoughts: [{ type: "PLAN", content: "", actions: [one] }],
    });
    const at = "/thoughts/0/actions/0";
    assert.deepEqual(problems([], thought(action("look"))), []);
    assert.deepEqual(problems([], thought(action("docs", { type: "relic" }))), []);
    assert.deepEqual(problems([], thought(action("any"))), [`not_read_only ${at}/action`]);
    assert.deepEqual(problems([], thought(action("look", { execution: "ASYNC" }))), [
      `not_sync ${at}/execution`,
    ]);
    assert.deepEqual(problems([], thought(group("g", [action("look"), action("any")]))), [
      `not_read_only ${at}/sub_actions/1/action`,
    ]);
    const cancel = { operation: "cancel", ids: ["earlier"] };
    assert.deepEqual(problems([], thought(action("task_manager", { params: cancel }))), [
      `not_read_only ${at}/action`,
    ]);
    assert.deepEqual(problems([a], thought(action("look", { depends_on: "a" }))), [
      `cyclic_dependency ${at}/depends_on`,
    ]);
  });

  it("lets variables of the same document be named, and not those that it deletes", () => {
    const use = action("any", { params: { x: "${{variables.fresh}} ${{variables.kept}}" } });
    assert.deepEqual(problems([use], { context: { variables: { fresh: 1 } } }), []);
    assert.deepEqual(problems([use], { context: { variables: { fresh: 1, kept: null } } }), [
      "unknown_reference /actions/0/params/x",
    ]);
  });

  it("accepts references of unknown type for every type, also in unions", () => {
    const params = {
      target: "x${{variables.kept}}",
      jobs: "${{variables.kept}}",
      env: "${{variables.kept}}",
      kind: { x: "${{variables.kept}}" },
    };
    assert.deepEqual(problems([action("build", { params })]), []);
  });

  it("generates ids from the iteration and the place, without collisions", () => {
    const plan = orderOf([action("safe"), action("safe", { action_id: "i2-3" }), action("safe")]);
    assert.deepEqual(Object.keys(plan), ["i2-1", "i2-3", "i2-4"]);
  });
});

describe("the order of siblings", () => {
  const safe = (id: string, fields: object = {}): Json =>
    action("safe", { action_id: id, ...fields });

  it("doesn't rest on actions that may be skipped", () => {
    const c = action("any", { action_id: "c", depends_on: "b" });
    assert.deepEqual(orderOf([c, safe("x"), b]), { c: "!b b", x: "c b", b: "" });
  });

  it("adds what references name to the dependencies", () => {
    const use = safe("y", {
      params: { p: "${{results.x}} ${{results.earlier}} ${{tasks.earlier.status}}" },
    });
    assert.deepEqual(orderOf([safe("x"), use]), { x: "", y: "!x !earlier" });
    const ask = safe("y", { params: { p: "${{tasks.earlier.status}}" } });
    assert.deepEqual(orderOf([ask]), { y: "" });
  });

  it("puts thoughts first", () => {
    const thoughts = [
      { type: "PLAN", content: "", actions: [action("docs", { type: "relic", action_id: "r" })] },
    ];
    assert.deepEqual(orderOf([safe("x")], { thoughts }), { r: "", x: "r" });
  });
});

function card(params: object): Json {
  return action("trap_card", { params: { operation: "register", id: "now", ...params } });
}
