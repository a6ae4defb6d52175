/** The types of model servers, and what differs between them. To add one, add it here, to `docs/cli.md` and to `action.yml`. */
import { defined, urlOf } from "../text/guards.ts";
import { randomUUID } from "node:crypto";
import { errorMessage } from "../platform/system-error.ts";

export const providerTypes = ["openai", "azure", "anthropic"] as const;
export const wireApis = ["completions", "responses"] as const;

/** Returns the key, before each request. `rejected`: the server has refused this one. Rejects with an Error for people. */
export type KeySource = (rejected?: string) => Promise<string>;

/** Your own model server. With it, no GitHub token is needed or used. */
export interface ProviderOptions {
  /** Default: `openai`. */
  readonly type?: (typeof providerTypes)[number];
  /** Such as `http://127.0.0.1:11434/v1`. */
  readonly baseUrl: string;
  /** Masked in everything that is written. Default: none. */
  readonly apiKey?: string | KeySource;
  /** Default: `completions`. */
  readonly wireApi?: (typeof wireApis)[number];
  /** Sent with every request. Masked, as the key is. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How long to wait for a server that isn't running. Default: 0. */
  readonly startSeconds?: number;
}

export type Provider = ProviderOptions & Required<Pick<ProviderOptions, "type">>;

interface ProviderType {
  readonly headers: (apiKey: string) => Record<string, string>;
  /** Whether a format of the answer can be asked for. */
  readonly formatsAnswers: boolean;
  /** The path of the API, behind the base URL. */
  readonly prefix: string;
  /** OpenTelemetry's `gen_ai.provider.name`. */
  readonly telemetryName: string;
}

export const providerTypeOf: Readonly<Record<Provider["type"], ProviderType>> = {
  openai: {
    headers: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
    formatsAnswers: true,
    prefix: "",
    telemetryName: "openai",
  },
  azure: {
    headers: (apiKey) => ({ "api-key": apiKey }),
    formatsAnswers: true,
    prefix: "",
    telemetryName: "azure.ai.openai",
  },
  anthropic: {
    headers: (apiKey) => ({ "x-api-key": apiKey, "anthropic-version": "2023-06-01" }),
    formatsAnswers: false,
    prefix: "/v1",
    telemetryName: "anthropic",
  },
};

export function withDefaults(provider: ProviderOptions): Provider {
  const address = provider.baseUrl.replace(/(?<!\/)\/+$/, "");
  // Anthropic's own address has no version, and many write it with one.
  const baseUrl = provider.type === "anthropic" ? address.replace(/\/v1$/, "") : address;
  return { type: "openai", wireApi: "completions", ...defined(provider), baseUrl };
}

export function withHeaders<P extends Provider>(provider: P, headers: Provider["headers"] = {}): P {
  return { ...provider, headers: { ...provider.headers, ...headers } };
}

export function listOf({ baseUrl, type }: Provider): string {
  return `${baseUrl.replace(/(?<!\/)\/+$/, "")}${providerTypeOf[type].prefix}/models`;
}

/** The method and path of a request for an answer; Azure's depends on the deployment. */
export function requestOf({ baseUrl, type, wireApi }: Provider): string | undefined {
  if (type === "azure") return undefined;
  const base = urlOf(baseUrl)?.pathname.replace(/\/$/, "") ?? "";
  const api = wireApi === "responses" ? "responses" : "chat/completions";
  return `POST ${base}/${type === "anthropic" ? "v1/messages" : api}`;
}

export const transportProvider = {
  type: "openai",
  baseUrl: "http://transport.invalid/v1",
  apiKey: "transport",
} as const;

/** Answers nothing and goes nowhere: with a custom transport the address is never looked up. */
export const rehearsalProvider = {
  type: "openai",
  baseUrl: "http://rehearsal.invalid/v1",
  apiKey: "rehearsal",
} as const;

/*
 * The credentials of an own model server never enter the runtime, in which an agent works: neither its environment, nor
 * its messages, nor its memory. It gets a placeholder, and this process puts the key and the headers into requests to
 * that server, and to no other.
 */

/** Whether its requests have to pass through this process. */
export function hasCredentials({ apiKey = "", headers = {} }: Provider): boolean {
  return apiKey !== "" || Object.keys(headers).length > 0;
}

/** Stands for the key in all requests of the runtime. It can't be guessed, so no text of a prompt is mistaken for it. */
const placeholder = `agent-jobs-${randomUUID()}`;

/** The settings of the server that the runtime gets. */
export function withoutCredentials(provider: Provider) {
  const { apiKey = "", headers: _headers, startSeconds: _startSeconds, ...others } = provider;
  return { ...others, ...(apiKey !== "" && { apiKey: placeholder }) };
}

/** The message is for people. */
export class KeyUnavailable extends Error {}

/** `rejected`: the server has refused this one. Rejects with a `KeyUnavailable`. */
export async function keyOf({ apiKey = "" }: Provider, rejected?: string): Promise<string> {
  if (typeof apiKey === "string") return apiKey;
  return apiKey(rejected).catch((error: unknown) => {
    throw new KeyUnavailable(`There is no key for the model server: ${errorMessage(error)}.`);
  });
}

/** Sends a request with its credentials; once more with another key if the server refuses the first and there is one. */
export async function sendAuthorized(
  { url, headers }: { readonly url: string; readonly headers: Headers },
  provider: Provider,
  send: (headers: Headers) => Promise<Response>,
): Promise<Response> {
  if (urlOf(url)?.origin !== urlOf(provider.baseUrl)?.origin) return send(headers);
  const key = await keyOf(provider);
  const response = await send(authorized(headers, key, provider.headers));
  if (response.status !== 401 || typeof provider.apiKey !== "function") return response;
  const next = await keyOf(provider, key);
  if (next === key) return response;
  await response.body?.cancel();
  return send(authorized(headers, next, provider.headers));
}

function authorized(headers: Headers, key: string, own: Provider["headers"] = {}): Headers {
  const sent = new Headers(own);
  for (const [name, value] of headers)
    if (!sent.has(name))
      sent.set(
        name,
        value.replaceAll(placeholder, () => key),
      );
  return sent;
}
