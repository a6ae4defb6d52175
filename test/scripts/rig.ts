/** Runs a script of scripts/ as a maintainer or a workflow does. */
import { spawn } from "node:child_process";
import { outputOf, type Output } from "../rig/output.ts";

export interface Ended extends Output {
  readonly code: number | null;
}

export async function runScript(
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(process.execPath, [script, ...args], {
    env: { PATH, HOME, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const { output, closed } = outputOf(child);
  const code = await closed;
  return { ...output, code };
}
