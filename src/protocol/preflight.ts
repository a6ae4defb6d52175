/** Checks what the schema can't. The plan has the actions in document order (those of thoughts first). */
import { isText } from "../text/guards.ts";
import type { Path } from "../document/diagnostic.ts";
import { truncateUnredacted } from "../text/truncate.ts";
import { type Catalogue, isParallelSafe, isReadOnly, type Target } from "./catalogue.ts";
import { documentLimits } from "./limits.ts";
import type { ActionDocument, ActionSpec } from "./message-schema.ts";
import { checkTemplate, type FoundPart, referencesIn, templateOf } from "./params.ts";
import {
  pointerOf,
  type ProblemCode,
  type ProtocolProblem,
  reject,
  type Rejected,
} from "./read-message.ts";

export interface Known {
  readonly iteration: number;
  readonly onlyReading?: boolean;
  hasTask(id: string): boolean;
  hasVariable(name: string): boolean;
}

interface Place {
  readonly spec: ActionSpec;
  readonly path: Path;
  readonly group: number | undefined;
  readonly inThought: boolean;
}

export interface PlannedAction extends Place {
  readonly index: number;
  readonly id: string;
  readonly target: Target;
  readonly requires: Set<string>;
  readonly after: Set<number>;
}

export type Preflight =
  { readonly kind: "planned"; readonly actions: readonly PlannedAction[] } | Rejected;

type Report = (path: Path, code: ProblemCode, message: string) => void;

export function preflight(document: ActionDocument, catalogue: Catalogue, known: Known): Preflight {
  const problems: ProtocolProblem[] = [];
  const report: Report = (path, code, message) =>
    problems.push({ path: pointerOf(path), code, message });
  const places = flatten(document, report);
  // The checks below take time in the square of the number of actions.
  if (problems.length > 0) return reject(problems);

  const ids = idsOf(places, known, report);
  const actions = places.map((place, index): PlannedAction => {
    const target = targetOf(place.spec, place.path, catalogue, report) ?? { kind: "group" };
    const id = ids[index] ?? "";
    return { ...place, index, id, target, requires: new Set(), after: new Set() };
  });
  const order = new ActionOrder(actions);
  const variables = document.context?.variables ?? {};
  const indexes = new Map(actions.map(({ id, index }) => [id, index]));
  const scope: Scope = { known, variables, indexes, order, report };
  for (const action of actions) {
    const { spec, path, target, inThought } = action;
    const { depends_on: dependsOn = [], params = {} } = spec;
    const place = [...path, "depends_on"];
    for (const [nth, id] of [dependsOn].flat().entries())
      need(action, id, isText(dependsOn) ? place : [...place, nth], "unknown_dependency", scope);
    if (inThought) checkReading(action, "Actions in thoughts", report);
    else if (known.onlyReading === true) checkReading(action, "Actions while thinking", report);
    if (target.kind === "group") continue;
    checkCall(target, params, [...path, "params"], catalogue, report);
    for (const found of referencesIn(templateOf(target, params)))
      checkReference(action, found, scope);
  }
  for (const { id, index, path, spec } of actions) {
    if (!order.isCyclic(index)) continue;
    const message = `The action "${id}" waits for itself through what it depends on.`;
    const place = spec.depends_on === undefined ? path : [...path, "depends_on"];
    report(place, "cyclic_dependency", message);
  }
  if (problems.length === 0) orderThoughts(actions, order, report);
  if (problems.length > 0) return reject(problems);
  orderSiblings(actions, order);
  return { kind: "planned", actions };
}

function targetOf(
  spec: ActionSpec,
  path: Path,
  catalogue: Catalogue,
  report: Report,
): Target | undefined {
  const target = catalogue.resolve(spec);
  if (target.kind !== "unknown") return target;
  report([...path, "action"], target.code, target.message);
  return undefined;
}

interface Scope {
  readonly known: Known;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly indexes: ReadonlyMap<string, number>;
  readonly order: ActionOrder;
  readonly report: Report;
}

function need(
  action: PlannedAction,
  id: string,
  path: Path,
  code: ProblemCode,
  { known, indexes, order, report }: Scope,
): void {
  const producer = indexes.get(id);
  if (id === action.id) {
    report(path, "self_dependency", `The action "${id}" can't depend on itself.`);
  } else if (producer !== undefined || known.hasTask(id)) {
    action.requires.add(id);
    if (producer !== undefined) order.after(action.index, producer);
  } else report(path, code, `There is no action "${truncateUnredacted(id, 100, "…")}".`);
}

function checkReference(action: PlannedAction, { path, part }: FoundPart, scope: Scope): void {
  const { known, variables, indexes, report } = scope;
  const place = [...action.path, "params", ...path];
  if (part.kind === "invalid") return reportInvalid(place, part, report);
  const { root, name } = part.reference;
  if (root === "variables") {
    const isSet = Object.hasOwn(variables, name)
      ? variables[name] !== null
      : known.hasVariable(name);
    if (!isSet) report(place, "unknown_reference", `There is no variable for ${part.source}.`);
  } else if (root === "results" || indexes.has(name) || !known.hasTask(name)) {
    need(action, name, place, "unknown_reference", scope);
  }
}

