import { useState } from "preact/hooks";
import type { Answer } from "../data/api.ts";
import { Confirm } from "../parts/dialog.tsx";
import { ErrorNote } from "../parts/notes.tsx";

/** Asks before a run is stopped. */
export function StopDialog({
  jobName,
  onStop,
  onClose,
}: {
  jobName: string;
  onStop: () => Promise<Answer<object>>;
  onClose: () => void;
}) {
  const [state, setState] = useState<{ busy: boolean; reason?: string }>({ busy: false });
  const stop = async () => {
    setState({ busy: true });
    const answer = await onStop();
    if (answer.ok) onClose();
    else setState({ busy: false, reason: answer.reason });
  };
  return (
    <Confirm
      title={`Stop ${jobName}?`}
      action="Stop the run"
      dismiss="Keep it running"
      busy={state.busy}
      onConfirm={() => void stop()}
      onClose={onClose}
    >
      <p>Its sessions are ended. What they have changed in the working directory stays.</p>
      {state.reason === undefined ? null : <ErrorNote>{state.reason}</ErrorNote>}
    </Confirm>
  );
}
