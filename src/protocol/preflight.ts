/** Checks what the schema can't. The plan has the actions in document order (those of thoughts first). */
import { isText } from "../text/guards.ts";
import type { Path } from "../document/diagnostic.ts";
import { truncateUnredacted } from "../text/truncate.ts";
import { type Catalogue, group, type Params, type Target } from "./catalogue.ts";
import {
  type ActionDocument,
  type ActionSpec,
  documentLimits,
  pointerOf,
  type ProblemCode,
  type ProtocolProblem,
  reject,
  type Rejected,
} from "./read-message.ts";
import { checkTemplate, type FoundPart, referencesIn, templateOf } from "./params.ts";

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
  /** Ids of actions that must have succeeded before. */
  readonly requires: Set<string>;
  /** Indexes of actions that must have ended before. */
  readonly after: Set<number>;
}

export type Preflight =
  { readonly kind: "planned"; readonly actions: readonly PlannedAction[] } | Rejected;

export function preflight(document: ActionDocument, catalogue: Catalogue, known: Known): Preflight {
  return new Planner(document, catalogue, known).plan();
}

class Planner {
  readonly #document: ActionDocument;
  readonly #catalogue: Catalogue;
  readonly #known: Known;
  readonly #problems: ProtocolProblem[] = [];
  #actions: readonly PlannedAction[] = [];
  #indexes: ReadonlyMap<string, number> = new Map();
  #order = new ActionOrder([]);

  constructor(document: ActionDocument, catalogue: Catalogue, known: Known) {
    this.#document = document;
    this.#catalogue = catalogue;
    this.#known = known;
  }

