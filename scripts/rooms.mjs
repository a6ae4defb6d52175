// Which room of src/ may import which, and which packages: the one table. From it are made the folder rules
// of .oxlintrc.json and the table of docs/internals/design.md: npm run rooms. With --check it only fails if they are stale.
import fs from "node:fs";

/** Pure files about time, which need nothing of Node: the rooms without a system may use them. */
const time = ["platform/clock.ts", "platform/waiting.ts"];

/**
 * `folders`: the parts of a room. `imports`: other rooms, or single files of one. `node`: all of Node's
 * modules (true), or these. Rooms come after those that they may import.
 */
export const rooms = {
  generated: {
    holds: "what the build makes: a copy of action.yml, templates, the runtime's hashes",
    imports: [],
  },
  document: {
    holds:
      "text to a value with positions (JSON, YAML, Markdown), schemas, expressions, diagnostics",
    imports: [],
    packages: ["ajv", "yaml", "jsonc-parser", "markdown-it", "re2js"],
    node: ["module"],
  },
  platform: {
    holds: "clock, waiting, files, processes, environment, programs in a sandbox",
    imports: ["document/guards.ts"],
    node: true,
  },
  entry: {
    holds: "the model of an entry, its schema, prompts, validation, work trees, charts",
    imports: ["document"],
    node: ["module"],
  },
  events: {
    holds: "the union of events, the table of decisions, crashes, the sink, the view of a run",
    imports: ["entry", "document/guards.ts", ...time],
    node: ["events"],
  },
  change: {
    holds: "what a run is about: the files that differ between two commits, and their diff",
    imports: ["document/guards.ts", "events", "platform"],
    node: ["fs/promises", "path"],
  },
  redaction: {
    holds: "secrets in texts, in streams and in events",
    imports: ["document/guards.ts", "entry/model.ts", "events", "platform/terminal-sequences.ts"],
  },
  permissions: {
    holds: "what an agent may do: a pure policy over requests in our own words",
    imports: [
      "document/guards.ts",
      "entry/model.ts",
      "entry/glob.ts",
      "entry/known-tools.ts",
      "events/cut.ts",
      // The profile of a sandbox, a type.
      "platform/sandbox-mounts.ts",
    ],
    node: ["path", "os", "url"],
  },
  runtime: {
    holds: "the Copilot runtime: find, install, start, pool and end it",
    imports: ["document/guards.ts", "platform", "events", "generated"],
    packages: ["@github/copilot-sdk"],
    node: true,
  },
  engine: {
    holds: "ports; a job, a work, a task; the prompt loop; criteria; limits; scopes",
    imports: ["document/guards.ts", "document/fence.ts", "entry", "events", ...time],
  },
  tools: {
    holds:
      "what tasks may call: commands and modules of the repository, their builds, MCP servers; relics",
    folders: ["mcp"],
    imports: ["document", "entry", "events", "redaction", "permissions", "platform", "generated"],
    packages: ["@modelcontextprotocol/client", "sucrase"],
    node: true,
  },
  protocol: {
    holds:
      "the action protocol: messages, preflight, references, the executor of actions; pure but for ports",
    imports: [
      "document",
      "entry/model.ts",
      "events",
      "engine",
      "tools/tool.ts",
      "tools/call.ts",
      ...time,
      "platform/terminal-sequences.ts",
    ],
  },
  sessions: {
    holds: "the SDK: sessions, turns, translation of events, job tools, the adapter to permissions",
    imports: [
      "engine/ports.ts",
      "engine/verdict-tools.ts",
      "events",
      "permissions",
      "runtime",
      "platform",
      "entry/model.ts",
      "entry/known-tools.ts",
      "document/guards.ts",
    ],
    packages: ["@github/copilot-sdk", "eventsource-parser"],
    node: true,
  },
  workflow: {
    holds:
      "`.wf.md` files: `read/` makes activities of Markdown and a flowchart, `kinds/` says of each kind how it is read and run, `run/` is the machine and the shell of EXECUTE",
    folders: ["kinds", "read", "run"],
    imports: [
      "document",
      "entry",
      "events",
      "redaction",
      "engine",
      "permissions",
      "platform",
      "generated",
    ],
  },
  journal: {
    holds: "writing and reading a run's events",
    imports: ["events", "platform", "document/guards.ts"],
    node: true,
  },
  outputs: {
    holds:
      "what a run gives to people: findings, a verdict, proposals; checked, chosen, written as safe Markdown, delivered",
    imports: [
      "document",
      "entry",
      "events",
      "journal",
      // What its checks answer, a type.
      "engine/ports.ts",
      "platform/terminal-sequences.ts",
    ],
    packages: ["markdown-it", "mdast", "mdast-util-gfm-table", "mdast-util-to-markdown", "sarif"],
    node: ["crypto"],
  },
  rehearsal: {
    holds: "the format of a rehearsal, the scripted model, expectations, recording",
    folders: ["format", "player", "recorder"],
    imports: [
      "change/change.ts",
      "document",
      "entry/limits.ts",
      "entry/model.ts",
      "entry/outputs.ts",
      "entry/work.ts",
      "events",
      "outputs/collect.ts",
      "platform/clock.ts",
      "platform/waiting.ts",
      "redaction/text-stream.ts",
      "sessions/transport.ts",
    ],
    packages: ["yaml"],
    node: true,
  },
  reports: {
    holds: "folds of a run into a medium: text, a terminal, GitHub, the page in a file, OTLP",
    folders: ["terminal", "github", "html", "otlp"],
    imports: ["document", "entry", "events", "journal", "outputs", "platform", "generated"],
    packages: ["fast-string-width", "fast-wrap-ansi", "@actions/core", "@opentelemetry/*"],
    node: true,
  },
  run: {
    holds: "the composition root: options, what a run is made of, the host, a run on it",
    imports: [
      "generated",
      "document",
      "entry",
      "events",
      "redaction",
      "permissions",
      "runtime",
      "change",
      "engine",
      "sessions",
      "tools",
      "protocol",
      "workflow",
      "rehearsal",
      "journal",
      "outputs",
      "reports",
      "platform",
    ],
    packages: ["p-limit"],
    node: true,
  },
  evals: {
    holds: "evals: the format, runs within a budget, statistics, reports",
    imports: [
      "run",
      "document",
      "engine/ports.ts",
      "entry",
      "events",
      "outputs/junit.ts",
      "rehearsal",
      "reports",
      "platform",
    ],
    packages: ["p-limit"],
    node: ["fs", "fs/promises", "os", "path"],
  },
  live: {
    holds: "JobHost: live runs and sessions, their feeds and questions",
    imports: [
      "run",
      "document",
      "entry",
      "events",
      "redaction",
      "permissions",
      "engine",
      "sessions",
      "workflow",
      "rehearsal",
      "journal",
      "platform",
    ],
    node: true,
  },
  server: {
    holds: "the HTTP API: routes, security, live feeds, the page",
    imports: [
      "run",
      "live",
      "events",
      "entry",
      "journal",
      "reports",
      "generated",
      "document/diagnostic.ts",
      "document/guards.ts",
      "platform",
    ],
    packages: ["hono", "@hono/node-server"],
    node: true,
  },
  github: {
    holds: "GitHub's API, the event of a step, and the delivery of a journal",
    imports: ["document", "entry", "events", "journal", "outputs", "platform", "reports"],
    packages: ["@actions/github"],
    node: ["crypto", "fs/promises", "path"],
  },
  action: {
    holds: "the GitHub Action: inputs, trust, the event; its outputs are in `reports/github`",
    imports: [
      "github",
      "outputs",
      "change",
      "run",
      "document",
      "entry",
      "events",
      "redaction",
      "permissions",
      "reports",
      "runtime",
      "platform",
      "workflow",
      "generated",
    ],
    packages: ["@actions/core", "@actions/github", "fflate"],
    node: true,
  },
  cli: {
    holds: "the command line: arguments to options, an outcome to an exit code",
    imports: [
      "run",
      "evals",
      "live",
      "server",
      "document",
      "entry",
      "events",
      "redaction",
      "runtime",
      "rehearsal",
      "journal",
      "reports",
      "tools",
      "workflow",
      "engine/plan.ts",
      "github",
      "outputs",
      "platform",
      "generated",
    ],
    packages: ["commander", "p-limit"],
    node: true,
  },
};

