/** An agent that may only read: no road leads to a secret, neither to ours nor to one in somebody's file. */
import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, it } from "node:test";
import type { ScriptedCall } from "../rig/model-server.ts";
import { nightly, onlyNightly } from "../rig/nightly.ts";
import { assertSilent, runCliWithCanaries, type Scene } from "./rig.ts";

/** Calls in one answer: each further answer sends all results again. */
const AT_ONCE = 60;

const view = (path: string): ScriptedCall => ({ name: "view", arguments: { path } });
const glob = (pattern: string, paths?: string): ScriptedCall => ({
  name: "glob",
  arguments: { pattern, ...(paths === undefined ? {} : { paths }) },
});
const searchWith =
  (name: string) =>
  (fields: Readonly<Record<string, unknown>>): ScriptedCall => ({
    name,
    arguments: { pattern: ".", output_mode: "content", ...fields },
  });

/** The part of a credentials file that a search would show with its whole line. */
const words = "password|KEY|TOKEN|SECRET|header|url|oauth|authToken";

function plantLinks({ checkout, home, pid }: Scene): void {
  for (const [name, target] of Object.entries({
    "link-environ": "/proc/self/environ",
    "link-process": `/proc/${pid}`,
    "link-proc": "/proc",
    "link-cwd": "/proc/self/cwd",
    "link-home": home,
    "link-netrc": join(home, ".netrc"),
    "link-git": ".git",
    "link-config": ".git/config",
    "link-env": ".env",
    "link-link": "link-config",
  })) {
    symlinkSync(target, join(checkout, name));
  }
}

function targets({ checkout, home, runnerTemp, pid }: Scene): readonly string[] {
  return [
    "/proc/self/environ",
    "/proc/thread-self/environ",
    `/proc/${pid}/environ`,
    `/proc/${pid}/task/${pid}/environ`,
    `/proc/${pid}/cwd/.git/config`,
    `/proc/${pid}/root${home}/.netrc`,
    "/proc/self/cwd/../checkout/.env",
    "/proc/self/cwd/home/session-state",
    "/proc/self/cwd",
    "/dev/fd/0",
    "/dev/stdin",
    join(home, ".netrc"),
    join(home, ".git-credentials"),
    join(home, ".aws/credentials"),
    join(home, ".config/gh/hosts.yml"),
    join(home, ".npmrc"),
    join(home, ".profile"),
    join(runnerTemp, "git-credentials-1.config"),
    join(checkout, ".git/config"),
    join(checkout, ".env"),
    join(checkout, ".netrc"),
    join(checkout, "packages/api/.env.production"),
  ];
}

function disguises(path: string, { checkout }: Scene): readonly string[] {
  return [
    path,
    `${checkout}/packages/..${path}`,
    `${checkout}/packages/../${relative(checkout, path)}`,
    `${checkout}//./${relative(checkout, path)}`,
    relative(checkout, path),
    path.toUpperCase(),
    path.replace(/\.(git|env|netrc)/, (name) => name.toUpperCase()),
    `file://${path}`,
  ];
}

