/**
 * Whether the programs that an entry declares may be started in this checkout. Tools work with the files of the
 * checkout, and whatever their command is (`node` with a script, `npm test`), those files decide what it does: they are
 * only started at the commit that the entry comes from. A server is no part of the checkout unless it is one of its
 * files, and it starts in an empty folder where the checkout is elsewhere.
 */
import { realpath } from "node:fs/promises";
import { dirname, relative } from "node:path";
import {
  declaredPrograms,
  mayRunCommands,
  type DeclaredProgram,
  type PreparedJob,
} from "../app/declared-programs.ts";
import { childEnvironment } from "../platform/environment.ts";
import { resolveCommand } from "../platform/search-path.ts";
import { checkoutOf } from "./checkout.ts";
import type { Setting, WorkTree } from "./preparation.ts";
import { Stop } from "./stop.ts";
import { areAt } from "./trust.ts";
import { isBelow } from "./workspace-paths.ts";

interface FoundFile {
  readonly by: "search" | "name" | "option";
  readonly places: readonly [string, ...string[]];
}

/** Throws a `Stop` with every program that may not be started. Returns warnings. */
export async function checkPrograms(
  { workspace, environment }: Pick<Setting, "workspace" | "environment">,
  workTree: WorkTree,
  prepared: PreparedJob,
): Promise<readonly string[]> {
  if (workTree.kind === "own") return [];
  const { commit } = workTree;
  const programs = declaredPrograms(prepared);
  const problems = await Promise.all(
    programs.map((program) =>
      workTree.kind === "elsewhere" ? refusedElsewhere(program) : refusedAt(program),
    ),
  );
  const found = problems.filter((problem) => problem !== undefined);
  if (found.length > 0) throw new Stop("failure", found);
  return workTree.kind === "elsewhere" && mayRunCommands(prepared)
    ? [
        `The checkout is not at ${commit}, so it may contain untrusted files, and the job may run commands in it. A command that runs its files, such as \`npm test\`, runs untrusted code with the rights of this step.`,
      ]
    : [];

  async function refusedElsewhere(program: DeclaredProgram): Promise<string | undefined> {
    const { kind, field, searched } = program;
    const why = `The checkout is not at ${commit}, so it may contain untrusted files`;
    if (kind === "tool") {
      return `${why}, and the job may call \`${field}\`, which runs code of the checkout. ${howToRun(commit)} Or don't allow the tool in \`permissions.tools\`.`;
    }
    const [found] = await inCheckout(program);
    if (found !== undefined) {
      return `${why}, and \`${field}\` starts ${relative(workspace, found.places[0])}, a file of the checkout. ${howToRun(commit)} Or start a server that is installed elsewhere.`;
    }
    if (searched !== undefined && pathOf(searched) === undefined) {
      return `${why}, and there is no ${searched} in PATH outside of it for \`${field}\`. Install it on the runner.`;
    }
    return undefined;
  }

  /**
   * A second checkout in the workspace, or a link into it, is data: what is searched in PATH, the first file and what
   * options before it name are started, other files may be there.
   */
  async function refusedAt(program: DeclaredProgram): Promise<string | undefined> {
    const found = await inCheckout(program);
    const first = found.findIndex(({ by }) => by === "name");
    for (const { places } of first === -1 ? found : found.slice(0, first + 1)) {
      const checkouts = await Promise.all(places.map((place) => checkoutOf(dirname(place))));
      const commits = checkouts.map((checkout) => checkout?.commit);
      if (!areAt(commits, commit)) {
        return `\`${program.field}\` runs ${relative(workspace, places[0])}, which is in a checkout that is not at ${commit}, so it may be an untrusted file and is not run. Name a file of the event's own checkout.`;
      }
    }
    return undefined;
  }

  /** What of the program is in the checkout. */
  async function inCheckout({ searched, files }: DeclaredProgram): Promise<FoundFile[]> {
    const path = searched === undefined ? undefined : pathOf(searched);
    const named = files.map((file) => ({
      path: file.path,
      by: file.ofOption ? ("option" as const) : ("name" as const),
    }));
    const all = path === undefined ? named : [{ path, by: "search" as const }, ...named];
    const found: FoundFile[] = [];
    for (const file of all) {
      const [first, ...others] = await placesOf(file.path);
      if (first !== undefined) found.push({ by: file.by, places: [first, ...others] });
    }
    return found;
  }

  /** By the rule by which it is looked up again when it is started. */
  function pathOf(name: string): string | undefined {
    return resolveCommand(name, workspace, childEnvironment(environment));
  }

  /** Where a file is in the workspace, by its name and through links. */
  async function placesOf(file: string): Promise<readonly string[]> {
    const real = await realpath(file);
    return [
      ...(isBelow(workspace, file) ? [file] : []),
      ...(isBelow(await realpath(workspace), real) ? [real] : []),
    ];
  }
}

function howToRun(commit: string): string {
  return `Check out ${commit} and let the agent work there (on most events, that is actions/checkout without \`ref\` and \`repository\`, in an image that has git). Files of another commit can be in a subfolder, as data.`;
}
