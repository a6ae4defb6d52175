import type { Clock } from "../platform/clock.ts";
import { defined, isRecord, isText, parsedJson, urlOf } from "../text/guards.ts";
import { sentence } from "../text/truncate.ts";
import { capitalized } from "../events/decision.ts";
import { errorMessage } from "../platform/system-error.ts";
import { quoted, serverName, wordsOf } from "./model-error.ts";
import type { Environment } from "../platform/environment.ts";
import { startTimeLimit, within } from "../platform/waiting.ts";
import type { RuntimePool } from "../runtime/runtime-pool.ts";
import { forward } from "./forward.ts";
import { listOf, providerTypeOf, type Provider } from "./provider.ts";

/** A model that a session can be started with. */
export interface OfferedModel {
  /** For people. */
  readonly name: string;
  /** As an entry names it. */
  readonly id: string;
  /** What a request costs, in premium requests of GitHub Copilot; 0 for those of other servers. */
  readonly multiplier: number;
  /** How many tokens it reads and writes together, if its server tells. */
  readonly contextTokens?: number;
}

interface ListedModel extends OfferedModel {
  readonly owner?: string;
}

const answerMs = 5_000;
const accountMs = 15_000;

/** Takes the route of the model requests, through a proxy if there is one. */
export function askForModels(
  address: string,
  provider: Provider | undefined,
  environment: Environment,
  signal: AbortSignal,
): Promise<Response> {
  const url = provider === undefined ? `${address}/models` : listOf(provider);
  const headers = new Headers(headersOf(provider));
  return forward({ url, method: "GET", headers, body: "" }, environment, signal);
}

export function headersOf(provider: Provider | undefined): Record<string, string> {
  const { apiKey = "", headers = {} } = provider ?? {};
  const ofKey = provider && apiKey !== "" ? providerTypeOf[provider.type].headers(apiKey) : {};
  return { ...ofKey, ...headers };
}

/** Empty if it doesn't answer in time, or not with a list. */
export async function modelsOfServer(
  provider: Provider,
  environment: Environment,
  clock: Clock,
  milliseconds = answerMs,
): Promise<readonly ListedModel[]> {
  const limit = startTimeLimit(clock, milliseconds);
  try {
    const answer = await askForModels(provider.baseUrl, provider, environment, limit.signal);
    const list: unknown = await answer.json();
    const data = isRecord(list) ? list["data"] : undefined;
    const models = (Array.isArray(data) ? data : []).flatMap((model): [string, ListedModel][] => {
      if (!isRecord(model) || !isText(model["id"]) || model["id"] === "") return [];
      const id = model["id"];
      const { meta = {}, owned_by: owner }: Readonly<Record<string, unknown>> = model;
      const told = isRecord(meta) ? { ...model, ...meta } : model;
      // llama.cpp, vLLM, and others.
      const contextTokens = contextFields.map((name) => countOf(told[name])).find(Boolean);
      const more = { contextTokens, owner: isText(owner) ? owner : undefined };
      return [[id, { ...freeModel(id), ...defined(more) }]];
    });
    return [...new Map(models).values()];
  } catch {
    return [];
  } finally {
    limit.end();
  }
}

/** Why a server lists no models, and what to do. */
export async function whyNoModels(
  provider: Provider,
  environment: Environment,
  clock: Clock,
): Promise<string> {
  const { baseUrl } = provider;
  const server = capitalized(serverName(provider));
  const asks = `GET ${urlOf(listOf(provider))?.pathname ?? ""}`;
  const limit = startTimeLimit(clock, answerMs);
  try {
    const answer = await askForModels(baseUrl, provider, environment, limit.signal);
    const text = await answer.text();
    if (answer.ok && isRecord(parsedJson(text)))
      return `${server} has no models. Pull one first, or load it.`;
    const versioned = { ...provider, baseUrl: `${baseUrl}/v1` };
    if (!/\/v\d/.test(baseUrl) && (await modelsOfServer(versioned, environment, clock)).length > 0)
      return `${server} lists its models below /v1. Add /v1 to the base URL.`;
    const advice = [401, 403].includes(answer.status) ? "Check the key." : "Check the base URL.";
    return `${server} answered ${answer.status} to ${asks}${quoted(wordsOf(text))} ${advice}`;
  } catch (error) {
    const reason = limit.isOver ? `no answer within ${answerMs / 1000} s` : errorMessage(error);
    return `${server} can't be reached: ${sentence(reason)} Is it running?`;
  } finally {
    limit.end();
  }
}

/** The free ones first. Empty if the runtime doesn't start, or the service doesn't answer in time. */
export async function modelsOfAccount(
  pool: RuntimePool,
  gitHubToken: string | undefined,
  clock: Clock,
): Promise<readonly OfferedModel[]> {
  try {
    const lease = await pool.acquire({ searches: "open", requests: "direct" });
    try {
      // As for sessions, an installation token is in the environment of the runtime.
      const own = gitHubToken === undefined || gitHubToken.startsWith("ghs_");
      const asked = lease.runtime.client.rpc.models.list(own ? {} : { gitHubToken });
      const { models } = (await within(asked, accountMs, clock))?.value ?? { models: [] };
      // The price of a model without a multiplier (`auto`) is unknown.
      const isFree = ({ billing }: (typeof models)[number]) => billing?.multiplier === 0;
      const sorted = models.toSorted((a, b) => Number(isFree(b)) - Number(isFree(a)));
      return sorted.map(({ id, name, billing }) => ({
        name,
        id,
        multiplier: billing?.multiplier ?? 0,
      }));
    } finally {
      lease.release();
    }
  } catch {
    return [];
  }
}

const contextFields = ["n_ctx", "max_model_len", "context_length"];

export function countOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

/** Ollama lists `qwen3:latest` for what may be called `qwen3`. */
export function withoutLatest(id: string): string {
  return id.replace(/:latest$/, "");
}

export function freeModel(id: string): OfferedModel {
  return { name: id, id, multiplier: 0 };
}
