import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import type { ProposalsOutput } from "../../src/entry/outputs.ts";
import type { RunEvent } from "../../src/events/event.ts";
import {
  checkProposal,
  isProposable,
  type ChangedInTree,
  type ProposalPlace,
} from "../../src/outputs/check-proposal.ts";
import { createRedactor } from "../../src/redaction/redactor.ts";

const allowed: ProposalsOutput = {
  comment: {},
  label: { allowed: ["bug", "good first issue"] },
  reviewers: {},
  issue: {},
  pull_request: { paths: ["src/**"] },
  push: { paths: ["src/**"] },
};
const file = (path: string, more: Partial<ChangedInTree> = {}): ChangedInTree => ({
  path,
  mode: "100644",
  content: Buffer.from("text"),
  isDeleted: false,
  ...more,
});
const place = (...files: readonly ChangedInTree[]): ProposalPlace => ({
  number: 7,
  changed: () => Promise.resolve({ base: "b".repeat(40), files, notes: [], largeFiles: [] }),
  hasSecret: (text) => text.includes("hunter2"),
});
const pull = { kind: "pull_request", title: "Fix", body: "It is fixed.", branch: "fix" };

const push = { kind: "push", title: "Fix" };

async function refusal(value: object, ...files: readonly ChangedInTree[]): Promise<string> {
  const checked = await checkProposal(value, allowed, place(...files));
  return checked.kind === "refused" ? checked.reason : "accepted";
}

