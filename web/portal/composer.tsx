import { useState } from "preact/hooks";
import { Icon } from "../parts/icon.tsx";
import { ErrorNote } from "../parts/notes.tsx";

/** Where prompts are written. */
export function Composer({
  working,
  problem,
  onSend,
}: {
  working: boolean;
  problem: string | undefined;
  onSend: (prompt: string) => Promise<boolean>;
}) {
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const canSend = !working && !busy && text.trim() !== "";
  const send = async () => {
    if (!canSend) return;
    setBusy(true);
    if (await onSend(text)) setText("");
    setBusy(false);
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {problem === undefined ? null : <ErrorNote>{problem}</ErrorNote>}
      <div class="composer-box">
        <label class="hidden-text" for="prompt">
          Prompt
        </label>
        <textarea
          id="prompt"
          rows={2}
          placeholder={working ? "The model is working…" : "Write a prompt"}
          value={text}
          aria-describedby="prompt-hint"
          onInput={({ currentTarget }) => setText(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            void send();
          }}
        />
        <div class="composer-foot">
          <span id="prompt-hint" class="muted small">
            Enter or Ctrl+Enter sends, Shift+Enter starts a new line.
          </span>
          <button type="submit" class="button button-primary" disabled={!canSend}>
            <Icon name="spark" size={14} /> Send
          </button>
        </div>
      </div>
    </form>
  );
}
