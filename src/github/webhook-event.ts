/** Reads the cause and the subject of an event. The payload is untrusted JSON, so every field is checked. */
import { readFile } from "node:fs/promises";
import { isList, isRecord } from "../text/guards.ts";

export interface Actor {
  readonly login: string;
  readonly bot: boolean;
}

export interface EventFacts {
  readonly name: string;
  readonly readable: boolean;
  /** All users that the event names as its cause. */
  readonly actors: readonly Actor[];
  /** `fork`: its head is in another repository, or that is unknown. */
  readonly pullRequest:
    { readonly fork: boolean; readonly baseSha: string | undefined } | undefined;
  /** The number of the pull request that a comment belongs to. `unknown` if the payload has no number. */
  readonly commentedPullRequest: number | "unknown" | undefined;
  /** For `workflow_run`: whether the triggering run was for a fork's head, or that is unknown. */
  readonly upstreamFork: boolean;
  /** The event of that run. */
  readonly upstreamEvent: string | undefined;
  /** The user who re-ran the run. Undefined for the first attempt. */
  readonly restartedBy: Actor | undefined;
}

export interface RunnerEvent {
  readonly name: string;
  readonly payload: unknown;
  /** `GITHUB_ACTOR`: also in later attempts the one who began the first. */
  readonly actor: string | undefined;
  readonly triggeringActor?: string | undefined;
  readonly attempt?: string | undefined;
}

export function readEvent(event: RunnerEvent): EventFacts {
  const { name, payload, actor, triggeringActor } = event;
  const pullRequest = at(payload, "pull_request");
  const upstream = at(payload, "workflow_run");
  const repository = at(payload, "repository");
  return {
    name,
    readable: isRecord(payload),
    actors:
      name === "workflow_run"
        ? distinct([accountOf(at(upstream, "actor"))])
        : distinct([accountOf(at(payload, "sender")), actorOf(actor)]),
    pullRequest: isRecord(pullRequest)
      ? {
          fork: !sameRepository(at(pullRequest, "head", "repo"), at(pullRequest, "base", "repo")),
          baseSha: sha(at(pullRequest, "base", "sha")),
        }
      : undefined,
    commentedPullRequest: commentedPullRequest(at(payload, "issue")),
    upstreamFork: !sameRepository(at(upstream, "head_repository"), repository),
    upstreamEvent: textAt(upstream, "event"),
    restartedBy: isLaterAttempt(event) ? actorOf(triggeringActor) : undefined,
  };
}

/** If there is no attempt number, only another triggering actor shows a re-run. */
function isLaterAttempt({ attempt = "", actor, triggeringActor }: RunnerEvent): boolean {
  return attempt === ""
    ? triggeringActor?.toLowerCase() !== actor?.toLowerCase()
    : /^\d+$/.test(attempt) && Number(attempt) > 1;
}

function commentedPullRequest(issue: unknown): number | "unknown" | undefined {
  if ((at(issue, "pull_request") ?? undefined) === undefined) return undefined;
  return numberAt(issue) ?? "unknown";
}

export function at(value: unknown, ...keys: readonly string[]): unknown {
  let found = value;
  for (const key of keys) {
    if (!isRecord(found) || !Object.hasOwn(found, key)) return undefined;
    found = found[key];
  }
  return found;
}

/** Empty if there is no list. */
export function listAt(value: unknown, ...keys: readonly string[]): readonly unknown[] {
  const list = at(value, ...keys);
  return isList(list) ? list : [];
}

export function textAt(value: unknown, key: string): string | undefined {
  const text = at(value, key);
  return typeof text === "string" ? text : undefined;
}

export function numberAt(value: unknown): number | undefined {
  const number = at(value, "number");
  return typeof number === "number" && Number.isSafeInteger(number) ? number : undefined;
}

/** A repository that was deleted is null, and no repository is the same as that one. */
export function sameRepository(one: unknown, other: unknown): boolean {
  const [a, b] = [at(one, "id"), at(other, "id")];
  return typeof a === "number" && a === b;
}

function accountOf(account: unknown): Actor | undefined {
  const login = textAt(account, "login") ?? "";
  if (login === "") return undefined;
  return { login, bot: isBot(account) };
}

function actorOf(login: string | undefined): Actor | undefined {
  return login === undefined || login === "" ? undefined : { login, bot: isBotName(login) };
}

export function isBot(account: unknown): boolean {
  return at(account, "type") === "Bot" || isBotName(textAt(account, "login") ?? "");
}

/** No user's login can end like this. It identifies a bot, but doesn't make it trusted. */
function isBotName(login: string): boolean {
  return login.endsWith("[bot]");
}

function distinct(actors: readonly (Actor | undefined)[]): Actor[] {
  const known = new Map<string, Actor>();
  for (const actor of actors) {
    if (actor === undefined) continue;
    const key = actor.login.toLowerCase();
    known.set(key, { ...actor, bot: actor.bot || known.get(key)?.bot === true });
  }
  return [...known.values()];
}

/** A commit, and nothing that git or an address could take for something else. */
export function sha(value: unknown): string | undefined {
  return typeof value === "string" && /^[0-9a-f]{40}([0-9a-f]{24})?$/.test(value)
    ? value
    : undefined;
}

export async function payloadOf(path: string | undefined): Promise<unknown> {
  try {
    return path === undefined ? undefined : JSON.parse(await readFile(path, "utf8"));
  } catch {
    // An unreadable payload is unknown, and `trust.ts` decides what that means.
    return undefined;
  }
}