describe("job_propose", () => {
  const wrong: readonly (readonly [string, object, RegExp])[] = [
    ["a kind that is not allowed", { kind: "close" }, /`kind` must be one of: comment, label/],
    ["another issue", { kind: "comment", number: 8, body: "x" }, /must be 7, or be omitted/],
    ["a label that is not in the list", { kind: "label", labels: ["x"] }, /"x" is not allowed/],
    [
      "a label with a line break",
      { kind: "label", labels: ["bug\n- [x] all"] },
      /"bug\\n- \[x\] all" is not allowed/,
    ],
    ["no labels", { kind: "label", labels: [] }, /at least one/],
    ["labels that are no texts", { kind: "label", labels: ["bug", 7] }, /list of strings/],
    ["a login that is none", { kind: "reviewers", reviewers: ["a b"] }, /not a login/],
    ["a title of two lines", { kind: "issue", title: "a\nb", body: "x" }, /on one line/],
    ["an empty body", { kind: "comment", body: " " }, /`body` is required/],
    ["a body that is too long", { kind: "comment", body: "x".repeat(60_001) }, /at most 60000/],
    ["a pull request without changes", pull, /nothing to propose/],
  ];
  for (const [name, value, reason] of wrong) {
    it(`refuses ${name}`, async () => assert.match(await refusal(value), reason));
  }

  for (const branch of ["../x", "-x", "a b", "a.lock", "a@{1}"]) {
    it(`refuses the branch ${JSON.stringify(branch)}`, async () => {
      assert.match(await refusal({ ...pull, branch }, file("src/a.ts")), /`branch`/);
    });
  }

  const hostile: readonly (readonly [string, ChangedInTree, RegExp])[] = [
    ["a file outside of the globs", file("docs/a.md"), /must not: "docs\/a\.md"/],
    ["a workflow", file(".github/workflows/ci.yml"), /must not/],
    ["a path with ..", file("src/../../a"), /must not/],
    ["the settings of git", file("src/.git/config"), /must not/],
    ["a link", file("src/link", { mode: "120000", content: undefined }), /no links/],
    ["a submodule", file("src/sub", { mode: "160000", content: undefined }), /submodules/],
    ["large files", file("src/a", { content: Buffer.alloc(900_001) }), /900018 characters/],
    ["large bytes", file("src/a", { content: Buffer.alloc(700_000, 0xff) }), /933353 characters/],
    ["a secret", file("src/a", { content: Buffer.from("x hunter2") }), /contains a secret/],
    [
      "a secret among bytes",
      file("src/a", { content: Buffer.from("\xFFhunter2\xFF", "latin1") }),
      /contains a secret/,
    ],
  ];
  for (const [name, odd, reason] of hostile) {
    it(`refuses a pull request with ${name}, whole`, async () => {
      assert.match(await refusal(pull, file("src/a.ts"), odd), reason);
    });
  }

  for (const [name, odd, reason] of hostile) {
    it(`refuses a push with ${name}, whole`, async () => {
      assert.match(await refusal(push, file("src/a.ts"), odd), reason);
    });
  }

  const heads: readonly (readonly [string, Partial<ProposalPlace>, RegExp])[] = [
    ["is its base", { head: "b".repeat(40) }, /^accepted$/],
    ["is unknown, outside of GitHub", {}, /^accepted$/],
    [
      "is another commit",
      { head: "c".repeat(40) },
      /checkout is at b{40}.*head .* is c{40}.*`ref`/,
    ],
    ["isn't there", { head: null }, /no pull request to push to/],
  ];
  for (const [name, more, reason] of heads) {
    it(`takes or refuses a push if the head of the pull request ${name}`, async () => {
      const checked = await checkProposal(push, allowed, { ...place(file("src/a.ts")), ...more });
      assert.match(checked.kind === "refused" ? checked.reason : checked.kind, reason);
    });
  }

  it("takes a push without a body, and names what it lacks; one that makes a file executable is refused", async () => {
    const changes = place(file("src/a.ts"));
    const checked = await checkProposal(push, allowed, {
      ...changes,
      changed: async () => ({ ...(await changes.changed()), notes: ["Left out: x."] }),
    });
    assert.ok(checked.kind === "accepted" && checked.value.kind === "push");
    assert.equal(checked.value.body, "> Left out: x.");
    assert.deepEqual(
      checked.value.files.map(({ path }) => path),
      ["src/a.ts"],
    );
    const executable = file("src/run.sh", { mode: "100755" });
    assert.match(
      await refusal(push, executable),
      /can't make or keep .* executable: "src\/run\.sh"/,
    );
    const gone = file("src/run.sh", { mode: "100755", content: undefined, isDeleted: true });
    assert.equal(await refusal(push, gone), "accepted");
  });

  it("refuses a pull request with a file that no task may write", async () => {
    const checked = await checkProposal(pull, allowed, {
      ...place(file("src/a.ts"), file("src/b.ts")),
      changed: () =>
        Promise.resolve({
          base: "b".repeat(40),
          files: [file("src/a.ts"), file("src/b.ts")],
          notes: [],
          largeFiles: [],
          notWritable: (path) =>
            path === "src/b.ts" ? "the permissions are read-only" : undefined,
        }),
    });
    assert.match(
      checked.kind === "refused" ? checked.reason : "",
      /^"src\/b\.ts" has changed, and no task may write it: the permissions are read-only\./,
    );
  });

  it("takes whole files, with text as it is and all else in base64", async () => {
    const files = [
      file("src/a.ts", { content: Buffer.from("\uFEFFé\r\n") }),
      file("src/run.sh", { mode: "100755", content: Uint8Array.of(0xff, 0, 1) }),
      file("src/old.ts", { content: undefined, isDeleted: true }),
    ];
    const checked = await checkProposal({ ...pull, reason: "why" }, allowed, place(...files));
    assert.deepEqual(checked, {
      kind: "accepted",
      value: {
        ...pull,
        reason: "why",
        base: "b".repeat(40),
        files: [
          { path: "src/a.ts", mode: "100644", content: "\uFEFFé\r\n", encoding: "utf-8" },
          { path: "src/run.sh", mode: "100755", content: "/wAB", encoding: "base64" },
          { path: "src/old.ts", mode: "100644", content: null, encoding: "utf-8" },
        ],
      },
    });
  });
});

test("the largest proposal is whole in the journal", async () => {
  const content = Buffer.from("some text\n".repeat(89_900));
  const large = {
    ...pull,
    title: "t".repeat(256),
    body: "b ".repeat(30_000),
    reason: "r".repeat(2_000),
  };
  const checked = await checkProposal(large, allowed, place(file("src/a.ts", { content })));
  assert.ok(checked.kind === "accepted");
  const event: RunEvent = {
    at: 0,
    runId: "r",
    type: "proposal.made",
    work: { workId: 0, taskId: "t", iteration: 1 },
    proposal: checked.value,
  };
  assert.deepEqual(createRedactor([]).event(event), event);
});

describe("the files that may be proposed", () => {
  it("are those of the globs, and those of .github only where a glob names it", () => {
    const cases: readonly (readonly [string, readonly string[] | undefined, boolean])[] = [
      ["src/a.ts", undefined, true],
      [".github/workflows/ci.yml", ["**"], false],
      [".GitHub/workflows/ci.yml", ["**"], false],
      [".github/labels.yml", [".github/*.yml"], true],
      [".github/workflows/ci.yml", [".github/*.yml", "**"], false],
      ["src/a.ts", ["**", "!src/**"], false],
      ["src/a.ts", ["!docs/**"], false],
    ];
    for (const [path, paths, is] of cases)
      assert.equal(isProposable(path, paths), is, `${path} of ${String(paths)}`);
  });
});
