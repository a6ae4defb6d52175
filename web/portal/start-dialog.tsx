/** Asks for what a job needs, and starts it. */
import { useEffect, useRef, useState } from "preact/hooks";
import {
  api,
  failure,
  type ApiError,
  type JobInputs,
  type Jobs,
  type ParameterFacts,
} from "../data/api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Field, Form } from "../parts/field.tsx";
import { ErrorNote, Loading } from "../parts/notes.tsx";
import { navigate } from "../router.ts";
import { proposedDirectory, runHref } from "../routes.ts";
import { useRehearsedInput } from "./rehearsal.tsx";

export interface StartRequest {
  readonly jobName: string;
  /** The inputs of an earlier run; the defaults otherwise. */
  readonly again: Inputs | undefined;
}

export type Inputs = JobInputs;

interface Prepared {
  readonly inputs: Inputs;
  readonly needs: Needs;
}

interface Needs {
  /** `optional`: a workflow may have it as USER_INPUT. */
  readonly input: "required" | "optional" | "none";
  /** The parameters of a workflow, or the inputs of the entry. */
  readonly parameters: readonly ParameterFacts[];
  readonly given: "params" | "inputs";
  readonly title?: string | undefined;
}

const nothing: Needs = { input: "none", parameters: [], given: "params" };

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
  const { title: name = jobName } =
    prepared !== undefined && "needs" in prepared ? prepared.needs : nothing;
  const title = again === undefined ? `Start ${name}` : `Start ${name} again`;
  return (
    <Dialog title={title} onClose={onClose}>
      {prepared === undefined ? (
        <div class="stack dialog-part">
          <Loading what="the defaults" />
        </div>
      ) : (
        <StartForm
          jobName={jobName}
          needs={"needs" in prepared ? prepared.needs : nothing}
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
    inputs: again ?? {
      workingDirectory: proposedDirectory(location.search, config.value.repoRoot),
      userInput,
    },
    needs: jobs.ok ? needsOf(jobs.value, jobName) : nothing,
  };
}

function needsOf({ jobs, workflows = {}, inputs = {} }: Jobs, jobName: string): Needs {
  const workflow = Object.hasOwn(workflows, jobName) ? workflows[jobName] : undefined;
  if (workflow === undefined) {
    const isRequired = jobs[jobName]?.requireUserInput === true;
    const parameters = Object.entries(inputs).map(([name, { required = false, ...facts }]) => ({
      name,
      optional: !required,
      ...facts,
    }));
    return { input: isRequired ? "required" : "none", parameters, given: "inputs" };
  }
  const { title, parameters } = workflow;
  const declared = parameters.some(({ name }) => name === "USER_INPUT");
  return { input: declared ? "none" : "optional", parameters, given: "params", title };
}

/** The fields begin with the values of the earlier run, else with the defaults. */
function valuesOf({ parameters, given }: Needs, first: Inputs): Record<string, string> {
  const { [given]: before = {} } = first;
  return Object.fromEntries(
    parameters.map(({ name, default: value = "" }) => [name, before[name] ?? value]),
  );
}

function isRequired({ default: value, optional = false }: ParameterFacts): boolean {
  return value === undefined && !optional;
}

/** An optional one that is empty is not given. */
function givenOf({ parameters }: Needs, values: Record<string, string>): Record<string, string> {
  const given = parameters.filter(
    ({ name, optional, default: value }) =>
      optional !== true || value !== undefined || (values[name] ?? "") !== "",
  );
  return Object.fromEntries(given.map(({ name }) => [name, values[name] ?? ""]));
}

function StartForm({
  jobName,
  needs,
  first,
  onClose,
}: {
  jobName: string;
  needs: Needs;
  first: Inputs;
  onClose: () => void;
}) {
  const [workingDirectory, setWorkingDirectory] = useState(first.workingDirectory);
  const [userInput, setUserInput] = useState(first.userInput);
  const [values, setValues] = useState(() => valuesOf(needs, first));
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector<HTMLElement>("textarea, input")?.focus(), []);
  const start = async () => {
    if (busy) return;
    if (needs.input === "required" && userInput === "")
      return setError(failure("UserInputRequired"));
    const missing = needs.parameters.filter(
      (one) => isRequired(one) && (values[one.name] ?? "") === "",
    );
    if (missing.length > 0) {
      const parameters = missing.map(({ name }) => name);
      return setError({ ...failure("ParametersRequired"), parameters });
    }
    setBusy(true);
    setError(undefined);
    const answer = await api.startJob(jobName, {
      workingDirectory,
      userInput: needs.input === "none" ? "" : userInput,
      ...(needs.parameters.length > 0 && { [needs.given]: givenOf(needs, values) }),
    });
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
    <Form form={form} noValidate onSubmit={start}>
      <div class="stack dialog-part">
        {needs.parameters.map((one) => (
          <Field
            key={one.name}
            label={one.name}
            hint={[one.description ?? "", isRequired(one) ? "Required." : ""].join(" ").trim()}
            kind="code"
            options={one.options?.map((option) => [option, option])}
            required={isRequired(one)}
            error={error?.parameters?.includes(one.name) === true ? "Enter a value." : undefined}
            value={values[one.name] ?? ""}
            onValue={(text) => setValues((before) => ({ ...before, [one.name]: text }))}
          />
        ))}
        {needs.input === "none" ? null : (
          <Field
            label="Input"
            required={needs.input === "required"}
            hint={
              needs.input === "required"
                ? "The prompts of this job use it as $user-input. Ctrl+Enter starts the job."
                : "The workflow has it as USER_INPUT. Ctrl+Enter starts the workflow."
            }
            error={field === "input" ? error?.reason : undefined}
            value={userInput}
            onValue={setUserInput}
          />
        )}
        <Field
          label="Working directory"
          hint="An absolute path on the server. The agents work in this folder."
          kind="path"
          error={field === "directory" ? error?.reason : undefined}
          value={workingDirectory}
          onValue={setWorkingDirectory}
        />
        {error !== undefined && field === undefined ? <ErrorNote>{error.reason}</ErrorNote> : null}
      </div>
      <footer class="row dialog-footer">
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" class="button button-primary" disabled={busy}>
          {busy ? "Starting…" : "Start"}
        </button>
      </footer>
    </Form>
  );
}

function fieldOf({ error }: ApiError): "directory" | "input" | "parameters" | undefined {
  if (error === "ParametersRequired") return "parameters";
  if (directoryErrors.has(error)) return "directory";
  return error === "UserInputRequired" ? "input" : undefined;
}
