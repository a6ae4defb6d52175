/** `agent-jobs rehearse` as a test runner: which files, what it reports, what it writes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runCli, startCli, cliExits } from "../rig/cli.ts";
import { until } from "../sessions/rig.ts";
import { makeRepository, makeWorkspace } from "../rig/workspace.ts";
import { calls, scriptOf } from "./rig.ts";

const say = (text: string, more: object = {}): object => ({
  model: { category: "driving" },
  prompt: text,
  ...more,
});
const entryOf = (work: object, tasks: object = { a: say("Say A") }): string =>
  JSON.stringify({ models: { driving: "m" }, tasks, jobs: { job: { work } } });
const simple = entryOf({ kind: "Ref", taskId: "a" });
const turn = (prompt: string, text = "Done."): object => ({ turns: [{ prompt, text }] });
const rehearsal = (fields: object = {}): string =>
  JSON.stringify({ entry: "e.json", sessions: [turn("Say A")], ...fields });

const okLines = (stdout: string): string[] =>
  [...stdout.matchAll(/^(?:ok {4}|FAIL {2})(\S+)/gm)].map(([, file]) => file ?? "");

describe("agent-jobs rehearse", () => {
  it("finds rehearsals here, in folders and by globs, without those that git ignores", async (t) => {
    const below = rehearsal({ entry: "../e.json", sessions: [] });
    const workspace = await makeRepository(t, {
      "e.json": entryOf({ kind: "Run", run: "echo done" }),
      ".gitignore": "ignored\n",
      "one.rehearsal.json": rehearsal({ sessions: [] }),
      "sub/two words.rehearsal.yaml": below,
    });
    const cwd = workspace.path;
    await workspace.write("ignored/three.rehearsal.yml", below);
    await workspace.write("sub/new.rehearsal.yml", below);
    const all = await cliExits(0, "rehearse", { cwd });
    const [one, fresh, two] = ["one.rehearsal.json", "sub/new.rehearsal.yml", "sub/two"];
    assert.deepEqual(okLines(all.stdout), [one, fresh, two]);
    // Named all the same, and nothing has to run.
    await workspace.write("e.json", "{}");
    const some = await runCli(["rehearse", "sub", "*/*.yml", one], { cwd });
    assert.deepEqual(okLines(some.stdout), [fresh, two, one]);
    const named = await runCli("rehearse ignored", { cwd });
    assert.deepEqual(okLines(named.stdout), ["ignored/three.rehearsal.yml"]);
    const shards = ["1/2", "2/2"].map((shard) => runCli(["rehearse", "--shard", shard], { cwd }));
    const parts = (await Promise.all(shards)).map(({ stdout }) => okLines(stdout));
    assert.deepEqual(parts, [[one, two], [fresh]]);
  });

  it("ends with 2 if nothing is found, and says which names it looked for", async (t) => {
    const { path: cwd } = await makeWorkspace(t, { "e.json": simple, "a.yml": rehearsal() });
    for (const [args, reason] of [
      ["", /There are no rehearsals here: no files \*\.rehearsal\.yml,/],
      ["x*.yml", /No rehearsal matches x\*\.yml/],
      ["[[:alpha:]]*", /Invalid glob ".*": character classes/],
      ["-t (", /must be a regular expression, not "\("/],
      ["a.yml -t zzz", /None of 1 rehearsals matches -t "zzz"/],
      ["--shard 3/2", /must be one part of several, such as 1\/3/],
      ["--coverage-threshold 80", /--coverage-threshold requires --coverage/],
      ["--reporter jnit", /must be one of list, dot.*did you mean "junit"/],
      ["--reporter json --reporter list", /Write it to a file: --reporter json=FILE/],
    ] as const) {
      const { stderr } = await cliExits(2, `rehearse ${args}`.trim(), { cwd });
      assert.match(stderr, reason);
    }
  });

  it("reports to several places at once: lines, XML, JSON, annotations", async (t) => {
    const hostile = "]]>\u0007 </testcase> ::error::x\n::stop-commands::y";
    const workspace = await makeWorkspace(t, {
      "e.json": simple,
      "good.rehearsal.json": rehearsal({ description: hostile }),
      "bad.rehearsal.json": rehearsal({ sessions: [turn("Say B")] }),
      "expects.rehearsal.json": rehearsal({ expect: { result: "failed" } }).replace(
        '"expect"',
        "\n$&",
      ),
      "invalid.rehearsal.json": rehearsal({ sesions: [] }),
    });
    const cwd = workspace.path;
    const files = ["junit=out/new/r.xml", "json=r.json", "dot=dots.txt"];
    const args = ["github", ...files].flatMap((one) => ["--reporter", one]);
    const { stdout } = await cliExits(2, ["rehearse", ...args], { cwd });
    const commands = stdout.trimEnd().split("\n");
    assert.equal(commands.length, 3, stdout);
    assert.match(
      commands[0] ?? "",
      /^::error file=bad\.rehearsal\.json,line=1,col=\d+::no rule expects/,
    );
    const place = /^::error file=expects\.rehearsal\.json,line=2,col=10::expect\S* \(expects\.reh/;
    assert.match(commands[1] ?? "", place);
    assert.match(commands[2] ?? "", /^::error file=invalid\.rehearsal\.json,line=1,col=\d+::/);
    const xml = await workspace.read("out/new/r.xml");
    assert.match(xml, /<testsuites tests="4" failures="2" errors="1" skipped="0"/);
    assert.match(xml, /file="expects\.rehearsal\.json" line="2" [^>]*><failure/);
    assert.match(xml, /file="invalid\.rehearsal\.json" line="1" [^>]*><error/);
    assert.match(xml, /<testsuite name="agent-jobs rehearse" timestamp="\d{4}-[^"]*Z"/);
    assert.ok(xml.includes('name="]]&gt;\u{FFFD} &lt;/testcase&gt; ::error::x&#10;'), xml);
    const json = JSON.parse(await workspace.read("r.json"));
    assert.deepEqual(
      json.rehearsals.map(({ file, result }: Record<string, unknown>) => [file, result]),
      [
        ["bad.rehearsal.json", "failed"],
        ["expects.rehearsal.json", "failed"],
        ["good.rehearsal.json", "passed"],
        ["invalid.rehearsal.json", "invalid"],
      ],
    );
    assert.deepEqual([json.version, json.passed, json.failed, json.coverage], [1, 1, 3, null]);
    assert.match(await workspace.read("dots.txt"), /^FF\.F\nFAIL {2}bad.*1 passed, 3 failed\n$/s);
    // Nothing has to run.
    await workspace.write("e.json", "{}");
    const one = await runCli("rehearse -t STOP-commands", { cwd });
    assert.deepEqual(okLines(one.stdout), ["good.rehearsal.json"]);
  });

  it("counts what of the jobs no rehearsal has reached, and fails below the threshold", async (t) => {
    const criteria = { toolExecuted: ["job_prepare_document"], failureAction: { retryTimes: 2 } };
    const ref = (taskId: string): object => ({ kind: "Ref", taskId });
    const answers = {
      criteria: {
        condition: "Call job_boolean_true or job_boolean_false",
        failureAction: { retryTimes: 0 },
      },
    };
    const work = {
      kind: "Seq",
      works: [
        { kind: "Alt", condition: ref("ask"), trueWork: ref("a") },
        { kind: "Loop", preCondition: [false, ref("ask")], body: ref("fix"), atMost: 2 },
      ],
    };
    const tasks = {
      a: say("Say A"),
      ask: say("Ask", answers),
      fix: say("Fix with job_prepare_document", { criteria }),
    };
    const answer = (task: string, iteration: number, is: boolean): object => ({
      task,
      iteration,
      turns: [
        { prompt: "Ask", text: "?" },
        { tools: [{ name: `job_boolean_${is}`, arguments: { argument: "so" } }] },
      ],
    });
    const asks = (...answersOf: boolean[]): object[] => answersOf.map((is) => answer("ask", 1, is));
    const byWork = (rules: object[]): object[] =>
      rules.map((rule, workId) => ({ ...rule, workId: workId * 2 }));
    const workspace = await makeWorkspace(t, {
      "e.json": entryOf(work, tasks),
      "yes.rehearsal.json": rehearsal({
        sessions: [...byWork(asks(true, true)), { task: "a", ...turn("Say A") }],
      }),
    });
    const cwd = workspace.path;
    const { stdout } = await cliExits(1, "rehearse --coverage --coverage-threshold 60", {
      cwd,
    });
    assert.deepEqual(stdout.trimEnd().split("\n").slice(1), [
      "Coverage:",
      "  e.json, job: 5 of 10",
      '    not reached: falseWork (absent) of the Alt on "ask" (step 0)',
      '    not reached: a second pass of the Loop over "fix" (step 3)',
      '    not reached: all passes of the Loop over "fix" (step 3), and no end',
      '    not reached: task "fix" (step 3)',
      '    not reached: a retry of task "fix" (step 3)',
      "  total: 5 of 10, 50 %",
      "The coverage is 50 %, and --coverage-threshold is 60 %.",
      "1 passed, 0 failed",
    ]);
    const view = { tools: [{ name: "job_prepare_document", arguments: { argument: "x" } }] };
    const fix = (iteration: number, ...before: object[]): object => ({
      task: "fix",
      iteration,
      turns: [...before, { prompt: "Fix", ...view }],
    });
    const anyAsk = { ...answer("ask", 1, false), iteration: undefined, repeat: "any" };
    const sessions = [anyAsk, fix(1, { prompt: "Fix", text: "Not yet." }), fix(2)];
    const expect = { result: "failed", reason: "would need more than 2 iterations" };
    await workspace.write("no.rehearsal.json", rehearsal({ sessions, expect }));
    const whole = await cliExits(0, "rehearse --coverage --coverage-threshold 100", {
      cwd,
    });
    assert.match(whole.stdout, /total: 10 of 10, 100 %/);
  });

  it("counts two works of a kind with the same first task separately, and an Each without items as not reached", async (t) => {
    const each = { kind: "Each", items: { files: ["*.txt"] }, work: { kind: "Ref", taskId: "a" } };
    const a = { kind: "Ref", taskId: "a" };
    const inner = { kind: "Loop", body: a, atMost: 2 };
    const git = (files: object): object => ({ git: true, files });
    const workspace = await makeWorkspace(t, {
      "e.json": entryOf(each, { a: say("Say $item") }),
      "loops.json": entryOf({ kind: "Loop", body: inner, atMost: 2 }, { a: say("Say A") }),
      "none.rehearsal.json": rehearsal({ sessions: [], workspace: git({ "x.md": "x" }) }),
      "loops.rehearsal.json": rehearsal({
        entry: "loops.json",
        sessions: [{ task: "a", repeat: "any", turns: [{ prompt: "Say A", text: "ok" }] }],
      }),
      "some.rehearsal.json": rehearsal({
        sessions: [{ item: "x.txt", ...turn("Say x.txt") }],
        workspace: git({ "x.txt": "x" }),
      }),
    });
    const cwd = workspace.path;
    const none = await runCli("rehearse --coverage -t none|loops", { cwd });
    assert.match(none.stdout, /0 of 2\n.*not reached: items of the Each over "a" \(step 0\)\n/);
    assert.match(none.stdout, /loops\.json, job: 3 of 3\n/);
    const all = await cliExits(0, "rehearse --coverage --update -t none|some", {
      cwd,
    });
    assert.match(all.stdout, /total: 2 of 2, 100 %/);
    const works = { task: "a", workId: 0, outcome: "succeeded" };
    const { expect } = JSON.parse(await workspace.read("some.rehearsal.json"));
    assert.deepEqual(expect, { works: [works] });
  });

  it("writes what it saw into expect, and keeps everything else of the file", async (t) => {
    const yaml = (expect: string): string =>
      `# A rehearsal\nentry: e.json   # the entry\nsessions:\n    - turns: [{ prompt: "Say A",  text: A }]\n\n${expect}`;
    const stale = `expect: # what must happen\n  works:\n    - { task: a, outcome: failed }\n  # as decided\n  decisions: [Task succeeded]\n\n# the end\ndescription: x # y\n`;
    const workspace = await makeWorkspace(t, {
      "e.json": simple,
      "none.rehearsal.yml": yaml(""),
      "stale.rehearsal.yml": yaml(stale),
      "off.rehearsal.yml": yaml("").replace("Say A", "Say B"),
      "stale.rehearsal.json": rehearsal({ expect: { result: "failed", reason: "x" } }),
    });
    const cwd = workspace.path;
    const { stdout } = await cliExits(1, "rehearse --update", { cwd });
    assert.deepEqual(
      stdout.match(/^(ok|FAIL) +\S+|updated/gm),
      ["ok    none.rehearsal.yml", "updated", "FAIL  off.rehearsal.yml"].concat([
        "ok    stale.rehearsal.json",
        "updated",
        "ok    stale.rehearsal.yml",
        "updated",
      ]),
    );
    const works = "  works:\n    - task: a\n      workId: 0\n      outcome: succeeded\n";
    assert.equal(await workspace.read("none.rehearsal.yml"), yaml(`expect:\n${works}`));
    assert.equal(await workspace.read("off.rehearsal.yml"), yaml("").replace("Say A", "Say B"));
    const kept = stale
      .replace("expect: # what must happen\n", "expect:\n  # what must happen\n")
      .replace(/ {2}works:\n.*\n/, works)
      .replace("[Task succeeded]", "[ Task succeeded ]");
    assert.equal(await workspace.read("stale.rehearsal.yml"), yaml(kept));
    assert.deepEqual(JSON.parse(await workspace.read("stale.rehearsal.json")).expect, {
      result: "succeeded",
      works: [{ task: "a", workId: 0, outcome: "succeeded" }],
    });
    assert.equal(
      (await runCli("rehearse --update -t stale", { cwd })).stdout.includes("updated"),
      false,
    );
  });

  it("adds what a passing expect lacks, below what it has", async (t) => {
    const partial = `entry: e.json\nsessions:\n  - turns: [{ prompt: "Say A", text: A }]\nexpect:\n  # as decided\n  decisions:\n    - Task succeeded # once\n`;
    const workspace = await makeWorkspace(t, {
      "e.json": simple,
      "some.rehearsal.yml": partial,
    });
    const cwd = workspace.path;
    const { stdout } = await cliExits(0, "rehearse --update", { cwd });
    assert.match(stdout, /updated/);
    const works = "  works:\n    - task: a\n      workId: 0\n      outcome: succeeded\n";
    assert.equal(await workspace.read("some.rehearsal.yml"), `${partial}${works}`);
    const again = await cliExits(0, "rehearse --update", { cwd });
    assert.doesNotMatch(again.stdout, /updated/);
  });

  it("rehearses in one runtime without mixing scripts, and apart what ends the runtime", async (t) => {
    const view = (name: string): object =>
      calls({ name: "view", arguments: { path: `\${workingDirectory}/${name}.txt` } });
    const look = (name: string): string =>
      scriptOf([view(name), { toolResults: `I am ${name}`, delay: 500, text: "Seen." }]);
    const names = ["one", "two", "three", "four"];
    const { path: cwd } = await makeWorkspace(t, {
      "e.json": simple,
      "dies.rehearsal.json": rehearsal({
        sessions: [
          { attempt: 1, turns: [{ die: true, delay: 300 }] },
          { attempt: 2, ...turn("Say A") },
        ],
        expect: { works: [{ task: "a", outcome: "succeeded", crashes: 1 }] },
      }),
      ...Object.fromEntries(
        names.flatMap((name) => [
          [`${name}.rehearsal.json`, look(name)],
          [`${name}.txt`, `I am ${name}\n`],
        ]),
      ),
    });
    await cliExits(0, "rehearse --parallel 5", { cwd });
  });

  it("watches the entry, its prompts and the rehearsals, and rehearses what depends on them", async (t) => {
    const workspace = await makeWorkspace(t, {
      "e.json": simple,
      "other/e.json": simple,
      "a.rehearsal.json": rehearsal(),
      "other/b.rehearsal.json": rehearsal(),
    });
    const cwd = workspace.path;
    const child = startCli("rehearse --watch", { cwd });
    const counts = (): (string | undefined)[] =>
      [...child.output.stdout.matchAll(/(\d+ passed, \d+ failed)\nWaiting/g)].map(
        ([, text]) => text,
      );
    const round = (number: number): Promise<void> =>
      until(() => counts().length >= number, `round ${number}`);
    await round(1);
    await workspace.write("e.json", entryOf({ kind: "Ref", taskId: "a" }, { a: say("Say B") }));
    await round(2);
    await workspace.write("new.rehearsal.json", rehearsal({ sessions: [turn("Say B")] }));
    await round(3);
    child.signal("SIGINT");
    const { code, stdout } = await child.ended;
    assert.equal(code, 0, stdout);
    assert.deepEqual(counts(), ["2 passed, 0 failed", "0 passed, 1 failed", "1 passed, 0 failed"]);
  });
});
