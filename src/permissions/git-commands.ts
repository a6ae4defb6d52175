/** What is known of `git`: the harmless options of its subcommands, and of those before them. Data only. */
import { readArguments } from "./command-options.ts";
import type { Options } from "./command-options.ts";

/** Before the subcommand. */
const globals: Options = {
  short: "P",
  long:
    "no-pager no-optional-locks no-replace-objects literal-pathspecs glob-pathspecs noglob-pathspecs " +
    "icase-pathspecs version",
  risky: "C:c:p",
};
/** Known, but not harmless. */
const valuesOfGlobals = new Set(["--git-dir", "--work-tree", "--namespace", "--config-env"]);

// `-U` and `--unified` take a number only from their own word.
const diffShort = "puszU?B?M?C?DS:G:abwWRtl:";
const diffLong =
  "patch no-patch unified raw patch-with-raw patch-with-stat stat stat-width= compact-summary numstat " +
  "shortstat dirstat cumulative summary name-only name-status submodule color no-color color-moved " +
  "no-color-moved color-moved-ws= word-diff word-diff-regex= color-words no-renames find-renames " +
  "find-copies find-copies-harder break-rewrites irreversible-delete check ws-error-highlight= full-index " +
  "binary abbrev no-abbrev diff-filter= pickaxe-all pickaxe-regex relative no-relative text " +
  "ignore-cr-at-eol ignore-space-at-eol ignore-space-change ignore-all-space ignore-blank-lines " +
  "ignore-matching-lines= inter-hunk-context= function-context exit-code quiet no-ext-diff no-textconv " +
  "ignore-submodules src-prefix= dst-prefix= no-prefix default-prefix line-prefix= minimal patience " +
  "histogram diff-algorithm= anchored= indent-heuristic no-indent-heuristic merge-base";

const commitShort = "n:iEFPgcmq";
const commitLong =
  "max-count= skip= since= after= until= before= author= committer= grep= all-match invert-grep " +
  "regexp-ignore-case basic-regexp extended-regexp fixed-strings perl-regexp merges no-merges " +
  "min-parents= max-parents= first-parent not all branches tags remotes glob= exclude= reflog " +
  "walk-reflogs boundary simplify-by-decoration full-history dense sparse simplify-merges ancestry-path " +
  "date-order author-date-order topo-order reverse no-walk pretty format= abbrev-commit no-abbrev-commit " +
  "oneline encoding= notes no-notes relative-date date= parents children left-right " +
  "left-only right-only cherry-pick cherry-mark cherry graph no-graph count decorate no-decorate " +
  "decorate-refs= decorate-refs-exclude= source follow full-diff log-size mailmap no-mailmap use-mailmap " +
  "cc combined-all-paths show-pulls objects header timestamp";

const log: Options = {
  short: `${diffShort}${commitShort}L:`,
  long: `${diffLong} ${commitLong}`,
  numbers: true,
};

