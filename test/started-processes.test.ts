/** Where processes are started: few places, each of which decides what its process sees and which program it is. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sourceFilesWith } from "./rig/source.ts";

/** The command line calls itself a program. */
function filesWith(pattern: RegExp): string[] {
  return sourceFilesWith(pattern).filter((file) => !file.startsWith("cli/"));
}

describe("the source", () => {
  const places: readonly (readonly [string, RegExp, string])[] = [
    [
      "by Node",
      /^import (?!type )[^;]*from "(?:node:)?child_process"|require\("(?:node:)?child_process"\)|import\("(?:node:)?child_process"\)/m,
      "platform/processes.ts platform/programs.ts",
    ],
    ["by the SDK", /\bnew CopilotClient\(/, "runtime/runtime-process.ts"],
    ["as a thread or a cluster", /"(?:node:)?(?:worker_threads|cluster)"/, ""],
    [
      "through ours",
      /(?<![#.\w])(?:startProgram|runToEnd|runProgram)\(/,
      "action/sandbox.ts app/doctor.ts calls/container.ts calls/mcp-program.ts calls/programs.ts platform/git.ts platform/named-pipes.ts platform/processes.ts " +
        "platform/programs.ts platform/sandbox-support.ts runtime/download-runtime.ts runtime/install-runtime.ts workflow/bash-shell.ts workflow/python.ts",
    ],
  ];
  for (const [how, pattern, files] of places) {
    it(`processes are started ${how} in these places only`, () =>
      assert.deepEqual(filesWith(pattern).join(" "), files));
  }

  it("passes no process the whole of our environment", () => {
    const passedOn =
      /\benv: (?:process\.env|environment|processEnvironment\(\))\b|\.\.\.process\.env/;
    assert.deepEqual(filesWith(passedOn), []);
  });
});
