import { useState } from "preact/hooks";
import { api } from "../data/api.ts";
import { Confirm } from "../parts/dialog.tsx";
import { ErrorNote } from "../parts/notes.tsx";

/** Asks before a session is stopped. */
export function StopSession({
  sessionId,
  onStopped,
  onClose,
}: {
  sessionId: string;
  onStopped?: () => void;
  onClose: () => void;
}) {
  const [reason, setReason] = useState<string>();
  const [busy, setBusy] = useState(false);
  const stop = async () => {
    setBusy(true);
    const answer = await api.stopSession(sessionId);
    setBusy(false);
    if (!answer.ok) return setReason(answer.reason);
    onStopped?.();
    onClose();
  };
  return (
    <Confirm
      title="Stop this session?"
      action="Stop the session"
      dismiss="Keep it open"
      busy={busy}
      onConfirm={() => void stop()}
      onClose={onClose}
    >
      <p>The model forgets the conversation. A session can't be continued after that.</p>
      {reason === undefined ? null : <ErrorNote>{reason}</ErrorNote>}
    </Confirm>
  );
}
