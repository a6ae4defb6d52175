import { defined } from "../../text/guards.ts";
import type { Locate, Path, Problem } from "../../document/diagnostic.ts";
import { toActivityName, type ActivityName } from "./names.ts";
import type { ConditionField } from "./fields.ts";
import type { NamedActivity, NamedTask, Place } from "./script.ts";
import { toCondition, type TextCondition } from "./text-condition.ts";

export interface ScriptPlace {
  readonly file: string;
  readonly locate: Locate;
  readonly codePath: (path: Path) => string;
}

export class Reading {
  readonly problems: Problem[] = [];
  readonly namedTasks: NamedTask[] = [];
  readonly namedActivities: NamedActivity[] = [];
  readonly #at: ScriptPlace;

  constructor(place: ScriptPlace) {
    this.#at = place;
  }

  placeOf(path: Path): Place {
    const { file, line, column, codePath } = this.#position(path);
    return `${codePath.replace(/^[a-z]+\.?/, "")} (${file}:${line}:${column})`;
  }

  problem(path: Path, reason: string, hint?: string): void {
    const codePath = this.#at.codePath(path);
    this.problems.push({ path, codePath, reason, ...defined({ hint }) });
  }

  condition(field: ConditionField, path: Path): TextCondition {
    const condition = toCondition(field);
    if (!("problem" in condition)) return condition;
    this.problem([...path, "matches"], condition.problem, condition.hint);
    return { contains: [], excludes: [] };
  }

  activity(text: string, path: Path): ActivityName {
    const activity = toActivityName(text);
    this.namedActivities.push({ activity, isAsk: false, at: this.#position(path) });
    return activity;
  }

  ask(id: string, path: Path): void {
    this.namedActivities.push({ activity: { id }, isAsk: true, at: this.#position(path) });
  }

  names(task: string, path: Path): void {
    this.namedTasks.push({ task, at: this.#position(path) });
  }

  #position(path: Path) {
    const { file, locate, codePath } = this.#at;
    return { file, ...locate(path), codePath: codePath(path) };
  }
}
