/** Decisions about the events of `test/fixtures/events`, by who may do what, and by what is checked out. */
import { readEvent } from "../../src/github/webhook-event.ts";
import { decideTrust, type TrustDecision } from "../../src/github/trust.ts";
import { eventSha, readFixture } from "../rig/runner.ts";

export interface Situation {
  /** The permission of everybody, or by login; anybody else has none. */
  readonly permission?: string | Error | Readonly<Record<string, string>>;
  readonly commented?: boolean | Error;
  /** The commits of the folders that the agent works in. Default of `files`, which decide about the run. */
  readonly checkedOut?: readonly (string | undefined)[];
  readonly files?: readonly (string | undefined)[];
  readonly onRunner?: boolean;
  readonly onAct?: boolean;
  readonly rehearses?: boolean;
  readonly allowed?: readonly string[];
  readonly triggeringActor?: string;
  readonly attempt?: string;
  readonly actor?: string;
  readonly payload?: unknown;
  readonly name?: string;
  readonly eventSha?: string | undefined;
}

export async function decide(
  fixture: string,
  situation: Situation = {},
): Promise<{ readonly decision: TrustDecision; readonly asked: readonly string[] }> {
  const { event, actor, payload } = await readFixture(fixture);
  const asked: string[] = [];
  const answer = <T>(question: string, value: T | Error): Promise<T> => {
    asked.push(question);
    return value instanceof Error ? Promise.reject(value) : Promise.resolve(value);
  };
  const decision = await decideTrust(
    readEvent({
      name: situation.name ?? event,
      payload: "payload" in situation ? situation.payload : payload,
      actor: situation.actor ?? actor,
      triggeringActor: situation.triggeringActor ?? situation.actor ?? actor,
      attempt: situation.attempt ?? "1",
    }),
    {
      builtInToken: false,
      allowed: situation.allowed ?? [],
      eventSha: "eventSha" in situation ? situation.eventSha : eventSha,
      onRunner: situation.onRunner ?? true,
      onAct: situation.onAct ?? false,
      rehearses: situation.rehearses ?? false,
    },
    {
      permissionOf(login) {
        const { permission = "write" } = situation;
        const isOne = typeof permission === "string" || permission instanceof Error;
        return answer(`permission of ${login}`, isOne ? permission : (permission[login] ?? "none"));
      },
      isForkPullRequest: (number) => answer(`pull ${number}`, situation.commented ?? false),
      checkedOut: () => {
        const work = situation.checkedOut ?? [eventSha];
        return Promise.resolve({ work, files: situation.files ?? work });
      },
    },
  );
  return { decision, asked };
}

/** How it was decided. */
export async function kindOf(fixture: string, situation?: Situation): Promise<string> {
  return (await decide(fixture, situation)).decision.kind;
}
