/**
 * What the runtime, and every shell it starts, may see of our environment. A secret that is not in it can't leak
 * through a command that an agent runs (docs/internals/runtime-notes.md#environment).
 */
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
 * How a token reaches the runtime (docs/internals/runtime-notes.md#tokens): an installation token (`ghs_…`, such as a
 * workflow's own) is refused through the client's option and is honored in the environment, there only
 * with `useLoggedInUser`. Any other goes to each session: the client's option would put it into the
 * environment of the runtime and of the agent's shells. With a provider of one's own no token goes anywhere.
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
