/** How something stands: always an icon, a word and a color. */
import type { Status } from "../model/model.ts";
import { Icon, Spinner, type IconName } from "./icon.tsx";

export type { Status };

interface Look {
  readonly word: string;
  readonly icon: IconName;
  /** A color of tokens.css. */
  readonly tone: Tone;
}

export type Tone = "ok" | "fail" | "warn" | "run" | "skip";

export const looks: Readonly<Record<Status, Look>> = {
  pending: { word: "Waiting", icon: "dot", tone: "skip" },
  running: { word: "Running", icon: "play", tone: "run" },
  succeeded: { word: "Succeeded", icon: "check", tone: "ok" },
  retried: { word: "Succeeded after a retry", icon: "retry", tone: "warn" },
  failed: { word: "Failed", icon: "cross", tone: "fail" },
  crashed: { word: "Crashed", icon: "bolt", tone: "fail" },
  canceled: { word: "Canceled", icon: "stop", tone: "skip" },
  incomplete: { word: "Incomplete", icon: "alert", tone: "warn" },
  interrupted: { word: "Interrupted", icon: "alert", tone: "warn" },
  skipped: { word: "Skipped", icon: "skip", tone: "skip" },
  "answered-yes": { word: "Answered yes", icon: "check", tone: "run" },
  "answered-no": { word: "Answered no", icon: "minus", tone: "run" },
  asking: { word: "Waits for an answer", icon: "alert", tone: "warn" },
};

/** `word` replaces the status' own, for instance "2 failed". `quiet`: without the tinted background. */
export function StatusBadge({
  status,
  word,
  quiet = false,
}: {
  status: Status;
  word?: string;
  quiet?: boolean;
}) {
  const look = looks[status];
  return (
    <span class={`badge ${quiet ? "badge-quiet" : ""}`} data-tone={look.tone}>
      <StatusMark status={status} />
      <span>{word ?? look.word}</span>
    </span>
  );
}

/** Beside the status of a run in which a script played the model. */
export function RehearsalMark({ rehearsed = false }: { rehearsed?: boolean | undefined }) {
  return rehearsed ? (
    <span class="badge badge-quiet" data-tone="warn" title="A script played the model">
      rehearsal
    </span>
  ) : null;
}

/** The icon alone, where the word is beside it or in the label of what it is part of. */
export function StatusMark({ status, size = 14 }: { status: Status; size?: number }) {
  const { icon, tone } = looks[status];
  return (
    <span class="status-mark" data-tone={tone}>
      {status === "running" ? <Spinner size={size} /> : <Icon name={icon} size={size} />}
    </span>
  );
}
