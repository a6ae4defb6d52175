import { noModel } from "../sessions/sessions.ts";
import { findRuntime, RuntimeNotFoundError } from "../runtime/find-runtime.ts";
import type { ModelAccess } from "./options-provider.ts";
import { UsageError } from "./options.ts";

/** Refuses a run that could not reach a model, or has no runtime to reach it with, before it starts. */
export function checkAccess(
  { provider, gitHubToken, runtimePath, environment }: ModelAccess,
  rehearsed: boolean,
): void {
  if (!rehearsed && provider === undefined && (gitHubToken ?? "") === "") {
    throw new UsageError(noModel.message);
  }
  try {
    findRuntime({ environment, ...(runtimePath === undefined ? {} : { runtimePath }) });
  } catch (error) {
    if (error instanceof RuntimeNotFoundError) throw new UsageError(error.message);
    throw error;
  }
}
