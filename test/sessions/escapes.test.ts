/** Ways out that were found, and what stops each: real commands in a sandbox, with the machine as the judge. */
import assert from "node:assert/strict";
import { readlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeCanaries, secret, type Canaries } from "../rig/canaries.ts";
import { withoutSandbox } from "../rig/sandbox.ts";
import { confinedCommands, harmOf } from "./confined-commands.ts";

/** The mechanism that stops it → commands. `SECRET`, `OUTSIDE`, `PORT`, `PID`…: of the canaries. `LEAK` is printed if it shouldn't be. */
const escapes: Readonly<Record<string, readonly string[]>> = {
  "a file that isn't granted isn't there": [
    "cat SECRET linked-file linked-folder/secret.txt .env sub/.env private/key.txt",
    "cp -rL . out/copy; grep -r . out/copy/sub out/copy/private out/copy/.env; rm -rf out/copy",
    "grep -rh . . ; rg --hidden -uuu .; git grep --untracked --no-exclude-standard -h .; git grep --no-index .",
    "find . -type f -exec cat {} +; find -files0-from SECRET; find -L . -name '*.txt' -exec cat {} +",
    "tar cf - . SECRET | strings; tar -cf out/x.tar -T SECRET; tar cf - --checkpoint=1 --checkpoint-action=exec='cat SECRET' .",
    "sed -n 'r SECRET' inside.txt; sed '1e cat SECRET' inside.txt; sed 's/.*/cat SECRET/e' inside.txt; sed -f SECRET inside.txt",
    'awk \'BEGIN { system("cat SECRET"); while ((getline line < "SECRET") > 0) print line }\'',
    "sort --files0-from=SECRET; wc --files0-from=SECRET; du --files0-from=SECRET; sort SECRET; file -f SECRET; date -f SECRET; xargs -a SECRET",
    "diff --from-file=SECRET inside.txt; diff --to-file SECRET inside.txt; cmp -b SECRET inside.txt; grep -f SECRET inside.txt; rg -f SECRET; rg --pre ./evil.sh x",
    "curl -s file://SECRET; curl -sK SECRET; env -S 'cat SECRET'; . SECRET; bash SECRET; printf '%s\\n' \"$(<SECRET)\"",
    'python3 -c \'print(open("SECRET").read())\'; node -e \'console.log(require("fs").readFileSync("SECRET", "utf8"))\'; perl -pe 1 SECRET',
    "make -f SECRET; gcc -E -include SECRET -x c /dev/null; vim -es +'%p' +q SECRET; gdb -batch -ex 'shell cat SECRET'",
    "git diff --no-index /dev/null SECRET; git diff --no-index /dev/null .env; git hash-object --no-filters SECRET .env; git blame --contents=SECRET inside.txt; git blame -S SECRET inside.txt",
    "git -c alias.x='!cat SECRET .env' x; git -c core.pager='cat SECRET' -p log; git -c core.fsmonitor='cat SECRET >&2; :' status; git evil; git status; git diff --textconv HEAD; git log -p --textconv",
    "git bisect run cat SECRET; git submodule foreach cat SECRET; git grep -O'cat SECRET' inside; git difftool -yx 'cat SECRET' HEAD~0; git -c gpg.program=./evil.sh log --show-signature",
    "git clone 'ext::sh -c \"cat SECRET >&2\"' out/c; git fetch ./private; git archive --remote=OUTSIDE HEAD; git --git-dir=OUTSIDE log; git -C OUTSIDE log; git commit --allow-empty -F SECRET; git status --pathspec-from-file=SECRET",
    "ln -s SECRET out/l; cat out/l; ln -f .env out/h; cat out/h; ln -sf /proc/1/root out/r; cat out/rSECRET; cat /proc/self/rootSECRET; cd / && cat .SECRET",
    "ls -laR OUTSIDE /root /home /run/user /var/run | head -50; cat /dev/shm/*; cat /proc/*/environ | strings; cat /proc/PID/environ /proc/PID/cwd/secret.txt /proc/TEST/fd/DESCRIPTOR",
    "debugfs -R 'cat SECRET' $(findmnt -no SOURCE /usr | head -1); cat /dev/vda /dev/sda /dev/nvme0n1 | head -c 99; mknod out/vda b 254 0 && head -c 99 out/vda",
  ],
  "a file that isn't granted can't be written": [
    "echo x > pwned; touch OUTSIDE/pwned linked-folder/pwned private/pwned /etc/pwned ~/pwned /pwned; mkdir pwned; cp inside.txt pwned",
    "git log --output=pwned; git diff --output=pwned HEAD; git format-patch -o . HEAD; git archive -o pwned HEAD; git bundle create pwned HEAD",
    "git config core.pager x; git config --file inside.txt a.b c; git commit --allow-empty -qm x; git checkout -q -b x; git stash; git worktree add out/w; git rm -qf inside.txt; git mv inside.txt pwned",
    "echo x > .git/hooks/pre-commit; echo . > .git/commondir; mv .git out/git; mv .git/config .git/c; git init -q .; git init -q sub; ln -sfn out .git/hooks",
    "sed -i s/a/b/ inside.txt; sed 'w pwned' inside.txt; sort -o pwned inside.txt; uniq inside.txt pwned; xxd inside.txt pwned; tree -o pwned; split inside.txt pwned; tee pwned < inside.txt",
    "find . -fprint pwned; find . -fls pwned; find . -name deep.txt -delete; curl -so pwned file:///etc/hostname; curl -sD pwned file:///etc/hostname; wget -qO pwned x; dd if=inside.txt of=pwned",
    "tar cf pwned inside.txt; cd out && tar cf x.tar --transform='s,^,../,' a.txt && tar xPf x.tar; cd ..; ln -s .. out/up; echo x > out/up/pwned; cp inside.txt out/up/pwned",
    "ln -s / out/root; echo x > out/root/pwned; ln inside.txt out/hard && echo x >> out/hard; mv inside.txt out; rm -rf inside.txt private sub .git OUTSIDE; chmod 777 inside.txt .env; truncate -s 0 inside.txt",
    'awk \'BEGIN { print > "pwned" }\'; python3 -c \'open("pwned", "w")\'; node -e \'require("fs").writeFileSync("pwned", "")\'; perl -e \'open(F, ">pwned")\'; rsync -a out/ .; install inside.txt pwned; patch -o pwned inside.txt /dev/null',
    "mv out gone; mv out/a.txt .; rmdir out; mv sub gone; ln -sfn OUTSIDE out; mount --bind out sub",
  ],
  "there is no network, and no socket of another program": [
    "for host in 127.0.0.1 localhost ADDRESS '[::1]' 0x7f.1 2130706433 127.1. 0; do curl -sm 2 http://$host:PORT/; done",
    "python3 -c 'import socket; print(socket.create_connection((\"127.0.0.1\", PORT), 2).recv(99))'; exec 3<>/dev/tcp/ADDRESS/PORT && cat <&3",
    "curl -sm 2 --unix-socket OUTSIDE/listening http://x/; curl -sm 2 --abstract-unix-socket ABSTRACT http://x/; ssh -o ConnectTimeout=2 -o BatchMode=yes -p PORT ADDRESS; git ls-remote http://ADDRESS:PORT/",
    "curl -sm 2 http://169.254.169.254/ && echo LEAK; getent hosts example.com && echo LEAK; curl -sm 2 --proxy http://ADDRESS:PORT http://example.com/",
    "cat /proc/net/unix | grep -a canary && echo LEAK; ip route | grep . && echo LEAK; find /run /var /nix /etc /opt /tmp /root /home -xdev -type s | grep . && echo LEAK; for socket in /run/docker.sock /var/run/docker.sock $SSH_AUTH_SOCK; do curl -sm 2 --unix-socket $socket http://x/info; done",
  ],
  "other processes aren't there": [
    "kill -9 PID TEST; kill -9 -- -PID; python3 -c 'import os; os.kill(int(\"PID\"), 4 + 5)'; pkill -9 -f 'sleep 600'; killall -9 sleep",
    "gdb -p PID -batch -ex kill; timeout 2 strace -p PID; cat /proc/PID/mem; echo x > /proc/PID/oom_score_adj; renice 19 PID; prlimit --pid PID --cpu=1; nsenter -t PID -a cat SECRET; nsenter -t TEST -m cat SECRET",
    "ls -d /proc/PID /proc/TEST && echo LEAK; for name in pid net ipc uts user mnt; do case ' NAMESPACES ' in *\" $(readlink /proc/self/ns/$name) \"*) echo LEAK $name;; esac; done",
    "ls -l /proc/self/fd | grep -E 'secret.txt|socket:' && echo LEAK; test \"$(ipcs -m | grep -c 0x)\" = 0 || echo LEAK; env | grep -iE 'token|secret|passw|api_?key' && echo LEAK",
  ],
  "there are no capabilities, and no user namespaces to get them": [
    "umount private; umount -l .env; umount -l .; cat private/key.txt .env; mount -o remount,rw,bind . && touch pwned; mount -o remount,rw /",
    "grep -E 'Cap(Eff|Prm|Bnd)' /proc/self/status | grep -v 0000000000000000 && echo LEAK; grep -q 'NoNewPrivs:.1' /proc/self/status || echo LEAK",
    "unshare -Ur umount private; unshare -Urm sh -c 'umount -l private; umount -l .env; cat private/key.txt .env; mount -o remount,rw,bind . && touch pwned'; unshare -U true && echo LEAK",
    "bwrap --bind / / --proc /proc cat SECRET; bwrap --dev-bind / / true && echo LEAK; unshare -Urpf --mount-proc sh -c 'echo x > /proc/sys/kernel/core_pattern'; chroot . true && echo LEAK; pivot_root . out",
    "echo '|/bin/sh' > /proc/sys/kernel/core_pattern; sysctl -w kernel.core_pattern=x; echo x > /proc/sys/kernel/hostname; echo b > /proc/sysrq-trigger; echo x > /proc/self/root/proc/sys/kernel/core_pattern",
    'python3 -c \'import ctypes, os; l = ctypes.CDLL(None); l.unshare(0x12020000); os.makedirs("/tmp/cg", exist_ok=True); print(["LEAK" for n, o in ((b"cgroup2", None), (b"cgroup", b"memory"), (b"cgroup", b"freezer")) if l.mount(b"x", b"/tmp/cg", n, 0, o) == 0])\'',
    "sudo -n cat SECRET; su -c 'cat SECRET'; pkexec cat SECRET; mount /dev/vda out; script -qc 'cat SECRET' /dev/null; setpriv --reuid=0 cat SECRET",
  ],
};

