/** Starts a session: which model, and in which folder. */
import { useState } from "preact/hooks";
import { priceText } from "../../src/text/numbers.ts";
import { api, type ApiError, type Model } from "../data/api.ts";
import { useApi } from "../data/use-api.ts";
import { Field, Form } from "../parts/field.tsx";
import { ErrorNote, Loading, PageHeading } from "../parts/notes.tsx";
import { navigate } from "../router.ts";
import { hrefOf, proposedDirectory } from "../routes.ts";
import { RehearsalNote } from "./rehearsal.tsx";
import { OpenSessions } from "./recent-runs.tsx";

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
      <RehearsalNote />
      {failed?.kind === "failed" ? <ErrorNote>{failed.error.reason}</ErrorNote> : null}
      {config.kind === "loaded" && models.kind === "loaded" ? (
        <SessionForm repoRoot={config.value.repoRoot} models={models.value} />
      ) : null}
      {failed === undefined && (config.kind === "loading" || models.kind === "loading") ? (
        <Loading what="the models" />
      ) : null}
      <div class="narrow">
        <OpenSessions />
      </div>
    </>
  );
}

function SessionForm({ repoRoot, models }: { repoRoot: string; models: readonly Model[] }) {
  const [modelId, setModelId] = useState(models[0]?.id ?? "");
  const [workingDirectory, setWorkingDirectory] = useState(() =>
    proposedDirectory(location.search, repoRoot),
  );
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const start = async () => {
    setBusy(true);
    setError(undefined);
    const answer = await api.startSession(modelId, workingDirectory);
    setBusy(false);
    if (!answer.ok) return setError(answer);
    navigate(hrefOf({ page: "session", sessionId: answer.value }));
  };
  const field = fieldOf(error);
  return (
    <Form class="card stack box narrow" onSubmit={start}>
      <Field
        label="Model"
        error={field === "model" ? error?.reason : undefined}
        options={models.map((model) => [model.id, modelText(model)])}
        value={modelId}
        onValue={setModelId}
      />
      <Field
        label="Working directory"
        hint="An absolute path on the server."
        kind="path"
        error={field === "directory" ? error?.reason : undefined}
        value={workingDirectory}
        onValue={setWorkingDirectory}
      />
      {error !== undefined && field === undefined ? <ErrorNote>{error.reason}</ErrorNote> : null}
      <div>
        <button type="submit" class="button button-primary" disabled={busy || models.length === 0}>
          {busy ? "Starting…" : "Start the session"}
        </button>
      </div>
    </Form>
  );
}

function modelText({ name, id, price }: Model): string {
  const title = name === id ? id : `${name} (${id})`;
  return price === undefined ? title : `${title} · ${priceText(price)} for a million tokens`;
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
