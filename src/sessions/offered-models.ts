import type { Clock } from "../platform/clock.ts";
import { defined, isRecord, isText, parsedJson, urlOf } from "../text/guards.ts";
import { sentence } from "../text/truncate.ts";
import { capitalized } from "../events/decision.ts";
import { errorCode, errorMessage } from "../platform/system-error.ts";
import { quoted, serverName, wordsOf, modelName, type ModelAddress } from "./model-error.ts";
import type { Environment } from "../platform/environment.ts";
import { startTimeLimit, within } from "../platform/waiting.ts";
import type { RuntimePool } from "../runtime/runtime-pool.ts";
import { ask } from "./forward.ts";
import { keyOf, listOf, providerTypeOf, type Provider } from "./provider.ts";
import type { CopilotClient, SessionEvent } from "@github/copilot-sdk";
import type { ModelPrice } from "../entry/model.ts";
import { CREDITS_PER_USD } from "../text/numbers.ts";
import type { Crash } from "../events/crash.ts";

/** A model that a session can be started with. */
export interface OfferedModel {
  /** For people. */
  readonly name: string;
  /** The id that an entry uses. */
  readonly id: string;
  /** Copilot's price; absent if the service doesn't name it, and for models of other servers. */
  readonly price?: ModelPrice;
  /** How many tokens it reads and writes together, if its server tells. */
  readonly contextTokens?: number;
}

interface ListedModel extends OfferedModel {
  readonly owner?: string;
}

const answerMs = 5_000;
const accountMs = 15_000;

type PlainHeaders = Readonly<Record<string, string>>;

/** What a server says if it is asked for its models. */
export type Listing =
  | { readonly kind: "answered"; readonly status: number; readonly text: string }
  | { readonly kind: "keyless"; readonly reason: string }
  /** `code`: the system's own, if there was no connection. */
  | { readonly kind: "silent"; readonly reason: string; readonly code?: string | undefined };

interface Asking {
  readonly environment: Environment;
  readonly clock: Clock;
  readonly milliseconds?: number;
  readonly signal?: AbortSignal;
}

/** Takes the route of the model requests, through a proxy if there is one. */
export async function askForModels(
  address: string,
  provider: Provider | undefined,
  { environment, clock, milliseconds = answerMs, signal }: Asking,
): Promise<Listing> {
  const headers = await headersOf(provider).catch(errorMessage);
  if (typeof headers === "string") return { kind: "keyless", reason: headers };
  const limit = startTimeLimit(clock, milliseconds, signal);
  const url = provider === undefined ? `${address}/models` : listOf(provider);
  const request = { url, method: "GET", headers, body: "" };
  try {
    return { kind: "answered", ...(await ask(request, environment, limit.signal)) };
  } catch (error) {
    if (limit.isOver)
      return { kind: "silent", reason: `no answer within ${milliseconds / 1000} s` };
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    const code = errorCode(cause);
    return { kind: "silent", reason: errorMessage(cause) || (code ?? ""), code };
  } finally {
    limit.end();
  }
}

/** Not part of a time limit for an answer: a command that makes a key may take longer. Rejects with a `KeyUnavailable`. */
async function headersOf(provider: Provider | undefined): Promise<PlainHeaders> {
  const { headers = {} } = provider ?? {};
  const apiKey = provider === undefined ? "" : await keyOf(provider);
  const ofKey = provider && apiKey !== "" ? providerTypeOf[provider.type].headers(apiKey) : {};
  const all = Object.entries({ ...ofKey, ...headers });
  return Object.fromEntries(all.map(([name, value]) => [name.toLowerCase(), value]));
}

