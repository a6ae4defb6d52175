/** Problems of tools, MCP servers, relics, monuments, and of the names by which tasks refer to them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { entryWith, entryWithTask, linesOf, prepared, problemsOf } from "./rig.ts";

const build = { description: "Builds.", parameters: { type: "object" }, command: ["make"] };
const docs = { command: "docs-server" };

function toolProblems(fields: object, name = "build"): string[] {
  const at = `entry.tools["${name}"]`;
  return problemsOf(entryWith({ tools: { [name]: { ...build, ...fields } } })).map((line) =>
    line.replace(at, "").replace(/^\./, ""),
  );
}

function serverProblems(server: object, name = "docs"): string[] {
  const at = `entry.mcpServers["${name}"]`;
  return problemsOf(entryWith({ mcpServers: { [name]: server } })).map((line) =>
    line.replace(at, "").replace(/^\./, ""),
  );
}

describe("a name", () => {
  it("of a tool, server, relic or monument has letters, digits, _ and -", () => {
    const long = "x".repeat(65);
    for (const name of ["a b", "a/b", "a.b", "", "ü", long]) {
      for (const [field, value] of Object.entries({
        tools: build,
        mcpServers: docs,
        relics: { description: "x", files: ["x"] },
        monuments: {},
      })) {
        const [line, ...more] = linesOf(
          JSON.stringify(entryWith({ [field]: { [name]: value } })),
          "e.json",
        );
        assert.match(line ?? "", /^e\.json:1:\d+: .*can't be a name here\. \(A name has 1 to 64 /);
        assert.deepEqual(more, []);
      }
    }
    assert.deepEqual(toolProblems({}, "Az0_-"), []);
  });

  it("of a tool is not that of something else that agents call", () => {
    const reserved = ["bash", "view", "task", "job_boolean_true", "task_manager", "delegate"];
    for (const name of reserved) {
      assert.match(
        toolProblems({}, name).join("\n"),
        /^: This name is reserved: it is a [^\n]*\.$/,
      );
    }
    assert.match(
      serverProblems(docs, "delegate").join("\n"),
      /^: This name is reserved: [^\n]*\.$/,
    );
  });
});

describe("a tool", () => {
  it("is a command or a module", () => {
    const both = toolProblems({ module: "x.ts" });
    assert.deepEqual(both, [': Must have exactly one of the fields "command" or "module".']);
    const { command: _, ...neither } = build;
    assert.deepEqual(problemsOf(entryWith({ tools: { build: neither } })), [
      'entry.tools["build"]: Must have exactly one of the fields "command" or "module".',
    ]);
    assert.deepEqual(toolProblems({ export: "run" }), ["export: Requires module."]);
    assert.deepEqual(toolProblems({ command: [] }), ["command: Must have at least one element."]);
    assert.deepEqual(toolProblems({ command: "npm run build" }), [
      'command: Must be a list, not the text "npm run build".',
    ]);
  });

  it("with a misspelled field has one problem", () => {
    const { command, ...rest } = build;
    const lines = linesOf(
      JSON.stringify(entryWith({ tools: { build: { ...rest, comand: command } } })),
      "e.json",
    );
    assert.equal(lines.length, 1, lines.join("\n"));
    assert.match(lines[0] ?? "", /Unknown field "comand"\. \(did you mean "command"\?\)$/);
    assert.deepEqual(toolProblems({ timeoutseconds: 1 }), [
      'timeoutseconds: Unknown field "timeoutseconds".',
    ]);
  });

  it("has a module within the working directory", () => {
    const { command: _, ...rest } = build;
    const of = (module: string): string[] =>
      problemsOf(entryWith({ tools: { x: { ...rest, module } } }));
    for (const module of ["tools/x.ts", "./x.mjs", "a..b/x.js", "..x/y.js"]) {
      assert.deepEqual(of(module), []);
    }
    for (const module of "/x.ts ../x.ts a/../../x.ts C:\\x.ts ..\\x.ts file:///x data:, ~/x".split(
      " ",
    )) {
      assert.deepEqual(of(module), [
        'entry.tools["x"].module: Must be a path within the working directory, relative to it.',
      ]);
    }
  });

  it("has inputs that are globs", () => {
    const inputs = (...globs: string[]): string[] =>
      toolProblems({ build: { command: ["x"], inputs: globs } });
    assert.deepEqual(inputs("src/**/*.c", "!src/gen/**", "../shared/**"), []);
    assert.match(inputs("x", "+(a)").join(), /^build\.inputs\[1\]: Is not a valid glob: /);
  });
});

describe("the parameters of a tool", () => {
  const of = (parameters: unknown): string[] => toolProblems({ parameters });

  it("are the JSON Schema of an object", () => {
    for (const parameters of [
      {},
      { type: "object" },
      { $schema: "http://json-schema.org/draft-07/schema#", type: "object", properties: {} },
      { type: "object", properties: { a: { $ref: "#/$defs/a~1b" } }, $defs: { "a/b": true } },
      { type: "object", properties: { a: { $ref: "#/allOf/0" } }, allOf: [{ required: ["a"] }] },
      { type: "object", properties: { tree: { $ref: "#" } } },
      {
        properties: { a: { $ref: "#a" }, b: { $anchor: "a" }, c: { $ref: "#/%24defs/c" } },
        $defs: { c: {} },
      },
      { type: "object", "x-unknown": 1, properties: { __proto__: { format: "whatever" } } },
    ]) {
      assert.deepEqual(of(parameters), [], JSON.stringify(parameters));
    }
    assert.match(of({ type: "array" }).join("\n"), /^parameters\.type: Must be "object"/);
    assert.match(
      of({ type: ["object", "null"] }).join("\n"),
      /^parameters\.type: Must be "object"/,
    );
    assert.deepEqual(of([]), ["parameters: Must be an object, not a list."]);
  });

  it("are wrong at a place of the file", () => {
    const cases: Readonly<Record<string, object>> = {
      'properties.a.type: Must be "object", "array", ': { properties: { a: { type: "sting" } } },
      "properties.a: Must be an object or true or false, not null": { properties: { a: null } },
      "properties: Must be an object, not a list.": { properties: [] },
      "items: Must be an object or true or false, not a list": { items: [{}] },
      "anyOf: Must have at least one element": { anyOf: [] },
      'allOf[1].required: Must be a list, not the text "a"': { allOf: [{}, { required: "a" }] },
      "properties.a.pattern: This is not a valid regular expression": {
        properties: { a: { pattern: "[" } },
      },
      'properties.a.minLength: Must be a whole number, not the text "1"': {
        properties: { a: { minLength: "1" } },
      },
      'properties.a.$ref: There is no "#/$defs/b" in this schema.': {
        properties: { a: { $ref: "#/$defs/b" } },
      },
      'properties.a.$ref: There is no "#b" in this schema.': { properties: { a: { $ref: "#b" } } },
      'patternProperties["["]: This is not a valid': { patternProperties: { "[": true } },
      "$ref: Other schemas are not loaded.": { $ref: "https://example.org/x.json" },
      "$ref: Refers to itself without end.": { $ref: "#" },
      "allOf[0].$ref: Refers to itself": { allOf: [{ $ref: "#" }] },
      "$defs.b.anyOf[1].$ref: Refers to itself without end.": {
        properties: { a: { $ref: "#/$defs/b" } },
        $defs: {
          b: { anyOf: [{ type: "null" }, { $ref: "#c" }] },
          c: { $anchor: "c", $ref: "#/%24defs/b" },
        },
      },
      "properties.b.$id: Another schema in this one has the same $id.": {
        properties: { a: { $id: "x" }, b: { $id: "x" } },
      },
      "$anchor: Is invalid.": { $anchor: "1x" },
      "$ref: Must be text, not 1.": { $ref: 1 },
      "not.$async: Must be false, not true.": { not: { $async: true } },
      "enum: Must be a list, not 1": { type: "object", enum: 1 },
    };
    for (const [expected, parameters] of Object.entries(cases)) {
      const [found = "", ...more] = of(parameters);
      assert.ok(found.startsWith(`parameters.${expected}`), found);
      assert.deepEqual(more, []);
    }
    const text = `models: { driving: m }
tasks: {}
jobs: {}
tools:
  build:
    description: x
    command: [make]
    parameters: { properties: { target: { type: strnig } } }
`;
    assert.deepEqual(linesOf(text), [
      'e.yml:8:49: entry.tools["build"].parameters.properties.target.type: Must be "object", "array", "string", "number", "integer", "boolean" or "null", not the text "strnig". (did you mean "string"?)',
    ]);
  });

  it("have a maximum size", () => {
    const properties = Object.fromEntries(
      Array.from({ length: 3_000 }, (_, index) => [`p${index}`, { type: "string" }]),
    );
    assert.match(
      of({ properties }).join(),
      /^parameters: Must not be longer than 50000 characters\.$/,
    );
  });

  it("get a type where they have none", () => {
    const { tools } = prepared(entryWith({ tools: { build: { ...build, parameters: {} } } }));
    assert.deepEqual(tools?.["build"]?.parameters, { type: "object" });
  });
});

describe("an MCP server", () => {
  it("is a program or an address", () => {
    const one = ': Must have exactly one of the fields "command" or "url".';
    assert.deepEqual(serverProblems({}), [one]);
    assert.deepEqual(serverProblems({ command: "x", url: "http://x" }), [one]);
    assert.deepEqual(serverProblems({ url: "http://x", args: ["x"] }), ["args: Requires command."]);
    assert.deepEqual(serverProblems({ url: "http://x", env: {} }), ["env: Requires command."]);
    assert.deepEqual(serverProblems({ command: "x", headers: {} }), ["headers: Requires url."]);
  });

  it("has an address of the web", () => {
    assert.deepEqual(serverProblems({ url: "https://example.org/mcp" }), []);
    for (const url of [
      "example.org/mcp",
      "ws://x",
      "file:///x",
      "http://",
      "http://a b",
      "stdio",
    ]) {
      assert.deepEqual(serverProblems({ url }), ["url: Is invalid."]);
    }
  });

  it("has variables and headers that can be passed", () => {
    const env = (key: string, value: string): string[] =>
      serverProblems({ command: "x", env: { [key]: value } });
    assert.deepEqual(env("A_1", "env:B_2"), []);
    assert.deepEqual(env("A", "two\nlines"), []);
    assert.match(env("A", "env:").join(), /: Is invalid\.$/);
    assert.match(env("A", "env:B-C").join(), /: Is invalid\.$/);
    assert.match(env("A-B", "x").join(), /"A-B" can't be a name here\./);
    assert.match(env("A", "\0").join(), /: Is invalid\.$/);
    const header = (key: string, value: string): string[] =>
      serverProblems({ url: "http://x", headers: { [key]: value } });
    assert.deepEqual(header("X-Key", "env:KEY"), []);
    assert.deepEqual(header("Authorization", "Bearer env:KEY"), []);
    assert.match(header("Authorization", "Bearer env:A-B").join(), /: Is invalid\.$/);
    assert.match(header("X Key", "x").join(), /"X Key" can't be a name here\./);
    assert.match(header("X", "a\r\nB: c").join(), /: Is invalid\.$/);
    const split = { docs: { url: "http://x", headers: { X: "a\r\nB: c" } } };
    assert.match(
      linesOf(JSON.stringify(entryWith({ mcpServers: split })), "e.json").join("\n"),
      /^[^\n]*X"\]: Is invalid\. \(Must not contain control characters\.\)$/,
    );
  });

  it("has tools that are named without the server", () => {
    const tools = { docs: { ...docs, tools: ["search", "docs/a"] } };
    assert.match(
      linesOf(JSON.stringify(entryWith({ mcpServers: tools })), "e.json").join("\n"),
      /^[^\n]*tools\[1\]: Must be the name of the tool, without its server\. \(write "a"\)$/,
    );
  });
});

describe("a relic", () => {
  const of = (...files: string[]): string[] =>
    problemsOf(entryWith({ relics: { docs: { description: "x", files } } }));

  it("has globs of files in the working directory", () => {
    assert.deepEqual(of("docs/**/*.md", "./README.md", "!docs/internal/**", "a..b", "*"), []);
    for (const glob of "/etc/passwd ../x a/../../x ~/x C:/x {a,..}/x !../x \\.\\./x".split(" ")) {
      assert.match(
        of("a", glob).join("\n"),
        /^entry\.relics\["docs"\]\.files\[1\]: Must be a glob of files within[^\n]*$/,
        glob,
      );
    }
    assert.match(of("+(a)").join(), /files\[0\]: Is not a valid glob: /);
    assert.match(of("!a").join(), /files: Must have a glob that doesn't start with !/);
  });
});

describe("names that refer to something", () => {
  const parts = {
    tools: { build },
    mcpServers: { docs, web: { url: "http://x", tools: ["search", "fetch"] } },
    relics: { manual: { description: "x", files: ["x"] } },
    monuments: { release: { tools: ["build", "docs/any", "web/fetch"], relics: ["manual"] } },
  };
  const lines = (task: object, more: object = {}): string =>
    linesOf(JSON.stringify(entryWithTask(task, { ...parts, ...more })), "e.json").join("\n");

  it("are known", () => {
    const toolExecuted = ["job_boolean_true", "build", "docs/any", "web/search"];
    const criteria = { toolExecuted, failureAction: { retryTimes: 1 } };
    const task = { protocol: "actions", relics: ["manual"], monuments: ["release"], criteria };
    assert.equal(lines(task), "");
  });

  it("of relics and monuments of a task", () => {
    assert.match(
      lines({ protocol: "actions", relics: ["manul"] }),
      /relics\[0\]: There is no relic "manul"\. \(did you mean "manual"\?\)$/,
    );
    assert.match(
      lines({ protocol: "actions", monuments: ["relase"] }),
      /monuments\[0\]: There is no monument "relase"\. \(did you mean "release"\?\)$/,
    );
  });

  it("of tools and relics of a monument", () => {
    const of = (monument: object): string => lines({}, { monuments: { m: monument } });
    assert.match(
      of({ tools: ["bild"] }),
      /tools\[0\]: There is no tool "bild"\. \(did you mean "build"\?\)$/,
    );
    assert.match(of({ tools: ["job_boolean_true"] }), /There is no tool "job_boolean_true"\./);
    assert.match(
      of({ tools: ["dcos/x"] }),
      /There is no MCP server "dcos"\. \(did you mean "docs"\?\)$/,
    );
    assert.match(of({ tools: ["docs/"] }), /Must name a tool of the MCP server "docs"\.$/);
    assert.match(
      of({ tools: ["web/serach"] }),
      /The tools of the MCP server "web" don't include "serach"\. \(did you mean "search"\?\)$/,
    );
    assert.match(of({ tools: ["web/x"] }), /\(possible names: search, fetch\)$/);
    assert.match(of({ relics: ["x"] }), /relics\[0\]: There is no relic "x"\.$/);
    const relics = { build: parts.relics.manual };
    assert.match(
      lines({}, { relics, monuments: { m: { tools: ["build"], relics: ["build"] } } }),
      /A tool of this monument is called "build", too\./,
    );
  });

  it("are not reported as missing where the part that declares them is broken", () => {
    const criteria = { toolExecuted: ["x", "y/z"], failureAction: { retryTimes: 1 } };
    const task = { protocol: "actions", relics: ["a"], monuments: ["b"], criteria };
    const broken = { tools: 1, mcpServers: 1, relics: 1, monuments: 1 };
    assert.equal(lines(task, broken).split("\n").length, 4);
    const oneBroken = {
      tools: { x: 1 },
      mcpServers: { y: 1 },
      relics: { a: 1 },
      monuments: { b: 1 },
    };
    assert.equal(lines(task, oneBroken).split("\n").length, 4);
  });
});

describe("the action protocol of a task", () => {
  it("is needed for what belongs to it", () => {
    const more = { relics: { r: { description: "x", files: ["x"] } }, monuments: { m: {} } };
    for (const [field, value] of Object.entries({
      iterations: 3,
      preThinking: { iterations: 1 },
      relics: ["r"],
      monuments: ["m"],
    })) {
      const [line, ...others] = linesOf(
        JSON.stringify(entryWithTask({ [field]: value }, more)),
        "e.json",
      );
      assert.ok(line?.endsWith(`.${field}: Requires protocol.`), line);
      assert.deepEqual(others, []);
      assert.deepEqual(
        problemsOf(entryWithTask({ protocol: "actions", [field]: value }, more)),
        [],
      );
    }
    assert.deepEqual(problemsOf(entryWithTask({ preThinking: false })), []);
  });

  it("has one name, and bounds", () => {
    const of = (task: object): string =>
      linesOf(JSON.stringify(entryWithTask(task)), "e.json").join("\n");
    assert.match(
      of({ protocol: "action", iterations: 3 }),
      /^[^\n]*protocol: Must be "actions", not the text "action"\. \(did you mean "actions"\?\)$/,
    );
    assert.match(
      of({ protcol: "actions", iterations: 3 }),
      /^[^\n]*\(did you mean "protocol"\?\)$/,
    );
    assert.match(
      of({ protocol: "actions", iterations: 0 }),
      /iterations: Must be at least 1, not 0\.$/,
    );
    assert.match(
      of({ protocol: "actions", preThinking: true }),
      /preThinking: Must be false or an object, not true\.$/,
    );
    assert.match(
      of({ protocol: "actions", preThinking: {} }),
      /preThinking\.iterations: This field is required\.$/,
    );
  });
});
