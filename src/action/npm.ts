/** Finds the npm to download with. Only looks; `installRuntime` runs it. */
import { existsSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join } from "node:path";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Command {
  readonly command: string;
  /** What comes before npm's own arguments. */
  readonly args: readonly string[];
}

export interface NpmSearch {
  readonly environment: Environment;
  /** The node that runs us. */
  readonly node: string;
  readonly system: NodeJS.Platform;
  readonly exists?: (path: string) => boolean;
}

/**
 * The npm in `PATH` (it is the one that the workflow has set up, with its registry), else the one next to
 * the node that runs us. Relative folders of `PATH` are passed over: they may be in the checkout.
 */
export function findNpm(search: NpmSearch): Command | undefined {
  const { environment, node, system, exists = existsSync } = search;
  const script = (path: string): Command => ({ command: node, args: [path] });
  const inPackage = join("node_modules", "npm", "bin", "npm-cli.js");
  const path = variable(environment, "PATH") ?? "";
  for (const folder of path.split(delimiter).filter((part) => isAbsolute(part))) {
    if (system === "win32") {
      // npm.cmd can't be started without a shell; it stands next to this.
      if (exists(join(folder, inPackage))) return script(join(folder, inPackage));
    } else if (exists(join(folder, "npm"))) return { command: join(folder, "npm"), args: [] };
  }
  const home = dirname(node);
  return [join(home, "..", "lib", inPackage), join(home, inPackage)]
    .filter((candidate) => exists(candidate))
    .map(script)[0];
}

/** What belongs to the action and the runner is not npm's business. */
const hidden =
  /^(?:INPUT|ACTIONS|AGENT_JOBS|COPILOT)_|^(?:STATE_|GITHUB_(?:ENV|OUTPUT|PATH|STATE))/i;

/**
 * npm's own settings, proxies and whatever an `.npmrc` may name stay; inputs, the runner's tokens and model
 * keys don't. The folder of our node comes last in `PATH`, for an npm that starts with `env node`.
 */
export function npmEnvironment(environment: Environment, node: string): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && !hidden.test(name) && name.toUpperCase() !== "PATH")
      kept[name] = value;
  }
  const path = [variable(environment, "PATH"), dirname(node)];
  return { ...kept, PATH: path.filter((part) => part !== undefined).join(delimiter) };
}

/** On Windows names differ in case only (`Path`), and a copy of the environment is an ordinary object. */
function variable(environment: Environment, name: string): string | undefined {
  const key = Object.keys(environment).find((key) => key.toUpperCase() === name);
  return key === undefined ? undefined : environment[key];
}
