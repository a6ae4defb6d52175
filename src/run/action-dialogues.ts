import type { Dialogue, DialogueContext, DialogueSpec } from "../engine/dialogue.ts";
import { crashOf } from "../engine/open-session.ts";
import type { ResolvedLimits } from "../engine/limits.ts";
import type { Crashed, ServerFailure } from "../engine/ports.ts";
import type { Permissions, PreparedEntry, PreparedTask } from "../entry/model.ts";
import type { TextStream } from "../redaction/secret-search.ts";
import { mayDelegate, ruleSet, toolVerdict } from "../permissions/rules.ts";
import type { Monument } from "../protocol/catalogue.ts";
import type { RunTools } from "./run-tools.ts";

export interface DialoguesOptions {
  readonly entry: PreparedEntry;
  readonly limits: ResolvedLimits;
  readonly permissionsOf: (taskId: string) => Permissions;
  readonly tools: RunTools;
  readonly redact: () => TextStream;
}

/** The depth of delegation: a task of the job delegates to a task, which delegates to another, and so on. */
const deepest = 3;
const daySeconds = 86_400;
const defaultIterations = 20;

export function actionDialogues(
  options: DialoguesOptions,
): Readonly<Record<string, DialogueSpec>> | undefined {
  const specs = Object.entries(options.entry.tasks).flatMap(([name, task]) =>
    task.protocol === undefined
      ? []
      : [[name, { start: (context: DialogueContext) => start(options, task, context) }] as const],
  );
  return specs.length === 0 ? undefined : Object.fromEntries(specs);
}

async function start(
  { entry, limits, permissionsOf, tools, redact }: DialoguesOptions,
  { iterations, preThinking, relics, monuments }: PreparedTask,
  context: DialogueContext,
): Promise<Dialogue | Crashed> {
  const { permissions, scope, work, depth } = context;
  const masked = (text: string): string => {
    const stream = redact();
    return stream.push(text) + stream.end();
  };
  const { toolbox, results } = await tools.open();
  const offer = await toolbox.toolsFor(permissions, scope.signal);
  const report = ({ server, reason }: ServerFailure): void =>
    context.decide({ kind: "tool-server-failed", server, reason });
  const crash = crashOf(offer.failures, report);
  if (crash !== undefined) return { kind: "crashed", crash };
  const refusal = await tools.refusal(permissions, offer.tools);
  if (refusal !== undefined) return { kind: "crashed", crash: refusal };
  const delegates = Object.keys(entry.tasks).filter(
    (name) =>
      depth < deepest &&
      name !== work.taskId &&
      mayDelegate(permissions, name, permissionsOf(name)),
  );
  const { taskMinutes, parallel } = limits;
  const delegateSeconds = Math.min(taskMinutes * 60, daySeconds);
  const { createActionDialogue } = await import("../protocol/dialogue.ts");
  const make = createActionDialogue({
    tools: offer.tools,
    changedTools: async () => {
      const next = await offer.changed(scope.signal);
      next?.failures.forEach(report);
      return next?.tools;
    },
    relics: toolbox.relicsFor(relics, permissions),
    monuments: monumentsOf(entry, monuments),
    delegates,
    without: (["task_manager", "trap_card"] as const).filter(
      (name) => toolVerdict(ruleSet(permissions), name) === "denied",
    ),
    limits: { parallel, delegateSeconds },
    iterations: iterations ?? defaultIterations,
    preThinking: preThinking === undefined || preThinking === false ? 0 : preThinking.iterations,
    store: (id, text) => tools.keep(id, text),
    readable: [results],
    redact: masked,
  });
  return make(context);
}

function monumentsOf(entry: PreparedEntry, names: readonly string[] | undefined): Monument[] {
  return Object.entries(entry.monuments ?? {})
    .filter(([name]) => names?.includes(name) ?? true)
    .map(([name, { tools = [], relics = [] }]) => ({ name, tools, relics }));
}