/** Empty if it doesn't answer in time, or not with a list. */
export async function modelsOfServer(
  provider: Provider,
  environment: Environment,
  clock: Clock,
  milliseconds = answerMs,
): Promise<readonly ListedModel[]> {
  const { baseUrl } = provider;
  const list = jsonIn(await askForModels(baseUrl, provider, { environment, clock, milliseconds }));
  const data = isRecord(list) ? list["data"] : undefined;
  const models = (Array.isArray(data) ? data : []).flatMap((model): [string, ListedModel][] => {
    if (!isRecord(model) || !isText(model["id"]) || model["id"] === "") return [];
    const id = model["id"];
    const { meta = {}, owned_by: owner }: Readonly<Record<string, unknown>> = model;
    const fields = isRecord(meta) ? { ...model, ...meta } : model;
    // llama.cpp, vLLM, and others.
    const contextTokens = contextFields.map((name) => countOf(fields[name])).find(Boolean);
    const more = { contextTokens, owner: isText(owner) ? owner : undefined };
    return [[id, { ...serverModel(id), ...defined(more) }]];
  });
  return [...new Map(models).values()];
}

/** Why a server lists no models, and what to do. */
export async function whyNoModels(
  provider: Provider,
  environment: Environment,
  clock: Clock,
): Promise<string> {
  const { baseUrl } = provider;
  const server = capitalized(serverName(provider));
  const listing = await askForModels(baseUrl, provider, { environment, clock });
  if (listing.kind === "keyless") return listing.reason;
  if (listing.kind === "silent")
    return `${server} can't be reached: ${sentence(listing.reason)} Is it running?`;
  const { status, text } = listing;
  if (status >= 200 && status < 300 && isRecord(parsedJson(text)))
    return `${server} has no models. Pull one first, or load it.`;
  const versioned = { ...provider, baseUrl: `${baseUrl}/v1` };
  const list = /\/v\d/.test(baseUrl)
    ? undefined
    : jsonIn(await askForModels(versioned.baseUrl, versioned, { environment, clock }));
  if (isRecord(list) && "data" in list)
    return `${server} lists its models below /v1. Add /v1 to the base URL.`;
  const advice = [401, 403].includes(status) ? "Check the key." : "Check the base URL.";
  const asks = `GET ${urlOf(listOf(provider))?.pathname ?? ""}`;
  return `${server} answered ${status} to ${asks}${quoted(wordsOf(text))} ${advice}`;
}

function jsonIn(listing: Listing): unknown {
  return listing.kind === "answered" ? parsedJson(listing.text) : undefined;
}

/** The cheapest first. Empty if the runtime doesn't start, or the service doesn't answer in time. */
export async function modelsOfAccount(
  pool: RuntimePool,
  gitHubToken: string | undefined,
  clock: Clock,
): Promise<readonly OfferedModel[]> {
  try {
    const lease = await pool.acquire({ searches: "open", requests: "direct" });
    try {
      // An installation token is in the environment of the runtime, as for sessions.
      const own = gitHubToken === undefined || gitHubToken.startsWith("ghs_");
      const asked = lease.runtime.client.rpc.models.list(own ? {} : { gitHubToken });
      const { models } = (await within(asked, accountMs, clock))?.value ?? { models: [] };
      return models
        .map(({ id, name, billing }) => ({ name, id, ...defined({ price: priceOf(billing) }) }))
        .sort((a, b) => (a.price?.output ?? Infinity) - (b.price?.output ?? Infinity) || 0);
    } finally {
      lease.release();
    }
  } catch {
    return [];
  }
}

type Billing = Awaited<
  ReturnType<CopilotClient["rpc"]["models"]["list"]>
>["models"][number]["billing"];

/** Converts credits for a batch of tokens. */
function priceOf(billing: Billing): ModelPrice | undefined {
  const { inputPrice, outputPrice, batchSize = 0, ...prices } = billing?.tokenPrices ?? {};
  if (inputPrice === undefined || outputPrice === undefined || !(batchSize > 0)) return undefined;
  const { cacheReadPrice = prices.cachePrice } = prices;
  const usd = (credits: number): number =>
    Math.round((credits / CREDITS_PER_USD / batchSize) * 1e12) / 1e6;
  const cached = cacheReadPrice === undefined ? {} : { cached: usd(cacheReadPrice) };
  return { input: usd(inputPrice), ...cached, output: usd(outputPrice) };
}