/** What `src/index.ts`, which only re-exports, may name. */
export const library = [
  "document",
  "engine",
  "entry",
  "events",
  "journal",
  "live",
  "protocol",
  "run",
  "sessions",
  "tools",
  "workflow",
];

/**
 * The page: what runs in a browser. Of src/ it may import these, as far as they need nothing of Node: the build of
 * the page fails otherwise.
 */
export const web = {
  holds: "the page, beside `src/`: the portal of a server, and a report in a file",
  folders: ["data", "model", "parts", "portal", "report", "run", "style"],
  imports: ["entry", "events", "outputs", "reports"],
  packages: [
    "@preact/signals",
    "@tanstack/virtual-core",
    "dompurify",
    "eventsource-parser",
    "markdown-it",
    "mermaid",
    "preact",
  ],
};

const config = new URL("../.oxlintrc.json", import.meta.url);
const page = new URL("../docs/internals/design.md", import.meta.url);
const begin = "<!-- rooms: npm run rooms -->";
const end = "<!-- /rooms -->";

/** The files of a room, with those of its parts. */
function ownFiles(up, room) {
  const parts = rooms[room].folders ?? [];
  return [`!${up}${room}/*`, ...parts.map((part) => `!${up}${room}/${part}/*`)];
}

function patterns({ imports, packages = [], node = [] }, own, up) {
  const others = imports.flatMap((one) =>
    one.endsWith(".ts") ? [`!${up}${one}`] : ownFiles(up, one),
  );
  const modules = node === true ? ["!node:*", "!node:*/*"] : node.map((one) => `!node:${one}`);
  const named = packages.flatMap((one) => [
    `!${one}`,
    ...(one.startsWith("#") ? [] : [`!${one}/**`]),
  ]);
  return ["*", ...own, ...others, ...named, ...modules];
}

