/**
 * An allow-list of the environment variables that our child processes see. A token that is not in it can't leak, and a
 * variable that makes programs load something else (`NODE_OPTIONS`, `LD_PRELOAD`, `BASH_ENV`, `GIT_…`) has no say.
 */
import { isCi, isInWorkspace, safePath } from "./search-path.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export function processEnvironment(): Environment {
  return process.env;
}

const allowed = new Set([
  // Folders and users.
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
  // Not interactive.
  "CI",
  // Network access.
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "ALL_PROXY",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "NODE_EXTRA_CA_CERTS",
  "GH_HOST",
  // The trace that a process belongs to.
  "TRACEPARENT",
  "TRACESTATE",
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

/** An agent that can write their files makes git, npm and shells run programs. */
const namesSettings = new Set(["HOME", "USERPROFILE", "SHELL", "COMSPEC"]);

/** `-c NAME=VALUE` for every git that a process with the environment starts. */
export function withGitSetting(
  environment: Readonly<Record<string, string>>,
  name: string,
  value: string,
): Record<string, string> {
  const count = Number(environment["GIT_CONFIG_COUNT"] ?? 0);
  return {
    ...environment,
    GIT_CONFIG_COUNT: String(count + 1),
    [`GIT_CONFIG_KEY_${count}`]: name,
    [`GIT_CONFIG_VALUE_${count}`]: value,
  };
}

/**
 * Removes folders of the workspace from PATH, because the Copilot runtime runs `git` and `pgrep` with a token in its
 * environment. `outside`: a further folder whose programs are not found.
 */
export function childEnvironment(source: Environment, outside?: string): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(source)) {
    if (value === undefined || !isAllowed(name)) continue;
    if (namesSettings.has(name.toUpperCase()) && isInWorkspace(value, source)) continue;
    result[name] = isPath(name) ? safePath(value, source, outside) : withoutPassword(name, value);
  }
  // In a container job, the checkout belongs to another user, and git would refuse to read it.
  return isCi(source) ? withGitSetting(result, "safe.directory", "*") : result;
}

/** On Windows it is written `Path`; elsewhere that is another variable. */
function isPath(name: string): boolean {
  return (process.platform === "win32" ? name.toUpperCase() : name) === "PATH";
}

function isAllowed(name: string): boolean {
  const upper = name.toUpperCase();
  return allowed.has(upper) || upper.startsWith("LC_");
}

/** `http://user:password@host`, also without the scheme. A password may hold an `@`. */
function withoutPassword(name: string, value: string): string {
  if (!isProxy(name)) return value;
  return value.replace(/^([a-z][a-z0-9+.-]*:\/\/)?[^/\s]*@/i, "$1");
}

export function isProxy(name: string): boolean {
  return /_PROXY$/i.test(name) && !/^NO_PROXY$/i.test(name);
}
