/**
 * Loaded into the command line's process before it (`--import`). Watches what this process starts and says
 * to the runtime, so that a failure can happen at a moment that nobody outside can see, and notes whether
 * anything held the process open at its end, and how long its event loop was blocked at most. It changes nothing
 * of what it watches.
 */
import childProcess, { execFileSync, type ChildProcess } from "node:child_process";
import { appendFileSync, readFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { programIn } from "../../src/platform/processes.ts";

/** A failure that the probe makes happen; the environment variable `CHAOS_PROBE` holds it as JSON. */
export interface ProbePlan {
  /** Where the notes go, one JSON object for each line. */
  readonly log: string;
  /** `spawn`, or a method of the runtime's protocol that is just being called. */
  readonly moment?: string;
  /** For the how-manieth time: 1 is the first. */
  readonly from?: number;
  /** Every time from then on. */
  readonly lasting?: boolean;
  /** So many milliseconds the time of the system jumps when this process gets `JUMP_SIGNAL`. */
  readonly jump?: number;
  /** Shell commands; `$SELF` and `$RUNTIME` are process ids. */
  readonly commands?: string;
}

export const JUMP_SIGNAL = "SIGUSR2";

export type ProbeNote =
  | { readonly kind: "spawned"; readonly pid: number }
  | { readonly kind: "fired"; readonly at: number }
  /** Nothing held the process open any more: it ended by itself. */
  | { readonly kind: "quiet"; readonly resources: readonly string[] }
  | { readonly kind: "exit"; readonly resources: readonly string[]; readonly blockedMs: number };

const everyMs = 10;

/** The longest time for which this process itself kept its event loop busy, from the first start of a runtime on. */
class LoopWatch {
  longest = 0;
  #timer: NodeJS.Timeout | undefined;

  start(): void {
    if (this.#timer !== undefined) return;
    let wall = performance.now();
    let cpu = process.cpuUsage();
    this.#timer = setInterval(() => {
      const used = process.cpuUsage(cpu);
      const late = performance.now() - wall - everyMs;
      this.longest = Math.max(this.longest, Math.min(late, (used.user + used.system) / 1000));
      wall = performance.now();
      cpu = process.cpuUsage();
    }, everyMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** The runtime, once its sandbox has started it. */
function started(sandbox: number): number {
  const end = performance.now() + 2_000;
  for (;;) {
    const pid = programIn(sandbox) ?? sandbox;
    const isRuntime = readFileSync(`/proc/${pid}/comm`, "latin1").startsWith("copilot");
    if (isRuntime || performance.now() > end) return pid;
  }
}

function watch(plan: ProbePlan): void {
  const note = (one: ProbeNote): void => appendFileSync(plan.log, `${JSON.stringify(one)}\n`);
  const loop = new LoopWatch();
  let seen = 0;
  const reached = (moment: string, runtime: number): void => {
    if (moment !== plan.moment || plan.commands === undefined) return;
    seen += 1;
    const from = plan.from ?? 1;
    if (plan.lasting === true ? seen < from : seen !== from) return;
    note({ kind: "fired", at: Date.now() });
    loop.stop();
    const env = {
      PATH: process.env["PATH"],
      SELF: `${process.pid}`,
      RUNTIME: `${started(runtime)}`,
    };
    execFileSync("sh", ["-c", plan.commands], { env, stdio: "ignore" });
    loop.start();
  };
  const { jump } = plan;
  if (jump !== undefined) {
    const now = Date.now.bind(Date);
    process.on(JUMP_SIGNAL, () => {
      Date.now = () => now() + jump;
    });
  }
  childProcess.spawn = new Proxy(childProcess.spawn, {
    apply(spawn, self, given) {
      const child: ChildProcess = Reflect.apply(spawn, self, given);
      const { pid, stdin } = child;
      const isRuntime = /\/runtime(?:-\d+\/sandbox\/enter)?$/.test(String(given[0]));
      // One that can't even be started has no pid, and the moment is over already.
      if (pid === undefined || !isRuntime) return child;
      note({ kind: "spawned", pid });
      loop.start();
      if (stdin !== null) {
        stdin.write = new Proxy(stdin.write.bind(stdin), {
          apply(write, _self, written) {
            const method = /"method":"([\w.]+)"/.exec(String(written[0]))?.[1];
            // Before the runtime can answer: what fails then is the same on a fast machine and on a slow one.
            if (method !== undefined) reached(method, pid);
            return Reflect.apply(write, undefined, written);
          },
        });
      }
      reached("spawn", pid);
      return child;
    },
  });
  syncBuiltinESMExports();
  process.once("beforeExit", () => note({ kind: "quiet", resources: resources() }));
  process.once("exit", () =>
    note({ kind: "exit", resources: resources(), blockedMs: loop.longest }),
  );
}

/** Timers that hold nothing open are not among them: the watch over the event loop is one. */
const resources = (): readonly string[] => process.getActiveResourcesInfo();

// Read without a check: this file's only reader wrote it.
const given = process.env["CHAOS_PROBE"];
if (given !== undefined) {
  const plan: ProbePlan = JSON.parse(given);
  watch(plan);
}
