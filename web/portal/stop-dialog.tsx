/** Asks before a run, a session or the server is stopped. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { api, type Answer } from "../data/api.ts";
import { useApi } from "../data/use-api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { plural } from "../parts/format.ts";
import { ErrorNote } from "../parts/notes.tsx";

interface StopProps {
  readonly title: string;
  readonly action: string;
  /** The other button; not "Cancel", because the action cancels something. */
  readonly dismiss: string;
  readonly stop: () => Promise<Answer<object>>;
  readonly onStopped?: (() => void) | undefined;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

function StopDialog({ title, action, dismiss, stop, onStopped, onClose, children }: StopProps) {
  const [state, setState] = useState<{ busy: boolean; reason?: string }>({ busy: false });
  const confirmed = async () => {
    setState({ busy: true });
    const answer = await stop();
    if (!answer.ok) return setState({ busy: false, reason: answer.reason });
    onClose();
    onStopped?.();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="stack dialog-part">
        <p>{children}</p>
        {state.reason === undefined ? null : <ErrorNote>{state.reason}</ErrorNote>}
      </div>
      <footer class="row dialog-footer">
        <button type="button" class="button" onClick={onClose}>
          {dismiss}
        </button>
        <button
          type="button"
          class="button button-danger"
          disabled={state.busy}
          onClick={() => void confirmed()}
        >
          {action}
        </button>
      </footer>
    </Dialog>
  );
}

type What<T> = T & Pick<StopProps, "onStopped" | "onClose">;

export function StopRun({ runId, jobName, ...others }: What<{ runId: string; jobName: string }>) {
  return (
    <StopDialog
      title={`Stop ${jobName}?`}
      action="Stop the run"
      dismiss="Keep it running"
      stop={() => api.stopJob(runId)}
      {...others}
    >
      Its sessions are ended. What they have changed in the working directory stays.
    </StopDialog>
  );
}

export function StopSession({ sessionId, ...others }: What<{ sessionId: string }>) {
  return (
    <StopDialog
      title="Stop this session?"
      action="Stop the session"
      dismiss="Keep it open"
      stop={() => api.stopSession(sessionId)}
      {...others}
    >
      The model forgets the conversation. A session can't be continued after that.
    </StopDialog>
  );
}

export function StopServer(others: What<object>) {
  const [runs] = useApi(api.runs);
  const running =
    runs.kind === "loaded" ? runs.value.filter(({ status }) => status === "Running").length : 0;
  return (
    <StopDialog
      title="Stop the server?"
      action="Stop the server"
      dismiss="Keep it running"
      stop={api.stopServer}
      {...others}
    >
      {running > 0 ? <strong>{plural(running, "run")} will be canceled. </strong> : null}
      All sessions are ended, and this page stops working until the server is started again.
    </StopDialog>
  );
}
