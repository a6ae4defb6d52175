/** What the option for the sandbox means for the tasks and workflows of a job. */
import type { SandboxMode } from "../entry/model.ts";
import { allowsCommands, sandboxMode } from "../permissions/rules.ts";
import { UsageError, type WriteName } from "./options.ts";
import type { Caller } from "./run-spec.ts";

/** Throws `UsageError` if the option turns off what the entry doesn't. */
export function checkSandboxOption(
  option: SandboxMode | undefined,
  callers: readonly Caller[],
  write: WriteName,
): void {
  if (option !== "off" || callers.every((one) => sandboxMode(one.permissions) === "off")) return;
  throw new UsageError(
    `${write("sandbox")} can't turn off the sandbox unless the entry allows it with \`permissions: { sandbox: off }\`, for each task of the job.`,
  );
}

/** Whether one of them doesn't start without a sandbox. */
export function needsSandbox(callers: readonly Caller[], option: SandboxMode | undefined): boolean {
  return callers.some(({ permissions, declared: { tools = {}, mcpServers = {} }, ...caller }) => {
    const mode = sandboxMode(permissions, option);
    const startsPrograms =
      allowsCommands(permissions) ||
      Object.keys(tools).some(caller.mayCall) ||
      Object.entries(mcpServers).some(
        ([name, server]) => "command" in server && caller.mayUse(name),
      );
    return mode === "required" || (mode === "auto" && startsPrograms);
  });
}
