/** What works get from their job besides their task: values of runtime variables, and the environment of commands. */
import { promptText } from "../entry/prompt.ts";
import type { Prompt } from "../entry/model.ts";
import { runtimeVariable } from "../entry/runtime-variables.ts";
import type { WorkRef } from "../events/event.ts";
import { itemInPrompt, type Place } from "./items.ts";
import { JobData } from "./job-data.ts";
import type { RunSpec } from "./plan.ts";
import type { EnginePorts } from "./ports.ts";
import { commandVariables, type CommandContext } from "./run-command.ts";
import type { Scope } from "./scope.ts";
import { Variables, type ValueOf } from "./variables.ts";

export class JobValues {
  readonly #spec: RunSpec;
  readonly #ports: EnginePorts;
  readonly data = new JobData();

  constructor(spec: RunSpec, ports: EnginePorts) {
    this.#spec = spec;
    this.#ports = ports;
  }

  /** The one place where runtime variables get values that the task itself doesn't set. */
  readonly valueOf =
    (work: WorkRef): ValueOf =>
    (name) => {
      const { item, itemIndex } = work;
      if (name === "item") return item === undefined ? undefined : itemInPrompt(item);
      if (name === "item-index") return itemIndex?.toString();
      const variable = runtimeVariable(name);
      if (variable?.kind === "report") return this.data.reportForPrompt(variable.of, work);
      if (variable?.kind === "result") return this.data.resultForPrompt(variable.of, work);
      if (variable?.kind === "findings") return this.data.findingsForPrompt(variable.of, work);
      const { values = {} } = this.#spec;
      return Object.hasOwn(values, name) ? values[name] : undefined;
    };

  readonly onMissing =
    (work: WorkRef) =>
    (name: string): void =>
      this.#ports.emit({ type: "decision", work, decision: { kind: "variable-missing", name } });

  /** The text that an `Each` takes its lines from. Reports in it are as they are. */
  textOf(prompt: Prompt, place: Place): string {
    const { entry, userInput } = this.#spec;
    const reader = noWork(place);
    const valueOf = this.valueOf(reader);
    const ofJob: ValueOf = (name) => {
      const variable = runtimeVariable(name);
      return variable?.kind === "report"
        ? this.data.reportText(variable.of, reader)
        : valueOf(name);
    };
    const known = { userInput, taskModel: "", ofJob };
    return new Variables(entry, known).expand([promptText(prompt)]);
  }

  commandContext(work: WorkRef, scope: Scope): CommandContext {
    const { workspace, values = {} } = this.#spec;
    const { clock, emit } = this.#ports;
    return {
      workspace,
      clock,
      scope,
      label: work.taskId,
      variables: commandVariables(values, work),
      decide: (decision) =>
        emit({ type: "decision", work: work.taskId === "" ? null : work, decision }),
    };
  }
}

/** For what happens before a work begins. */
export function noWork({ items }: Place): WorkRef {
  return { workId: 0, taskId: "", iteration: 1, ...itemFields(items) };
}

export function itemFields(
  items: Place["items"],
): Pick<WorkRef, "item" | "itemIndex" | "outerItems"> {
  const own = items.at(-1);
  if (own === undefined) return {};
  const outer = items.slice(0, -1).map(({ text }) => text);
  const fields = { item: own.text, itemIndex: own.index };
  return outer.length === 0 ? fields : { ...fields, outerItems: outer };
}
