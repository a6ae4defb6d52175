/**
 * Canaries: a secret of its own for every place that a secret can come from, and a search for them that
 * knows nothing of our redactor. Owns what counts as a find: any 16 characters in a row of a canary, of
 * its URL-encoded form, or of its base64 at any of the three alignments. So a secret that was cut in two,
 * or masked in part, is a find as well.
 */
import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** The place where it was planted → its value. */
export type Canaries = ReadonlyMap<string, string>;

const FRAGMENT = 16;
/** The length of a fragment is half of it; the step misses none. */
const PART = 8;
const STEP = FRAGMENT - PART + 1;

function random(length: number): string {
  return randomBytes(length).toString("base64url").replaceAll(/[-_]/g, "x").slice(0, length);
}

/** Characters that base64, JSON and URLs change, in between. */
function awkward(): string {
  return `${random(14)}/+${random(14)}"&=${random(14)}`;
}

/** Tokens of today's length and form, with dots. */
export function installationToken(): string {
  return `ghs_${random(36)}.${random(240)}.${random(240)}`;
}

/** Variables of a workflow step's environment, and of a person's shell. */
export function environmentCanaries(): Canaries {
  return new Map([
    ["GITHUB_TOKEN", installationToken()],
    ["GH_TOKEN", `github_pat_${random(82)}`],
    ["COPILOT_GITHUB_TOKEN", `gho_${random(36)}`],
    ["ACTIONS_RUNTIME_TOKEN", `eyJ${random(80)}.eyJ${random(300)}.${random(86)}`],
    ["ACTIONS_ID_TOKEN_REQUEST_TOKEN", `eyJ${random(80)}.eyJ${random(300)}.${random(86)}`],
    ["AWS_ACCESS_KEY_ID", `AKIA${random(16).toUpperCase()}`],
    ["AWS_SECRET_ACCESS_KEY", awkward()],
    ["AWS_SESSION_TOKEN", awkward()],
    ["OPENAI_API_KEY", `sk-${random(48)}`],
    ["MY_SECRET", awkward()],
    ["GH_PAT", awkward()],
    ["DB_PASS", awkward()],
    ["SIGNING_KEY", awkward()],
    ["DOCKER_AUTH", awkward()],
    // Given inside of a longer value; its own form in a URL is the one that counts.
    ["DATABASE_URL", random(40)],
    ["HTTPS_PROXY", random(40)],
  ]);
}

/** The variables that hold the canaries. */
export function variables(canaries: Canaries): Record<string, string> {
  const inside = new Map([
    ["DATABASE_URL", (value: string) => `postgres://shop:${value}@db.invalid:5432/shop`],
    ["HTTPS_PROXY", (value: string) => `http://proxy-user:${value}@proxy.invalid:8080`],
  ]);
  return Object.fromEntries(
    [...canaries].map(([name, value]) => [name, inside.get(name)?.(value) ?? value]),
  );
}

export interface Planted {
  readonly canaries: Canaries;
  /** Absolute paths of the files that hold them. */
  readonly files: readonly string[];
}

/** Files of a home directory: credentials, and start-up files of shells that export one. */
export async function plantHome(home: string): Promise<Planted> {
  const canaries = new Map(
    [".netrc", ".git-credentials", ".npmrc", "aws", "gh", "profile", "bashrc", "config-git"].map(
      (name) => [`HOME ${name}`, random(40)],
    ),
  );
  const value = (name: string): string => canaries.get(`HOME ${name}`) ?? "";
  return plant(home, canaries, {
    ".netrc": `machine github.com login octo password ${value(".netrc")}\n`,
    ".git-credentials": `https://octo:${value(".git-credentials")}@github.com\n`,
    ".npmrc": `//registry.invalid/:_authToken=${value(".npmrc")}\n`,
    ".aws/credentials": `[default]\naws_secret_access_key = ${value("aws")}\n`,
    ".config/gh/hosts.yml": `github.com:\n  oauth_token: ${value("gh")}\n`,
    ".profile": `export PROFILE_SECRET=${value("profile")}\n[ -f ~/.bashrc ] && . ~/.bashrc\n`,
    ".bashrc": `export BASHRC_SECRET=${value("bashrc")}\n`,
    ".gitconfig": `[user]\n\tname = A\n[http "https://git.invalid/"]\n\textraheader = X-Key: ${value("config-git")}\n`,
  });
}

