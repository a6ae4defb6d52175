/** A session on the server as a component sees it: its conversation, its tasks, and what can be done with it. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { api, apiPath, type ApiError } from "../data/api.ts";
import { openStream } from "../data/event-stream.ts";
import {
  converse,
  emptyConversation,
  type Conversation,
  type Note,
  type SessionResponse,
} from "./conversation.ts";
import { recall, remember, type SessionMemory } from "./session-memory.ts";

type NewNote =
  | { readonly kind: "prompt"; readonly text: string }
  | { readonly kind: "task"; readonly taskId: string; readonly taskName: string };

export type SessionState =
  | { readonly kind: "open"; readonly connection: "open" | "lost" }
  | { readonly kind: "ended" }
  | { readonly kind: "failed"; readonly reason: string };

export interface OpenSession {
  readonly conversation: Conversation;
  readonly state: SessionState;
  readonly memory: SessionMemory;
  /** What went wrong with the last thing that was asked for. */
  readonly problem: ApiError | undefined;
  /** Whether the server took it. */
  readonly send: (prompt: string) => Promise<boolean>;
  readonly startTask: (taskName: string, userInput: string) => Promise<boolean>;
  readonly stop: () => ReturnType<typeof api.stopSession>;
}

export function useSession(sessionId: string): OpenSession {
  const [memory, setMemory] = useState(() => recall(sessionId));
  const notes = useRef<readonly Note[]>(memory.notes);
  const [conversation, setConversation] = useState(emptyConversation);
  const responses = useRef(0);
  const [state, setState] = useState<SessionState>({ kind: "open", connection: "open" });
  const [problem, setProblem] = useState<ApiError>();

  useEffect(() => {
    responses.current = 0;
    setConversation(converse(emptyConversation, [], notes.current));
    return openStream<SessionResponse>(apiPath`copilot/session/${sessionId}/events`, {
      messages: (batch) => {
        responses.current += batch.length;
        setConversation((before) => converse(before, batch, notes.current));
      },
      connection: (state) => setState({ kind: "open", connection: state }),
      ended: () => setState({ kind: "ended" }),
      failed: ({ reason }) => setState({ kind: "failed", reason }),
    });
  }, [sessionId]);

  const add = useCallback(
    (after: number, note: NewNote) => {
      notes.current = [...notes.current, { after, ...note }];
      setConversation((before) => converse(before, [], notes.current));
      setMemory((before) => {
        const next = { ...before, notes: notes.current };
        remember(sessionId, next);
        return next;
      });
    },
    [sessionId],
  );

  const send = async (prompt: string) => {
    setProblem(undefined);
    const after = responses.current;
    const answer = await api.query(sessionId, prompt);
    if (answer.ok) add(after, { kind: "prompt", text: prompt });
    else setProblem(answer);
    return answer.ok;
  };
  const startTask = async (taskName: string, userInput: string) => {
    setProblem(undefined);
    const after = responses.current;
    const answer = await api.startTask(taskName, sessionId, userInput);
    if (answer.ok) add(after, { kind: "task", taskId: answer.value, taskName });
    else setProblem(answer);
    return answer.ok;
  };
  const stop = () => api.stopSession(sessionId);
  return { conversation, state, memory, problem, send, startTask, stop };
}