test("what was a way out is stopped by the sandbox", { skip: withoutSandbox }, async (t) => {
  const canaries = await makeCanaries(t);
  const run = await confinedCommands(t, canaries, ["*"]);
  for (const [stop, commands] of Object.entries(escapes)) {
    const lines = commands.map((line) => filled(line, canaries));
    const outputs = await run(lines);
    assert.deepEqual(harmOf(canaries, lines, outputs), [], stop);
  }
});

function filled(line: string, canaries: Canaries): string {
  const { outside, port, pid, descriptor, address, abstractSocket } = canaries;
  const kinds = ["pid", "net", "ipc", "uts", "user", "mnt"];
  const values: Readonly<Record<string, string | number>> = {
    SECRET: join(outside, "secret.txt"),
    OUTSIDE: outside,
    PORT: port,
    PID: pid,
    TEST: process.pid,
    DESCRIPTOR: descriptor,
    ADDRESS: address,
    ABSTRACT: abstractSocket,
    NAMESPACES: kinds.map((kind) => readlinkSync(`/proc/self/ns/${kind}`)).join(" "),
    // Not as it is: a message of the shell repeats the line.
    LEAK: secret.replace("-", "-''"),
  };
  const names = new RegExp(Object.keys(values).join("|"), "g");
  return line.replaceAll(names, (name) => String(values[name]));
}
