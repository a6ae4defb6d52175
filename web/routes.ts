/** The addresses of the page: the part after `#`, the same in the portal and in a report. */

export type Route =
  | { readonly page: "home" }
  | { readonly page: "run"; readonly runId: string; readonly part: RunPart }
  | { readonly page: "session"; readonly sessionId: string | undefined }
  | { readonly page: "journals" }
  | { readonly page: "unknown"; readonly hash: string };

export type RunPart =
  | { readonly kind: "overview" }
  | { readonly kind: "work"; readonly workId: number; readonly iteration: number | undefined }
  /** `block`: the number of what happened in it, from 1. */
  | { readonly kind: "turn"; readonly turnId: string; readonly block: number | undefined }
  /** The first call with that id. */
  | { readonly kind: "call"; readonly toolCallId: string }
  /** `number`: of the decisions of the run, from 1. */
  | { readonly kind: "decision"; readonly number: number }
  /** `number`: of the steps of workflows in the run, from 1. */
  | { readonly kind: "step"; readonly number: number }
  /** `number`: of the documents of the action protocol in the run, from 1. */
  | { readonly kind: "document"; readonly number: number }
  /** `number`: of the actions in the run, from 1. */
  | { readonly kind: "action"; readonly number: number }
  /** `node`: its number in the flowcharts of the workflow, from 0. */
  | { readonly kind: "activity"; readonly workId: number; readonly node: number };

export function parseRoute(hash: string): Route {
  const unknown: Route = { page: "unknown", hash };
  const parts = segments(hash);
  if (parts === undefined || parts.includes("")) return unknown;
  const [page, first, second, third, fourth] = parts;
  switch (page) {
    case undefined:
      return { page: "home" };
    case "journals":
      return parts.length === 1 ? { page } : unknown;
    case "session":
      return parts.length <= 2 ? { page, sessionId: first } : unknown;
    case "run": {
      if (first === undefined || parts.length > 5) return unknown;
      const part = runPart(second, third, fourth);
      return part === undefined ? unknown : { page, runId: first, part };
    }
    default:
      return unknown;
  }
}

function segments(hash: string): readonly string[] | undefined {
  try {
    return hash
      .replace(/^#?\/?/, "")
      .replace(/\/$/, "")
      .split("/")
      .filter((part, _index, all) => all.length > 1 || part !== "")
      .map((part) => decodeURIComponent(part));
  } catch {
    return undefined;
  }
}

function runPart(
  kind: string | undefined,
  id: string | undefined,
  rest: string | undefined,
): RunPart | undefined {
  if (kind === undefined) return { kind: "overview" };
  if (id === undefined || id === "") return undefined;
  const number = rest === undefined ? undefined : wholeNumber(rest);
  if (
    rest !== undefined &&
    (number === undefined || /^(?:call|decision|step|document|action)$/.test(kind))
  )
    return undefined;
  switch (kind) {
    case "work": {
      const workId = wholeNumber(id);
      return workId === undefined ? undefined : { kind, workId, iteration: number };
    }
    case "turn":
      return { kind, turnId: id, block: number };
    case "call":
      return { kind, toolCallId: id };
    case "decision":
    case "step":
    case "document":
    case "action": {
      const which = wholeNumber(id);
      return which === undefined ? undefined : { kind, number: which };
    }
    case "activity": {
      const workId = wholeNumber(id);
      return workId === undefined || number === undefined
        ? undefined
        : { kind, workId, node: number };
    }
    default:
      return undefined;
  }
}

function wholeNumber(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

export function hrefOf(route: Exclude<Route, { page: "unknown" }>): string {
  switch (route.page) {
    case "home":
      return "#/";
    case "journals":
      return "#/journals";
    case "session":
      return route.sessionId === undefined ? path("session") : path("session", route.sessionId);
    case "run":
      return path("run", route.runId, ...partSegments(route.part));
  }
}

/** The address of a run, or of a part of it. */
export function runHref(runId: string, part: RunPart = { kind: "overview" }): string {
  return hrefOf({ page: "run", runId, part });
}

function partSegments(part: RunPart): readonly string[] {
  switch (part.kind) {
    case "overview":
      return [];
    case "work":
      return [
        "work",
        String(part.workId),
        ...(part.iteration === undefined ? [] : [String(part.iteration)]),
      ];
    case "turn":
      return ["turn", part.turnId, ...(part.block === undefined ? [] : [String(part.block)])];
    case "call":
      return ["call", part.toolCallId];
    case "decision":
    case "step":
    case "document":
    case "action":
      return [part.kind, String(part.number)];
    case "activity":
      return ["activity", String(part.workId), String(part.node)];
  }
}

/**
 * The working directory that the query of the address proposes: `wb`, or `project`, a folder beside the repository.
 * Without either, the root of the repository.
 */
export function proposedDirectory(search: string, repoRoot: string): string {
  const query = new URLSearchParams(search);
  const project = query.get("project") ?? "";
  const beside = project === "" ? repoRoot : repoRoot.replace(/[^\\/]+[\\/]?$/, () => project);
  return query.get("wb") || beside;
}

/** Half a surrogate pair, as an id from a journal may hold it, can't be encoded. */
function path(...parts: readonly string[]): string {
  return `#/${parts.map((part) => encodeURIComponent(part.replace(/\p{Surrogate}/gu, "\uFFFD"))).join("/")}`;
}

/** Pages with the same key are one place: moving within it keeps the focus and the scroll position. */
export function placeOf(route: Route): string {
  if (route.page === "run") return path("run", route.runId);
  if (route.page === "unknown") return "unknown";
  return hrefOf(route);
}
