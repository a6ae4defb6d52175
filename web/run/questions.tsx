/** The questions of a run to the reader: each with a field for the answer, until somebody has answered it. */
import { useId, useState } from "preact/hooks";
import type { RunModel } from "../model/model.ts";
import { Form } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { ErrorNote } from "../parts/notes.tsx";
import { useRunContext } from "./context.ts";

interface Question {
  /** The server's id of it. */
  readonly id: string;
  readonly activity: string;
  readonly text: string;
}

export function Questions() {
  const { model } = useRunContext();
  return (
    // Always there: what is added to it is read out.
    <div role="status">
      {questionsOf(model).map((question) => (
        <QuestionCard key={question.id} question={question} />
      ))}
    </div>
  );
}

function questionsOf({ running }: RunModel): readonly Question[] {
  return [...running].flatMap(({ work: { workId, view }, iteration }) =>
    (view.flow?.open ?? []).flatMap(({ step, activity, input }) =>
      input?.kind === "ask"
        ? [{ id: `${workId}.${iteration}.${step}`, activity, text: input.question }]
        : [],
    ),
  );
}

function QuestionCard({ question: { id, activity, text } }: { question: Question }) {
  const { actions } = useRunContext();
  const field = useId();
  const [answer, setAnswer] = useState("");
  const [state, setState] = useState<"open" | "sending" | "sent">("open");
  const [problem, setProblem] = useState<string>();
  const send = async () => {
    if (state !== "open") return;
    setState("sending");
    const refused = await actions?.answer(id, answer);
    setProblem(refused);
    setState(refused === undefined ? "sent" : "open");
  };
  return (
    <Form class="card question box stack" aria-labelledby={`${field}-title`} onSubmit={send}>
      <h2 class="row" id={`${field}-title`}>
        <Icon name="alert" size={16} /> The workflow asks{" "}
        <span class="mono muted small">{activity}</span>
      </h2>
      {text === "" ? null : (
        <p class="question-text pre" id={`${field}-text`}>
          {text}
        </p>
      )}
      {problem === undefined ? null : <ErrorNote>{problem}</ErrorNote>}
      <label class="hidden-text" for={field}>
        Your answer
      </label>
      <textarea
        id={field}
        class="input"
        rows={3}
        placeholder="Your answer"
        aria-describedby={`${text === "" ? "" : `${field}-text `}${field}-hint`}
        value={answer}
        readOnly={state !== "open"}
        onInput={({ currentTarget }) => setAnswer(currentTarget.value)}
      />
      <div class="row wrap between">
        <span id={`${field}-hint`} class="muted small">
          The run waits for it. Ctrl+Enter answers.
        </span>
        <button type="submit" class="button button-primary" disabled={state !== "open"}>
          {state === "open" ? "Answer" : state === "sending" ? "Sending…" : "Sent"}
        </button>
      </div>
    </Form>
  );
}
