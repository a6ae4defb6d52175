/** A job as a graph. Every construct but a Seq has a node for its end, so each part has one way in and one out. */
import { defined } from "../text/guards.ts";
import type { Model, Work } from "./model.ts";
import { isLeaf, itemsText, leafName } from "./work.ts";

export type ChartHint =
  /** With the work's `workIdInJob`. A `CondNode` is a task that belongs to the condition of an Alt or a Loop. */
  | readonly ["TaskNode" | "CondNode", number]
  /** All branches begin at the first, and all must have ended at the second. */
  | "ParBegin"
  | "ParEnd"
  /** Around the nodes of a condition. The arrows of `CondEnd` are labeled with the outcomes. */
  | "CondBegin"
  | "CondEnd"
  | "LoopEnd"
  | "AltEnd";

export interface ChartArrow {
  readonly to: number;
  /** It leads back to where a loop begins. */
  readonly loopBack: boolean;
  /** The outcome that this arrow is for; absent for the only way on. */
  readonly label?: string;
}

export interface ChartNode {
  readonly id: number;
  readonly hint: ChartHint;
  readonly label?: string;
  /** Absent at the end of the job. */
  readonly arrows?: readonly ChartArrow[];
}

/** The first node is where the job begins; nodes are in reading order. */
export interface ChartGraph {
  /** In the order of the work tree, each with its arrows. */
  readonly nodes: readonly ChartNode[];
}

interface NodeInProgress extends ChartNode {
  arrows?: ChartArrow[];
}

interface Drawn {
  readonly first: number;
  readonly last: number;
}

/** The nodes and arrows of a work tree, for `renderMermaid` or a custom drawing. */
export function generateChartNodes(work: Work<number>): ChartGraph {
  const nodes: NodeInProgress[] = [];

  const add = (hint: ChartHint, label?: string): number => {
    const id = nodes.length;
    nodes.push({ id, hint, ...defined({ label }) });
    return id;
  };
  const connect = (from: number, to: number, label?: string): void => {
    const arrow = { to, loopBack: to <= from, ...defined({ label }) };
    const node = nodes[from];
    if (node !== undefined) node.arrows = [...(node.arrows ?? []), arrow];
  };

  /** A condition; without a work, the end of a loop that only counts. */
  const decide = (question: string, condition?: Work<number>): Drawn => {
    const first = add("CondBegin");
    const inside = condition && draw(condition, true);
    const last = add("CondEnd", question);
    connect(first, inside?.first ?? last);
    if (inside !== undefined) connect(inside.last, last);
    return { first, last };
  };

  const draw = (part: Work<number>, inCondition: boolean): Drawn => {
    if (isLeaf(part)) {
      const kind = inCondition ? "CondNode" : "TaskNode";
      const model = part.kind === "Ref" ? modelLabel(part.modelOverride) : "";
      const id = add([kind, part.workIdInJob], leafName(part) + model);
      return { first: id, last: id };
    }
    switch (part.kind) {
      case "Each": {
        const first = add("ParBegin", `for each ${itemsText(part)}`);
        const inside = draw(part.work, inCondition);
        const last = add("ParEnd", "all items done");
        connect(first, inside.first);
        connect(inside.last, last);
        return { first, last };
      }
      case "Seq": {
        const [head, ...others] = part.works.map((one) => draw(one, inCondition));
        // No entry has one, but a caller may make one.
        if (head === undefined) return draw({ kind: "Par", works: [] }, inCondition);
        let { last } = head;
        for (const next of others) {
          connect(last, next.first);
          last = next.last;
        }
        return { first: head.first, last };
      }
      case "Par": {
        const first = add("ParBegin", "in parallel");
        const branches = part.works.map((one) => draw(one, inCondition));
        const last = add("ParEnd", "all done");
        if (branches.length === 0) connect(first, last);
        for (const branch of branches) {
          connect(first, branch.first);
          connect(branch.last, last);
        }
        return { first, last };
      }
      case "Loop":
        return drawLoop(part, inCondition);
      case "Alt": {
        const condition = decide("which?", part.condition);
        const branches = [
          { label: "succeeded", work: part.trueWork },
          { label: "failed", work: part.falseWork },
        ].map(({ label, work: branch }) => ({ label, drawn: branch && draw(branch, inCondition) }));
        const last = add("AltEnd");
        for (const { label, drawn } of branches) {
          connect(condition.last, drawn?.first ?? last, label);
          if (drawn !== undefined) connect(drawn.last, last);
        }
        return { first: condition.first, last };
      }
    }
  };

  const drawLoop = (loop: Extract<Work<number>, { kind: "Loop" }>, inside: boolean): Drawn => {
    const { preCondition: before, body, postCondition: after, atMost } = loop;
    const bound = atMost === undefined ? "" : ` (at most ${atMost})`;
    const outcomes = (repeats: boolean): readonly [string, string] =>
      repeats ? ["succeeded", "failed"] : ["failed", "succeeded"];

    const enter = before && decide(`continue?${after === undefined ? bound : ""}`, before[1]);
    const drawn = draw(body, inside);
    const again =
      after !== undefined
        ? decide(`again?${bound}`, after[1])
        : atMost !== undefined && before === undefined
          ? decide(atMost === 1 ? "once" : `${atMost} times`)
          : undefined;
    const last = add("LoopEnd");
    const first = enter?.first ?? drawn.first;
    if (enter !== undefined && before !== undefined) {
      const [repeats, leave] = outcomes(before[0]);
      connect(enter.last, drawn.first, repeats);
      connect(enter.last, last, leave);
    }
    connect(drawn.last, again?.first ?? (atMost === undefined ? last : first));
    if (again !== undefined) {
      const [repeats, leave] = after === undefined ? ["not yet", "done"] : outcomes(after[0]);
      connect(again.last, first, repeats);
      connect(again.last, last, leave);
    }
    return { first, last };
  };

  draw(work, false);
  return { nodes };
}

function modelLabel(model: Model | undefined): string {
  if (model === undefined) return "";
  return ` (${"category" in model ? model.category : model.id})`;
}
