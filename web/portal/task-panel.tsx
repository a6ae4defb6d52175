/** Runs tasks of the entry in a session, and shows how they go. */
import { useEffect, useState } from "preact/hooks";
import { api, apiPath } from "../data/api.ts";
import { openStream } from "../data/event-stream.ts";
import { useApi } from "../data/use-api.ts";
import { Field, Form } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { ErrorNote, Loading } from "../parts/notes.tsx";
import { StatusBadge } from "../parts/status.tsx";
import type { OpenSession } from "./use-session.ts";
import {
  progress,
  splitDecision,
  startedTask,
  type TaskProgress,
  type TaskResponse,
} from "./task-progress.ts";

export function TaskPanel({ session }: { session: OpenSession }) {
  const started = session.known?.tasks ?? [];
  if (started.length === 0 && session.state.kind !== "open") return null;
  return (
    <section aria-labelledby="tasks-heading" class="stack">
      <h2 id="tasks-heading">Tasks</h2>
      {session.state.kind === "open" ? <StartTask session={session} /> : null}
      {started.length === 0 ? null : (
        <ol class="stack">
          {started.toReversed().map(({ taskId, taskName }) => (
            <li key={taskId}>
              <TaskRun taskId={taskId} taskName={taskName} />
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function StartTask({ session }: { session: OpenSession }) {
  const [tasks] = useApi(api.tasks);
  const [chosen, setChosen] = useState<string>();
  const [userInput, setUserInput] = useState("");
  const [busy, setBusy] = useState(false);
  if (tasks.kind === "loading") return <Loading what="the tasks" />;
  if (tasks.kind === "failed") return <ErrorNote>{tasks.error.reason}</ErrorNote>;
  const task = tasks.value.find(({ name }) => name === chosen) ?? tasks.value[0];
  if (task === undefined) return <p class="muted">The entry has no tasks.</p>;
  const start = async () => {
    setBusy(true);
    if (await session.startTask(task.name, task.requireUserInput ? userInput : ""))
      setUserInput("");
    setBusy(false);
  };
  return (
    <Form class="card stack box" onSubmit={start}>
      <Field
        label="Task"
        hint="Runs in this conversation. Its availability is not checked."
        options={tasks.value.map(({ name }) => [name, name])}
        value={task.name}
        onValue={setChosen}
      />
      {task.requireUserInput ? (
        <Field
          label="Input"
          hint="Ctrl+Enter runs the task."
          value={userInput}
          onValue={setUserInput}
        />
      ) : null}
      <div>
        <button type="submit" class="button" disabled={busy || session.conversation.working}>
          <Icon name="play" size={14} /> Run the task
        </button>
      </div>
    </Form>
  );
}

type Followed = TaskProgress | { readonly status: "unknown"; readonly reason: string };

function TaskRun({ taskId, taskName }: { taskId: string; taskName: string }) {
  const [task, setTask] = useState<Followed>(startedTask);
  useEffect(
    () =>
      openStream<TaskResponse>(apiPath`copilot/task/${taskId}/events`, {
        messages: (batch) =>
          setTask((before) =>
            before.status === "unknown" ? before : batch.reduce(progress, before),
          ),
        ended: () => {},
        failed: ({ reason }) => setTask({ status: "unknown", reason }),
      }),
    [taskId],
  );
  return (
    <article class="card box">
      <h3 class="row between">
        <span class="truncate">{taskName}</span>
        {task.status === "unknown" ? null : <StatusBadge status={task.status} />}
      </h3>
      {task.status === "unknown" ? (
        <p class="muted small">{task.reason}</p>
      ) : (
        <>
          {task.decisions.length === 0 ? null : (
            <ol class="task-decisions stack muted small" aria-label={`Decisions of ${taskName}`}>
              {task.decisions.map((reason, index) => (
                // Decisions are only added.
                <li key={index}>
                  <DecisionText reason={reason} />
                </li>
              ))}
            </ol>
          )}
          {task.error === undefined ? null : <ErrorNote>{task.error}</ErrorNote>}
        </>
      )}
    </article>
  );
}

function DecisionText({ reason }: { reason: string }) {
  const { kind, text } = splitDecision(reason);
  return (
    <>
      {kind === "" ? null : <strong>{kind}</strong>} {text}
    </>
  );
}
