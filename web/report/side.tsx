/** Which of two runs something belongs to. */

export const sides = ["A", "B"] as const;

export type SideName = (typeof sides)[number];

export function Side({ side }: { side: SideName }) {
  return (
    <span class="compare-side" data-side={side}>
      {side}
    </span>
  );
}

/** The headings of a table with a row for each figure, setting or decision. */
export function SideHeadings({ of }: { of: string }) {
  return (
    <>
      <th scope="col">
        <span class="hidden-text">{of}</span>
      </th>
      <th scope="col">
        <Side side="A" />
      </th>
      <th scope="col">
        <Side side="B" />
      </th>
    </>
  );
}
