/** A model's call of `job_propose`, against what the job may have done. Nothing is done here. */
import { defined, isList, isRecord } from "../text/guards.ts";
import { firstOf } from "../text/numbers.ts";
import { isAmong } from "../entry/glob.ts";
import { proposalKinds, type ProposalsOutput } from "../entry/outputs.ts";
import type { Proposal, ProposedFile } from "../events/output-shapes.ts";
import { asChecked, optionalText, Refused, requiredText, type Given } from "./check-finding.ts";

const proposalLimits = {
  title: 256,
  body: 60_000,
  reason: 2_000,
  branch: 100,
  message: 10_000,
  names: 100,
  files: 300,
  /** The encoded files of a pull request and their paths. An event holds little more, and is cut. */
  characters: 900_000,
} as const;

export interface ChangedInTree {
  readonly path: string;
  readonly mode: string;
  /** Undefined if it is deleted, or is no regular file of a bearable size. */
  readonly content: Uint8Array | undefined;
  readonly isDeleted: boolean;
}

export interface ProposalPlace {
  /** The event's issue or pull request. */
  readonly number: number | undefined;
  /** The head of the event's pull request; null if the event has none. Undefined: nothing is published. */
  readonly head?: string | null | undefined;
  /** Returns the changes of the working tree. Rejects outside of a repository. */
  readonly changed: () => Promise<{
    readonly base: string;
    readonly files: readonly ChangedInTree[];
    /** Sentences that name changes that are not among the files. */
    readonly notes: readonly string[];
    /** Files that Git LFS stores. */
    readonly largeFiles: readonly string[];
    /** Why no task of the run may write a file. Absent: whatever has changed may have been changed by the author's own commands. */
    readonly notWritable?: ((path: string) => string | undefined) | undefined;
  }>;
  /** Whether a text has a secret of the run in it. */
  readonly hasSecret: (text: string) => boolean;
}

export const checkProposal = asChecked(checked);

async function checked(
  value: unknown,
  allowed: ProposalsOutput,
  place: ProposalPlace,
): Promise<Proposal> {
  if (!isRecord(value)) throw new Refused("The arguments must be an object.");
  const kinds = proposalKinds.filter((kind) => allowed[kind] !== undefined);
  const kind = kinds.find((one) => one === value["kind"]);
  if (kind === undefined) throw new Refused(`\`kind\` must be one of: ${kinds.join(", ")}.`);
  const reason = defined({ reason: optionalText(value, "reason", proposalLimits.reason) });
  const title = (): string => titleOf(value);
  const body = (): string => requiredText(value, "body", proposalLimits.body);
  switch (kind) {
    case "comment":
      return { kind, ...targetOf(value, place), ...reason, body: body() };
    case "label":
      return {
        kind,
        ...targetOf(value, place),
        ...reason,
        labels: namesOf(value, "labels", allowed.label?.allowed),
      };
    case "reviewers":
      return {
        kind,
        ...targetOf(value, place),
        ...reason,
        reviewers: namesOf(value, "reviewers", allowed.reviewers?.allowed),
      };
    case "close":
      return { kind, ...targetOf(value, place), ...reason };
    case "issue":
      return { kind, ...reason, title: title(), body: body() };
    case "pull_request": {
      const texts = { title: title(), branch: branchOf(value), body: body() };
      const { notes, ...patch } = await patchOf(place, allowed.pull_request);
      return { kind, ...reason, ...texts, ...patch, body: withNotes(texts.body, notes) };
    }
    case "push": {
      const texts = { title: title(), body: optionalText(value, "body", proposalLimits.message) };
      if (place.head === null) throw new Refused("This run has no pull request to push to.");
      const { notes, ...patch } = await patchOf(place, allowed.push);
      checkPush(patch, place);
      const message = withNotes(texts.body ?? "", notes);
      return { kind, ...reason, title: texts.title, ...(message && { body: message }), ...patch };
    }
  }
}

