/**
 * A job as a graph to be drawn: tasks, and the points where the flow forks, joins or is decided.
 *
 * Every construct is built between the arrows that lead into it and those that lead out, so an `Alt`
 * or a `Loop` needs no node for its end: its open arrows go straight to whatever comes next.
 */
import type { Model, Work } from "./model.ts";

export type ChartHint =
  /** Where the job begins, and where it ends well. */
  | "start"
  | "end"
  | "task"
  /** All branches begin here, and all must have ended here. */
  | "fork"
  | "join"
  /** The outcome of the work before it chooses the arrow. */
  | "decision";

export interface ChartArrow {
  readonly to: number;
  /** The outcome that this arrow is for; absent for the only way on. */
  readonly label?: string;
}

export interface ChartNode {
  readonly id: number;
  readonly hint: ChartHint;
  readonly label: string;
  /** Of a task, and of nothing else. */
  readonly workIdInJob?: number;
  readonly arrows: readonly ChartArrow[];
}

/** The first node is the start; nodes are in reading order. */
export interface ChartGraph {
  /** In the order of the work tree, each with its arrows. */
  readonly nodes: readonly ChartNode[];
}

/** An arrow that waits for the node it leads to. */
interface OpenArrow {
  readonly from: number;
  readonly label?: string;
}

interface NodeInProgress extends ChartNode {
  readonly arrows: ChartArrow[];
}

/** The nodes and arrows of a work tree, for `renderMermaid` or a custom drawing. */
export function generateChartNodes(work: Work<number>): ChartGraph {
  const nodes: NodeInProgress[] = [];

  const connect = (arrows: readonly OpenArrow[], to: number): void => {
    for (const { from, label } of arrows) {
      nodes[from]?.arrows.push(label === undefined ? { to } : { to, label });
    }
  };
  const add = (
    hint: ChartHint,
    label: string,
    into: readonly OpenArrow[],
    workIdInJob?: number,
  ): OpenArrow => {
    const id = nodes.length;
    const node = { id, hint, label, arrows: [] };
    nodes.push(workIdInJob === undefined ? node : { ...node, workIdInJob });
    connect(into, id);
    return { from: id };
  };

  const decide = (
    question: string,
    into: readonly OpenArrow[],
  ): { readonly succeeded: OpenArrow; readonly failed: OpenArrow } => {
    const { from } = add("decision", question, into);
    return { succeeded: { from, label: "succeeded" }, failed: { from, label: "failed" } };
  };

  const draw = (part: Work<number>, into: readonly OpenArrow[]): readonly OpenArrow[] => {
    switch (part.kind) {
      case "Ref": {
        const label = part.taskId + modelLabel(part.modelOverride);
        return [add("task", label, into, part.workIdInJob)];
      }
      case "Seq":
        return part.works.reduce((arrows, one) => draw(one, arrows), into);
      case "Par": {
        const fork = add("fork", "in parallel", into);
        const ends = part.works.flatMap((one) => draw(one, [fork]));
        return [add("join", "all done", ends)];
      }
      case "Loop": {
        const { preCondition: before, body, postCondition: after, atMost } = part;
        const bound = atMost === undefined ? "" : ` (at most ${atMost})`;
        const first = nodes.length;
        let open = into;
        const out: OpenArrow[] = [];
        if (before !== undefined) {
          const outcomes = decide(
            `continue?${after === undefined ? bound : ""}`,
            draw(before[1], open),
          );
          open = [before[0] ? outcomes.succeeded : outcomes.failed];
          out.push(before[0] ? outcomes.failed : outcomes.succeeded);
        }
        open = draw(body, open);
        // What the loop begins with has been drawn by now.
        if (after !== undefined) {
          const outcomes = decide(`again?${bound}`, draw(after[1], open));
          connect([after[0] ? outcomes.succeeded : outcomes.failed], first);
          return [...out, after[0] ? outcomes.failed : outcomes.succeeded];
        }
        if (atMost === undefined) return [...out, ...open];
        if (before !== undefined) {
          connect(open, first);
          return out;
        }
        const { from } = add("decision", `${atMost} times`, open);
        connect([{ from, label: "not yet" }], first);
        return [{ from, label: "done" }];
      }
      case "Alt": {
        const { succeeded, failed } = decide("which?", draw(part.condition, into));
        return [
          ...(part.trueWork === undefined ? [succeeded] : draw(part.trueWork, [succeeded])),
          ...(part.falseWork === undefined ? [failed] : draw(part.falseWork, [failed])),
        ];
      }
    }
  };

  const start = add("start", "start", []);
  add("end", "end", draw(work, [start]));
  return { nodes };
}

function modelLabel(model: Model | undefined): string {
  if (model === undefined) return "";
  return ` (${"category" in model ? model.category : model.id})`;
}