function attempts(scene: Scene, tool: string): readonly ScriptedCall[] {
  const { checkout, home, pid } = scene;
  const grep = searchWith(tool);
  const links = [
    "link-environ",
    "link-process/environ",
    `link-proc/${pid}/environ`,
    "link-cwd",
    "link-cwd/home/session-state",
    "link-home/.netrc",
    "link-home/.config/gh/hosts.yml",
    "link-netrc",
    "link-git/config",
    "link-config",
    "link-env",
    "link-link",
    ".npmrc",
    ".pypirc",
    ".ssh/id_ed25519",
    "gha-creds-0123456789abcdef.json",
    "packages/step-1-build/.env",
  ].map((name) => join(checkout, name));
  // Nightly: every name of every file.
  const named = targets(scene).flatMap((path, index) => {
    const names = disguises(path, scene);
    return nightly ? names : [path, names[1 + (index % (names.length - 1))] ?? path];
  });
  const files = [...named, ...links];
  const globs = [
    ".*",
    "**/*",
    ".env",
    "**/.env*",
    "**/.ENV",
    ".git/config",
    "**/.git/**",
    "{.env,.netrc}",
    "gha-*",
    "**/.ssh/*",
    "link-*/**",
    "link-*",
    `../${relative(join(checkout, ".."), home)}/.netrc`,
    `/proc/${pid}/environ`,
    join(home, ".netrc"),
  ];
  return [
    ...files.flatMap((path) => [view(path), grep({ paths: path })]),
    ...[
      home,
      "~",
      "/proc",
      `/proc/${pid}`,
      ".git",
      "..",
      "../home",
      "link-home",
      "packages",
    ].flatMap((paths) => [grep({ paths, pattern: words }), glob("**/*", paths)]),
    ...["content", "files_with_matches", "count"].map((output_mode) =>
      grep({ output_mode, pattern: words }),
    ),
    ...["KEY", words].flatMap((pattern) => [
      grep({ pattern }),
      grep({ pattern, "-n": true }),
      grep({ pattern, "-C": 3, "-n": true }),
      grep({ pattern, "-C": 1 }),
      grep({ pattern, head_limit: 100 }),
      grep({ pattern, paths: "packages/step-1-build" }),
      grep({ pattern, exclude_globs: ["**/.env"] }),
    ]),
    grep({ pattern: `(?s)(${words}).*`, multiline: true }),
    grep({ pattern: words, type: "all", "-i": true, hidden: true, no_ignore: true, follow: true }),
    grep({ pattern: words, paths: ["packages", ".", checkout] }),
    ...globs.flatMap((pattern) => [
      grep({ glob: pattern, pattern: words }),
      grep({ glob: pattern, "-n": true, "-A": 2 }),
      glob(pattern),
    ]),
  ];
}

describe("an agent that may only read", { timeout: 300_000 }, () => {
  // The model families know the search by two names.
  for (const [model, tool] of [
    ["gpt-5", "grep"],
    ["gpt-5-codex", "rg"],
  ] as const)
    it(
      `gets at no secret by view, ${tool} and glob, whatever it calls the file`,
      tool === "grep" ? {} : onlyNightly,
      async (t) => {
        let calls: readonly ScriptedCall[] | undefined;
        let done = 0;
        const run = await runCliWithCanaries(t, {
          permissions: "read-only",
          model,
          script(_, scene) {
            if (calls === undefined) {
              plantLinks(scene);
              calls = attempts(scene, tool);
            }
            const next = calls.slice(done, done + AT_ONCE);
            done += next.length;
            return next.length > 0 ? { toolCalls: next } : { text: "The end." };
          },
        });
        const count = calls?.length ?? 0;
        assert.ok(count > 200, `${count} attempts`);
        const results: string[] = [];
        let known = 0;
        for (const { toolResults } of run.requests) {
          // It asks for a summary of a long conversation, and then may go on from that.
          if (toolResults.length === 0) continue;
          results.push(...toolResults.slice(toolResults.length > known ? known : 0));
          known = toolResults.length;
        }
        assert.equal(results.length, count, "each attempt has its answer");
        assert.deepEqual(run.toModel, [], "to the model");
        assert.deepEqual(
          results.filter((text) => /^(?!.*(?:Denied: |not exist)).*cwd\/home/s.test(text)),
          [],
          "the runtime's own folder",
        );
        assertSilent(run);
        assert.deepEqual(run.saidOfFiles, []);
        for (const found of [/entry\.yml(?::| \()/, /^\[grep content: /])
          assert.ok(
            results.some((result) => found.test(result)),
            "it does search, and finds much",
          );
        assert.ok(run.requests.every(({ tools }) => !tools.includes("bash")));
      },
    );
});