  plan(): Preflight {
    const places = this.#flatten();
    // The checks below take time in the square of the number of actions.
    if (this.#problems.length > 0) return reject(this.#problems);
    const ids = this.#idsOf(places);
    this.#actions = places.map((place, index) => {
      const target = this.#target(place.spec, place.path) ?? group;
      const id = ids[index] ?? "";
      return { ...place, index, id, target, requires: new Set(), after: new Set() };
    });
    this.#indexes = new Map(ids.map((id, index) => [id, index]));
    this.#order = new ActionOrder(places);
    for (const action of this.#actions) this.#check(action);
    for (const { id, index, path, spec } of this.#actions) {
      if (!this.#order.isCyclic(index)) continue;
      const message = `The action "${id}" waits for itself through what it depends on.`;
      const place = spec.depends_on === undefined ? path : [...path, "depends_on"];
      this.#report(place, "cyclic_dependency", message);
    }
    if (this.#problems.length === 0) this.#orderThoughts();
    if (this.#problems.length > 0) return reject(this.#problems);
    this.#orderSiblings();
    return { kind: "planned", actions: this.#actions };
  }

  #report(path: Path, code: ProblemCode, message: string): void {
    this.#problems.push({ path: pointerOf(path), code, message });
  }

  #flatten(): readonly Place[] {
    const places: Place[] = [];
    const { actions: most, depth: deepest } = documentLimits;
    let tooDeep: Path | undefined;
    const add = (
      specs: readonly ActionSpec[],
      path: Path,
      inThought: boolean,
      around?: number,
      depth = 1,
    ): void => {
      if (depth > deepest && specs.length > 0) tooDeep ??= path;
      for (const [nth, spec] of specs.entries()) {
        const place = { spec, path: [...path, nth], group: around, inThought };
        const index = places.push(place) - 1;
        add(spec.sub_actions ?? [], [...place.path, "sub_actions"], inThought, index, depth + 1);
      }
    };
    for (const [nth, { actions = [] }] of this.#document.thoughts.entries())
      add(actions, ["thoughts", nth, "actions"], true);
    add(this.#document.actions ?? [], ["actions"], false);
    if (tooDeep !== undefined)
      this.#report(tooDeep, "too_deep", `Actions can be nested at most ${deepest} deep.`);
    if (places.length > most) {
      const message = `The document has ${places.length} actions. The maximum is ${most}.`;
      this.#report(["actions"], "too_many_actions", message);
    }
    return places;
  }

  #idsOf(places: readonly Place[]): readonly string[] {
    const known = this.#known;
    const taken = new Set<string>();
    for (const { spec, path } of places) {
      const id = spec.action_id;
      if (id === undefined) continue;
      const place = [...path, "action_id"];
      if (id === "__proto__")
        this.#report(place, "forbidden_name", `The id "__proto__" is not allowed.`);
      if (taken.has(id)) this.#report(place, "duplicate_id", `The id "${id}" is used twice.`);
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

  #target(spec: ActionSpec, path: Path): Target | undefined {
    const target = this.#catalogue.resolve(spec);
    if (target.kind !== "unknown") return target;
    this.#report([...path, "action"], target.code, target.message);
    return undefined;
  }

  #check(action: PlannedAction): void {
    const { spec, path, target, inThought } = action;
    const { depends_on: dependsOn = [], params = {} } = spec;
    const place = [...path, "depends_on"];
    for (const [nth, id] of [dependsOn].flat().entries())
      this.#need(action, id, isText(dependsOn) ? place : [...place, nth], "unknown_dependency");
    if (inThought) this.#checkReading(action, "Actions in thoughts");
    else if (this.#known.onlyReading === true) this.#checkReading(action, "Actions while thinking");
    if (target.kind === "group") return;
    this.#checkCall(target, params, [...path, "params"]);
    for (const found of referencesIn(templateOf(target, params)))
      this.#checkReference(action, found);
  }

  #need(action: PlannedAction, id: string, path: Path, code: ProblemCode): void {
    const producer = this.#indexes.get(id);
    if (id === action.id)
      this.#report(path, "self_dependency", `The action "${id}" can't depend on itself.`);
    else if (producer !== undefined || this.#known.hasTask(id)) {
      action.requires.add(id);
      if (producer !== undefined) this.#order.after(action.index, producer);
    } else this.#report(path, code, `There is no action "${truncateUnredacted(id, 100, "…")}".`);
  }

  #checkReference(action: PlannedAction, { path, part }: FoundPart): void {
    const place = [...action.path, "params", ...path];
    if (part.kind === "invalid") return this.#reportInvalid(place, part);
    const { root, name } = part.reference;
    if (root === "variables") {
      const set = this.#document.context?.variables ?? {};
      const isSet = Object.hasOwn(set, name) ? set[name] !== null : this.#known.hasVariable(name);
      if (!isSet)
        this.#report(place, "unknown_reference", `There is no variable for ${part.source}.`);
    } else if (root === "results" || this.#indexes.has(name) || !this.#known.hasTask(name))
      this.#need(action, name, place, "unknown_reference");
  }

  #reportInvalid(path: Path, { source }: FoundPart["part"]): void {
    const message = `${JSON.stringify(source)} is not a reference. Write $\${{ for a literal \${{.`;
    this.#report(path, "invalid_reference", message);
  }

  #checkReading(
    { spec, path, target }: Pick<PlannedAction, "spec" | "path" | "target">,
    what: string,
  ): void {
    if (spec.execution === "ASYNC")
      this.#report([...path, "execution"], "not_sync", `${what} must be SYNC.`);
    if (!target.isReadOnly(spec.params ?? {}))
      this.#report([...path, "action"], "not_read_only", `${what} must be read-only.`);
  }

  #checkCall(target: Target, params: Params, at: Path): void {
    for (const { path, reason } of checkTemplate(target, params))
      this.#report([...at, ...path], "invalid_params", reason);
    const { task, action: card } = params;
    const { tasks } = target;
    if (tasks !== undefined && isText(task) && !task.includes("${{") && !tasks.includes(task)) {
      const message = `There is no task "${truncateUnredacted(task, 100, "…")}".`;
      this.#report([...at, "task"], "unknown_task", message);
    }
    if (target.kind === "trap_card" && isAction(card)) this.#checkCard(card, [...at, "action"]);
  }