const subcommands: ReadonlyMap<string, Options> = new Map<string, Options>([
  ["log", log],
  ["show", log],
  ["whatchanged", log],
  ["rev-list", log],
  ["diff", { short: `${diffShort}q0123`, long: `${diffLong} cached staged base ours theirs cc` }],
  ["diff-tree", { short: `${diffShort}rcm`, long: `${diffLong} root no-commit-id cc pretty` }],
  ["diff-index", { short: `${diffShort}m`, long: `${diffLong} cached` }],
  ["range-diff", { short: diffShort, long: `${diffLong} creation-factor= no-dual-color` }],
  [
    "status",
    {
      short: "sbvzu?",
      long: "short branch show-stash porcelain long verbose untracked-files ignored ignore-submodules column no-column renames no-renames",
    },
  ],
  [
    "blame",
    {
      short: "L:wM?C?elsftnpbc",
      long: "porcelain line-porcelain incremental root show-stats score-debug show-name show-number show-email since= date= first-parent abbrev color-lines color-by-age minimal reverse progress no-progress",
    },
  ],
  [
    "grep",
    {
      short: "iIvwlLconhHEFGPpqWzaA:B:C:m:e:",
      long:
        "ignore-case invert-match word-regexp extended-regexp basic-regexp fixed-strings perl-regexp " +
        "line-number column files-with-matches name-only files-without-match only-matching count color " +
        "no-color break heading show-function context= after-context= before-context= function-context " +
        "max-depth= max-count= and or not all-match quiet text cached full-name recursive no-recursive null",
      numbers: true,
    },
  ],
  [
    "ls-files",
    {
      short: "cdmoiskutvz",
      long: "cached deleted modified others ignored stage killed unmerged exclude-standard full-name error-unmatch eol deduplicate directory abbrev",
    },
  ],
  ["ls-tree", { short: "drtlz", long: "long name-only name-status full-name full-tree abbrev" }],
  [
    "rev-parse",
    {
      short: "q",
      long: "verify quiet abbrev-ref short symbolic-full-name symbolic all branches tags remotes show-toplevel show-prefix show-cdup git-dir absolute-git-dir git-common-dir is-inside-work-tree is-bare-repository is-shallow-repository revs-only no-revs flags no-flags",
    },
  ],
  [
    "shortlog",
    { short: "nsec", long: "numbered summary email committer group= since= until= no-merges all" },
  ],
  [
    "describe",
    {
      long: "all tags contains abbrev candidates= exact-match match= exclude= always first-parent dirty broken long",
    },
  ],
  ["cat-file", { short: "tsep" }],
  ["merge-base", { short: "a", long: "all octopus independent is-ancestor fork-point" }],
  ["name-rev", { long: "tags refs= exclude= all name-only no-undefined always" }],
  ["show-ref", { short: "dsq", long: "head heads tags dereference hash verify abbrev quiet" }],
  [
    "for-each-ref",
    {
      long: "count= sort= format= points-at= merged no-merged contains no-contains ignore-case color",
    },
  ],
  ["cherry", { short: "v", long: "abbrev" }],
  ["count-objects", { short: "vH", long: "verbose human-readable" }],
  ["version", {}],
  [
    "branch",
    {
      short: "avrql",
      long: "all list remotes verbose show-current merged no-merged contains no-contains points-at= sort= format= column no-column color no-color quiet",
    },
  ],
  [
    "tag",
    {
      short: "lnam:",
      long: "list sort= format= contains no-contains merged no-merged points-at= annotate message= column no-column",
    },
  ],
  [
    "stash",
    {
      short: "pm:q",
      long: "patch message= keep-index stat name-only quiet index",
    },
  ],
  [
    "add",
    {
      short: "AuNnv",
      long: "all update intent-to-add dry-run verbose no-all refresh ignore-errors renormalize",
    },
  ],
  [
    "commit",
    {
      short: "am:sqvnu?",
      long: "all message= signoff quiet verbose amend no-edit allow-empty dry-run short author= date= only include status no-status",
    },
  ],
  [
    "checkout",
    {
      short: "b:B:qtdf",
      long: "quiet track no-track detach ours theirs force progress no-progress",
    },
  ],
  ["switch", { short: "c:C:dqt", long: "create= detach quiet track no-track guess no-guess" }],
  ["restore", { short: "s:SWq", long: "source= staged worktree quiet ours theirs" }],
  ["reset", { short: "q", long: "soft mixed hard keep quiet" }],
  ["rm", { short: "rnqf", long: "cached dry-run quiet force" }],
  ["mv", { short: "nkvf", long: "dry-run verbose force" }],
  [
    "merge",
    {
      short: "m:qn",
      long: "no-ff ff-only ff squash no-squash abort continue quit quiet no-edit stat no-stat",
    },
  ],
  ["rebase", { short: "q", long: "abort skip quit onto= quiet no-stat" }],
  ["cherry-pick", { short: "xn", long: "no-commit abort skip quit" }],
  ["revert", { short: "n", long: "no-edit no-commit abort skip quit" }],
  [
    "fetch",
    {
      short: "pqvtan",
      long: "all prune tags no-tags quiet verbose depth= deepen= unshallow dry-run append",
    },
  ],
  ["pull", { short: "qv", long: "ff-only no-rebase quiet verbose" }],
  ["push", { short: "unqv", long: "set-upstream dry-run quiet verbose tags follow-tags" }],
]);

export interface GitCommand {
  /** Its index. */
  readonly at: number;
  readonly name: string;
  /** Undefined: not known. */
  readonly options: Options | undefined;
  /** Indices of options before it that are not known to be harmless. */
  readonly unknown: readonly number[];
  /** Those of the harmless ones. */
  readonly harmless: readonly number[];
}

/** The subcommand of a command of git. Undefined when there is none. */
export function gitCommand(words: readonly string[]): GitCommand | undefined {
  const unknown: number[] = [];
  const harmless: number[] = [];
  for (let at = 1; at < words.length; at += 1) {
    const word = words[at] ?? "";
    if (!word.startsWith("-")) {
      return { at, name: word, options: subcommands.get(word), unknown, harmless };
    }
    if (readArguments(words.slice(at, at + 1), 0, globals).unknown.length === 0) {
      harmless.push(at);
      continue;
    }
    unknown.push(at);
    if (word === "-C" || word === "-c" || valuesOfGlobals.has(word)) at += 1;
  }
  return undefined;
}
