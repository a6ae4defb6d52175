import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { rmSync, symlinkSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { describe, it } from "node:test";
import { filesAround } from "../../src/run/workflow-files.ts";
import { loadWorkflow } from "../../src/run/workflow-run.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { workflowText } from "../workflow/rig.ts";

describe("the files of a workflow", () => {
  it("are those of its folder, without a repository", async (t) => {
    const { path } = await makeWorkspace(t, { "in/a.wf.md": "a", "in/sub/b.md": "b", "c.md": "c" });
    const { id, files } = filesAround(join(path, "in/a.wf.md"));
    assert.equal(id, "a.wf.md");
    const found = files.read("sub/b.md", id);
    assert.ok(found.kind === "found");
    assert.deepEqual([found.id, String(found.content)], ["sub/b.md", "b"]);
    assert.equal(files.read("../a.wf.md", "sub/b.md").kind, "found");
    assert.equal(files.read("../c.md", id).kind, "outside");
    assert.equal(files.read(join(path, "c.md"), id).kind, "outside");
    assert.equal(files.read("/etc/passwd", id).kind, "outside");
    assert.equal(files.read("no.md", id).kind, "missing");
    assert.equal(files.read("sub", id).kind, "unreadable");
  });

  it("are those of the git repository, wherever the first one is", async (t) => {
    const { path } = await makeWorkspace(t, { "in/deep/a.wf.md": "a", "c.md": "c" });
    await mkdir(join(path, ".git"));
    const { id, files } = filesAround(join(path, "in/deep/a.wf.md"));
    assert.equal(id, "in/deep/a.wf.md");
    const found = files.read("../../c.md", id);
    assert.equal(found.kind === "found" && found.id, "c.md");
    assert.equal(files.read("../../../c.md", id).kind, "outside");
  });

  it("count by where a link leads", async (t) => {
    const { path } = await makeWorkspace(t, { "in/a.wf.md": "a", "in/b.md": "b", "out/c.md": "c" });
    await symlink("../out/c.md", join(path, "in/link.md"));
    await symlink("../out", join(path, "in/folder"));
    await symlink("b.md", join(path, "in/same.md"));
    await symlink("in/a.wf.md", join(path, "first.wf.md"));
    const { id, files } = filesAround(join(path, "in/a.wf.md"));
    assert.equal(files.read("link.md", id).kind, "outside");
    assert.equal(files.read("folder/c.md", id).kind, "outside");
    assert.equal(files.read("folder/new.md", id).kind, "outside");
    const same = files.read("same.md", id);
    assert.equal(same.kind === "found" && same.id, "b.md");
    assert.equal(filesAround(join(path, "first.wf.md")).id, "a.wf.md");
  });

  it("are those that were judged, whatever takes their place before they are read", async (t) => {
    const { path } = await makeWorkspace(t, {
      "in/d/b.md": "b",
      "in/c.md": "c",
      "in/p.md": "p",
      "out/b.md": "secret",
    });
    const folder = join(path, "in");
    const swap = (name: string, put: (place: string) => void) => (): void => {
      rmSync(join(folder, name), { recursive: true });
      put(join(folder, name));
    };
    const swaps: Record<string, () => void> = {
      "d/b.md": swap("d", (place) => symlinkSync("../out", place)),
      "c.md": swap("c.md", (place) => symlinkSync("../out/b.md", place)),
      "p.md": swap("p.md", (place) => execFileSync("mkfifo", [place])),
    };
    const { id, files } = filesAround(join(folder, "a.wf.md"), {
      seen: (path) => swaps[relative(folder, path)]?.(),
    });
    for (const name of Object.keys(swaps)) {
      const found = files.read(name, id);
      assert.equal(found.kind, "unreadable", name);
    }
  });

  it("are regular files of text", async (t) => {
    const { path } = await makeWorkspace(t, { "in/utf.wf.md": "", "in/folder.wf.md/x": "" });
    const folder = join(path, "in");
    await writeFile(join(folder, "utf.wf.md"), new Uint8Array([0x23, 0x20, 0xff]));
    execFileSync("mkfifo", [join(folder, "pipe.wf.md")]);
    await symlink("loop.wf.md", join(folder, "again.wf.md"));
    await symlink("again.wf.md", join(folder, "loop.wf.md"));
    await symlink("/dev/zero", join(folder, "zero.wf.md"));
    await symlink("/etc/passwd", join(folder, "users.wf.md"));
    const names = ["utf", "folder", "pipe", "loop", "zero", "users"].map((one) => `${one}.wf.md`);
    const flows: readonly ((name: string) => string)[] = [
      (name) => workflowText(`START --> CALL_A[[${name}]]`),
      (name) => workflowText("START --> PROMPT_A[Prompt: User A]", `## User A\n!INCLUDE "${name}"`),
      (name) =>
        workflowText("START --> PROMPT_A[Prompt: User A]", `!INCLUDE "${name}"\n## User A\nx`),
    ];
    for (const name of names) {
      for (const flow of flows) {
        const result = loadWorkflow(flow(name), join(folder, "a.wf.md"));
        const [first] = result.kind === "rejected" ? result.diagnostics : [];
        assert.ok(first !== undefined, name);
        if (first.file === join(folder, "a.wf.md")) assert.ok((first.line ?? 0) >= 5, name);
        else assert.match(first.reason, /not UTF-8/, name);
      }
    }
    for (const value of ["file:../../etc/passwd", "file:users.wf.md", "file:/etc/passwd"]) {
      for (const flow of [`SET_A[A=${value}]`, `ASSIGN_A[${value}]`, `PROMPT_A[${value}]`]) {
        const result = loadWorkflow(workflowText(`START --> ${flow}`), join(folder, "a.wf.md"));
        assert.ok(result.kind === "rejected", value);
        assert.match(result.diagnostics[0]?.reason ?? "", /is outside of the folder/);
        assert.equal(result.diagnostics[0]?.line, 5);
      }
    }
  });

  it("are named as the first one was", async (t) => {
    const { path } = await makeWorkspace(t, {});
    await writeFile(join(path, "b.wf.md"), workflowText("START --> X"));
    const text = workflowText("START --> CALL_B[[b.wf.md]] --> CALL_C[[c.wf.md]]");
    const result = loadWorkflow(text, join(path, "a.wf.md"));
    assert.ok(result.kind === "rejected");
    assert.deepEqual(
      result.diagnostics.map(({ file, line, reason }) => [file, line, reason]),
      [
        [join(path, "a.wf.md"), 5, 'There is no file "c.wf.md".'],
        [join(path, "b.wf.md"), 5, "Unknown activity type: X."],
      ],
    );
    assert.equal(result.diagnostics[0]?.hint, `looked for ${join(path, "c.wf.md")}`);
  });
});
