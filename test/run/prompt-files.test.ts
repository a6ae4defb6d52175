/** Prompts that are files: read with the entry, and refused where a file of the entry is wrong. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { DiagnosticsError, diagnosticLine } from "../../src/document/diagnostic.ts";
import { preparePlain, validateEntry } from "../../src/entry/prepare.ts";
import { readEntry } from "../../src/run/entry-files.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";

const entry = (prompt: string, more = ""): string => `models: { driving: m }
tasks:
  review:
    model: { category: driving }
    prompt: ${prompt}
${more}jobs:
  j: { work: { kind: Ref, taskId: review } }
`;

async function problems({ path }: Workspace, name = "in/e.yml"): Promise<string> {
  try {
    await readEntry(join(path, name));
    return "";
  } catch (error) {
    assert.ok(error instanceof DiagnosticsError, String(error));
    return error.diagnostics.map(diagnosticLine).join("\n").replaceAll(`${path}/`, "");
  }
}

describe("the prompt of a file", () => {
  it("is its text, with the variables in it, wherever an entry has a prompt", async (t) => {
    const more = `    requireUserInput: true
    availability: { condition: { file: prompts/may.md } }
    criteria: { condition: [{ file: prompts/may.md }], failureAction: { retryTimes: 1, additionalPrompt: { file: ../more.md } } }
promptVariables: { v: { file: prompts/v.md } }
`;
    const { path } = await makeWorkspace(t, {
      ".git/HEAD": "",
      "in/e.yml": entry('["Before", { file: prompts/review.md }, After]', more),
      "in/prompts/review.md": "\uFEFF# Review\r\n\r\n$v of $user-input for $$5\r\n",
      "in/prompts/v.md": "a\nvariable\n",
      "in/prompts/may.md": "Call job_boolean_true.",
      "more.md": "$v again",
    });
    const { tasks } = (await readEntry(join(path, "in/e.yml"))).entry;
    const { prompt, availability, criteria } = tasks["review"] ?? assert.fail();
    assert.equal(prompt[0], "Before\n# Review\n\na\nvariable of $user-input for $$5\nAfter");
    assert.deepEqual(
      [availability?.condition, criteria?.condition, criteria?.failureAction.additionalPrompt],
      [["Call job_boolean_true."], ["Call job_boolean_true."], ["a\nvariable again"]],
    );
  });

  it("is where a variable is reported that doesn't exist", async (t) => {
    const workspace = await makeWorkspace(t, {
      ".git/HEAD": "",
      "in/e.yml": entry('["See $none", { file: prompts/review.md }]'),
      "in/prompts/review.md": "# Review\n\nSee $nothing, and\n$report-of-plan.\n",
    });
    assert.deepEqual((await problems(workspace)).split("\n"), [
      'in/e.yml:5:13: entry.tasks["review"].prompt: Cannot find prompt variable: $none.',
      'in/prompts/review.md:3:5: entry.tasks["review"].prompt: Cannot find prompt variable: $nothing.',
    ]);
    await workspace.write("in/e.yml", entry("{ file: prompts/review.md }"));
    await workspace.write("in/prompts/review.md", "# Review\n$report-of-plan.\n");
    assert.equal(
      await problems(workspace),
      'in/prompts/review.md:2:1: entry.tasks["review"].prompt: $report-of-plan: there is no task "plan".',
    );
  });

  it("must be a regular text file of the repository of the entry, that no link leads to", async (t) => {
    const workspace = await makeWorkspace(t, {
      "in/.git/HEAD": "",
      "in/p.md": "text",
      "in/.env": "KEY=1",
      "in/folder/x": "",
      "out.md": "secret",
    });
    const { path } = workspace;
    await symlink("p.md", join(path, "in/link.md"));
    await symlink("..", join(path, "in/up"));
    await workspace.write("in/large.md", "");
    await truncate(join(path, "in/large.md"), 10_000_001);
    await writeFile(join(path, "in/latin.md"), new Uint8Array([0x23, 0xe4]));
    execFileSync("mkfifo", [join(path, "in/pipe.md")]);
    const wrong = [
      ["no.md", 'There is no file "no.md". (looked for in/no.md)'],
      ["../out.md", '"../out.md" is outside of the folder of the entry. (files must be in'],
      ["/etc/passwd", '"/etc/passwd" is outside of the folder of the entry.'],
      ["up/out.md", '"up/out.md" is outside of the folder of the entry.'],
      ["link.md", 'A symbolic link leads to "link.md". (name the file itself, p.md)'],
      [".env", '".env" may hold credentials, so no entry reads it.'],
      ["folder", '"folder" is not a regular file.'],
      ["pipe.md", '"pipe.md" is not a regular file.'],
      ["large.md", '"large.md" has 10000001 bytes. The maximum is'],
      ["latin.md", '"latin.md" is not valid UTF-8.'],
    ] as const;
    for (const [file, reason] of wrong) {
      await workspace.write("in/e.yml", entry(`[Before, { file: ${file} }]`));
      const found = await problems(workspace);
      const expected = `in/e.yml:5:22: entry.tasks["review"].prompt[1]: ${reason}`;
      assert.ok(found.startsWith(expected), `${found}\n${expected}`);
      assert.equal(found.split("\n").length, 1, found);
    }
  });

  it("is held to the same rules as every prompt, with the place in its file or in the entry", async (t) => {
    const workspace = await makeWorkspace(t, {
      "in/e.yml": entry("{ file: p.md }"),
      "in/p.md": "$nope",
      "in/form.yml": entry("[{ fil: p.md }, { file: 3 }]"),
    });
    const missing = 'in/p.md:1:1: entry.tasks["review"].prompt: Cannot find prompt variable';
    assert.ok((await problems(workspace)).startsWith(missing));
    const form = await problems(workspace, "in/form.yml");
    assert.match(form, /prompt\[0\]\.fil: Unknown field "fil"\. \(did you mean "file"\?\)/);
    assert.match(form, /prompt\[1\]\.file: Must be text, not 3\./);
  });

  it("is refused in an entry that comes from no file", () => {
    const value = {
      models: { driving: "m" },
      tasks: { a: { model: { category: "driving" }, prompt: [{ file: "p.md" }] } },
      jobs: { j: { work: { kind: "Ref", taskId: "a" } } },
    };
    assert.throws(
      () => validateEntry(value, ""),
      /^\S*: entry\.tasks\["a"\]\.prompt\[0\]: The file "p\.md" can't be read: .* doesn't come from one/,
    );
  });

  it("is found at every depth of a work", () => {
    let work: object = { kind: "Flow", file: "a.wf.md", params: { P: { file: "p.md" } } };
    for (let depth = 0; depth < 10; depth += 1)
      work = { kind: "Alt", condition: { kind: "Seq", works: [work] }, trueWork: { kind: "Seq" } };
    const read: string[] = [];
    const readPrompt = (file: string) => (read.push(file), { kind: "read", text: "text" } as const);
    preparePlain({ jobs: { j: { work } } }, { readPrompt });
    assert.deepEqual(read, ["p.md"]);
  });
});