export async function plantCheckout(checkout: string): Promise<Planted> {
  const canaries = new Map(
    [
      "extraheader",
      "remote",
      ".env",
      ".netrc",
      ".npmrc",
      ".pypirc",
      "gha-creds",
      "ssh",
      "deep .env",
    ].map((name) => [`checkout ${name}`, random(40)]),
  );
  const value = (name: string): string => canaries.get(`checkout ${name}`) ?? "";
  const basic = Buffer.from(`x-access-token:${value("extraheader")}`).toString("base64");
  return plant(checkout, canaries, {
    ".git/HEAD": "ref: refs/heads/main\n",
    ".git/objects/.keep": "",
    ".git/refs/.keep": "",
    ".git/config": [
      "[core]",
      "\trepositoryformatversion = 0",
      '[remote "origin"]',
      `\turl = https://octo:${value("remote")}@github.com/octo/shop`,
      '[http "https://github.com/"]',
      `\textraheader = AUTHORIZATION: basic ${basic}`,
      "",
    ].join("\n"),
    ".env": `SHOP_KEY=${value(".env")}\n`.repeat(80),
    ".netrc": `machine a login b password ${value(".netrc")}\n`,
    ".npmrc": `//registry.invalid/:_authToken=${value(".npmrc")}\n`,
    ".pypirc": `[pypi]\npassword = ${value(".pypirc")}\n`,
    "gha-creds-0123456789abcdef.json": `{"private_key":"${value("gha-creds")}"}\n`,
    ".ssh/id_ed25519": `KEY ${value("ssh")}\n`,
    "packages/api/.env.production": `SHOP_KEY=${value("deep .env")}\n`,
    // Large results have forms of their own, in which the runtime takes “-1-” for the number of a line.
    "packages/api/keys.ts": "KEY\n".repeat(100),
    "packages/step-1-build/.env": `SHOP_KEY=${value("deep .env")}\n`.repeat(80),
    ".gitignore": ".env\n",
  });
}

/** Where newer versions of a checkout step keep the credentials that `.git/config` includes. */
export async function plantRunnerTemp(folder: string): Promise<Planted> {
  const canaries = new Map([["RUNNER_TEMP git-credentials", random(40)]]);
  const [value = ""] = canaries.values();
  const basic = Buffer.from(`x-access-token:${value}`).toString("base64");
  return plant(folder, canaries, {
    "git-credentials-1.config": `[http "https://github.com/"]\n\textraheader = AUTHORIZATION: basic ${basic}\n`,
  });
}

async function plant(
  folder: string,
  canaries: Canaries,
  files: Readonly<Record<string, string>>,
): Promise<Planted> {
  const paths: string[] = [];
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
    paths.push(path);
  }
  return { canaries, files: paths };
}

export interface Search {
  /** The places whose canary, or a part of it, is in the text. */
  readonly find: (text: string) => readonly string[];
}

export function searchFor(canaries: Canaries): Search {
  const fragments = new Map<string, string>();
  const parts = new Set<string>();
  for (const [place, value] of canaries) {
    for (const form of forms(value)) {
      for (let at = 0; at + FRAGMENT <= form.length; at += 1) {
        fragments.set(form.slice(at, at + FRAGMENT), place);
      }
      for (let at = 0; at + PART <= form.length; at += 1) parts.add(form.slice(at, at + PART));
    }
  }
  return {
    find(text) {
      const places = new Set<string>();
      // Base64 comes in lines, and JSON escapes their ends.
      for (const shape of [text, text.replaceAll(/(?:\\+[rn]|\s)+/g, "")]) {
        for (let at = 0; at + PART <= shape.length; at += STEP) {
          if (!parts.has(shape.slice(at, at + PART))) continue;
          for (let start = Math.max(0, at - STEP + 1); start <= at; start += 1) {
            const place = fragments.get(shape.slice(start, start + FRAGMENT));
            if (place !== undefined) places.add(place);
          }
        }
      }
      return [...places].sort();
    },
  };
}

function forms(value: string): string[] {
  const base64 = [0, 1, 2].map((before) =>
    Buffer.concat([Buffer.alloc(before), Buffer.from(value)])
      .toString("base64")
      .replace(/=+$/, "")
      // The characters at both ends hold bits of what is beside the canary.
      .slice(before === 0 ? 0 : before + 1, -1),
  );
  const percent = encodeURIComponent(value);
  return [
    value,
    percent,
    percent.toLowerCase() === percent
      ? percent
      : percent.replaceAll(/%../g, (c) => c.toLowerCase()),
    ...base64,
    ...base64.map((form) => form.replaceAll("+", "-").replaceAll("/", "_")),
  ];
}