function rule(files, group, message) {
  return {
    files: [files],
    rules: { "no-restricted-imports": ["error", { patterns: [{ group, message }] }] },
  };
}

function rulesOf([name, room]) {
  const { folders = [], imports } = room;
  const message = `${name}/ may import ${imports.length === 0 ? "no other room" : imports.join(", ")} (scripts/rooms.mjs)`;
  const inside = folders.map((part) => `!./${part}/*`);
  const beside = ["!./*", "!../*.ts", ...folders.map((part) => `!../${part}/*`)];
  return [
    rule(`src/${name}/*.ts`, patterns(room, ["!./*", ...inside], "../"), message),
    ...folders.map((part) =>
      rule(`src/${name}/${part}/**`, patterns(room, beside, "../../"), message),
    ),
  ];
}

const isOurs = ({ rules }) => "no-restricted-imports" in rules;

function rulesOfPage() {
  const { folders, imports, packages } = web;
  const message = `web/ may import of src/ only ${imports.join(", ")}, and nothing of Node (scripts/rooms.mjs)`;
  const rulesAt = (files, own, up) => {
    const core = imports.flatMap((one) => ownFiles(`${up}src/`, one));
    const named = packages.flatMap((one) => [`!${one}`, `!${one}/**`]);
    return rule(files, ["*", ...own, ...core, ...named], message);
  };
  return [
    rulesAt("web/*", ["!./*", ...folders.map((part) => `!./${part}/*`)], "../"),
    ...folders.map((part) =>
      rulesAt(
        `web/${part}/**`,
        ["!./*", "!../*.{ts,tsx}", ...folders.map((other) => `!../${other}/*`)],
        "../../",
      ),
    ),
  ];
}

function lintConfig(text) {
  const { overrides, ...rest } = JSON.parse(text);
  const index = patterns({ imports: library }, [], "./");
  const made = [
    // For a file in no folder of the table; the rules below replace this one for the others.
    rule("src/**", ["*"], "no room of scripts/rooms.mjs: a file here may import nothing"),
    ...Object.entries(rooms).flatMap(rulesOf),
    ...rulesOfPage(),
    rule("src/index.ts", index, "src/index.ts only re-exports (scripts/rooms.mjs)"),
  ];
  return { ...rest, overrides: [...made, ...overrides.filter((one) => !isOurs(one))] };
}

function table() {
  const list = (names) =>
    names.length === 0 ? "–" : names.map((name) => `\`${name}\``).join(", ");
  const rows = Object.entries(rooms).map(([name, { holds, imports, packages = [] }]) => {
    const all = name === "run" ? "everything above" : list(imports);
    return `| \`${name}\` | ${holds} | ${all} | ${list(packages)} |`;
  });
  const page = `| \`web\` | ${web.holds} | ${list(web.imports)} | ${list(web.packages)} |`;
  const head = ["| room | holds | may import | packages |", "| --- | --- | --- | --- |"];
  return [...head, ...rows, page].join("\n");
}

function designPage(text) {
  const [before, rest] = text.split(begin);
  const [, after] = (rest ?? "").split(end);
  if (after === undefined) throw new Error(`docs/internals/design.md has no ${begin} … ${end}.`);
  return `${before}${begin}\n\n${table()}\n\n${end}${after}`;
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const { format } = await import("prettier");
  const made = [
    [
      config,
      (text) => format(JSON.stringify(lintConfig(text)), { parser: "json", printWidth: 100 }),
    ],
    [page, (text) => format(designPage(text), { parser: "markdown", printWidth: 100 })],
  ];
  for (const [file, make] of made) {
    const text = fs.readFileSync(file, "utf8");
    const fresh = await make(text);
    if (fresh === text) continue;
    if (process.argv.includes("--check")) {
      console.error(`${file.pathname} is stale. Run: npm run rooms`);
      process.exitCode = 1;
    } else fs.writeFileSync(file, fresh);
  }
}
