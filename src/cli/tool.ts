import { buildTool, printedBuild, tryTool, type TryOptions } from "./try-tool.ts";
import { cancelFromTerminal, exitCode, type ExitCode, type Io } from "./process.ts";

export interface ToolFlags {
  readonly entry?: string;
  readonly workingDirectory?: string;
  readonly env?: readonly string[];
}

export interface ToolBuildFlags extends ToolFlags {
  readonly print?: true;
  readonly plain?: true;
}

/** Prints the result: a text as it is, anything else as JSON. */
export function callTool(
  name: string,
  params: string | undefined,
  flags: ToolFlags,
  io: Io,
): Promise<ExitCode> {
  const { output } = io;
  return withOptions(flags, io, async (options) => {
    const end = await tryTool(name, params, options);
    switch (end.kind) {
      case "succeeded":
        if (typeof end.value === "string") output.printData(end.value);
        else output.printJson(end.value);
        return exitCode.success;
      case "failed":
        return end;
      case "timed_out":
        return { reason: `The call of ${name} exceeded its time limit.` };
      case "cancelled":
        return exitCode.canceled;
    }
  });
}

export async function buildToolOf(name: string, flags: ToolBuildFlags, io: Io): Promise<ExitCode> {
  const { output } = io;
  const { print, plain, entry, workingDirectory } = flags;
  if (print === true) {
    const options = { entryFile: entry, workingDirectory };
    output.printData(await printedBuild(name, plain === true, options));
    return exitCode.success;
  }
  return withOptions(flags, io, async (options) => {
    const end = await buildTool(name, options);
    switch (end.kind) {
      case "nothing":
        output.print(`${name} needs no build.`);
        return exitCode.success;
      case "succeeded":
        output.print(`${name} is built.`);
        return exitCode.success;
      case "failed":
        return end;
      case "timed_out":
        return { reason: `The build of ${name} exceeded its time limit.` };
    }
  });
}

/** Exit code, or why it failed with the end of the log. */
type Ending = ExitCode | { readonly reason: string; readonly tail?: string | undefined };

async function withOptions(
  { entry: entryFile, workingDirectory, env }: ToolFlags,
  { output }: Io,
  run: (options: TryOptions) => Promise<Ending>,
): Promise<ExitCode> {
  const signals = cancelFromTerminal();
  const { signal, lastCall } = signals;
  const shown = new Set<string>();
  const onProgress: TryOptions["onProgress"] = ({ percent, message }) => {
    const share = percent === undefined ? "" : `${Math.round(percent)}%`;
    const text = message ?? "";
    shown.add(text);
    // A line of the log may say itself how far it is.
    output.printError(text.includes("%") ? text : `${share} ${text}`.trim());
  };
  const environment = process.env;
  try {
    const common = { entryFile, workingDirectory, env, environment };
    const end = await run({ ...common, signal, lastCall, onProgress });
    if (signal.aborted) return exitCode.canceled;
    if (typeof end === "number") return end;
    const rest = (end.tail ?? "").split("\n").filter((line) => !shown.has(line.trimEnd()));
    output.printError([...rest, `agent-jobs: ${end.reason}`].join("\n"));
    return exitCode.failed;
  } finally {
    signals.dispose();
  }
}
