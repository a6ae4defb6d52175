/**
 * What the schema can't check: the whole document is sound, or nothing of it runs. All problems are collected.
 * The result is a plan: the actions in document order (those of thoughts first), with what each has to wait for.
 */
import { isText } from "../document/guards.ts";
import type { Path } from "../document/problem.ts";
import { ActionOrder } from "./action-order.ts";
import { type Catalogue, isParallelSafe, isReadOnly, type Target } from "./catalogue.ts";
import {
  type ActionDocument,
  type ActionSpec,
  type Execution,
  pointerOf,
  type ProblemCode,
  type ProtocolProblem,
} from "./model.ts";
import { checkTemplate, templateOf } from "./params.ts";
import { reject, type Rejected } from "./read-message.ts";
import { type FoundPart, isTemplate, referencesIn } from "./references.ts";
import { clipWords } from "../events/cut.ts";

const preflightLimits = { actions: 32, depth: 3 } as const;

export interface Known {
  readonly iteration: number;
  /** All actions must be read-only and SYNC, as those of thoughts. */
  readonly onlyReading?: boolean;
  hasTask(id: string): boolean;
  hasVariable(name: string): boolean;
}

export interface PlannedAction {
  readonly id: string;
  readonly spec: ActionSpec;
  readonly target: Target;
  readonly params: Readonly<Record<string, unknown>>;
  readonly execution: Execution;
  readonly inThought: boolean;
  /** Its params have references, or escapes of them. */
  readonly isTemplate: boolean;
  readonly group: number | undefined;
  /** Ids that must have succeeded, of this document or of an earlier one. */
  readonly requires: readonly string[];
  /** Indexes of actions of the plan that must have ended, in whatever way. */
  readonly after: readonly number[];
}

export type Preflight =
  { readonly kind: "planned"; readonly actions: readonly PlannedAction[] } | Rejected;

interface Draft extends Place {
  readonly index: number;
  readonly id: string;
  readonly target: Target | undefined;
  readonly requires: Set<string>;
  readonly after: Set<number>;
  /** The actions without members in it, or itself. */
  readonly leaves: number[];
}

type Report = (path: Path, code: ProblemCode, message: string) => void;

export function preflight(document: ActionDocument, catalogue: Catalogue, known: Known): Preflight {
  const problems: ProtocolProblem[] = [];
  const report: Report = (path, code, message) =>
    problems.push({ path: pointerOf(path), code, message });

  const { places, siblings } = flatten(document, report);
  // What follows takes time in the square of the number of actions.
  if (problems.length > 0) return reject(problems);

  const drafts = draftsOf(places, idsOf(places, known, report), catalogue, report);
  const order = new ActionOrder(drafts.map(({ group }) => group));
  const variables = document.context?.variables ?? {};
  const indexes = new Map(drafts.map(({ id }, index) => [id, index]));
  const scope: Scope = { known, variables, indexes, order, report };
  for (const draft of drafts) {
    const { depends_on: dependsOn = [] } = draft.spec;
    const place = [...draft.path, "depends_on"];
    for (const [nth, id] of [dependsOn].flat().entries())
      need(draft, id, isText(dependsOn) ? place : [...place, nth], "unknown_dependency", scope);
    if (draft.inThought) checkReading(draft, "Actions in thoughts", report);
    else if (known.onlyReading === true) checkReading(draft, "Actions while thinking", report);
    if (draft.target === undefined || draft.target.kind === "group") continue;
    const params = draft.spec.params ?? {};
    checkCall(draft.target, params, [...draft.path, "params"], catalogue, report);
    for (const found of referencesIn(templateOf(draft.target, params)))
      checkReference(draft, found, scope);
  }
  for (const [index, { id, path, spec }] of drafts.entries()) {
    if (!order.isCyclic(index)) continue;
    const message = `The action "${id}" waits for itself through what it depends on.`;
    const place = spec.depends_on === undefined ? path : [...path, "depends_on"];
    report(place, "cyclic_dependency", message);
  }
  if (problems.length === 0) orderThoughts(drafts, order, report);
  if (problems.length > 0) return reject(problems);
  for (const list of siblings) orderSiblings(list, drafts, order);

  return {
    kind: "planned",
    actions: drafts.map(
      ({ id, spec, target = { kind: "group" }, group, inThought, requires, after }) => ({
        id,
        spec,
        target,
        params: spec.params ?? {},
        execution: spec.execution ?? "SYNC",
        inThought,
        isTemplate: isTemplate(templateOf(target, spec.params ?? {})),
        group,
        requires: [...requires],
        after: [...after],
      }),
    ),
  };
}

