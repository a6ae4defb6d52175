/** The patterns of `permissions.tools`: which tools of the entry, of MCP servers and of the runtime a task may call. */
import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import * as fc from "fast-check";
import type { PermissionPreset, Permissions } from "../../src/entry/model.ts";
import {
  allowsServer,
  allowsTool,
  ceilPermissions,
  effectivePermissions,
  toolsFor,
} from "../../src/permissions/rules.ts";
import { describePermissions } from "../../src/permissions/policy.ts";
import { holds } from "../rig/fuzz.ts";

describe("a pattern of permissions.tools", () => {
  const cases: readonly (readonly [readonly string[], string, boolean])[] = [
    [["build"], "build", true],
    [["build"], "builder", false],
    [["build"], "docs/build", false],
    [["docs/search"], "docs/search", true],
    [["docs/search"], "docs/searches", false],
    [["docs/search"], "search", false],
    [["docs/*"], "docs/search", true],
    [["docs/*"], "docs/", false],
    [["docs/*"], "docs", false],
    [["docs/*"], "docs2/search", false],
    [["docs/*"], "my/docs/search", false],
    [["*"], "build", true],
    [["*"], "docs/search", true],
    [["*", "!build"], "build", false],
    [["!docs/*", "docs/search"], "docs/search", false],
    [["docs/*", "!docs/search"], "docs/search", false],
    [["docs/*", "!docs/search"], "docs/read", true],
    [["build", "!*"], "build", false],
    [[], "build", false],
  ];
  for (const [tools, name, expected] of cases) {
    it(`${JSON.stringify(tools)} ${expected ? "allows" : "denies"} ${name}`, () => {
      assert.equal(allowsTool({ tools }, name), expected);
      assert.equal(allowsTool({ preset: "workspace", tools }, name), expected);
    });
  }

  it("the preset all allows every tool that no pattern denies", () => {
    assert.equal(allowsTool("all", "docs/search"), true);
    assert.equal(allowsTool({ preset: "all", tools: ["!docs/*"] }, "docs/search"), false);
    assert.equal(allowsTool({ preset: "all", tools: ["!docs/*"] }, "build"), true);
    assert.equal(allowsTool({ preset: "all", tools: ["!*"] }, "build"), false);
  });

  it("a star elsewhere is an error, because its denial would deny nothing", () => {
    for (const pattern of ["build*", "!build*", "*/search", "do*s/*", "**", "/*", "!", ""]) {
      assert.throws(
        () => allowsTool({ tools: [pattern] }, "x"),
        /of permissions\.tools: /,
        pattern,
      );
    }
  });

  it("a wildcard turns on none of the runtime's own tools, and a denial of others turns off none", () => {
    assert.deepEqual(toolsFor({ tools: ["*", "docs/*", "docs/search"] }), toolsFor("read-only"));
    for (const name of ["bash", "create", "web_fetch", "sql", "task"]) {
      assert.equal(allowsTool({ tools: ["*"] }, name), false, name);
      assert.equal(allowsTool({ tools: [name] }, name), true, name);
    }
    const denied = { preset: "all", tools: ["!docs/*", "!docs/search", "!*"] } as const;
    assert.deepEqual(toolsFor(denied), toolsFor("all"));
  });

  it("says which servers a task may call", () => {
    assert.equal(allowsServer("all", "docs"), true);
    assert.equal(allowsServer("workspace", "docs"), false);
    assert.equal(allowsServer({ tools: ["docs/search"] }, "docs"), true);
    assert.equal(allowsServer({ tools: ["*"] }, "docs"), true);
    assert.equal(allowsServer({ tools: ["docs"] }, "docs"), false);
    assert.equal(allowsServer({ tools: ["docs2/*"] }, "docs"), false);
    assert.equal(allowsServer({ tools: ["*", "!docs/*"] }, "docs"), false);
    assert.equal(allowsServer({ preset: "all", tools: ["!*"] }, "docs"), false);
  });

  it("tells the model what it names", () => {
    assert.match(
      describePermissions({ tools: ["build", "./lint"] }),
      /job tools and build, lint\.$/,
    );
  });
});

describe("under --permissions", () => {
  const declared = ["build", "lint", "sql"];
  const under = (tools: readonly string[], option: PermissionPreset): Permissions =>
    effectivePermissions({ tools }, undefined, option, declared);

  it("workspace keeps tools of the entry, which are commands of the repository, and no server", () => {
    const permissions = under(["build", "docs/*", "docs/search"], "workspace");
    assert.equal(allowsTool(permissions, "build"), true);
    assert.equal(allowsTool(permissions, "lint"), false);
    assert.equal(allowsTool(permissions, "docs/search"), false);
    assert.equal(allowsServer(permissions, "docs"), false);
  });

  it("workspace makes of a star the tools of the entry that no pattern denies", () => {
    const permissions = under(["*", "!lint"], "workspace");
    assert.equal(allowsTool(permissions, "build"), true);
    assert.equal(allowsTool(permissions, "lint"), false);
    assert.equal(allowsTool(permissions, "other"), false);
    assert.equal(allowsTool(permissions, "docs/search"), false);
  });

  it("a tool of the entry with the name of one of the runtime lets that one through under no ceiling", () => {
    const most = new Set(toolsFor("workspace"));
    for (const tool of toolsFor(under(["sql", "*"], "workspace"))) assert.ok(most.has(tool), tool);
  });

  it("read-only keeps none", () => {
    const permissions = under(["*", "build", "docs/*"], "read-only");
    for (const name of ["build", "docs/search"]) assert.equal(allowsTool(permissions, name), false);
  });

  it("all keeps everything", () => {
    assert.equal(allowsTool(under(["docs/*"], "all"), "docs/search"), true);
  });
});

test("no tool is allowed that no pattern covers, a denial wins, and a ceiling adds nothing", async (t) => {
  const part = fc.constantFrom<string>("a", "b", "ab", "docs", "sql", "bash", "x-y");
  const name = fc.oneof(
    part,
    fc.tuple(part, part).map(([server, tool]) => `${server}/${tool}`),
  );
  const pattern = fc.oneof(
    name,
    fc.constant("*"),
    part.map((server) => `${server}/*`),
  );
  const patterns = fc.array(pattern, { maxLength: 4 });
  const ceilings = fc.constantFrom<PermissionPreset>("read-only", "workspace", "all");
  // The reference: the same rules, as regular expressions.
  const covers = (all: readonly string[], one: string): boolean =>
    all.some((pattern) =>
      new RegExp(
        `^${pattern.replaceAll(/[.]/g, "\\.").replace("*", pattern === "*" ? ".*" : ".+")}$`,
      ).test(one),
    );
  const property = fc.property(
    patterns,
    patterns,
    name,
    fc.array(part),
    ceilings,
    (allow, deny, asked, declared, ceiling) => {
      const stated = { tools: [...allow, ...deny.map((one) => `!${one}`)] };
      const allowed = allowsTool(stated, asked);
      if (allowed) assert.ok(covers(allow, asked), "nothing covers it");
      assert.ok(!allowed || !covers(deny, asked), "it is denied");
      const runtimeTool = asked === "sql" || asked === "bash";
      if (!runtimeTool) assert.equal(allowed, covers(allow, asked) && !covers(deny, asked));
      const under = allowsTool(ceilPermissions(stated, ceiling, declared), asked);
      // A declared name may be that of a tool of the runtime: then it is the entry's own that is meant.
      if (under && !declared.includes(asked)) assert.ok(allowed, "the ceiling added it");
    },
  );
  await holds(t, property, 2_000);
});
