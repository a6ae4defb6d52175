/** Models, the server that offers them, and the runtime. */
import { providerTypes, wireApis } from "../../sessions/provider.ts";
import * as kind from "../option-kinds.ts";
import type { Rows } from "./row.ts";

export const modelOptions = {
  models: {
    kind: kind.models,
    name: "model",
    help: "Another model for everything, or for a category of the entry.",
    input:
      "Another model for everything, or models for categories of the entry, one `category=id` per line.",
    group: "Models",
    flag: "--model <[category=]id>",
    env: "AGENT_JOBS_MODEL",
    mayBeEmpty: true,
    on: ["run", "serve", "action", "host"],
  },
  checkModels: {
    kind: kind.flag,
    help: "Checks first that the model server, or GitHub, offers the models of the entry.",
    group: "Models",
    flag: "--check-models",
    conflicts: "rehearse",
    on: ["run"],
  },
  providerType: {
    kind: kind.choice(providerTypes),
    help: "The type of your own model server. Default: `openai`.",
    group: "Models",
    flag: "--provider-type <type>",
    env: "AGENT_JOBS_PROVIDER_TYPE",
    mayBeEmpty: true,
    on: ["run", "serve", "access"],
  },
  providerBaseUrl: {
    kind: kind.text,
    help: "The address of your own model server, used instead of GitHub Copilot. It requires no GitHub token.",
    risk: "the server sees everything that the agent reads.",
    group: "Models",
    flag: "--provider-base-url <url>",
    env: "AGENT_JOBS_PROVIDER_BASE_URL",
    mayBeEmpty: true,
    on: ["run", "serve", "access", "action"],
  },
  providerApiKey: {
    kind: kind.text,
    help: "The key of the model server.",
    input: "The key of the model server, from a secret.",
    group: "Models",
    flag: "--provider-api-key <key>",
    env: "AGENT_JOBS_PROVIDER_API_KEY",
    mayBeEmpty: true,
    on: ["run", "serve", "access", "action"],
  },
  providerTokenCommand: {
    kind: kind.filled,
    help: "A command for bash that prints the key, also when it expires.",
    input:
      "A command for bash that prints the key of the model server, with the environment of the step, such as the exchange of an OIDC token. It runs again before the key expires.",
    risk: "it runs outside of any sandbox.",
    group: "Models",
    flag: "--provider-token-command <command>",
    env: "AGENT_JOBS_PROVIDER_TOKEN_COMMAND",
    mayBeEmpty: true,
    on: ["run", "serve", "access", "action"],
  },
  providerWireApi: {
    kind: kind.choice(wireApis),
    help: "The API of the model server. Default: `completions`.",
    group: "Models",
    flag: "--provider-wire-api <api>",
    env: "AGENT_JOBS_PROVIDER_WIRE_API",
    mayBeEmpty: true,
    on: ["run", "serve", "access"],
  },
  runtimePath: {
    kind: kind.filled,
    help: "The path of the Copilot runtime.",
    without: { cli: "COPILOT_CLI_PATH, then the installed package" },
    group: "Models",
    flag: "--runtime-path <path>",
    env: "AGENT_JOBS_RUNTIME_PATH",
    mayBeEmpty: true,
    on: ["run", "serve", "access", "host"],
  },
} as const satisfies Rows;