function draftsOf(
  places: readonly Place[],
  ids: readonly string[],
  catalogue: Catalogue,
  report: Report,
): readonly Draft[] {
  const drafts = places.map((place, index): Draft => {
    const resolved = catalogue.resolve(place.spec);
    if (resolved.kind === "unknown")
      report([...place.path, "action"], resolved.code, resolved.message);
    return {
      ...place,
      index,
      id: ids[index] ?? "",
      target: resolved.kind === "resolved" ? resolved.target : undefined,
      requires: new Set(),
      after: new Set(),
      leaves: [],
    };
  });
  for (const [index, { spec }] of drafts.entries()) {
    if (spec.sub_actions !== undefined) continue;
    let at: number | undefined = index;
    for (; at !== undefined; at = drafts[at]?.group) drafts[at]?.leaves.push(index);
  }
  return drafts;
}

interface Scope {
  readonly known: Known;
  /** Those that the document sets; null deletes one. */
  readonly variables: Readonly<Record<string, unknown>>;
  readonly indexes: ReadonlyMap<string, number>;
  readonly order: ActionOrder;
  readonly report: Report;
}

/** The action waits for `id`, which `path` names. */
function need(
  draft: Draft,
  id: string,
  path: Path,
  code: ProblemCode,
  { known, indexes, order, report }: Scope,
): void {
  const producer = indexes.get(id);
  if (id === draft.id) {
    report(path, "self_dependency", `The action "${id}" can't depend on itself.`);
  } else if (producer !== undefined) {
    draft.requires.add(id);
    order.after(draft.index, producer);
  } else if (known.hasTask(id)) draft.requires.add(id);
  else report(path, code, `There is no action "${clipWords(id, 100)}".`);
}

function checkReference(draft: Draft, { path, part }: FoundPart, scope: Scope): void {
  const { known, variables, indexes, report } = scope;
  const place = [...draft.path, "params", ...path];
  if (part.kind === "invalid") return reportInvalid(place, part, report);
  const { root, name } = part.reference;
  if (root === "variables") {
    const isSet = Object.hasOwn(variables, name)
      ? variables[name] !== null
      : known.hasVariable(name);
    if (!isSet) report(place, "unknown_reference", `There is no variable for ${part.source}.`);
  } else if (root === "results" || indexes.has(name) || !known.hasTask(name)) {
    need(draft, name, place, "unknown_reference", scope);
  }
}

interface Place {
  readonly spec: ActionSpec;
  readonly path: Path;
  readonly group: number | undefined;
  readonly inThought: boolean;
}

/** All actions, and the indexes of those that are siblings. */
function flatten(
  document: ActionDocument,
  report: Report,
): { readonly places: readonly Place[]; readonly siblings: readonly (readonly number[])[] } {
  const places: Place[] = [];
  const siblings: number[][] = [];
  let tooDeep: Path | undefined;
  const add = (
    specs: readonly ActionSpec[],
    path: Path,
    list: number[],
    at: { readonly group: number | undefined; readonly depth: number; readonly inThought: boolean },
  ): void => {
    for (const [nth, spec] of specs.entries()) {
      const place = [...path, nth];
      const index = places.length;
      list.push(index);
      places.push({ spec, path: place, group: at.group, inThought: at.inThought });
      if (spec.sub_actions === undefined) continue;
      const members: number[] = [];
      siblings.push(members);
      const inside = [...place, "sub_actions"];
      if (at.depth >= preflightLimits.depth) tooDeep ??= inside;
      add(spec.sub_actions, inside, members, { ...at, group: index, depth: at.depth + 1 });
    }
  };
  const inThoughts: number[] = [];
  for (const [nth, { actions = [] }] of document.thoughts.entries()) {
    const path = ["thoughts", nth, "actions"];
    add(actions, path, inThoughts, { group: undefined, depth: 1, inThought: true });
  }
  const top: number[] = [];
  const outside = { group: undefined, depth: 1, inThought: false };
  add(document.actions ?? [], ["actions"], top, outside);
  siblings.push(inThoughts, top);
  if (tooDeep !== undefined) {
    report(tooDeep, "too_deep", `Actions can be nested at most ${preflightLimits.depth} deep.`);
  }
  if (places.length > preflightLimits.actions) {
    const message = `The document has ${places.length} actions. The maximum is ${preflightLimits.actions}.`;
    report(["actions"], "too_many_actions", message);
  }
  return { places, siblings };
}

function idsOf(places: readonly Place[], known: Known, report: Report): readonly string[] {
  const taken = new Set<string>();
  for (const { spec, path } of places) {
    const id = spec.action_id;
    if (id === undefined) continue;
    const place = [...path, "action_id"];
    if (id === "__proto__") report(place, "forbidden_name", `The id "__proto__" is not allowed.`);
    if (taken.has(id)) report(place, "duplicate_id", `The id "${id}" is used twice.`);
    taken.add(id);
  }
  return places.map(({ spec }, index) => {
    if (spec.action_id !== undefined) return spec.action_id;
    const made = (n: number): string => `i${known.iteration}-${n}`;
    let n = index + 1;
    while (taken.has(made(n)) || known.hasTask(made(n))) n += 1;
    taken.add(made(n));
    return made(n);
  });
}

