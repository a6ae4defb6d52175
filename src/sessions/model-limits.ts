/** How much a model reads: what its server tells of it. An answer is kept as long as the sessions. */
import { isRecord } from "../text/guards.ts";
import type { SessionEvent } from "@github/copilot-sdk";
import type { Crash } from "../events/crash.ts";
import type { Clock } from "../platform/clock.ts";
import type { Environment } from "../platform/environment.ts";
import { startTimeLimit } from "../platform/waiting.ts";
import { forward } from "./forward.ts";
import { countOf, headersOf, modelsOfServer, withoutLatest } from "./offered-models.ts";
import { modelName, type ModelAddress } from "./model-error.ts";
import type { Provider } from "./provider.ts";

/** A model that never ends would write until the turn is over. */
export const OUTPUT_TOKENS = 8_192;
/** Room for a short answer, if nobody says how long one may be. */
const ANSWER_TOKENS = 2_048;

/** How much of a context a prompt may fill. */
export function promptTokensOf(contextTokens: number, outputTokens = ANSWER_TOKENS): number {
  return contextTokens - Math.min(outputTokens, Math.floor(contextTokens / 4));
}

/** The runtime compacts conversations, and counts a prompt before it sends it, but sends one that doesn't fit. */
export function overflowIn(event: SessionEvent, asked: ModelAddress): Crash | undefined {
  // After the other event, which the SDK's types don't have, no request is made.
  const isCount = /^(?:session\.usage_info|model\.compaction_static_context_blocked)$/;
  const { currentTokens = 0, tokenLimit = 0 }: Readonly<Record<string, unknown>> = {
    ...event.data,
  };
  if (!isCount.test(event.type) || event.agentId !== undefined) return undefined;
  if (typeof currentTokens !== "number" || typeof tokenLimit !== "number") return undefined;
  if (asked.contextTokens === undefined || currentTokens <= tokenLimit) return undefined;
  const [needed, context, rest] = [
    currentTokens,
    asked.contextTokens,
    asked.contextTokens - tokenLimit,
  ].map((count) => count.toLocaleString("en-US"));
  const message =
    `The prompt doesn't fit: with the system prompt and the tools it has about ${needed} tokens, and the ` +
    `${modelName(asked)} reads ${context}, of which ${rest} are for its answer. Start the server with a larger ` +
    "context (llama.cpp: -c, Ollama: OLLAMA_CONTEXT_LENGTH, vLLM: --max-model-len), write contextTokens into " +
    "`models` of the entry if the server tells a wrong one, or shorten the prompt.";
  return { cause: "configuration", message };
}

/** A session waits for it. Servers list their models while they write answers. */
const answerMs = 2_000;

export class ContextLengths {
  readonly #known = new Map<string, Promise<number | undefined>>();
  readonly #clock: Clock;
  readonly #environment: Environment;

  constructor({ clock, environment }: { clock: Clock; environment: Environment }) {
    this.#clock = clock;
    this.#environment = environment;
  }

  /** Undefined if the server doesn't tell. A server that doesn't answer is asked again by the next session. */
  of(provider: Provider, modelId: string): Promise<number | undefined> {
    const known = this.#known.get(modelId) ?? this.#ask(provider, modelId);
    this.#known.set(modelId, known);
    return known;
  }

  async #ask(provider: Provider, modelId: string): Promise<number | undefined> {
    const listed = await modelsOfServer(provider, this.#environment, this.#clock, answerMs);
    if (listed.length === 0) this.#known.delete(modelId);
    const model = listed.find(({ id }) => withoutLatest(id) === withoutLatest(modelId));
    if (model === undefined || model.owner === undefined) return model?.contextTokens;
    return model.contextTokens ?? this.#askOllama(provider, modelId);
  }

  /** A model that is loaded has a context; of another, Ollama knows what its file sets or allows. */
  async #askOllama(provider: Provider, modelId: string): Promise<number | undefined> {
    const { baseUrl } = provider;
    const limit = startTimeLimit(this.#clock, answerMs);
    const headers = new Headers({ ...headersOf(provider), "content-type": "application/json" });
    const ask = async (path: string, body = ""): Promise<Readonly<Record<string, unknown>>> => {
      const url = new URL(path, baseUrl).href;
      const request = { url, method: body === "" ? "GET" : "POST", headers, body };
      const answer: unknown = await (
        await forward(request, this.#environment, limit.signal)
      ).json();
      return isRecord(answer) ? answer : {};
    };
    try {
      const { models = [] } = await ask("/api/ps");
      const loaded: unknown = (Array.isArray(models) ? models : []).find(
        (one) => isRecord(one) && withoutLatest(String(one["name"])) === withoutLatest(modelId),
      );
      const context = isRecord(loaded) ? countOf(loaded["context_length"]) : undefined;
      if (context !== undefined) return context;
      const shown = await ask("/api/show", JSON.stringify({ model: modelId }));
      const [, set] = /^num_ctx\s+(\d+)/m.exec(String(shown["parameters"])) ?? [];
      if (set !== undefined) return countOf(Number(set));
      const info = Object.entries(isRecord(shown["model_info"]) ? shown["model_info"] : {});
      return countOf(info.find(([name]) => name.endsWith(".context_length"))?.[1]);
    } catch {
      return undefined;
    } finally {
      limit.end();
    }
  }
}
