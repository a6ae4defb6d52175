import { plural } from "../text/numbers.ts";
import { truncate } from "../text/truncate.ts";
import type { PlannedChange } from "./plan.ts";

/** The change in a few words: the number of files and both commits. */
export function changeText({ base, head, count, uncommitted }: PlannedChange): string {
  const [from, to] = [base, head].map((id) => truncate(id, 12));
  return `${plural(count, "changed file")} (${from}…${to}${uncommitted === true ? " and uncommitted work" : ""})`;
}

/** The change in one line, with what is not shown of it. */
export function andChange({ change }: { readonly change?: PlannedChange }): string {
  if (change === undefined) return "";
  const { notes = [] } = change;
  return [`, ${changeText(change)}`, ...notes].join(". ");
}