function flatten(document: ActionDocument, report: Report): readonly Place[] {
  const places: Place[] = [];
  let tooDeep: Path | undefined;
  const add = (
    specs: readonly ActionSpec[],
    path: Path,
    inThought: boolean,
    group?: number,
    depth = 1,
  ): void => {
    if (depth > documentLimits.depth && specs.length > 0) tooDeep ??= path;
    for (const [nth, spec] of specs.entries()) {
      const place = { spec, path: [...path, nth], group, inThought };
      const index = places.push(place) - 1;
      add(spec.sub_actions ?? [], [...place.path, "sub_actions"], inThought, index, depth + 1);
    }
  };
  for (const [nth, { actions = [] }] of document.thoughts.entries())
    add(actions, ["thoughts", nth, "actions"], true);
  add(document.actions ?? [], ["actions"], false);
  if (tooDeep !== undefined) {
    report(tooDeep, "too_deep", `Actions can be nested at most ${documentLimits.depth} deep.`);
  }
  if (places.length > documentLimits.actions) {
    const message = `The document has ${places.length} actions. The maximum is ${documentLimits.actions}.`;
    report(["actions"], "too_many_actions", message);
  }
  return places;
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

function checkReading(
  { spec, path, target }: Pick<PlannedAction, "spec" | "path" | "target">,
  what: string,
  report: Report,
): void {
  if (spec.execution === "ASYNC") {
    report([...path, "execution"], "not_sync", `${what} must be SYNC.`);
  }
  if (!isReadOnly(target, spec.params ?? {})) {
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
      report(
        [...at, "task"],
        "unknown_task",
        `There is no task "${truncateUnredacted(task, 100, "…")}".`,
      );
    }
  }
  if (target.kind === "trap_card" && isAction(params["action"])) {
    checkCard(params["action"], [...at, "action"], catalogue, report);
  }
}

function checkCard(spec: ActionSpec, at: Path, catalogue: Catalogue, report: Report): void {
  if (spec.depends_on !== undefined || spec.sub_actions !== undefined) {
    report(at, "invalid_params", "The action of a card can't have dependencies or sub-actions.");
    return;
  }
  const target = targetOf(spec, at, catalogue, report);
  if (target === undefined) return;
  const { params = {} } = spec;
  if (target.kind !== "tool" && target.kind !== "relic") {
    const message = "The action of a card must be a read-only tool or a relic.";
    report([...at, "action"], "not_read_only", message);
    return;
  }
  checkReading({ spec, path: at, target }, "The action of a card", report);
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

function orderThoughts(
  actions: readonly PlannedAction[],
  order: ActionOrder,
  report: Report,
): void {
  const others = actions.filter(({ inThought }) => !inThought);
  for (const { index: thought, group, path } of actions.filter(({ inThought }) => inThought)) {
    if (others.some(({ index }) => order.isAfter(thought, index))) {
      const message =
        "An action in a thought can't depend on the actions that follow the thoughts.";
      report([...path, "depends_on"], "cyclic_dependency", message);
    }
    if (group !== undefined) continue;
    for (const action of others) if (action.group === undefined) order.wait(action, thought);
  }
}

/** In document order unless all is `parallelSafe`. In the background, only calls of the same tool are held back. */
function orderSiblings(actions: readonly PlannedAction[], order: ActionOrder): void {
  const leaves = actions.filter(({ spec }) => spec.sub_actions === undefined);
  const around = (action: PlannedAction): readonly PlannedAction[] => {
    const group = action.group === undefined ? undefined : actions[action.group];
    return group === undefined ? [action] : [action, ...around(group)];
  };
  const isSafe = (one: PlannedAction): boolean =>
    leaves.every((leaf) => isParallelSafe(leaf.target) || !around(leaf).includes(one));
  for (const [nth, after] of leaves.entries()) {
    for (const before of leaves.slice(0, nth)) {
      if (before.inThought !== after.inThought) continue;
      const outer = around(after);
      const earlier = around(before).find(({ group }) => outer.some((one) => one.group === group));
      const later = outer.find(({ group }) => group === earlier?.group);
      if (earlier === undefined || later === undefined) continue;
      if (isSafe(earlier) && isSafe(later)) continue;
      const inBackground = earlier.spec.execution === "ASYNC";
      if (inBackground && !isSameUnsafeTool(before.target, after.target)) continue;
      // Said again where it is known, because what is between them may be skipped before both.
      if (order.isAfter(before.index, after.index)) before.after.add(after.index);
      else order.wait(after, before.index);
    }
  }
}

function isSameUnsafeTool(a: Target, b: Target): boolean {
  return a.kind === "tool" && b.kind === "tool" && a.tool === b.tool && !isParallelSafe(a);
}

/** Edges mean "not before": from the end of a producer to the start of its consumer; a group is around its members. */
class ActionOrder {
  /** Node 2i is the start of action i, 2i + 1 its end. */
  readonly #next: readonly number[][];

  constructor(places: readonly Place[]) {
    this.#next = places.flatMap((_, action) => [[2 * action + 1], []]);
    for (const [member, { group }] of places.entries()) {
      if (group === undefined) continue;
      this.#next[2 * group]?.push(2 * member);
      this.#next[2 * member + 1]?.push(2 * group + 1);
    }
  }

  after(later: number, earlier: number): void {
    this.#next[2 * earlier + 1]?.push(2 * later);
  }

  wait(later: PlannedAction, earlier: number): void {
    later.after.add(earlier);
    this.after(later.index, earlier);
  }

  isAfter(later: number, earlier: number): boolean {
    return this.#reaches(2 * earlier + 1, 2 * later);
  }

  isCyclic(action: number): boolean {
    const start = 2 * action;
    return (this.#next[start] ?? []).some((next) => this.#reaches(next, start));
  }

  #reaches(from: number, to: number): boolean {
    const seen = new Set([from]);
    for (const node of seen) {
      if (node === to) return true;
      for (const next of this.#next[node] ?? []) seen.add(next);
    }
    return false;
  }
}
