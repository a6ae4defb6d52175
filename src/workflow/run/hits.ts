/** How often each activity of a file has run. In parts, so that a new state does not copy the counts of all activities. */
export type Hits = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Of a workflow with 10,000 activities, a part has about as many counts as there are parts. */
const PARTS = 101;

export function hitsOf(hits: Hits, activity: string): number {
  const counts = hits[partOf(activity)] ?? {};
  return Object.hasOwn(counts, activity) ? (counts[activity] ?? 0) : 0;
}

export function withHit(hits: Hits, activity: string): Hits {
  const part = partOf(activity);
  return { ...hits, [part]: { ...hits[part], [activity]: hitsOf(hits, activity) + 1 } };
}

function partOf(activity: string): string {
  let hash = 0;
  for (let index = 0; index < activity.length; index += 1)
    hash = (hash * 31 + activity.charCodeAt(index)) % 1_000_003;
  return String(hash % PARTS);
}
