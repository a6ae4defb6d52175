/** Whether a task may have another task run. Pure. */
import { toolPatternMatches } from "../entry/tool-pattern.ts";
import type { Permissions } from "../entry/model.ts";
import { ruleSet, toolsFor, type RuleSet } from "./rules.ts";

/**
 * Delegation is allowed if `permissions.tools` names it: `delegate/TASK`, `delegate/*`, or `delegate` for every task.
 * `*` is not enough: it covers tools, and another task may have all permissions. Otherwise delegation is allowed only if
 * the other task can do nothing that the caller can't: it must not be a way around the permissions.
 */
export function mayDelegate(caller: Permissions, task: string, other: Permissions): boolean {
  const own = ruleSet(caller);
  const covers = (pattern: string): boolean =>
    pattern === "delegate" || toolPatternMatches(pattern, `delegate/${task}`);
  if (own.tools.deny.some(covers)) return false;
  const isNamed = own.tools.allow.some((pattern) => pattern !== "*" && covers(pattern));
  return isNamed || isCertainlyWithin(other, caller);
}

/** Only cases that are plain to see. */
function isCertainlyWithin(inner: Permissions, outer: Permissions): boolean {
  if (isUnconfined(inner) && !isUnconfined(outer)) return false;
  const less = ruleSet(inner);
  const more = ruleSet(outer);
  if (JSON.stringify(less) === JSON.stringify(more)) return true;
  if (more.everything && !deniesAnything(more)) return true;
  return onlyReads(less) && more.read.deny.length === 0 && offersAllOf(inner, outer);
}

function isUnconfined(permissions: Permissions): boolean {
  return typeof permissions === "object" && permissions.sandbox === "off";
}

function deniesAnything({ read, write, shell, url, hosts, tools }: RuleSet): boolean {
  return [read, write, shell, url, hosts, tools].some(({ deny }) => deny.length > 0);
}

/** In the working directory, without anything that the rules add. */
function onlyReads({ preset, read, write, shell, url, hosts, tools }: RuleSet): boolean {
  return (
    preset === "read-only" &&
    shell.allow !== true &&
    [read, write, url, hosts, tools].every(({ allow }) => allow.length === 0) &&
    shell.allow.length === 0
  );
}

/** Of the tools of the runtime. */
function offersAllOf(inner: Permissions, outer: Permissions): boolean {
  const offered = toolsFor(outer);
  return offered.includes("builtin:*") || toolsFor(inner).every((name) => offered.includes(name));
}