const contextFields = ["n_ctx", "max_model_len", "context_length"];

function countOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

/** Ollama lists `qwen3:latest` for what may be called `qwen3`. */
export function withoutLatest(id: string): string {
  return id.replace(/:latest$/, "");
}

export function serverModel(id: string): OfferedModel {
  return { name: id, id };
}

/** A model that never ends would write until the turn is over. */
export const OUTPUT_TOKENS = 8_192;
/** Room for a short answer, if nobody says how long one may be. */
const ANSWER_TOKENS = 2_048;

export function promptTokensOf(contextTokens: number, outputTokens = ANSWER_TOKENS): number {
  return contextTokens - Math.min(outputTokens, Math.floor(contextTokens / 4));
}

/** The runtime compacts conversations, and counts a prompt before it sends it, but sends one that doesn't fit. */
/** After the second one, which the SDK's types don't have, no request is made. */
const countsTokens = /^(?:session\.usage_info|model\.compaction_static_context_blocked)$/;

export function overflowIn(event: SessionEvent, asked: ModelAddress): Crash | undefined {
  if (event.agentId !== undefined || !countsTokens.test(event.type)) return undefined;
  const { currentTokens = 0, tokenLimit = 0 }: Readonly<Record<string, unknown>> = {
    ...event.data,
  };
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

/** Sessions wait for the answer. Servers list their models even while they write answers. */
const sessionAnswerMs = 2_000;
/** Ollama itself gives up after five minutes without progress. */
const loadMs = 300_000;

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
    const listed = await modelsOfServer(provider, this.#environment, this.#clock, sessionAnswerMs);
    if (listed.length === 0) this.#known.delete(modelId);
    const model = listed.find(({ id }) => withoutLatest(id) === withoutLatest(modelId));
    if (model === undefined || model.owner === undefined) return model?.contextTokens;
    return model.contextTokens ?? this.#askOllama(provider, modelId);
  }

  /**
   * Ollama knows the context of a loaded model only: its default depends on the memory of the machine, and what the
   * model was trained with may be far more. So the model is loaded, as the first request would do.
   */
  async #askOllama(provider: Provider, modelId: string): Promise<number | undefined> {
    const headers = { ...(await headersOf(provider)), "content-type": "application/json" };
    const askFor = async (path: string, body?: object, milliseconds = sessionAnswerMs) => {
      const method = body === undefined ? "GET" : "POST";
      const url = new URL(path, provider.baseUrl).href;
      const request = { url, method, headers, body: body ? JSON.stringify(body) : "" };
      const limit = startTimeLimit(this.#clock, milliseconds);
      const asked = ask(request, this.#environment, limit.signal).finally(() => limit.end());
      const answer = await asked.then(
        ({ text }) => parsedJson(text),
        () => undefined,
      );
      return isRecord(answer) ? answer : undefined;
    };
    const askLoaded = async (): Promise<number | "not loaded" | undefined> => {
      const models = (await askFor("/api/ps"))?.["models"];
      if (!Array.isArray(models)) return undefined;
      const loaded: unknown = models.find(
        (one) => isRecord(one) && withoutLatest(String(one["name"])) === withoutLatest(modelId),
      );
      return isRecord(loaded) ? countOf(loaded["context_length"]) : "not loaded";
    };
    let context = await askLoaded();
    if (context !== "not loaded") return context;
    const shown = await askFor("/api/show", { model: modelId });
    // A model in Ollama's cloud is never loaded here.
    if (!isText(shown?.["remote_host"])) {
      await askFor("/api/generate", { model: modelId, stream: false }, loadMs);
      context = await askLoaded();
      return context === "not loaded" ? undefined : context;
    }
    const info = Object.entries(isRecord(shown["model_info"]) ? shown["model_info"] : {});
    return countOf(info.find(([name]) => name.endsWith(".context_length"))?.[1]);
  }
}
