/** Random graphs of actions: some documents with groups, dependencies, failures, delays and cancels. */
import * as fc from "fast-check";

interface Item {
  readonly document: number;
  readonly async: boolean;
  /** Ids of nodes. */
  readonly requires: readonly string[];
  /** The id of its group. */
  readonly group: string | undefined;
}

export interface Node extends Item {
  readonly id: string;
  readonly tool: "safe" | "unsafe" | "other" | "relic";
  readonly seconds: number;
  readonly outcome: "succeeds" | "fails" | "hangs" | "throws";
  readonly byReference: boolean;
}

export interface Group extends Item {
  readonly parent: string | undefined;
}

export interface Cancel {
  readonly document: number;
  readonly id: string;
  /** `beside`: by an action of the document. `later`: by one after it. `turn`: of the whole turn. */
  readonly when: "beside" | "later" | "turn";
  /** Seconds; of `beside`, where it stands. */
  readonly after: number;
}

export interface Case {
  readonly nodes: ReadonlyMap<string, Node>;
  readonly groups: ReadonlyMap<string, Group>;
  /** The nodes of each document, in its order. */
  readonly order: readonly (readonly string[])[];
  readonly cancels: readonly Cancel[];
  readonly parallel: number;
}

/** Seconds. */
export const toolLimit = 50;
const documents = 3;
const perDocument = 7;

const drafts = fc.record({
  nodes: fc.array(
    fc.record({
      tool: fc.constantFrom("safe", "safe", "relic", "unsafe", "unsafe", "other"),
      async: fc.boolean(),
      seconds: fc.nat(30),
      outcome: fc.constantFrom("succeeds", "succeeds", "succeeds", "fails", "hangs", "throws"),
      byReference: fc.boolean(),
      picks: fc.array(fc.nat(), { maxLength: 3 }),
      group: fc.option(fc.nat(1), { freq: 2 }),
    }),
    { minLength: 1, maxLength: documents * perDocument },
  ),
  groups: fc.array(
    fc.record({
      async: fc.boolean(),
      picks: fc.array(fc.nat(), { maxLength: 1 }),
      isNested: fc.boolean(),
    }),
    { minLength: documents * 2, maxLength: documents * 2 },
  ),
  shuffle: fc.array(fc.nat(), { minLength: 40, maxLength: 40 }),
  isShuffled: fc.boolean(),
  cancels: fc.array(
    fc.record({
      document: fc.nat(documents - 1),
      when: fc.constantFrom("beside", "later", "later", "turn"),
      after: fc.nat(60),
      pick: fc.nat(),
    }),
    { maxLength: 3 },
  ),
  parallel: fc.integer({ min: 1, max: 4 }),
});

export const cases: fc.Arbitrary<Case> = drafts.map((draft) => {
  const nodes = new Map<string, Node>();
  const groups = new Map<string, Group>();
  /** The first group of a document can hold the second one. */
  const groupAt = (document: number, nth: number): string => {
    const id = `g${document * 2 + nth}`;
    if (groups.has(id)) return id;
    const { async = false, picks = [], isNested = false } = draft.groups[document * 2 + nth] ?? {};
    const parent = nth === 1 && isNested ? groupAt(document, 0) : undefined;
    // References to earlier documents can't be circular.
    const earlier = document * perDocument;
    const requires = earlier === 0 ? [] : picks.map((pick) => `n${pick % earlier}`);
    groups.set(id, { document, async, requires, parent, group: parent });
    return id;
  };
  for (const [index, { picks, group, ...rest }] of draft.nodes.entries()) {
    const document = Math.floor(index / perDocument);
    const requires = index === 0 ? [] : [...new Set(picks.map((pick) => `n${pick % index}`))];
    const groupId = group === null ? undefined : groupAt(document, group);
    const id = `n${index}`;
    nodes.set(id, { id, document, group: groupId, requires, ...rest });
  }
  const rank = (id: string): number => {
    const index = Number(id.slice(1));
    return draft.isShuffled ? (draft.shuffle[index] ?? 0) : index;
  };
  const order = Array.from({ length: Math.ceil(nodes.size / perDocument) }, (_, document) =>
    [...nodes.values()]
      .filter((node) => node.document === document)
      .map(({ id }) => id)
      .toSorted((a, b) => rank(a) - rank(b)),
  );
  return {
    nodes,
    groups,
    order,
    parallel: draft.parallel,
    cancels: draft.cancels.map(({ document, when, after, pick }) => {
      // Only existing actions can be canceled.
      const ids = [...nodes, ...groups].flatMap(([id, item]) =>
        item.document <= document ? [id] : [],
      );
      return { document, when, after, id: ids[pick % ids.length] ?? "n0" };
    }),
  };
});

/** The groups around an item, the outermost first, and itself. */
export function pathOf({ nodes, groups }: Case, id: string): readonly string[] {
  const path: string[] = [];
  for (let at: string | undefined = id; at !== undefined;) {
    path.unshift(at);
    at = (nodes.get(at) ?? groups.get(at))?.group;
  }
  return path;
}
