/** The decisions of a run about findings of earlier runs, for logs and reports. The delivery decides what is done on GitHub. */
import type { RunView } from "../events/view.ts";
import { collectOutputs } from "./collect.ts";

export interface PreviousOutcome {
  /** `dismissed`: reported again, although a person had closed its thread. */
  readonly kind: "resolved" | "answered" | "dismissed";
  readonly key: string;
  readonly id: string;
  readonly path: string;
  readonly line: number | undefined;
  /** The reason for resolving it, the answer, or the text that was reported. */
  readonly text: string;
}

export function previousOutcomes(view: RunView): readonly PreviousOutcome[] {
  const { dismissed, resolved, replies } = collectOutputs(view);
  const all = [
    ...resolved.map(({ key, reason: text }) => ({ kind: "resolved", key, text }) as const),
    ...replies.map(({ key, message: text }) => ({ kind: "answered", key, text }) as const),
    ...dismissed.map(
      ({ fingerprint: key, title, message }) =>
        ({ kind: "dismissed", key, text: title ?? message }) as const,
    ),
  ];
  return all.map((one) => ({ ...one, ...previousPlace(view, one.key) }));
}

/** A journal may name a finding that its plan lacks. */
export function previousPlace(
  { plan }: Pick<RunView, "plan">,
  key: string,
): Pick<PreviousOutcome, "id" | "path" | "line"> {
  const found = plan?.conversation?.findings.find((one) => one.key === key);
  return { id: found?.id ?? "?", path: found?.path ?? "?", line: found?.line };
}

/** `resolved F1 at a.ts:3` */
export function previousOutcomeText({ kind, id, path, line }: PreviousOutcome): string {
  return `${kind} ${id} at ${path}${line === undefined ? "" : `:${line}`}`;
}
