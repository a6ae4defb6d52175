import { findRuntime, RuntimeNotFoundError } from "../runtime/find-runtime.ts";
import { noModel } from "../sessions/sessions.ts";
import { UsageError, type WriteName } from "./options.ts";
import type { ModelAccess } from "./options-provider.ts";

/** Refuses a run that could not reach a model, or has no runtime to reach it with, before it starts. */
export function checkAccess(
  { provider, gitHubToken, runtimePath, environment }: ModelAccess,
  rehearsed: boolean,
  write: WriteName,
): void {
  if (!rehearsed && provider === undefined && (gitHubToken ?? "") === "") {
    throw new UsageError(noModel(write("provider-base-url"), write("rehearse")));
  }
  try {
    findRuntime({ environment, runtimePath, pathOption: write("runtime-path") });
  } catch (error) {
    if (error instanceof RuntimeNotFoundError) throw new UsageError(error.message);
    throw error;
  }
}