function targetOf(value: Given, { number }: ProposalPlace): { readonly number?: number } {
  const given = value["number"] ?? undefined;
  if (given === undefined || given === number) return defined({ number });
  throw new Refused(
    number === undefined
      ? "`number` can't be given: this run has no issue or pull request."
      : `\`number\` must be ${number}, or be omitted: this run is about #${number}.`,
  );
}

function titleOf(value: Given): string {
  const title = requiredText(value, "title", proposalLimits.title);
  if (/\p{Cc}/u.test(title)) throw new Refused("`title` must be on one line.");
  return title.trim();
}

function namesOf(value: Given, name: string, allowed: readonly string[] | undefined): string[] {
  const given = value[name];
  const names = isList(given) ? given.filter((one) => typeof one === "string") : [];
  if (names.length === 0 || names.length !== (isList(given) ? given.length : 0))
    throw new Refused(`\`${name}\` must be a list of strings with at least one of them.`);
  if (names.length > proposalLimits.names)
    throw new Refused(`\`${name}\` has more than ${proposalLimits.names} elements.`);
  for (const one of names) {
    if (allowed?.includes(one) === false)
      throw new Refused(
        `${JSON.stringify(one)} is not allowed in \`${name}\`. Use: ${allowed.join(", ")}.`,
      );
    if (!/^[\w.-]{1,100}(?:\/[\w.-]{1,100})?$/.test(one) && allowed === undefined)
      throw new Refused(`${JSON.stringify(one)} is not a login or an org/team.`);
  }
  return [...new Set(names)];
}

/** Git and GitHub accept such a name, whatever its prefix. */
function branchOf(value: Given): string {
  const branch = requiredText(value, "branch", proposalLimits.branch);
  if (isBranch(branch)) return branch;
  throw new Refused(
    '`branch` must be made of letters, digits, "-", "_", "." and "/", and begin with a letter or digit.',
  );
}

/** Such a name is also safe as a part of an address. */
export function isBranch(name: string): boolean {
  return /^[A-Za-z0-9](?:[\w-]|[./](?![./]))*$/.test(name) && !/(?:\.lock|[./])$/.test(name);
}

interface Patch {
  readonly base: string;
  readonly files: readonly ProposedFile[];
}

/** The merge commit of a pull request has the changes of its base, too, which a push would bring along. */
function checkPush({ base, files }: Patch, { head }: ProposalPlace): void {
  if (head != null && base !== head)
    throw new Refused(
      `The checkout is at ${base}, and the head of the pull request is ${head}, so nothing can be pushed. Don't commit changes. The workflow has to check out the head (\`ref\` of actions/checkout).`,
    );
  const executable = executablesIn(files);
  if (executable.length > 0)
    throw new Refused(
      `A push can't make or keep files executable: ${listed(executable)}. Undo their changes, and call job_propose again.`,
    );
}

/** GitHub's API for signed commits stores every file without its executable bit. */
export function executablesIn(files: readonly ProposedFile[]): readonly ProposedFile[] {
  return files.filter(({ mode, content }) => mode === "100755" && content !== null);
}

/** `notes` name what a patch lacks. */
function withNotes(body: string, notes: readonly string[]): string {
  return [body, ...notes.map((note) => `> ${note}`)].filter((part) => part !== "").join("\n\n");
}

