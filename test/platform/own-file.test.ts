import assert from "node:assert/strict";
import {
  appendFileSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it, test } from "node:test";
import { OwnFile } from "../../src/platform/own-file.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const bytes = new TextEncoder().encode("passed: no\n");

describe("a file that a run writes about itself", () => {
  const tampering: Readonly<Record<string, readonly [RegExp, (path: string) => void]>> = {
    "is deleted": [/was deleted/, (path) => rmSync(path)],
    "gets a line more": [/was changed/, (path) => appendFileSync(path, "passed: yes\n")],
    "loses its end": [/was changed/, (path) => truncateSync(path, 3)],
    "is rewritten in the same length": [
      /was changed/,
      (path) => writeFileSync(path, "passed: ya\n", { flag: "r+" }),
    ],
    "is replaced by a copy": [
      /was replaced/,
      (path) => {
        writeFileSync(`${path}.new`, readFileSync(path));
        renameSync(`${path}.new`, path);
      },
    ],
    "is replaced by a link": [
      /was replaced/,
      (path) => {
        renameSync(path, `${path}.old`);
        writeFileSync(`${path}.victim`, "precious\n");
        symlinkSync(`${path}.victim`, path);
      },
    ],
  };
  for (const [what, [reason, tamper]] of Object.entries(tampering)) {
    it(`is not to be relied on if it ${what}`, async (t) => {
      const path = join((await makeWorkspace(t)).path, "deep/own");
      const file = new OwnFile("journal", path);
      file.write(bytes, 0);
      tamper(path);
      await assert.rejects(
        file.close(),
        (error: unknown) =>
          error instanceof Error && reason.test(error.message) && error.message.includes(path),
      );
    });
  }

  it("is fine if nobody touches it, and a device keeps nothing", async (t) => {
    const path = join((await makeWorkspace(t)).path, "own");
    const file = new OwnFile("journal", path);
    assert.equal(file.write(bytes, 4), bytes.length - 4);
    await file.close();
    assert.equal(readFileSync(path, "utf8"), "ed: no\n");
    const device = new OwnFile("journal", "/dev/null");
    device.write(bytes, 0);
    await device.close();
  });
});

test("what is written at the end goes to no other file, whatever took the place", async (t) => {
  const { path } = await makeWorkspace(t);
  const own = join(path, "recording.yml");
  const victim = join(path, "victim");
  writeFileSync(victim, "precious\n");
  const replaced = new OwnFile("recording", own);
  rmSync(own);
  symlinkSync(victim, own);
  replaced.writeAll("mine\n");
  await assert.rejects(replaced.close(), /was replaced/);
  assert.equal(readFileSync(victim, "utf8"), "precious\n");
  rmSync(own);

  const scribbled = new OwnFile("recording", own);
  writeFileSync(own, "theirs\n");
  scribbled.writeAll("mine\n");
  await scribbled.close();
  assert.equal(readFileSync(own, "utf8"), "mine\n");

  const deleted = new OwnFile("recording", own);
  rmSync(own);
  deleted.writeAll("again\n");
  await assert.rejects(deleted.close(), /was deleted/);
});
