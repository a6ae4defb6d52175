/**
 * The credentials of an own model server never enter the runtime, in which an agent works: neither its environment, nor
 * its messages, nor its memory. It gets a placeholder, and this process puts the key and the headers into requests to
 * that server, and to no other.
 */
import { randomUUID } from "node:crypto";
import { errorMessage } from "../platform/system-error.ts";
import type { Provider } from "./provider.ts";
import { urlOf } from "../text/guards.ts";

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
