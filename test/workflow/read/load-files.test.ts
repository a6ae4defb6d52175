import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { WorkflowFiles } from "../../../src/workflow/model.ts";
import { filesOf, loaded, said, workflowText } from "../rig.ts";

describe("called workflows", () => {
  const child = workflowText("START --> SET_B[B=1]");

  it("are read once, whoever calls them", () => {
    const files = filesOf({
      "b.wf.md": workflowText("START --> CALL_D[[sub/d.wf.md]]"),
      "sub/d.wf.md": workflowText("START --> CALL_E[[../e.wf.md]]"),
      "e.wf.md": child,
    });
    const text = workflowText(
      "START --> CALL_B[[b.wf.md]] --> CALL_E[['e.wf.md']] --> SET_C[C={{B}}]",
    );
    const workflow = loaded(text, { files });
    assert.deepEqual(Object.keys(workflow.files), ["a.wf.md", "b.wf.md", "sub/d.wf.md", "e.wf.md"]);
    assert.deepEqual(said(text, { files }), []);
    const call = workflow.files["sub/d.wf.md"]?.activities.get("CALL_E");
    assert.deepEqual(call?.kind === "call" && [call.path, call.target], ["../e.wf.md", "e.wf.md"]);
  });

  it("are reported in their own file", () => {
    const files = filesOf({ "b.wf.md": workflowText("START --> PROMPT_X[Prompt: User No]") });
    assert.deepEqual(said(workflowText("START --> CALL_B[[b.wf.md]]"), { files }), [
      'b.wf.md:5:11: There is no prompt "User No".',
    ]);
  });

  it("can't call one another in a circle", () => {
    const files = filesOf({
      "b.wf.md": workflowText("START --> CALL_C[[c.wf.md]]"),
      "c.wf.md": workflowText("START --> CALL_B[[b.wf.md]]"),
      "a.wf.md": "",
    });
    const circle = said(workflowText("START --> CALL_B[[b.wf.md]]"), { files });
    assert.deepEqual(circle, [
      "c.wf.md:5:11: The workflow calls itself: b.wf.md → c.wf.md → b.wf.md.",
    ]);
    const itself = said(workflowText("START --> CALL_A[[a.wf.md]]"), { files });
    assert.deepEqual(itself, ["a.wf.md:5:11: The workflow calls itself: a.wf.md → a.wf.md."]);
  });

  it("can't call one another without end", () => {
    const files: WorkflowFiles = {
      read: (path) => ({
        kind: "found",
        id: path,
        file: path,
        content: workflowText(`START --> CALL_A[[${path}x]]`),
      }),
    };
    const [line, ...more] = said(workflowText("START --> CALL_A[[x]]"), { files });
    assert.match(line ?? "", /:5:11: More than 1000 workflows call each other\.$/);
    assert.deepEqual(more, []);
  });
});

describe("included files", () => {
  const flow = "START --> PROMPT_A[Prompt: User Ask]";
  const textOf = (
    prompts: string,
    contents: Readonly<Record<string, string>>,
  ): string | undefined => {
    const workflow = loaded(workflowText(flow, prompts), { files: filesOf(contents) });
    return workflow.files[workflow.main]?.prompts.get("User Ask")?.text;
  };

  it("are part of the prompt, with their headings", () => {
    const contents = {
      "p/best.md": '# Best\n\n## User\n\n!INCLUDE "more.md"\n',
      "p/more.md": "more",
    };
    assert.equal(
      textOf('## User Ask\n\nbefore\n!INCLUDE "p/best.md"\nafter\n', contents),
      "before\n# Best\n\n## User\n\nmore\nafter",
    );
  });

  it("bring prompts if they come before the first one", () => {
    const contents = { "p.md": "# Prompts\n\n## User Ask\n\nHi", "q.md": "## System\n\nYou\n" };
    assert.equal(textOf('!INCLUDE "p.md"\n!INCLUDE "q.md"\n\n## User Own\n\nx', contents), "Hi");
  });

  it("are reported if they can't be read, include themselves or lead out of the folder", () => {
    const problem = (
      prompts: string,
      contents: Readonly<Record<string, string>> = {},
    ): string | undefined =>
      said(workflowText(flow, `## User Ask\n\n${prompts}`), { files: filesOf(contents) })[0];
    assert.equal(problem('!INCLUDE "no.md"'), 'a.wf.md:12:1: There is no file "no.md".');
    assert.equal(
      problem('!INCLUDE "../../etc/passwd"'),
      'a.wf.md:12:1: "../../etc/passwd" is outside of the folder of the workflow.',
    );
    assert.equal(
      problem('!INCLUDE "a.wf.md"', { "a.wf.md": "x" }),
      "a.wf.md:12:1: The file includes itself: a.wf.md → a.wf.md.",
    );
    assert.equal(
      problem('!INCLUDE "b.md"', { "b.md": 'x\n!INCLUDE "c.md"', "c.md": '!INCLUDE "b.md"' }),
      "c.md:1:1: The file includes itself: b.md → c.md → b.md.",
    );
    assert.equal(
      problem('!INCLUDE "b.md"', { "b.md": "x\n{{NO}}" }),
      "b.md:2:1: warning: {{NO}} has no value: there is no such variable, parameter or prompt. It stays as it is.",
    );
  });
});
