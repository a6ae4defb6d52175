/** How the models are reached: describes the key without any part of its value. */
import type { Inputs } from "./inputs.ts";

export type ModelKey =
  | { readonly kind: "given"; readonly text: string }
  | { readonly kind: "missing"; readonly problem: string };

type Keys = Pick<Inputs, "rehearse" | "provider" | "gitHubToken">;

export function modelKey({ rehearse, provider, gitHubToken }: Keys): ModelKey {
  if (rehearse !== undefined) {
    return { kind: "given", text: "played by the rehearsal, without a token" };
  }
  if (provider !== undefined) {
    const key = provider.apiKey === undefined ? "without a key" : "with `provider-api-key`";
    const where = new URL(provider.baseUrl).origin;
    return {
      kind: "given",
      text: `your own server ${where} (${provider.type ?? "openai"}), ${key} and without a GitHub token`,
    };
  }
  if (gitHubToken === undefined) {
    return { kind: "missing", problem: `There is no token for the models. ${waysToFixIt}` };
  }
  if (gitHubToken.startsWith("ghp_")) {
    return {
      kind: "missing",
      problem: `\`github-token\` is a classic personal token (ghp_…), which doesn't work with GitHub Copilot. ${waysToFixIt}`,
    };
  }
  return { kind: "given", text: `GitHub Copilot, with ${tokenName(gitHubToken)}` };
}

/** The type of a token, by its prefix. */
function tokenName(token: string): string {
  if (token.startsWith("ghs_")) {
    return "an installation token (ghs_…) such as the built-in GITHUB_TOKEN, which requires `permissions: copilot-requests: write`";
  }
  if (token.startsWith("github_pat_")) return "a fine-grained personal token (github_pat_…)";
  if (token.startsWith("gho_") || token.startsWith("ghu_")) return "a user's token of an app";
  return "a token of unknown type";
}

const waysToFixIt = [
  "There are three ways to fix this:",
  "1. The built-in token: add `permissions: { contents: read, copilot-requests: write }` to the job, and omit `github-token`.",
  "2. A fine-grained personal token with the permission “Copilot Requests”, as a secret: `github-token: ${{ secrets.COPILOT_TOKEN }}`.",
  "3. Your own model server: `provider-base-url` and, from a secret, `provider-api-key`.",
].join("\n");
