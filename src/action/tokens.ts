/** How the models are reached: which key it is, in words that hold nothing of its value. */
import type { Inputs } from "./inputs.ts";

export type ModelKey =
  | { readonly kind: "given"; readonly text: string }
  | { readonly kind: "missing"; readonly problem: string };

type Keys = Pick<Inputs, "rehearse" | "provider" | "gitHubToken">;

export function modelKey({ rehearse, provider, gitHubToken }: Keys): ModelKey {
  if (rehearse !== undefined) {
    return { kind: "given", text: "the rehearsal plays them; no token is used" };
  }
  if (provider !== undefined) {
    const key = provider.apiKey === undefined ? "without a key" : "with `provider-api-key`";
    const where = new URL(provider.baseUrl).origin;
    return {
      kind: "given",
      text: `your own server ${where} (${provider.type ?? "openai"}), ${key}; no GitHub token is used for them`,
    };
  }
  if (gitHubToken === undefined) {
    return { kind: "missing", problem: `There is no token for the models. ${waysToFixIt}` };
  }
  if (gitHubToken.startsWith("ghp_")) {
    return {
      kind: "missing",
      problem: `\`github-token\` is a classic personal token (ghp_…), which can't pay for models. ${waysToFixIt}`,
    };
  }
  return { kind: "given", text: `GitHub Copilot, with ${tokenName(gitHubToken)}` };
}

/** By its prefix, which says what a token is and nothing more. */
function tokenName(token: string): string {
  if (token.startsWith("ghs_")) {
    return "an installation token (ghs_…), as the built-in GITHUB_TOKEN is one; the job needs `permissions: copilot-requests: write`";
  }
  if (token.startsWith("github_pat_")) return "a fine-grained personal token (github_pat_…)";
  if (token.startsWith("gho_") || token.startsWith("ghu_")) return "a user's token of an app";
  return "a token of a kind unknown to us";
}

const waysToFixIt = [
  "Three ways to give one:",
  "1. The built-in token: add `permissions: { contents: read, copilot-requests: write }` to the job, and leave `github-token` out.",
  "2. A fine-grained personal token with the permission “Copilot Requests”, as a secret: `github-token: ${{ secrets.COPILOT_TOKEN }}`.",
  "3. A model server of your own: `provider-base-url` and, from a secret, `provider-api-key`.",
].join("\n");
