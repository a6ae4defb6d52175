/** Random commands in a sandbox, on the real runtime: what they do, to what, under which name, by which program. */
import assert from "node:assert/strict";
import { basename, dirname, relative } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { makeCanaries, type Canaries } from "../rig/canaries.ts";
import { holds } from "../rig/fuzz.ts";
import { nightly } from "../rig/nightly.ts";
import { withoutSandbox } from "../rig/sandbox.ts";
import { confinedCommands, harmOf } from "../sessions/confined-commands.ts";

/** `P`: a path. */
const reads = [
  "cat P",
  "head -c 99 P",
  "dd if=P status=none",
  "cp P out/c$$ && cat out/c$$",
  "ln P out/c$$ && cat out/c$$",
  "mv P out/c$$ && cat out/c$$",
  "tar cf - P | strings",
  "xargs -a P",
  ". P",
  "echo $(< P)",
  "curl -s file://$(realpath P)",
  "find P -exec cat {} +",
  "grep -rh '' P",
  "sort P",
  "git diff --no-index /dev/null P",
  "git cat-file -p $(git hash-object -w --no-filters P)",
  "git blame --contents=P inside.txt",
  "git -c core.pager='cat P; :' -p log",
  "git config -f P -l",
  "python3 -c 'print(open(\"P\").read())'",
  'node -e \'process.stdout.write(require("fs").readFileSync("P"))\'',
  "perl -pe 1 P",
  "ssh -o BatchMode=yes -o ProxyCommand='cat P >&2' x",
  "mount --bind $(dirname P) out; cat out/$(basename P)",
  "exec 7<P; cat /proc/self/fd/7",
];
const writes = [
  "echo x > P",
  "echo x >> P",
  "touch P",
  "rm -rf P",
  "mkdir -p P",
  "mv out/a.txt P",
  "cp out/a.txt P",
  "ln -sfn /etc P",
  "chmod 777 P",
  "truncate -s 9 P",
  "tee P < out/a.txt",
  "dd if=out/a.txt of=P",
  "tar cPf P out/a.txt",
  "git diff --output=P HEAD",
  "git config -f P a.b c",
  "git init -q P",
  'python3 -c \'open("P", "a").write("x")\'',
  'node -e \'require("fs").rmSync("P", { recursive: true, force: true })\'',
  "mv P out/m$$",
  "mv $(dirname P) out/m$$",
  "mount -t tmpfs x $(dirname P); touch P",
];
/** `H`: a host. `N`: a port. */
const connects = [
  "curl -sm 2 http://H:N/",
  "exec 3<>/dev/tcp/H/N; cat <&3",
  "python3 -c 'import socket; print(socket.create_connection((\"H\", N), 2).recv(99))'",
  'node -e \'require("net").connect(N, "H").pipe(process.stdout)\'',
  "git ls-remote http://H:N/x",
  "ssh -o ConnectTimeout=2 -o BatchMode=yes -p N H",
  "curl -sm 2 --proxy http://H:N http://example.com/",
];
/** `K`: a process. */
const kills = [
  "kill -9 K",
  "kill -9 -- -K",
  "python3 -c 'import os; os.kill(K, 9)'",
  "node -e 'process.kill(K, 9)'",
  "gdb -p K -batch -ex kill",
  "git -c alias.x='!kill -9 K' x",
];
/** `S`: the script with the command. */
const programs = [
  "bash S",
  "env -i PATH=$PATH bash S",
  "setsid -w bash S",
  "find out -name a.txt -exec bash S ;",
  "git -c alias.x='!bash S' x",
  "git -c core.fsmonitor='bash S >&2; :' status",
  "git -c core.hooksPath=out/hooks status; bash S",
  "tar cf /dev/null --checkpoint=1 --checkpoint-action=exec='bash S' out/a.txt",
  'python3 -c \'import subprocess; subprocess.run(["bash", "S"])\'',
  'node -e \'require("child_process").spawnSync("bash", ["S"], { stdio: "inherit" })\'',
  "awk 'BEGIN { system(\"bash S\") }'",
  "unshare -Urm bash S",
  "unshare -U bash S",
  "bwrap --dev-bind / / bash S",
  "nsenter -t 1 -a bash S",
  "script -qc 'bash S' /dev/null",
  "cd out && bash ../S",
  "ssh -o BatchMode=yes -o ProxyCommand='bash S >&2' x",
];