function checkReading({ spec, path, target }: Draft, what: string, report: Report): void {
  if (spec.execution === "ASYNC") {
    report([...path, "execution"], "not_sync", `${what} must be SYNC.`);
  }
  if (target !== undefined && !isReadOnly(target, spec.params ?? {})) {
    report([...path, "action"], "not_read_only", `${what} must be read-only.`);
  }
}

function checkCall(
  target: Target,
  params: Readonly<Record<string, unknown>>,
  at: Path,
  catalogue: Catalogue,
  report: Report,
): void {
  for (const { path, reason } of checkTemplate(catalogue.check(target), target, params)) {
    report([...at, ...path], "invalid_params", reason);
  }
  if (target.kind === "delegate") {
    const { task } = params;
    if (typeof task !== "string" || task.includes("${{")) return;
    if (!target.delegation.tasks.includes(task)) {
      report([...at, "task"], "unknown_task", `There is no task "${clipWords(task, 100)}".`);
    }
  }
  if (target.kind === "trap_card" && isAction(params["action"])) {
    checkCard(params["action"], [...at, "action"], catalogue, report);
  }
}

/** The action of a card. Its references are replaced each time it runs. */
function checkCard(spec: ActionSpec, at: Path, catalogue: Catalogue, report: Report): void {
  if (spec.depends_on !== undefined || spec.sub_actions !== undefined) {
    report(at, "invalid_params", "The action of a card can't have dependencies or sub-actions.");
    return;
  }
  const resolved = catalogue.resolve(spec);
  if (resolved.kind === "unknown") {
    report([...at, "action"], resolved.code, resolved.message);
    return;
  }
  const { target } = resolved;
  const params = spec.params ?? {};
  if ((target.kind !== "tool" && target.kind !== "relic") || !isReadOnly(target, params)) {
    const message = "The action of a card must be a read-only tool or a relic.";
    report([...at, "action"], "not_read_only", message);
    return;
  }
  if (spec.execution === "ASYNC") {
    report([...at, "execution"], "not_sync", "The action of a card must be SYNC.");
  }
  checkCall(target, params, [...at, "params"], catalogue, report);
  for (const { path, part } of referencesIn(params)) {
    if (part.kind === "invalid") reportInvalid([...at, "params", ...path], part, report);
  }
}

/** The schema has checked all of it. */
export function isAction(value: unknown): value is ActionSpec {
  return typeof value === "object" && value !== null && "action" in value && "type" in value;
}

function reportInvalid(path: Path, part: FoundPart["part"], report: Report): void {
  const message = `${JSON.stringify(part.source)} is not a reference. Write $\${{ for a literal \${{.`;
  report(path, "invalid_reference", message);
}

/** The actions of thoughts run before all others. */
function orderThoughts(drafts: readonly Draft[], order: ActionOrder, report: Report): void {
  const top = [...drafts.entries()].filter(([, { group }]) => group === undefined);
  for (const [thought, { inThought, path }] of drafts.entries()) {
    if (!inThought) continue;
    if (drafts.some((action, index) => !action.inThought && order.isAfter(thought, index))) {
      const message =
        "An action in a thought can't depend on the actions that follow the thoughts.";
      report([...path, "depends_on"], "cyclic_dependency", message);
    }
  }
  for (const [earlier, thought] of top) {
    for (const [later, action] of top) {
      if (!thought.inThought || action.inThought) continue;
      order.after(later, earlier);
      action.after.add(earlier);
    }
  }
}

/**
 * Siblings run in document order, except where everything that is called is `parallelSafe`. An action in the
 * background holds back only further calls of its own tool. What an action depends on goes first in any case.
 */
function orderSiblings(
  list: readonly number[],
  drafts: readonly Draft[],
  order: ActionOrder,
): void {
  const draftAt = (index: number): Draft[] => drafts.slice(index, index + 1);
  const leavesOf = (index: number): readonly number[] => drafts[index]?.leaves ?? [];
  const targetOf = (leaf: number): Target => drafts[leaf]?.target ?? { kind: "group" };
  const follow = (later: number, earlier: number): void => {
    if (order.isAfter(earlier, later)) {
      // Said again, because what is between them may be skipped before both.
      for (const draft of draftAt(earlier)) draft.after.add(later);
      return;
    }
    order.after(later, earlier);
    for (const draft of draftAt(later)) draft.after.add(earlier);
  };
  for (const [nth, later] of list.entries()) {
    for (const earlier of list.slice(0, nth)) {
      const inBackground = drafts[earlier]?.spec.execution === "ASYNC";
      const both = [...leavesOf(earlier), ...leavesOf(later)];
      if (both.every((leaf) => isParallelSafe(targetOf(leaf)))) continue;
      for (const before of leavesOf(earlier)) {
        for (const after of leavesOf(later)) {
          if (!inBackground || isSameUnsafeTool(targetOf(before), targetOf(after))) {
            follow(after, before);
          }
        }
      }
    }
  }
}

function isSameUnsafeTool(a: Target, b: Target): boolean {
  return a.kind === "tool" && b.kind === "tool" && a.tool === b.tool && !isParallelSafe(a);
}
