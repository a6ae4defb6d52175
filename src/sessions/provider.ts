/** The types of model servers, and what differs between them. To add one, add it here, to `docs/cli.md` and to `action.yml`. */
import { defined } from "../document/guards.ts";

export const providerTypes = ["openai", "azure", "anthropic"] as const;
export const wireApis = ["completions", "responses"] as const;

/** Your own model server. With it, no GitHub token is needed or used. */
export interface ProviderOptions {
  /** Default: `openai`. */
  readonly type?: (typeof providerTypes)[number];
  /** Such as `http://127.0.0.1:11434/v1`. */
  readonly baseUrl: string;
  /** Masked in everything that is written. Default: none. */
  readonly apiKey?: string;
  /** Default: `completions`. */
  readonly wireApi?: (typeof wireApis)[number];
}

export type Provider = ProviderOptions & Required<Pick<ProviderOptions, "type">>;

interface ProviderType {
  readonly headers: (apiKey: string) => Record<string, string>;
  /** Whether a format of the answer can be asked for. */
  readonly formatsAnswers: boolean;
  /** OpenTelemetry's `gen_ai.provider.name`. */
  readonly telemetryName: string;
}

export const providerTypeOf: Readonly<Record<Provider["type"], ProviderType>> = {
  openai: {
    headers: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
    formatsAnswers: true,
    telemetryName: "openai",
  },
  azure: {
    headers: (apiKey) => ({ "api-key": apiKey }),
    formatsAnswers: true,
    telemetryName: "azure.ai.openai",
  },
  anthropic: {
    headers: (apiKey) => ({ "x-api-key": apiKey, "anthropic-version": "2023-06-01" }),
    formatsAnswers: false,
    telemetryName: "anthropic",
  },
};

export function withDefaults(provider: ProviderOptions): Provider {
  const { baseUrl } = provider;
  return { type: "openai", wireApi: "completions", ...defined(provider), baseUrl };
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