/** Other names for the same file. */
const names: readonly ((path: string, root: string) => string)[] = [
  (path) => path,
  (path, root) => relative(root, path),
  (path) => `/proc/self/root${path}`,
  (path) => `/proc/1/root${path}`,
  (path, root) => `/proc/self/cwd/${relative(root, path)}`,
  (path) => `$(ln -sfn ${dirname(path)} out/l$$; echo out/l$$/${basename(path)})`,
  (path) => `$(ln -sfn / out/r$$; echo out/r$$${path})`,
  (path) => path.replaceAll("/", "//./"),
];

function lines({ secrets, port, address, pid, outside, workspace }: Canaries) {
  const { path: root } = workspace;
  const targets = [
    ..."pwned inside.txt sub private private/key.txt sub/.env .git .git/config".split(" "),
    ...".git/hooks/pre-commit .git/commondir".split(" "),
  ];
  const written = [
    ...targets.map((name) => `${root}/${name}`),
    ...["pwned", "secret.txt", "listening"].map((name) => `${outside}/${name}`),
    "/etc/pwned",
    "/proc/sys/kernel/core_pattern",
  ];
  const hosts = ["127.0.0.1", "localhost", "::1", "0", "127.1", "0x7f.1", "2130706433", address];
  const renamed = (some: readonly string[]): fc.Arbitrary<string> =>
    fc
      .tuple(fc.constantFrom(...some), fc.constantFrom(...names))
      .map(([path, name]) => name(path, root));
  const filled = (
    some: readonly string[],
    letter: string,
    values: fc.Arbitrary<string>,
  ): fc.Arbitrary<string> =>
    fc
      .tuple(fc.constantFrom(...some), values)
      .map(([line, value]) => line.replaceAll(new RegExp(`\\b${letter}\\b`, "g"), () => value));
  const action = fc.oneof(
    { weight: 4, arbitrary: filled(reads, "P", renamed(secrets)) },
    { weight: 4, arbitrary: filled(writes, "P", renamed(written)) },
    {
      weight: 2,
      arbitrary: filled(connects, "H", fc.constantFrom(...hosts)).map((line) =>
        line.replaceAll(/\bN\b/g, String(port)),
      ),
    },
    { weight: 1, arbitrary: filled(kills, "K", fc.constantFrom(pid, process.pid).map(String)) },
  );
  return fc.tuple(action, fc.constantFrom(...programs)).map(([line, program]) => {
    const encoded = Buffer.from(line).toString("base64");
    const script = "out/s$$.sh";
    return `echo ${encoded} | base64 -d > ${script}; : '${line.replaceAll("'", '"')}'; ${program.replaceAll(/\bS\b/g, script).replace(/ ;$/, " ';'")}`;
  });
}

for (const shell of [true, ["*"]] as const) {
  test(
    `no command harms anything outside, with shell: ${JSON.stringify(shell)}`,
    { skip: withoutSandbox },
    async (t) => {
      const canaries = await makeCanaries(t);
      const run = await confinedCommands(t, canaries, shell);
      const [granted = ""] = await run(["cat inside.txt; echo made > out/made; cat out/made"]);
      assert.equal(granted, "inside\nmade\nend\n");
      const size = nightly || process.env["AGENT_JOBS_FUZZ_SECONDS"] !== undefined ? 40 : 15;
      const some = fc.array(lines(canaries), { minLength: size, maxLength: size });
      const property = fc.asyncProperty(some, async (batch) => {
        const outputs = await run(batch);
        assert.deepEqual(harmOf(canaries, batch, outputs), []);
        // Leftovers of a batch must not open the next sandbox.
        const next = [...canaries.secrets.map((path) => `cat ${path}`), "git status", "git diff"];
        assert.deepEqual(harmOf(canaries, next, await run(next)), []);
      });
      await holds(t, property, 1);
    },
  );
}
