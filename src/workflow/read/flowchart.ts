/** The text of a Mermaid flowchart as nodes and edges. Knows the grammar, not what nodes mean. */
import {
  type FlowFault,
  type FlowLabel,
  FlowScanner,
  FlowchartError,
  type Link,
  wordPattern,
} from "./flowchart-scanner.ts";

export interface FlowNode {
  readonly id: string;
  /** The place of the mention that counts: the last with a label, else the first. */
  readonly offset: number;
  /** The label, if one was given anywhere. The last one counts, as it does for Mermaid. */
  readonly label?: FlowLabel;
  readonly shape?: string;
}

export interface FlowEdge {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  readonly offset: number;
}

export interface Flowchart {
  /** False for another kind of diagram, which is not read. */
  readonly isFlowchart: boolean;
  readonly nodes: ReadonlyMap<string, FlowNode>;
  readonly edges: readonly FlowEdge[];
  /** The ends of links without an arrow head, which attach comments. */
  readonly attached: ReadonlySet<string>;
  readonly subgraphs: ReadonlySet<string>;
  readonly faults: readonly FlowFault[];
}

export function parseFlowchart(text: string): Flowchart {
  return new FlowchartParser(text).parse();
}

const idPattern = /[\p{L}\p{N}_](?:[\p{L}\p{N}_.]|-(?=[\p{L}\p{N}_]))*/uy;
const headerPattern =
  /(?:flowchart-elk|flowchart|graph)(?![\w-])[ \t]*(?:(?:TB|TD|BT|RL|LR)(?!\w)|[<>^v](?=[\s;]|$))?/y;
const statements: ReadonlySet<string> = new Set(
  "style classDef class linkStyle click direction accTitle accDescr".split(" "),
);

class FlowchartParser extends FlowScanner {
  readonly #nodes = new Map<string, FlowNode>();
  readonly #edges: FlowEdge[] = [];
  readonly #attached = new Set<string>();
  readonly #subgraphs = new Set<string>();
  readonly #open: number[] = [];
  readonly #faults: FlowFault[] = [];

  parse(): Flowchart {
    const isFlowchart = this.#header();
    if (isFlowchart) this.#statements();
    const ends = new Set(this.#edges.flatMap(({ from, to }) => [from, to]));
    for (const id of this.edgeIds) if (!ends.has(id)) this.#nodes.delete(id);
    for (const offset of this.#open)
      this.#faults.push({ offset, reason: "This subgraph has no `end`." });
    return {
      isFlowchart,
      nodes: this.#nodes,
      edges: this.#edges,
      attached: this.#attached,
      subgraphs: this.#subgraphs,
      faults: this.#faults,
    };
  }

  #statements(): void {
    while (this.skipBlank()) {
      try {
        this.#statement();
      } catch (error) {
        if (!(error instanceof FlowchartError)) throw error;
        const { offset } = error.fault;
        this.#faults.push(error.fault);
        // Whatever happens, reading advances.
        this.at = Math.max(this.at, offset);
        this.at = Math.max(this.lineEnd(), offset + 1);
      }
    }
  }

  #header(): boolean {
    const front = /^\s*---[ \t]*\n/.exec(this.text.slice(0, 10_000));
    if (front !== null) {
      const end = this.text.indexOf("\n---", front[0].length - 1);
      if (end !== -1) this.at = end + "\n---".length;
    }
    if (!this.skipBlank()) return false;
    return this.match(headerPattern) !== undefined;
  }

  #statement(): void {
    const start = this.at;
    const word = this.peek(wordPattern);
    const next = this.text.charAt(start + (word?.length ?? 0));
    const isWord = word !== undefined && /^[\s;:{]?$/.test(next);
    if (isWord && word === "subgraph") return this.#subgraph();
    if (isWord && word === "end" && next !== "{") {
      this.at += word.length;
      if (this.#open.pop() === undefined)
        throw this.fault(start, "There is no subgraph to end here.");
      return;
    }
    if (isWord && statements.has(word)) {
      this.at += word.length;
      const isBlock = word === "accDescr" && this.skipSpaces() === "{";
      if (isBlock && this.match(/[^}]*\}/y) !== undefined) return;
      return this.skipStatement();
    }
    this.#chain();
  }

  #subgraph(): void {
    this.#open.push(this.at);
    this.at += "subgraph".length;
    this.skipSpaces();
    const id = this.peek(idPattern);
    if (id !== undefined) this.#subgraphs.add(id);
    this.skipStatement();
  }

  /** `A & B --> C --> D` */
  #chain(): void {
    let from = this.#group();
    for (let link = this.link(); link !== undefined; link = this.link()) {
      this.skipBlank();
      const to = this.#group();
      this.#connect(from, link, to);
      from = to;
    }
    this.#endStatement();
  }

  #connect(from: readonly string[], link: Link, to: readonly string[]): void {
    const { offset, label } = link;
    if (!link.isArrow) {
      for (const id of [...from, ...to]) this.#attached.add(id);
      return;
    }
    const [first, ...others] = to;
    if (first === undefined) return;
    for (const id of from) this.#edges.push({ from: id, to: first, label, offset });
    // Not the product of both groups, which could be huge: one edge says that there are several.
    const other = others.find((id) => id !== first);
    const [source] = from;
    if (other !== undefined && source !== undefined) {
      this.#edges.push({ from: source, to: other, label, offset });
    }
  }

  /** `A & B` */
  #group(): readonly string[] {
    const ids = [this.#node()];
    for (;;) {
      const before = this.at;
      if (this.skipSpaces() !== "&") {
        this.at = before;
        return ids;
      }
      this.at += 1;
      this.skipBlank();
      ids.push(this.#node());
    }
  }

  #node(): string {
    const offset = this.at;
    const id = this.match(idPattern);
    if (id === undefined)
      throw this.fault(offset, `Expected the id of an activity, found ${this.found()}.`);
    const before = this.at;
    let node: FlowNode = this.#nodes.get(id) ?? { id, offset };
    if (!this.text.startsWith("@{", this.at)) {
      this.skipSpaces();
      const shaped = this.shape();
      if (shaped === undefined) this.at = before;
      else if (shaped.text !== "") {
        this.#reportConflict(node, shaped);
        node = { ...node, label: shaped, offset };
      }
    }
    // Mermaid takes a class and properties in either order.
    for (;;) {
      if (this.text.startsWith("@{", this.at)) node = { ...node, ...this.properties(), offset };
      else if (this.text.startsWith(":::", this.at)) {
        this.at += 3;
        this.match(idPattern);
      } else break;
    }
    this.#nodes.set(id, node);
    return id;
  }

  #reportConflict(node: FlowNode, label: FlowLabel): void {
    if (node.label === undefined || node.label.text === label.text) return;
    this.#faults.push({
      offset: label.offset,
      reason: `${node.id} already has another label. The last one counts.`,
      severity: "warning",
    });
  }

  #endStatement(): void {
    const sign = this.skipSpaces();
    if (sign === "" || sign === "\n" || this.text.startsWith("%%", this.at)) return;
    if (sign === ";") this.at += 1;
    else {
      // Editors make other signs of what was typed.
      const hint = /^[-=.]*[‐-―−→⟶⇒➔➜]/u.test(this.text.slice(this.at, this.at + 10));
      const reason = `Expected an edge or the end of the line, found ${this.found()}.`;
      throw this.fault(this.at, reason, hint ? "write -->" : undefined);
    }
  }
}
