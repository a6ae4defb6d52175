import type { FlowChart } from "../../events/flow.ts";
import type { RunEvent, StepStarted } from "../../events/event.ts";
import { plannedWorks } from "../../events/plan.ts";
import { activityName } from "../format/names.ts";
import type { RehearsalFile } from "../format/rehearsal-schema.ts";

/** The run of an activity that a turn belongs to. `activity`: as a rehearsal names it. */
export interface RecordedStep {
  readonly activity: string;
  readonly hit: number;
}

interface RecordedWorkflow {
  readonly chart: FlowChart;
  /** The open steps of the current iteration; the last one is running. */
  readonly open: StepStarted[];
  path: string[];
  asked: Map<string, string[]>;
}

export class RecordedWorkflows {
  readonly #works = new Map<number, RecordedWorkflow>();
  /** Answers of all runs of workflows; workflows that ask the same get the same answers. */
  readonly #answers = new Map<string, readonly string[]>();
  #params: Readonly<Record<string, string>> = {};

  report(event: RunEvent): void {
    if (event.type === "run.started") {
      if (event.work.kind === "Flow") this.#params = event.work.params;
      for (const { workId, chart } of plannedWorks(event.work)) {
        if (chart !== undefined) this.#works.set(workId, { chart, ...nothing() });
      }
      return;
    }
    const work =
      "work" in event && event.work !== null ? this.#works.get(event.work.workId) : undefined;
    if (work === undefined) return;
    if (event.type === "work.started") Object.assign(work, nothing());
    if (event.type === "step.started") {
      work.open.push(event);
      work.path.push(nameIn(work, event));
    }
    if (event.type === "step.ended") {
      const started = work.open.pop();
      if (started?.input?.kind !== "ask") return;
      for (const effect of event.effects ?? []) {
        if (effect.kind === "answered") this.#answer(work, started.activity, effect.text);
      }
    }
  }

  step(workId: number): RecordedStep | undefined {
    const work = this.#works.get(workId);
    const step = work?.open.at(-1);
    if (work === undefined || step === undefined) return undefined;
    return { activity: nameIn(work, step), hit: step.hit };
  }

  params(): RehearsalFile["params"] {
    return Object.keys(this.#params).length === 0 ? undefined : this.#params;
  }

  answers(): RehearsalFile["answers"] {
    return this.#answers.size === 0 ? undefined : Object.fromEntries(this.#answers);
  }

  /** Undefined if the job has not one workflow, or if that one did not run. */
  path(): readonly string[] | undefined {
    const [work, ...others] = this.#works.values();
    return others.length > 0 || work?.path.length === 0 ? undefined : work?.path;
  }

  #answer({ asked }: RecordedWorkflow, id: string, text: string): void {
    const texts = [...(asked.get(id) ?? []), text];
    asked.set(id, texts);
    if (texts.length > (this.#answers.get(id)?.length ?? 0)) this.#answers.set(id, texts);
  }
}

function nothing(): Omit<RecordedWorkflow, "chart"> {
  return { open: [], path: [], asked: new Map() };
}

function nameIn({ chart }: RecordedWorkflow, { activity, file }: StepStarted): string {
  return activityName({ id: activity, file }, chart.main, Object.keys(chart.files));
}
