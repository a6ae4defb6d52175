/** A session on the server as a component sees it: its conversation, its tasks, and what can be done with it. */
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, apiPath, type Answer, type ApiError, type SessionListItem } from "../data/api.ts";
import { openStream } from "../data/event-stream.ts";
import {
  converse,
  emptyConversation,
  notesOf,
  withNotes,
  type Conversation,
  type SessionResponse,
} from "./conversation.ts";

export type SessionState =
  | { readonly kind: "open"; readonly connection: "open" | "lost" }
  | { readonly kind: "ended" }
  | { readonly kind: "failed"; readonly reason: string };

export interface OpenSession {
  readonly conversation: Conversation;
  readonly state: SessionState;
  /** How it was started and what it was asked. Undefined until the server has told, and for a session of a task. */
  readonly known: SessionListItem | undefined;
  /** The error of the last request. */
  readonly problem: ApiError | undefined;
  /** Whether the server took it. */
  readonly send: (prompt: string) => Promise<boolean>;
  readonly startTask: (taskName: string, userInput: string) => Promise<boolean>;
}

export function useSession(sessionId: string): OpenSession {
  const [responded, setResponded] = useState(emptyConversation);
  const [state, setState] = useState<SessionState>({ kind: "open", connection: "open" });
  const [problem, setProblem] = useState<ApiError>();
  // Whoever asks, here or in another tab: the model begins to work, or refuses.
  const [known, askAgain] = useKnown(sessionId, responded.working);

  useEffect(() => {
    setResponded(emptyConversation);
    return openStream<SessionResponse>(apiPath`copilot/session/${sessionId}/events`, {
      messages: (batch) => setResponded((before) => converse(before, batch)),
      connection: (state) => setState({ kind: "open", connection: state }),
      ended: () => setState({ kind: "ended" }),
      failed: ({ reason }) => setState({ kind: "failed", reason }),
    });
  }, [sessionId]);

  const conversation = useMemo(
    () => (known === undefined ? responded : withNotes(responded, notesOf(known))),
    [responded, known],
  );
  const request = async (asked: Promise<Answer<unknown>>) => {
    setProblem(undefined);
    const answer = await asked;
    if (answer.ok) await askAgain();
    else setProblem(answer);
    return answer.ok;
  };
  return {
    conversation,
    state,
    known,
    problem,
    send: (prompt) => request(api.query(sessionId, prompt)),
    startTask: (taskName, input) => request(api.startTask(taskName, sessionId, input)),
  };
}

/** The server's record of the session, beyond its feed, requested again whenever `changed` does. */
function useKnown(
  sessionId: string,
  changed: unknown,
): readonly [SessionListItem | undefined, () => Promise<void>] {
  const [known, setKnown] = useState<SessionListItem>();
  const latest = useRef(0);
  const ask = useCallback(async () => {
    const number = ++latest.current;
    const answer = await api.sessions();
    if (!answer.ok || number !== latest.current) return;
    const found = answer.value.find((session) => session.sessionId === sessionId);
    if (found !== undefined) setKnown(found);
  }, [sessionId]);
  useEffect(() => void ask(), [ask, changed]);
  return [known, ask];
}