async function patchOf(
  { changed, hasSecret }: ProposalPlace,
  { paths }: { readonly paths?: readonly string[] } = {},
): Promise<Patch & { readonly notes: readonly string[] }> {
  const { base, files, notWritable, notes, largeFiles } = await changed().catch(
    (error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      throw new Refused(`Can't determine the changed files: ${why}`);
    },
  );
  if (files.length === 0)
    throw new Refused(
      [
        "There is nothing to propose: no file differs from the commit that is checked out. Don't commit changes.",
        ...notes,
      ].join(" "),
    );
  if (files.length > proposalLimits.files)
    throw new Refused(
      `${files.length} files have changed, and at most ${proposalLimits.files} can be proposed. Remove those that don't belong to the change.`,
    );
  const outside = files.filter(({ path }) => !isProposable(path, paths));
  if (outside.length > 0)
    throw new Refused(
      `These files have changed, and must not: ${listed(outside)}. Undo that, and call job_propose again.`,
    );
  for (const { path } of files) {
    const reason = notWritable?.(path);
    if (reason !== undefined)
      throw new Refused(
        `${JSON.stringify(path)} has changed, and no task may write it: ${reason}. Undo that, and call job_propose again.`,
      );
  }
  const large = files.filter(({ path, isDeleted }) => !isDeleted && largeFiles.includes(path));
  if (large.length > 0)
    throw new Refused(
      `Git LFS stores these files, and a proposal can't bring their content: ${listed(large)}. Undo their changes, and call job_propose again.`,
    );
  const odd = files.filter((file) => !isRegular(file));
  if (odd.length > 0)
    throw new Refused(
      `Only regular files of at most 5 MB, and 20 MB together, can be proposed, no links and submodules: ${listed(odd)}.`,
    );
  const proposed = files.map(proposedFile);
  const size = sizeOf(proposed);
  if (size > proposalLimits.characters)
    throw new Refused(
      `The changed files have ${size} characters (what is binary, a third more than bytes), and at most ${proposalLimits.characters} can be proposed.`,
    );
  const secret = proposed.find(({ content, path, encoding }) => {
    const bytes = encoding === "base64" ? Buffer.from(content ?? "", encoding) : undefined;
    // A token in a binary file is one, too.
    return [content ?? "", bytes?.toString("latin1") ?? ""].some((text) =>
      hasSecret(`${path}\n${text}`),
    );
  });
  if (secret !== undefined)
    throw new Refused(
      `${JSON.stringify(secret.path)} contains a secret of this run. Remove it, and call job_propose again.`,
    );
  return { base, files: proposed, notes };
}

export function notProposable(
  files: readonly ProposedFile[],
  paths: readonly string[] | undefined,
): string | undefined {
  const outside = files.filter(({ path }) => !isProposable(path, paths));
  if (outside.length > 0) return `it changes ${listed(outside)}, which it must not`;
  const isTooMuch =
    files.length > proposalLimits.files || sizeOf(files) > proposalLimits.characters;
  return isTooMuch ? "its files are too many, or too large" : undefined;
}

/** Files of workflows are only proposable if a glob names their folder. */
export function isProposable(path: string, paths: readonly string[] | undefined): boolean {
  const isWorkflow = /^\.github(?:\/|$)/i.test(path);
  const given = paths ?? ["**"];
  const globs = isWorkflow ? given.filter((glob) => /^!?\.github(?:\/|$)/i.test(glob)) : given;
  const parts = path.toLowerCase().split("/");
  if (parts.some((part) => ["", ".", "..", ".git"].includes(part))) return false;
  // `isAmong` takes everything if no glob includes anything.
  return globs.some((glob) => !glob.startsWith("!")) && isAmong(globs, path);
}

function sizeOf(files: readonly ProposedFile[]): number {
  return files.reduce((sum, { path, content }) => sum + path.length + (content?.length ?? 0), 0);
}

function isRegular({ mode, content, isDeleted }: ChangedInTree): boolean {
  return isDeleted ? true : (mode === "100644" || mode === "100755") && content !== undefined;
}

function proposedFile({ path, mode, content }: ChangedInTree): ProposedFile {
  const plain = { path, mode: mode === "100755" ? "100755" : "100644" } as const;
  if (content === undefined) return { ...plain, content: null, encoding: "utf-8" };
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
    return { ...plain, content: text, encoding: "utf-8" };
  } catch {
    const base64 = Buffer.from(content).toString("base64");
    return { ...plain, content: base64, encoding: "base64" };
  }
}

function listed(files: readonly { readonly path: string }[]): string {
  return firstOf(
    files.map(({ path }) => JSON.stringify(path)),
    10,
  );
}
