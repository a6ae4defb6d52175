/** Asks for what a job needs, and starts it. */
import { useEffect, useRef, useState } from "preact/hooks";
import { api, type ApiError } from "../data/api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { ErrorNote, Loading } from "../parts/notes.tsx";
import { navigate } from "../router.ts";
import { runHref } from "../routes.ts";

export interface StartRequest {
  readonly jobName: string;
  /** Of an earlier run; the defaults otherwise. */
  readonly again: Inputs | undefined;
}

export interface Inputs {
  readonly workingDirectory: string;
  readonly userInput: string;
}

interface Prepared {
  readonly inputs: Inputs;
  readonly needsInput: boolean;
}

const directoryErrors = new Set(["WorkingDirectoryNotAbsolutePath", "WorkingDirectoryNotExists"]);

export function StartDialog({
  request: { jobName, again },
  onClose,
}: {
  request: StartRequest;
  onClose: () => void;
}) {
  const [prepared, setPrepared] = useState<Prepared | ApiError>();
  useEffect(() => {
    let closed = false;
    void prepare(jobName, again).then((value) => {
      if (!closed) setPrepared(value);
    });
    return () => {
      closed = true;
    };
  }, [jobName, again]);
  const title = again === undefined ? `Start ${jobName}` : `Start ${jobName} again`;
  return (
    <Dialog title={title} onClose={onClose}>
      {prepared === undefined ? (
        <div class="dialog-fields">
          <Loading what="the defaults" />
        </div>
      ) : (
        <StartForm
          jobName={jobName}
          needsInput={"needsInput" in prepared && prepared.needsInput}
          first={"inputs" in prepared ? prepared.inputs : { workingDirectory: "", userInput: "" }}
          onClose={onClose}
        />
      )}
    </Dialog>
  );
}

async function prepare(jobName: string, again: Inputs | undefined): Promise<Prepared | ApiError> {
  const [config, jobs] = await Promise.all([api.config(), api.jobs()]);
  if (!config.ok) return config;
  return {
    inputs: again ?? { workingDirectory: config.value.repoRoot, userInput: "" },
    needsInput: jobs.ok && jobs.value.jobs[jobName]?.requireUserInput === true,
  };
}

function StartForm({
  jobName,
  needsInput,
  first,
  onClose,
}: {
  jobName: string;
  needsInput: boolean;
  first: Inputs;
  onClose: () => void;
}) {
  const [workingDirectory, setWorkingDirectory] = useState(first.workingDirectory);
  const [userInput, setUserInput] = useState(first.userInput);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector<HTMLElement>("textarea, input")?.focus(), []);
  const start = async () => {
    setBusy(true);
    setError(undefined);
    const answer = await api.startJob(jobName, workingDirectory, needsInput ? userInput : "");
    setBusy(false);
    if (!answer.ok) return setError(answer);
    onClose();
    navigate(runHref(answer.value));
  };
  const field = error === undefined ? undefined : fieldOf(error);
  return (
    <form
      ref={form}
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      <div class="dialog-fields">
        {needsInput ? (
          <Field
            label="Input"
            hint="The prompts of this job use it as $user-input."
            error={field === "input" ? error?.reason : undefined}
          >
            {(props) => (
              <textarea
                {...props}
                class="input"
                required
                value={userInput}
                onInput={({ currentTarget }) => setUserInput(currentTarget.value)}
              />
            )}
          </Field>
        ) : null}
        <Field
          label="Working directory"
          hint="An absolute path on the server. The agents work in this folder."
          error={field === "directory" ? error?.reason : undefined}
        >
          {(props) => (
            <input
              {...props}
              class="input mono"
              type="text"
              required
              spellcheck={false}
              autocomplete="off"
              value={workingDirectory}
              onInput={({ currentTarget }) => setWorkingDirectory(currentTarget.value)}
            />
          )}
        </Field>
        {error !== undefined && field === undefined ? <ErrorNote>{error.reason}</ErrorNote> : null}
      </div>
      <footer class="dialog-footer">
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" class="button button-primary" disabled={busy}>
          {busy ? "Starting…" : "Start"}
        </button>
      </footer>
    </form>
  );
}

function fieldOf({ error }: ApiError): "directory" | "input" | undefined {
  if (directoryErrors.has(error)) return "directory";
  return error === "UserInputRequired" ? "input" : undefined;
}
