/** Asks for what a job needs, and starts it. */
import { useEffect, useRef, useState } from "preact/hooks";
import { api, failure, type ApiError } from "../data/api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ErrorNote, Loading } from "../parts/notes.tsx";
import { navigate } from "../router.ts";
import { runHref } from "../routes.ts";
import { DirectoryField, UserInputField } from "./fields.tsx";
import { useRehearsedInput } from "./rehearsal.tsx";

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
  const rehearsed = useRehearsedInput(jobName);
  const [prepared, setPrepared] = useState<Prepared | ApiError>();
  useEffect(() => {
    let closed = false;
    void prepare(jobName, again, rehearsed).then((value) => {
      if (!closed) setPrepared(value);
    });
    return () => {
      closed = true;
    };
  }, [jobName, again, rehearsed]);
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

async function prepare(
  jobName: string,
  again: Inputs | undefined,
  userInput: string,
): Promise<Prepared | ApiError> {
  const [config, jobs] = await Promise.all([api.config(), api.jobs()]);
  if (!config.ok) return config;
  return {
    inputs: again ?? { workingDirectory: config.value.repoRoot, userInput },
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
    if (busy) return;
    if (needsInput && userInput === "") return setError(failure("UserInputRequired"));
    setBusy(true);
    setError(undefined);
    const answer = await api.startJob(jobName, workingDirectory, needsInput ? userInput : "");
    setBusy(false);
    if (!answer.ok) return setError(answer);
    onClose();
    navigate(runHref(answer.value));
  };
  const field = error === undefined ? undefined : fieldOf(error);
  useEffect(
    () => form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus(),
    [error],
  );
  return (
    <form
      ref={form}
      noValidate
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        void start();
      }}
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      <div class="dialog-fields">
        {needsInput ? (
          <UserInputField
            hint="The prompts of this job use it as $user-input. Ctrl+Enter starts the job."
            error={field === "input" ? error?.reason : undefined}
            value={userInput}
            onValue={setUserInput}
          />
        ) : null}
        <DirectoryField
          hint="The agents work in this folder."
          error={field === "directory" ? error?.reason : undefined}
          value={workingDirectory}
          onValue={setWorkingDirectory}
        />
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