  #checkCard(spec: ActionSpec, path: Path): void {
    if (spec.depends_on !== undefined || spec.sub_actions !== undefined) {
      const message = "The action of a card can't have dependencies or sub-actions.";
      return this.#report(path, "invalid_params", message);
    }
    const target = this.#target(spec, path);
    if (target === undefined) return;
    if (target.kind !== "tool" && target.kind !== "relic") {
      const message = "The action of a card must be a read-only tool or a relic.";
      return this.#report([...path, "action"], "not_read_only", message);
    }
    const { params = {} } = spec;
    const at = [...path, "params"];
    this.#checkReading({ spec, path, target }, "The action of a card");
    this.#checkCall(target, params, at);
    for (const { path: place, part } of referencesIn(params))
      if (part.kind === "invalid") this.#reportInvalid([...at, ...place], part);
  }

  #orderThoughts(): void {
    const others = this.#actions.filter(({ inThought }) => !inThought);
    for (const { index: thought, group: around, inThought, path } of this.#actions) {
      if (!inThought) continue;
      if (others.some(({ index }) => this.#order.isAfter(thought, index))) {
        const message =
          "An action in a thought can't depend on the actions that follow the thoughts.";
        this.#report([...path, "depends_on"], "cyclic_dependency", message);
      }
      if (around !== undefined) continue;
      for (const action of others)
        if (action.group === undefined) this.#order.wait(action, thought);
    }
  }

  /** In document order unless all is `parallelSafe`. In the background, only calls of the same tool are held back. */
  #orderSiblings(): void {
    const leaves = this.#actions.filter(({ spec }) => spec.sub_actions === undefined);
    /** The groups around an action, the outermost first, and itself. */
    const chainOf = (action: PlannedAction): readonly PlannedAction[] => {
      const around = action.group === undefined ? undefined : this.#actions[action.group];
      return around === undefined ? [action] : [...chainOf(around), action];
    };
    const isSafe = (one: PlannedAction): boolean =>
      leaves.every((leaf) => leaf.target.isParallelSafe || !chainOf(leaf).includes(one));
    for (const [nth, after] of leaves.entries()) {
      for (const before of leaves.slice(0, nth)) {
        if (before.inThought !== after.inThought) continue;
        const chain = chainOf(after);
        const fork = chainOf(before).findIndex((one, depth) => one !== chain[depth]);
        const [earlier, later] = [chainOf(before)[fork], chain[fork]];
        if (earlier === undefined || later === undefined) continue;
        if (isSafe(earlier) && isSafe(later)) continue;
        const isSameUnsafe = before.target === after.target && !after.target.isParallelSafe;
        if (earlier.spec.execution === "ASYNC" && !isSameUnsafe) continue;
        // Said again where it is known, because what is between them may be skipped before both.
        if (this.#order.isAfter(before.index, after.index)) before.after.add(after.index);
        else this.#order.wait(after, before.index);
      }
    }
  }
}

/** The schema has checked all of it. */
export function isAction(value: unknown): value is ActionSpec {
  return typeof value === "object" && value !== null && "action" in value && "type" in value;
}

/** Edges mean "not before": from the end of a producer to the start of its consumer; a group is around its members. */
class ActionOrder {
  /** Node 2i is the start of action i, 2i + 1 its end. */
  readonly #next: readonly number[][];

  constructor(places: readonly Place[]) {
    this.#next = places.flatMap((_, action) => [[2 * action + 1], []]);
    for (const [member, { group: around }] of places.entries()) {
      if (around === undefined) continue;
      this.#next[2 * around]?.push(2 * member);
      this.#next[2 * member + 1]?.push(2 * around + 1);
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
