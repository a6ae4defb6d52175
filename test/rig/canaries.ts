/** Things that a sandboxed program must not read, write, reach or end. The machine shows whether it did. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import {
  closeSync,
  lstatSync,
  openSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  writeFileSync,
  rmSync,
} from "node:fs";
import { chmod, symlink } from "node:fs/promises";
import { createServer } from "node:net";
import { homedir, networkInterfaces } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { makeRepository, makeWorkspace, type Workspace } from "./workspace.ts";

/** In every canary. */
export const secret = "OUTSIDE-SECRET";

export interface Canaries {
  readonly workspace: Workspace;
  /** A folder that nothing grants: `secret.txt`, and a socket `listening`. */
  readonly outside: string;
  /** Listens on all addresses of this machine. */
  readonly port: number;
  /** The name of a socket that is no file. */
  readonly abstractSocket: string;
  /** Has the secret in its environment. */
  readonly pid: number;
  readonly descriptor: number;
  /** Files with the secret in them. */
  readonly secrets: readonly string[];
  /** An address of this machine that is not loopback, if it has one. */
  readonly address: string;
  readonly harm: (output: string) => string[];
}

/** Everything that makes git run a program runs this, which does what it can. */
const evil = "evil.sh";

/** A repository in which only `out` may be written, and neither `.env` nor `private` read. */
export async function makeCanaries(t: TestContext): Promise<Canaries> {
  const { path: outside } = await makeWorkspace(t, { "secret.txt": `${secret}\n` });
  const workspace = await makeRepository(t, {
    "inside.txt": "inside\n",
    "sub/deep.txt": "deep\n",
    ".gitattributes": "*.txt diff=evil filter=evil\n",
    [evil]: `#!/bin/sh\ncat ${outside}/secret.txt .env private/key.txt >&2\ntouch pwned ${outside}/pwned\ncat\n`,
  });
  const { path } = workspace;
  for (const name of [".env", "sub/.env", "private/key.txt", "private/deep/key.txt"]) {
    await workspace.write(name, `${secret}\n`);
  }
  await workspace.write("out/a.txt", "a\n");
  await workspace.write(".git/hooks/post-checkout", `#!/bin/sh\nexec ./${evil}\n`);
  for (const name of [evil, ".git/hooks/post-checkout"]) await chmod(join(path, name), 0o755);
  await symlink(outside, join(path, "linked-folder"));
  await symlink(join(outside, "secret.txt"), join(path, "linked-file"));
  for (const [name, value] of [
    ["core.fsmonitor", `./${evil}`],
    ["diff.evil.textconv", `./${evil}`],
    ["filter.evil.clean", `./${evil}`],
    ["alias.evil", `!./${evil}`],
  ] as const) {
    await workspace.git("config", name, value);
  }
  let connections = 0;
  const listening: { port: number }[] = [];
  const abstractSocket = `agent-jobs-canary-${process.pid}`;
  for (const where of [{ port: 0 }, { path: join(outside, "listening") }, `\0${abstractSocket}`]) {
    const server = createServer((stream) => {
      connections += 1;
      stream.on("error", () => undefined).end(secret);
    });
    await new Promise<void>((resolve) => server.listen(where, resolve));
    t.after(() => server.close());
    const address = server.address();
    if (typeof address === "object" && address !== null) listening.push(address);
  }
  const canary = spawn("sleep", ["600"], {
    cwd: outside,
    env: { PATH: process.env["PATH"], CANARY: secret },
    stdio: "ignore",
  });
  t.after(() => canary.kill("SIGKILL"));
  assert.ok(canary.pid !== undefined);
  const shared = `/dev/shm/${abstractSocket}`;
  writeFileSync(shared, secret);
  const file = join(outside, "secret.txt");
  const descriptor = openSync(file, "r");
  t.after(() => {
    closeSync(descriptor);
    rmSync(shared, { force: true });
  });
  const own = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  const watched = [path, outside];
  const look = (): string => {
    const kernel = "/proc/sys/kernel/core_pattern";
    const places = ["/", "/etc", "/tmp", homedir()].map((folder) => namesOf(folder, /pwned/));
    return [...watched.flatMap(contents), ...places, readFileSync(kernel, "utf8")].join("\n");
  };
  let before = look();
  return {
    workspace,
    outside,
    port: listening[0]?.port ?? 0,
    abstractSocket,
    pid: canary.pid,
    descriptor,
    secrets: [
      file,
      join(path, "linked-file"),
      join(path, ".env"),
      join(path, "sub/.env"),
      join(path, "private/key.txt"),
      join(path, "private/deep/key.txt"),
      shared,
      `/proc/${canary.pid}/environ`,
      `/proc/${canary.pid}/cwd/secret.txt`,
      `/proc/${process.pid}/root${file}`,
      `/proc/${process.pid}/fd/${descriptor}`,
    ],
    address: own.find(({ internal, family }) => !internal && family === "IPv4")?.address ?? "127.1",
    harm(output) {
      const now = look();
      const harms = [
        ...(output.includes(secret) ? ["the secret was read"] : []),
        ...(now === before ? [] : [`something was written:\n${difference(before, now)}`]),
        ...(connections === 0 ? [] : ["a server was reached"]),
        ...(canary.exitCode === null && canary.signalCode === null ? [] : ["a process was ended"]),
      ];
      before = now;
      connections = 0;
      return harms;
    },
  };
}

function contents(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.name === "out") return [];
    const { mode, nlink } = lstatSync(path);
    const line = `${path} ${mode.toString(8)} ${entry.isDirectory() ? "" : nlink}`;
    if (entry.isDirectory()) return [line, ...contents(path)];
    if (entry.isSymbolicLink()) return [`${line} ${readlinkSync(path)}`];
    return [entry.isFile() ? `${line} ${readFileSync(path, "base64")}` : line];
  });
}

function namesOf(folder: string, pattern: RegExp): string {
  return readdirSync(folder)
    .filter((name) => pattern.test(name))
    .join(" ");
}

function difference(before: string, now: string): string {
  const old = new Set(before.split("\n"));
  return now
    .split("\n")
    .filter((line) => !old.has(line))
    .join("\n");
}
