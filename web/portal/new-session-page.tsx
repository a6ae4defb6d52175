/** Starts a session: which model, and in which folder. */
import { useState } from "preact/hooks";
import { api, type ApiError, type Model } from "../data/api.ts";
import { useApi } from "../data/use-api.ts";
import { Field } from "../parts/field.tsx";
import { formatCost } from "../parts/format.ts";
import { ErrorNote, Loading, PageHeading } from "../parts/notes.tsx";
import { navigate } from "../router.ts";
import { hrefOf } from "../routes.ts";
import { remember } from "./session-memory.ts";

export function NewSessionPage() {
  const [config] = useApi(api.config);
  const [models] = useApi(api.models);
  const failed = [config, models].find((one) => one.kind === "failed");
  return (
    <>
      <PageHeading>New session</PageHeading>
      <p class="muted page-lead">
        Talk to a model in a folder of the server, and run single tasks of the entry in the same
        conversation.
      </p>
      {failed?.kind === "failed" ? <ErrorNote>{failed.error.reason}</ErrorNote> : null}
      {config.kind === "loaded" && models.kind === "loaded" ? (
        <SessionForm repoRoot={config.value.repoRoot} models={models.value} />
      ) : null}
      {failed === undefined && (config.kind === "loading" || models.kind === "loading") ? (
        <Loading what="the models" />
      ) : null}
    </>
  );
}

function SessionForm({ repoRoot, models }: { repoRoot: string; models: readonly Model[] }) {
  const [modelId, setModelId] = useState(models[0]?.id ?? "");
  const [workingDirectory, setWorkingDirectory] = useState(repoRoot);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const start = async () => {
    setBusy(true);
    setError(undefined);
    const answer = await api.startSession(modelId, workingDirectory);
    setBusy(false);
    if (!answer.ok) return setError(answer);
    remember(answer.value, { modelId, workingDirectory, notes: [] });
    navigate(hrefOf({ page: "session", sessionId: answer.value }));
  };
  const field = fieldOf(error);
  return (
    <form
      class="card session-form"
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      <Field label="Model" error={field === "model" ? error?.reason : undefined}>
        {(props) => (
          <select
            {...props}
            class="input"
            value={modelId}
            onChange={({ currentTarget }) => setModelId(currentTarget.value)}
          >
            {models.map((model) => (
              <option key={model.id} value={model.id}>
                {modelText(model)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field
        label="Working directory"
        hint="An absolute path on the server."
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
      <div>
        <button type="submit" class="button button-primary" disabled={busy || models.length === 0}>
          {busy ? "Starting…" : "Start the session"}
        </button>
      </div>
    </form>
  );
}

function modelText({ name, id, multiplier }: Model): string {
  const title = name === id ? id : `${name} (${id})`;
  return multiplier === 0 ? title : `${title} · ${formatCost(multiplier)}×`;
}

function fieldOf(error: ApiError | undefined): "model" | "directory" | undefined {
  switch (error?.error) {
    case "ModelIdNotFound":
      return "model";
    case "WorkingDirectoryNotAbsolutePath":
    case "WorkingDirectoryNotExists":
      return "directory";
    default:
      return undefined;
  }
}
