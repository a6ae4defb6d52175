/** Commands of an agent on the real runtime, many in one call, which may run any command and write to `out` alone. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Permissions } from "../../src/entry/model.ts";
import type { Canaries } from "../rig/canaries.ts";
import { bash } from "../rig/model-server.ts";
import { completed, makeRig, turn } from "./rig.ts";

/** Runs the lines in one sandbox, each in a shell of its own, and returns what each has printed. */
export type RunLines = (lines: readonly string[]) => Promise<string[]>;

export async function confinedCommands(
  t: TestContext,
  { workspace }: Canaries,
  shell: true | readonly string[],
): Promise<RunLines> {
  const permissions: Permissions = {
    shell,
    read: ["!private/**"],
    write: ["out/**"],
    sandbox: "required",
  };
  const rig = await makeRig(
    t,
    ({ toolResults, prompt }) =>
      toolResults.length === 0
        ? { toolCalls: [bash(prompt, { initial_wait: 120 })] }
        : { text: "The end." },
    { workspace },
  );
  const place = (index: number, kind: string): string =>
    join(workspace.path, "out", `${index}.${kind}`);
  return async (lines) => {
    for (const [index, line] of lines.entries()) writeFileSync(place(index, "sh"), `${line}\n`);
    // Each with a limit of its own, four at a time.
    const each = "timeout 10 bash out/{}.sh </dev/null >out/{}.log 2>&1; echo end >>out/{}.log";
    // Each time in a new sandbox, which must not rely on anything that the lines before have left.
    const session = await rig.open({ permissions });
    try {
      completed(
        await turn(session, `seq 0 ${lines.length - 1} | xargs -P 4 -I {} sh -c '${each}'`),
      );
    } finally {
      await session.close();
    }
    return lines.map((_, index) => readFileSync(place(index, "log"), "utf8"));
  };
}

/** Reports what was harmed, and by which lines if that can be seen. */
export function harmOf(
  canaries: Canaries,
  lines: readonly string[],
  outputs: readonly string[],
): string[] {
  return lines.flatMap((line, index) => {
    const output = outputs[index] ?? "";
    return canaries.harm(output).map((harm) => `${harm}: ${line}\n${output.slice(0, 500)}`);
  });
}
