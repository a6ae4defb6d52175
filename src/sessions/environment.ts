/**
 * What the runtime, and every shell it starts, may see of our environment: an allow-list. A secret that
 * is not in it can't leak through a command that an agent runs (trap 11 of the runtime).
 */
export type Environment = Readonly<Record<string, string | undefined>>;

const allowed = new Set([
  // Where things are, and who runs.
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "TMPDIR",
  "TMP",
  "TEMP",
  "XDG_RUNTIME_DIR",
  // How text looks.
  "LANG",
  "LANGUAGE",
  "TZ",
  "TERM",
  "COLUMNS",
  "NO_COLOR",
  // That nobody is watching.
  "CI",
  // How to get out.
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "ALL_PROXY",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "NODE_EXTRA_CA_CERTS",
  "GH_HOST",
  // Windows can't start a process without these.
  "SYSTEMROOT",
  "SYSTEMDRIVE",
  "WINDIR",
  "COMSPEC",
  "PATHEXT",
  "USERPROFILE",
  "USERNAME",
  "HOMEDRIVE",
  "HOMEPATH",
  "APPDATA",
  "LOCALAPPDATA",
  "PROGRAMDATA",
  "PROGRAMFILES",
  "PROGRAMFILES(X86)",
  "PROCESSOR_ARCHITECTURE",
  "NUMBER_OF_PROCESSORS",
]);

/** The part of `source` on the allow-list, and `extra` on top of it. */
export function runtimeEnvironment(
  source: Environment,
  extra: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(source)) {
    if (value !== undefined && isAllowed(name)) result[name] = forShells(name, value);
  }
  return { ...result, ...noStartUpFiles, ...extra };
}

/**
 * Otherwise the runtime runs the login shell of the user, and what `~/.profile` and its like export is in
 * the environment of every command: for many people that is where their keys are.
 */
const noStartUpFiles = { COPILOT_DISABLE_LOGIN_SHELL_ENV: "1" };

function isAllowed(name: string): boolean {
  const upper = name.toUpperCase();
  return allowed.has(upper) || upper.startsWith("LC_");
}

/**
 * A proxy may be given as `http://user:password@host`, or without the scheme. Its name and password are no
 * business of a shell; a password may hold an `@`.
 */
function forShells(name: string, value: string): string {
  if (!/_PROXY$/i.test(name) || /^NO_PROXY$/i.test(name)) return value;
  return value.replace(/^([a-z][a-z0-9+.-]*:\/\/)?[^/\s]*@/i, "$1");
}

export interface Authentication {
  /** For the runtime's environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** For every session's option of that name. */
  readonly gitHubToken?: string;
  readonly useLoggedInUser: boolean;
}

/**
 * How a token reaches the runtime (its trap 12, measured): an installation token (`ghs_…`, such as a
 * workflow's own) is refused through the client's option and is honoured in the environment, there only
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
