/** The model of a case: healthy but for the failure, at its moment. */
import { bash, type RecordedRequest, type Reply } from "../rig/model-server.ts";
import { SESSION_CRASH_PREFIX } from "../../src/engine/send-prompt.ts";
import type { Moment } from "./failure.ts";
import type { Case } from "./rules.ts";

/** The task's prompts, so that a request shows its purpose. */
export const prompts = {
  availability: "CHECK-AVAILABILITY: call job_boolean_true or job_boolean_false",
  prompt: "DO-THE-WORK",
  criteria: "CHECK-CRITERIA: call job_boolean_true or job_boolean_false",
  retry: "TRY-AGAIN",
  quick: "A-QUICK-SIBLING",
  busy: "A-BUSY-SIBLING",
} as const;

export interface Director {
  /** Resolves when the siblings are where they should be at the time of the failure. */
  readonly siblingsReady: Promise<void>;
  /** The moment of the failure: what is done to a process is done before this returns. */
  fire(): void;
  /** The busy sibling's tool has begun; resolves when it may end. */
  held(): Promise<void>;
  refuse(): void;
}

/** A subject's tool, which leaves a process behind and waits for the server: a moment that can be seen. */
function toolCommand(port: string, path: string): string {
  const leaving = "setsid sleep 900 >/dev/null 2>&1 </dev/null &";
  return [leaving, tellCommand(port, path), "echo done"].join("\n");
}

/** The only way out of a sandbox is its proxy, which Node 20 doesn't look for by itself. */
const get = `const [, url] = process.argv, { http_proxy: proxy } = process.env;
require("node:http").get(proxy || url, proxy ? { path: url } : {}, (answer) => answer.resume());`;

/** Tells the server that it has come here, and waits for its answer. */
export function tellCommand(port: string, path: string): string {
  return `'${process.execPath}' -e '${get}' http://127.0.0.1:${port}/${path} 2>/dev/null`;
}

type Spot = Exclude<Moment, "starting" | "creating" | "stopping" | "tool"> | "quick" | "busy";

function spotOf(prompt: string): Spot | undefined {
  const order = ["availability", "criteria", "retry", "prompt", "quick", "busy"] as const;
  return order.find((name) => prompt.includes(prompts[name]));
}

export function scriptOf(
  { failure, moment, lasting }: Case,
  port: () => string,
  director: Director,
): (request: RecordedRequest) => Promise<Reply> {
  let criteriaChecks = 0;
  let toolRuns = 0;
  const fails = (request: RecordedRequest): boolean =>
    lasting || !request.prompt.startsWith(SESSION_CRASH_PREFIX);

  const say = (text: string): Reply => ({ text });
  const call = (name: string, args: Readonly<Record<string, unknown>>): Reply => ({
    toolCalls: [{ name, arguments: args }],
  });
  const runs = (path: string): Reply => ({ toolCalls: [bash(toolCommand(port(), path))] });

  /** Step 0 is the first request of a turn; every tool call of ours is one step. */
  function healthy(spot: Spot, step: number): Reply {
    if (step > 0) return say("That was it.");
    switch (spot) {
      case "availability":
        return call("job_boolean_true", { argument: "it is there" });
      case "criteria":
        criteriaChecks += 1;
        return moment === "retry" && criteriaChecks === 1
          ? call("job_boolean_false", { argument: "not yet" })
          : call("job_boolean_true", { argument: "it is done" });
      case "prompt":
        return runs("tool");
      case "busy":
        return runs("held");
      case "retry":
      case "quick":
        return say("Done.");
    }
  }

  /** The subject's turn, with the failure in it. */
  function subject(spot: Spot, step: number, request: RecordedRequest): Reply {
    const { model } = failure;
    const at = moment === "tool" ? "prompt" : moment;
    if (spot !== at || !fails(request)) return healthy(spot, step);
    if (model === undefined) {
      if (moment !== "tool" && step === 0) director.fire();
      return healthy(spot, step);
    }
    const isAfterTool = moment !== "tool" || step > 0;
    switch (model.kind) {
      case "reply":
      case "refuse":
        if (!isAfterTool) return healthy(spot, step);
        director.fire();
        if (model.kind === "reply") return model.reply;
        director.refuse();
        return { reset: true };
      case "calls":
        if (step > 0) return healthy(spot, step - 1);
        director.fire();
        return { toolCalls: model.calls };
      case "endless":
        if (step === 0) director.fire();
        return { toolCalls: [model.call], delay: 100 };
    }
  }

  return async (request) => {
    switch (request.path) {
      case "/tool": {
        toolRuns += 1;
        const hit = moment === "tool" && failure.model === undefined;
        if (hit && (lasting || toolRuns === 1)) director.fire();
        return { raw: "" };
      }
      case "/fire":
        director.fire();
        return { raw: "" };
      case "/held":
        await director.held();
        return { raw: "" };
    }
    const spot = spotOf(request.prompt);
    if (spot === undefined) return { status: 400, raw: `what is this? ${request.prompt}` };
    // Calls of one answer are one step.
    const step = stepOf(request);
    if (spot === "quick") return healthy(spot, step);
    if (spot === "busy") {
      // Its second try, after the runtime died, has nothing to wait for.
      return request.prompt.startsWith(SESSION_CRASH_PREFIX) ? say("Done.") : healthy(spot, step);
    }
    await director.siblingsReady;
    return subject(spot, step, request);
  };
}

/** How many answers with tool calls the model has given since the last user message. */
function stepOf({ messages }: RecordedRequest): number {
  const lastUser = messages.findLastIndex(({ role }) => role === "user");
  return messages
    .slice(lastUser + 1)
    .filter(({ role, toolCalls }) => role === "assistant" && toolCalls.length > 0).length;
}
