/** For the runtime and every shell it starts: what is not in it can't leak through a command (docs/internals/runtime-notes.md#environment). */
import { childEnvironment, type Environment } from "../platform/environment.ts";

export function runtimeEnvironment(source: Environment): Record<string, string> {
  // Otherwise the runtime runs the login shell of the user, and what `~/.profile` and its like export is in the
  // environment of every command: for many people that is where their keys are.
  return { ...childEnvironment(source), COPILOT_DISABLE_LOGIN_SHELL_ENV: "1" };
}

export interface Authentication {
  readonly environment: Readonly<Record<string, string>>;
  readonly gitHubToken?: string;
  readonly useLoggedInUser: boolean;
}

/**
 * An installation token (`ghs_…`) is honored only in the environment, with `useLoggedInUser`. Any other goes to each
 * session, not into the environment of shells (docs/internals/runtime-notes.md#tokens). With a provider, none goes anywhere.
 */
export function authentication(options: {
  readonly gitHubToken?: string | undefined;
  readonly hasProvider: boolean;
}): Authentication {
  const { gitHubToken } = options;
  if (options.hasProvider || gitHubToken === undefined || gitHubToken === "") {
    return { environment: {}, useLoggedInUser: false };
  }
  if (gitHubToken.startsWith("ghs_")) {
    return { environment: { COPILOT_GITHUB_TOKEN: gitHubToken }, useLoggedInUser: true };
  }
  return { environment: {}, gitHubToken, useLoggedInUser: false };
}
