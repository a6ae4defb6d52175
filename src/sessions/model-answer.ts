/** How the runtime reports an answer of a model. */
import type { SessionEvent } from "@github/copilot-sdk";
import type { AnswerFinish } from "../events/session-activity.ts";

export type SdkEvent<Type extends SessionEvent["type"]> = Extract<SessionEvent, { type: Type }>;

/** The runtime passes on the words of other servers too. With any other reason, an answer is complete. */
const finishes: Readonly<Record<string, AnswerFinish>> = {
  length: "length",
  max_tokens: "length",
  max_output_tokens: "length",
  model_length: "length",
  model_context_window_exceeded: "length",
  content_filter: "content_filter",
  refusal: "content_filter",
  safety: "content_filter",
  sensitive: "content_filter",
  recitation: "content_filter",
  blocklist: "content_filter",
  prohibited_content: "content_filter",
  spii: "content_filter",
  error: "error",
  abort: "error",
  aborted: "error",
  cancelled: "error",
  insufficient_system_resource: "error",
};

export const callReasons = ["tool_calls", "tool_use", "function_call"];

export function finishOf({ data }: SdkEvent<"assistant.usage">): AnswerFinish | undefined {
  if (data.contentFilterTriggered === true) return "content_filter";
  const reason = (data.finishReason ?? "").toLowerCase();
  return Object.hasOwn(finishes, reason) ? finishes[reason] : undefined;
}

/** The status of an error; undefined if it is not a whole number. A journal accepts only finite numbers. */
export function statusOf(reported: number | undefined): number | undefined {
  return reported !== undefined && Number.isSafeInteger(reported) && reported >= 100
    ? reported
    : undefined;
}
