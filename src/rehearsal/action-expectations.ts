/** The actions of a run, against what was expected of them. */
import type { ActionEnded, ActionStatus } from "../events/action.ts";
import type { RunEvent, WorkRef } from "../events/event.ts";
import type { ActionText, ExpectedAction, ExpectedLists } from "./format/script.ts";
import { describeCondition, mismatch, quote } from "./format/text-condition.ts";
import { ListedExpectations } from "./listed-expectations.ts";

type Fill = (template: string) => string;

interface FoundAction {
  readonly work: WorkRef;
  readonly id: string;
  readonly action: string;
  readonly document: number;
  status: ActionStatus;
  /** Absent: it has none. */
  readonly texts: { [name in ActionText]?: string };
}

/** How many ended actions of a run are kept, to show those that resemble an expected one. */
const KEPT = 200;
const SHOWN = 5;

export class ActionExpectations {
  readonly #listed: ListedExpectations<ExpectedAction, FoundAction>;
  /** Nothing is kept of a run whose actions nobody asks for. */
  readonly #isEmpty: boolean;
  readonly #open = new Map<string, FoundAction>();
  readonly #ended: FoundAction[] = [];
  readonly #fill: Fill;

  constructor(lists: ExpectedLists<ExpectedAction>, fill: Fill) {
    this.#fill = fill;
    this.#isEmpty = [lists.include, lists.sequence, lists.exclude].flat().length === 0;
    this.#listed = new ListedExpectations(lists, {
      noun: "action",
      fits: (item, found) => this.#distance(item, found) === 0,
      describe,
      show: (found) => show(found, []),
      instead: (item) => this.#instead(item),
    });
  }

  see(event: RunEvent): void {
    if (event.type !== "action" || this.#isEmpty) return;
    const { work, action } = event;
    switch (action.type) {
      case "action.waiting":
        this.#open.set(keyOf(work, action), {
          work,
          id: action.id,
          action: action.action,
          document: action.iteration,
          status: "waiting",
          texts: {},
        });
        break;
      case "action.started": {
        const found = this.#open.get(keyOf(work, action));
        if (found === undefined) break;
        found.status = "running";
        if (action.params !== undefined) found.texts.params = action.params;
        break;
      }
      case "action.ended":
        this.#end(work, action);
        break;
      default:
        break;
    }
  }

  failures(): string[] {
    return this.#listed.failures();
  }

  #end(work: WorkRef, ended: ActionEnded): void {
    const key = keyOf(work, ended);
    const found = this.#open.get(key);
    if (found === undefined) return;
    this.#open.delete(key);
    const { status, reason, output } = ended;
    found.status = status;
    if (reason !== undefined) found.texts.reason = reason;
    if (output !== undefined) found.texts.output = output;
    this.#listed.see(found);
    if (this.#ended.length < KEPT) this.#ended.push(found);
  }

  /** How far an action is from the expected one. */
  #distance(item: ExpectedAction, { work, texts, ...found }: FoundAction): number {
    const differ = (wanted: string | number | undefined, actual: string | number): boolean =>
      wanted !== undefined && wanted !== actual;
    const differences = [
      differ(item.status, found.status),
      differ(item.document, found.document),
      differ(item.task, work.taskId),
      differ(item.workId, work.workId),
      differ(item.iteration, work.iteration),
      ...item.texts.map(({ name, condition }) => {
        const text = texts[name];
        return text === undefined || mismatch(condition, text, this.#fill) !== undefined;
      }),
    ];
    const other = (differ(item.id, found.id) ? 4 : 0) + (differ(item.action, found.action) ? 2 : 0);
    return other + differences.filter((one) => one).length;
  }

  #instead(item: ExpectedAction): string {
    const found = [...this.#ended, ...this.#open.values()].toSorted(
      (a, b) => this.#distance(item, a) - this.#distance(item, b),
    );
    if (found.length === 0) return " There was none at all.";
    const names = item.texts.map(({ name }) => name);
    const shown = found.slice(0, SHOWN).map((one) => show(one, names));
    const more = found.length > SHOWN ? " and others" : "";
    return ` There was ${shown.join(", ")}${more}.`;
  }
}

/** An id occurs again where a later document repeats an action. */
function keyOf(
  { workId, taskId, iteration }: WorkRef,
  of: { id: string; iteration: number },
): string {
  return JSON.stringify([workId, taskId, iteration, of.iteration, of.id]);
}

const texted = {
  params: "params whose JSON",
  output: "an output that",
  reason: "a reason that",
} satisfies Record<ActionText, string>;

function describe(item: ExpectedAction): string {
  const { id, action, status, document, task, workId, iteration, texts } = item;
  const fields = { id, name: action, status, document, task, workId, iteration };
  const has = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`the ${name} ${typeof value === "string" ? quote(value) : value}`],
  );
  const having = texts.map(
    ({ name, condition }) => `${texted[name]} ${describeCondition(condition)}`,
  );
  return `has ${[...has, ...having].join(" and ")}`;
}

/** With its reason, and with the texts of these names. */
function show({ id, action, status, texts }: FoundAction, names: readonly ActionText[]): string {
  const shown = [...new Set<ActionText>(["reason", ...names])].flatMap((name) => {
    const text = texts[name];
    return text === undefined ? [] : [`${name} ${quote(text)}`];
  });
  return `${quote(id)} (${[action, status, ...shown].join(", ")})`;
}
