/** Nodes of `yaml` to plain values, with aliases and merge keys written out, and their size bounded. */
import {
  type Alias,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type Scalar,
  type YAMLMap,
} from "yaml";
import { defined, emptyObject, isRecord } from "./guards.ts";
import type { Path } from "./problem.ts";
import type { Limits, TextFault } from "./text-position.ts";

export interface ConvertedYaml {
  readonly value: unknown;
  readonly faults: readonly TextFault[];
  /** The value of each alias. */
  readonly targets: ReadonlyMap<Alias, Node>;
}

export function convertYaml(root: Node, limits: Limits): ConvertedYaml {
  const converter = new Converter(limits);
  const value = converter.convert(root, 0);
  return { value, faults: converter.faults, targets: converter.targets };
}

class Converter {
  readonly faults: TextFault[] = [];
  readonly targets = new Map<Alias, Node>();
  readonly #anchors = new Map<string, Node>();
  readonly #open = new Set<Node>();
  readonly #limits: Limits;
  /** The outermost alias whose value is being converted once more. */
  #within: Alias | undefined;
  /** About the length of the text, had it been written without aliases. */
  #size = 0;
  #stopped = false;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  convert(node: unknown, depth: number): unknown {
    if (this.#stopped) return undefined;
    if (isAlias(node)) return this.#alias(node, depth);
    if (!isScalar(node) && !isMap(node) && !isSeq(node)) return null;
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    // What aliases make of a short text takes memory for each value, however short it is.
    this.#size += this.#within === undefined ? 1 : 100;
    if (isScalar(node)) return this.#scalar(node);
    if (depth === this.#limits.nesting) {
      this.#stop(node, `Nested deeper than ${this.#limits.nesting} levels.`);
      return undefined;
    }
    this.#open.add(node);
    const value = isSeq(node)
      ? node.items.map((item) => this.convert(item, depth + 1))
      : this.#map(node, depth + 1);
    this.#open.delete(node);
    return value;
  }

  #scalar(node: Scalar): unknown {
    const { value } = node;
    this.#size += node.source?.length ?? 0;
    if (value === null || typeof value === "string") return value;
    if (typeof value === "number" || typeof value === "boolean") return value;
    this.#fault(node, "A value must be a string, a number, true, false or null.");
    return null;
  }

  #map(map: YAMLMap, depth: number): Record<string, unknown> {
    const object = emptyObject();
    const merged: unknown[] = [];
    for (const pair of map.items) {
      if (isMergeKey(pair.key)) {
        for (const source of this.#mergeSources(pair.value, depth)) merged.push(source);
        continue;
      }
      const key = this.#key(pair.key);
      if (key === undefined) {
        this.#fault(pair.key, "A key must be a string.", "put it in quotes");
      } else if (key in object) {
        this.#fault(pair.key, `Duplicate key ${JSON.stringify(key)}.`);
      } else {
        // An absent value comes as null, in `a:` as in `? a`.
        object[key] = this.convert(pair.value, depth);
      }
    }
    for (const source of merged) {
      for (const [key, value] of Object.entries(source ?? {})) {
        if (!(key in object)) object[key] = value;
      }
    }
    return object;
  }

  #mergeSources(node: unknown, depth: number): unknown[] {
    const value = this.convert(node, depth);
    const sources: unknown[] = Array.isArray(value) ? value : [value];
    const ok = sources.every(isRecord);
    if (ok) return sources;
    if (!this.#stopped) this.#fault(node, "Only objects can be merged with <<.");
    return [];
  }

  /** Numbers and booleans count as they are written: `404: …` is the key "404". */
  #key(key: unknown): string | undefined {
    const node = isAlias(key) ? this.#targetOf(key) : key;
    if (!isScalar(node)) return undefined;
    this.#size += node.source?.length ?? 0;
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    if (typeof node.value === "string") return node.value;
    const other = typeof node.value === "number" || typeof node.value === "boolean";
    return other ? node.source : undefined;
  }

  /** Its value anew, so that no two places share one. */
  #alias(alias: Alias, depth: number): unknown {
    const target = this.#targetOf(alias);
    if (target === undefined) {
      // A glob such as `**/*.md`, which must be quoted.
      const reason = /[*/]/.test(alias.source)
        ? `\`*${alias.source}\` is read as a YAML alias.`
        : `There is no anchor &${alias.source} before this alias.`;
      this.#fault(alias, reason);
      return null;
    }
    if (this.#open.has(target)) {
      this.#fault(alias, `The anchor &${alias.source} contains itself.`);
      return null;
    }
    const outer = this.#within;
    this.#within ??= alias;
    const value = this.convert(target, depth);
    if (this.#size > this.#limits.bytes) {
      const limit = this.#limits.bytes / 1e6;
      this.#stop(alias, `With all aliases expanded, the file has more than ${limit} MB.`);
    }
    this.#within = outer;
    return value;
  }

  /** What the anchor meant when the alias was read first. */
  #targetOf(alias: Alias): Node | undefined {
    const target = this.targets.get(alias) ?? this.#anchors.get(alias.source);
    if (target !== undefined) this.targets.set(alias, target);
    return target;
  }

  #stop(node: Node, reason: string): void {
    if (!this.#stopped) this.faults.push({ offset: offsetOf(this.#within ?? node), reason });
    this.#stopped = true;
  }

  #fault(node: unknown, reason: string, hint?: string): void {
    // The faults in the value of an alias have been found at its anchor.
    if (this.#within !== undefined) return;
    this.faults.push({ offset: offsetOf(node), reason, ...defined({ hint }) });
  }
}

function isMergeKey(key: unknown): boolean {
  return isScalar(key) && key.value === "<<" && key.type === "PLAIN";
}

function offsetOf(node: unknown): number {
  const range = isAlias(node) || isScalar(node) || isMap(node) || isSeq(node) ? node.range : null;
  return range?.[0] ?? 0;
}

/** Positions by path. Fields that came by a merge key are found at the object they were merged into. */
export function yamlOffsets(root: Node, targets: ReadonlyMap<Alias, Node>): (path: Path) => number {
  const members = new WeakMap<YAMLMap, Map<string, unknown>>();
  const child = (node: unknown, key: string | number): unknown => {
    const target = isAlias(node) ? targets.get(node) : node;
    if (isSeq(target)) return typeof key === "number" ? target.items[key] : undefined;
    if (!isMap(target)) return undefined;
    let known = members.get(target);
    if (known === undefined) {
      known = new Map();
      for (const pair of target.items) {
        if (!isPair(pair)) continue;
        const keyNode = isAlias(pair.key) ? targets.get(pair.key) : pair.key;
        if (!isScalar(keyNode)) continue;
        const text = typeof keyNode.value === "string" ? keyNode.value : keyNode.source;
        // An empty value has no position of its own.
        const place = isEmpty(pair.value) ? pair.key : pair.value;
        if (text !== undefined) known.set(text, place);
      }
      members.set(target, known);
    }
    return known.get(String(key));
  };
  return (path) => {
    let node: unknown = root;
    for (const key of path) {
      const next = child(node, key);
      if (next === undefined || next === null) break;
      node = next;
    }
    return offsetOf(node);
  };
}

function isEmpty(node: unknown): boolean {
  return node === null || (isScalar(node) && node.value === null && (node.source ?? "") === "");
}
