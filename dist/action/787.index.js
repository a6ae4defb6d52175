export const id = 787;
export const ids = [787];
export const modules = {

/***/ 8787:
/***/ ((__unused_webpack___webpack_module__, __webpack_exports__, __webpack_require__) => {


// EXPORTS
__webpack_require__.d(__webpack_exports__, {
  runAction: () => (/* binding */ runAction)
});

// EXTERNAL MODULE: external "node:crypto"
var external_node_crypto_ = __webpack_require__(7598);
// EXTERNAL MODULE: external "node:fs/promises"
var promises_ = __webpack_require__(1455);
// EXTERNAL MODULE: external "node:os"
var external_node_os_ = __webpack_require__(8161);
// EXTERNAL MODULE: external "node:path"
var external_node_path_ = __webpack_require__(6760);
;// CONCATENATED MODULE: ./src/entry/diagnostic.js
/** What `validateEntry` and the loaders throw. The message is that of the first diagnostic. */
class diagnostic_DiagnosticsError extends Error {
    diagnostics;
    constructor(diagnostics) {
        super(diagnosticMessage(diagnostics[0] ?? { codePath: "", reason: "invalid" }));
        this.name = "DiagnosticsError";
        this.diagnostics = diagnostics;
    }
}
/** `codePath: reason`, the seed's form. */
function diagnosticMessage(diagnostic) {
    return diagnostic.codePath === ""
        ? diagnostic.reason
        : `${diagnostic.codePath}: ${diagnostic.reason}`;
}
/** `file:line:column: codePath: reason`, the form that editors and terminals link. */
function diagnosticLine(diagnostic) {
    const { file, line, column, hint } = diagnostic;
    const place = [file, line, column].filter((part) => part !== undefined).join(":");
    const text = diagnosticMessage(diagnostic) + (hint === undefined ? "" : ` (${hint})`);
    return place === "" ? text : `${place}: ${text}`;
}

;// CONCATENATED MODULE: ./src/events/view-model.js
/** Decisions kept for each work, and for the job. */
const KEPT_DECISIONS = 50;
/** Different denials kept of a run. */
const KEPT_DENIALS = 100;
function createRunView() {
    return {
        jobName: "",
        entryFile: undefined,
        workingDirectory: "",
        status: "pending",
        reason: undefined,
        startedAt: undefined,
        endedAt: undefined,
        works: new Map(),
        totals: noCounters(),
        decisions: [],
        droppedDecisions: 0,
        decided: new Map(),
        denials: [],
        reportedDocument: undefined,
        lastSpeaker: undefined,
    };
}
function noCounters() {
    return {
        runs: 0,
        attempts: 0,
        retries: 0,
        crashes: 0,
        denials: 0,
        modelCalls: 0,
        inputTokens: 0,
        outputTokens: 0,
        cacheReadTokens: 0,
        reasoningTokens: 0,
        cost: 0,
    };
}

;// CONCATENATED MODULE: ./src/events/decision.js
function decisionCategory(decision) {
    switch (decision.kind) {
        case "availability-passed":
        case "availability-failed":
            return "AVAILABILITY";
        case "criteria-passed":
        case "criteria-failed":
            return "CRITERIA";
        case "session-crashed":
            return "SESSION CRASHED";
        case "crash-retry":
        case "criteria-retry":
        case "crash-budget-drained":
        case "criteria-budget-drained":
        case "availability-drained":
            return "DECISION";
        case "session-started":
        case "session-ended":
        case "waiting":
        case "runtime-restarted":
        case "leftovers-ended":
        case "permission-denied":
        case "limit-crossed":
            return "OPERATION";
        case "task-succeeded":
            return "TASK SUCCEEDED";
        case "task-failed":
            return "TASK FAILED";
        case "note":
            return "MISC";
    }
}
/** The text after the prefix. */
function decisionMessage(decision) {
    switch (decision.kind) {
        case "availability-passed":
            return `availability.${decision.field} holds: ${decision.reason}`;
        case "availability-failed":
            return `availability.${decision.field} does not hold: ${decision.reason} (${decision.field} = ${decision.content})`;
        case "criteria-passed":
            return `criteria.${decision.field} holds: ${decision.reason}`;
        case "criteria-failed":
            return `criteria.${decision.field} does not hold: ${decision.reason} (${decision.field} = ${decision.content})`;
        case "session-crashed":
            return `${missionName(decision.mission)}, try ${decision.attempt} of ${decision.attempts}: ${decision.crash.message}${decision.crash.detail === undefined ? "" : ` ${decision.crash.detail}`}`;
        case "crash-retry":
            return `${missionName(decision.mission)} in a new session after a crash, retry ${decision.retry} of ${decision.of}, model ${decision.modelId}`;
        case "criteria-retry":
            return `retry ${decision.retry} of ${decision.of}: ${decision.reason}`;
        case "crash-budget-drained":
            return `Retry budget drained because of crashing: ${missionName(decision.mission)} crashed ${times(decision.attempts)}${decision.advice === undefined ? "" : `. ${decision.advice}`}`;
        case "criteria-budget-drained":
            return `Retry budget drained because of criteria failure after ${decision.retries} ${decision.retries === 1 ? "retry" : "retries"}: ${decision.reason}`;
        case "availability-drained":
            return `No retry: availability failed: ${decision.reason}`;
        case "session-started":
            return `${roleName(decision.role)} started: ${decision.sessionId}, model ${decision.modelId}`;
        case "session-ended":
            return `${roleName(decision.role)} ended: ${decision.sessionId}`;
        case "waiting":
            return `Waiting ${(decision.milliseconds / 1000).toFixed(1)} s: ${decision.reason}`;
        case "runtime-restarted":
            return `Copilot runtime restarted: ${decision.reason}`;
        case "leftovers-ended":
            return `Ended and removed what ${decision.runs === 1 ? "a killed run" : `${decision.runs} killed runs`} had left`;
        case "permission-denied":
            return `Denied ${decision.operation} ${decision.target}: ${decision.reason}`;
        case "limit-crossed":
            return `Limit ${decision.limit} = ${decision.value} of ${decision.scope} crossed; raise it in "limits.${decision.limit}" of the entry`;
        case "task-succeeded":
            return "Task succeeded";
        case "task-failed":
            return decision.reason;
        case "note":
            return decision.text;
    }
}
/** `[CATEGORY] text`: the form of the seed's `taskDecision`. */
function decisionText(decision) {
    return `[${decisionCategory(decision)}] ${decisionMessage(decision)}`;
}
function missionName(mission) {
    switch (mission) {
        case "availability":
            return "availability check";
        case "prompt":
            return "task prompt";
        case "criteria":
            return "criteria check";
    }
}
function roleName(role) {
    switch (role) {
        case "driving":
            return "Driving session";
        case "task":
            return "Task session";
        case "both":
            return "Session";
    }
}
function times(count) {
    return count === 1 ? "once" : `${count} times in a row`;
}

;// CONCATENATED MODULE: ./src/events/view.js
/**
 * The state of a run as a fold over its events: what the terminal, the job summary and a journal that is
 * read back all show. Owns the numbers: whoever shows tokens or attempts reads them here.
 *
 * - `applyEvent` accepts any events in any order (a torn journal, a work that nobody announced) and never
 *   throws; what it cannot place it leaves out.
 * - Memory depends on the number of works of the job, never on how often they run: a work keeps its
 *   totals, its open sessions and its last decisions.
 * - Times are the events' own `at`, in milliseconds.
 */



const MAX_DECISION_TEXT = 2000;
const MAX_MESSAGE = 64 * 1024;
const MAX_DENIAL_TEXT = 500;
/** How long the work has run at the time `now`, all its runs together. */
function elapsedMs(work, now) {
    return work.finishedMs + (work.startedAt === undefined ? 0 : Math.max(0, now - work.startedAt));
}
/** Changes `view` in place. */
function applyEvent(view, event) {
    switch (event.type) {
        case "run.started":
            view.jobName = event.jobName;
            view.entryFile = event.entryFile;
            view.workingDirectory = event.workingDirectory;
            view.status = "running";
            view.startedAt = event.at;
            for (const planned of event.works)
                workOf(view, { ...planned, run: 0 }).modelId = planned.modelId;
            return;
        case "run.ended":
            view.status = event.outcome.kind;
            view.reason = event.outcome.kind === "succeeded" ? undefined : event.outcome.reason;
            view.endedAt = event.at;
            for (const work of view.works.values())
                settle(work, event.at);
            return;
        case "work.started": {
            const work = workOf(view, event.work);
            if (work.startedAt !== undefined)
                stopClock(work, event.at);
            work.modelId = event.modelId;
            work.status = "running";
            work.reason = undefined;
            work.startedAt = event.at;
            count(view, work, "runs", 1);
            return;
        }
        case "work.ended": {
            const work = workOf(view, event.work);
            const { outcome } = event;
            work.status = outcome.kind;
            work.reason = outcomeReason(outcome);
            stopClock(work, event.at);
            return;
        }
        case "decision":
            applyDecision(view, event.work, event.decision, event.at);
            return;
        case "session.started":
            sessionOf(workOf(view, event.work), event.sessionId, event.modelId, event.role);
            return;
        case "session.ended":
            workOf(view, event.work).sessions.delete(event.sessionId);
            return;
        case "turn.started": {
            const work = workOf(view, event.work);
            const session = sessionOf(work, event.sessionId, event.modelId, "both");
            session.mission = event.mission;
            session.tools.clear();
            if (event.mission === "prompt")
                count(view, work, "attempts", 1);
            return;
        }
        case "turn.ended": {
            const session = workOf(view, event.work).sessions.get(event.sessionId);
            if (session !== undefined)
                session.mission = undefined;
            session?.tools.clear();
            return;
        }
        case "activity":
            applyActivity(view, workOf(view, event.work), event.sessionId, event.activity, event.at);
            return;
    }
}
function applyDecision(view, ref, decision, at) {
    const entry = {
        at,
        run: ref?.run ?? 0,
        kind: decision.kind,
        category: decisionCategory(decision),
        text: clip(decisionMessage(withoutDetail(decision)), MAX_DECISION_TEXT),
    };
    view.decided.set(decision.kind, (view.decided.get(decision.kind) ?? 0) + 1);
    const work = ref === null ? undefined : workOf(view, ref);
    const owner = work ?? view;
    owner.decisions.push(entry);
    if (owner.decisions.length > KEPT_DECISIONS) {
        owner.decisions.shift();
        owner.droppedDecisions += 1;
    }
    if (work === undefined)
        return;
    if (decision.kind === "criteria-retry")
        count(view, work, "retries", 1);
    if (decision.kind === "session-crashed")
        count(view, work, "crashes", 1);
}
function applyActivity(view, work, sessionId, activity, at) {
    const session = work.sessions.get(sessionId);
    switch (activity.kind) {
        case "message.ended":
            if (activity.text.trim() === "" || (session?.mission ?? "prompt") !== "prompt")
                return;
            work.lastMessage = clip(activity.text, MAX_MESSAGE);
            view.lastSpeaker = work.workId;
            return;
        case "tool.started":
            session?.tools.set(activity.toolCallId, { name: activity.toolName, startedAt: at });
            if (activity.toolName === "job_prepare_document") {
                view.reportedDocument = reportedDocument(activity.toolArguments) ?? view.reportedDocument;
            }
            return;
        case "tool.ended":
            session?.tools.delete(activity.toolCallId);
            return;
        case "model.used":
            addUsage(work, activity);
            addUsage(view.totals, activity);
            return;
        case "permission.denied":
            // The engine also makes a decision of it: counted here, once.
            count(view, work, "denials", 1);
            keepDenial(view, work, activity);
            return;
        default:
            return;
    }
}
/** The stack of a crash is for the journal. */
function withoutDetail(decision) {
    if (decision.kind !== "session-crashed")
        return decision;
    const { detail: _detail, ...crash } = decision.crash;
    return { ...decision, crash };
}
function keepDenial(view, { workId, taskId }, denied) {
    const operation = clip(denied.operation, MAX_DENIAL_TEXT);
    const target = clip(denied.target, MAX_DENIAL_TEXT);
    const reason = clip(denied.reason, MAX_DENIAL_TEXT);
    const known = view.denials.find((entry) => entry.workId === workId &&
        entry.operation === operation &&
        entry.target === target &&
        entry.reason === reason);
    if (known !== undefined)
        known.count += 1;
    else if (view.denials.length < KEPT_DENIALS) {
        view.denials.push({ workId, taskId, operation, target, reason, count: 1 });
    }
}
/** The rule of `$reported-document` (seeds/jobs-data.md, "Tools and Runtime Variables"). */
function reportedDocument(toolArguments) {
    try {
        const parsed = JSON.parse(toolArguments);
        if (typeof parsed !== "object" || parsed === null || !("argument" in parsed))
            return undefined;
        return typeof parsed.argument === "string"
            ? parsed.argument.split(/\r\n|\r|\n/, 1)[0]?.trim()
            : undefined;
    }
    catch {
        return undefined;
    }
}
function workOf(view, ref) {
    const known = view.works.get(ref.workId);
    if (known !== undefined)
        return known;
    const { workId, taskId } = ref;
    const work = {
        workId,
        taskId,
        modelId: "",
        status: "pending",
        reason: undefined,
        startedAt: undefined,
        finishedMs: 0,
        sessions: new Map(),
        lastMessage: undefined,
        decisions: [],
        droppedDecisions: 0,
        ...noCounters(),
    };
    view.works.set(workId, work);
    return work;
}
function sessionOf(work, sessionId, modelId, role) {
    const known = work.sessions.get(sessionId);
    if (known !== undefined)
        return known;
    const session = { sessionId, modelId, role, mission: undefined, tools: new Map() };
    work.sessions.set(sessionId, session);
    return session;
}
function stopClock(work, at) {
    work.finishedMs = elapsedMs(work, at);
    work.startedAt = undefined;
    // Sessions of a killed runtime may never have been reported as ended.
    work.sessions.clear();
}
/** Nothing runs after the end of the run. */
function settle(work, at) {
    stopClock(work, at);
    if (work.status === "pending")
        work.status = "skipped";
    if (work.status === "running")
        work.status = "canceled";
}
function outcomeReason(outcome) {
    switch (outcome.kind) {
        case "succeeded":
            return undefined;
        case "failed":
        case "canceled":
            return outcome.reason;
        case "crashed":
            return outcome.crash.message;
    }
}
function count(view, work, counter, by) {
    work[counter] += by;
    view.totals[counter] += by;
}
function addUsage(usage, used) {
    usage.modelCalls += 1;
    usage.inputTokens += used.inputTokens;
    usage.outputTokens += used.outputTokens;
    usage.cacheReadTokens += used.cacheReadTokens;
    usage.reasoningTokens += used.reasoningTokens;
    usage.cost += used.cost;
}
function clip(text, length) {
    return text.length <= length ? text : `${text.slice(0, length)}…`;
}

// EXTERNAL MODULE: external "node:util"
var external_node_util_ = __webpack_require__(7975);
// EXTERNAL MODULE: ../../node_modules/string-width/index.js + 1 modules
var string_width = __webpack_require__(2710);
;// CONCATENATED MODULE: ./src/reporters/text.js
/** Text that somebody else wrote, made fit for one line of a terminal. */


/** C0, DEL and C1 controls, bidirectional controls, invisible and tag characters, lone surrogates. */
const unsafe = /[\p{Cc}\u061C\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\p{Surrogate}\u{E0000}-\u{E007F}]/gu;
/** Neither moves the cursor nor colours, hides or reorders anything. Keeps LF. */
function harmless(text) {
    return (0,external_node_util_.stripVTControlCharacters)(text.replace(/\r\n?|\u0085|\u2028|\u2029/g, "\n"))
        .replaceAll("\t", " ")
        .replace(unsafe, (character) => (character === "\n" ? "\n" : "\uFFFD"));
}
/** Harmless and on one line of at most `length` UTF-16 units. */
function oneLine(text, length) {
    // Twice the length is enough to fill the line, and keeps megabytes out of the expressions below.
    const line = harmless(text.slice(0, length * 2))
        .trim()
        .split(/\s*\n\s*/)
        .join(" ⏎ ");
    if (line.length <= length && text.length <= length * 2)
        return line;
    return `${wholeStart(line, length - 1)}…`;
}
/** At most `lines` lines and `length` UTF-16 units. */
function paragraph(text, lines, length) {
    const all = harmless(text.slice(0, length)).trim().split("\n");
    const kept = all.slice(0, lines);
    if (kept.length < all.length || text.trim().length > length)
        kept.push("…");
    return kept;
}
/** Exactly `width` columns: cut between whole characters, or padded. */
function fit(text, width, align = "left") {
    const cut = cutTo(text, width);
    const padding = " ".repeat(Math.max(0, width - (0,string_width/* default */.A)(cut)));
    return align === "left" ? cut + padding : padding + cut;
}
/** At most `width` columns. */
function cutTo(text, width) {
    if ((0,string_width/* default */.A)(text) <= width)
        return text;
    let result = "";
    let used = 1;
    for (const { segment } of new Intl.Segmenter().segment(text)) {
        used += (0,string_width/* default */.A)(segment);
        if (used > width)
            break;
        result += segment;
    }
    return width < 1 ? "" : `${result}…`;
}
/** `mm:ss`, from an hour on `h:mm:ss`. */
function clockText(milliseconds) {
    const seconds = Math.max(0, Math.floor(milliseconds / 1000));
    const rest = `${twoDigits(Math.floor(seconds / 60) % 60)}:${twoDigits(seconds % 60)}`;
    return seconds < 3600 ? rest : `${Math.floor(seconds / 3600)}:${rest}`;
}
function twoDigits(value) {
    return String(value).padStart(2, "0");
}
/** `950`, `12.3k`, `4.5M`. */
function countText(count) {
    if (count < 1000)
        return String(Math.round(count));
    for (const [size, unit] of [
        [1e3, "k"],
        [1e6, "M"],
        [1e9, "G"],
    ]) {
        const scaled = count / size;
        if (scaled < 999.5)
            return `${scaled.toFixed(scaled < 99.95 ? 1 : 0)}${unit}`;
    }
    return count.toExponential(1);
}
function plural(count, noun) {
    return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
/** Does not cut a surrogate pair in two. */
function wholeStart(text, length) {
    const cut = text.slice(0, Math.max(0, length));
    return /[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut;
}

;// CONCATENATED MODULE: ./src/reporters/github-escape.js
/**
 * Text that somebody else wrote, made fit for GitHub: for the log, which its runner searches for commands,
 * and for Markdown, in which it makes links, images, mentions and references.
 *
 * - `logLine`: neither syntax of a workflow command is left, provided that something of ours stands before
 *   it (`::cmd::` counts at the start of a trimmed line only).
 * - `inline`: literal text in a paragraph, a table cell or an HTML element.
 * - `fenced`: a block of literal text.
 */

/**
 * The runner compares with the rules of a language, which overlook characters that are not seen; so they
 * may stand inside a marker.
 */
const overlooked = String.raw `[\p{Cc}\p{Cf}\p{Mn}\p{Me}\p{Default_Ignorable_Code_Point}\uFFFD]*`;
const oldMarker = new RegExp(`(?<=#${overlooked}#${overlooked})\\[`, "gu");
/** One line that may follow a text of ours in the log. */
function logLine(text, length) {
    return breakOldMarker(oneLine(text, length));
}
/** `##[cmd]` is a command wherever it stands. Keeps line ends. */
function breakOldMarker(text) {
    return text.replace(oldMarker, " [");
}
/**
 * Signs that mean something in Markdown or HTML, as numeric entities. A text may be a whole paragraph or
 * list item, so what would make it a heading, a list or a rule is escaped at its start.
 */
const signs = /[&<>"'\\`*_[\]{}|~#@$^]|^[-+=]|(?<=^\d{1,9})[.)]/g;
/**
 * GitHub looks for these in the finished page, where entities no longer help. A word joiner stands in
 * them: it can't be seen, and no line is broken at it.
 */
const references = [
    [/@(?=[\p{L}\p{N}_-])/gu, "@\u2060"],
    [/#(?=\d)/g, "#\u2060"],
    [/(GH-)(?=\d)/gi, "$1\u2060"],
    [/:(?=\/\/)/g, ":\u2060"],
    [/(www)(?=\.)/gi, "$1\u2060"],
    [/(mailto|xmpp):/gi, "$1:\u2060"],
];
/** Literal text on one line: no markup, mention, reference, link or image is left of it. */
function inline(text, length) {
    let result = oneLine(text, length);
    for (const [reference, broken] of references)
        result = result.replace(reference, broken);
    return result.replace(signs, (sign) => `&#${sign.charCodeAt(0)};`);
}
/** A name in the font of code; also inside HTML. */
function code(text, length) {
    return `<code>${inline(text, length)}</code>`;
}
/** A block of literal text, in a fence that nothing in it can close. */
function fenced(text, language) {
    const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length));
    const fence = "`".repeat(longest + 1);
    return `${fence}${language}\n${text.trimEnd()}\n${fence}`;
}

;// CONCATENATED MODULE: ./src/reporters/github-annotations.js



const PER_LEVEL = 10;
const github_annotations_MAX_MESSAGE = 4096;
const MAX_TITLE = 200;
/** In the order in which they should be said. */
function chooseAnnotations(view, options) {
    if (options.annotations === "off")
        return [];
    const works = [...view.works.values()];
    const candidates = merged([
        ...resultOf(view, options),
        ...view.decisions.flatMap((entry) => candidateOf(entry, undefined, options)),
        ...works.flatMap((work) => work.decisions.flatMap((entry) => candidateOf(entry, work, options))),
    ]);
    const levels = options.annotations === "errors" ? ["error"] : ["error", "warning", "notice"];
    return levels.flatMap((level) => {
        const ofLevel = candidates.filter((candidate) => candidate.level === level);
        const kept = ofLevel.reduce((sum, { count }) => sum + count, 0);
        return limited(level, ofLevel, Math.max(0, made(view, level) - kept), options.entryFile);
    });
}
/** What is wrong with an entry: an error at each line, at most ten. */
function diagnosticAnnotations(diagnostics, entryFile) {
    const candidates = diagnostics.map((diagnostic, index) => {
        const { line, hint } = diagnostic;
        const message = diagnosticMessage(diagnostic) + (hint === undefined ? "" : `\n${hint}`);
        return {
            level: "error",
            title: "Invalid entry",
            message: bounded(message),
            file: diagnostic.file ?? entryFile,
            ...(line === undefined ? {} : { startLine: line }),
            rank: 0,
            at: index,
            count: 1,
        };
    });
    return limited("error", candidates, 0, entryFile);
}
/** Reasons that have no place in a file, at most ten. */
function reasonAnnotations(level, reasons) {
    const candidates = reasons.map((reason, at) => {
        const message = breakOldMarker(reason).slice(0, github_annotations_MAX_MESSAGE);
        return { level, title: "agent-jobs", message, rank: 0, at, count: 1 };
    });
    return limited(level, candidates, 0, undefined);
}
function limited(level, candidates, forgotten, file) {
    const sorted = candidates.toSorted((a, b) => a.rank - b.rank || a.at - b.at);
    const all = sorted.length + (forgotten > 0 ? 1 : 0);
    const shown = all > PER_LEVEL ? sorted.slice(0, PER_LEVEL - 1) : sorted;
    const more = forgotten + sorted.slice(shown.length).reduce((sum, candidate) => sum + candidate.count, 0);
    const said = shown.map(({ rank: _rank, at: _at, count, ...annotation }) => {
        if (count === 1)
            return annotation;
        return { ...annotation, message: bounded(annotation.message, ` (${count} times)`) };
    });
    if (more === 0)
        return said;
    const message = `GitHub shows ${PER_LEVEL} annotations of a level: see the job summary and the journal for the others.`;
    const title = `And ${plural(more, `more ${level}`)}`;
    return [...said, { level, title, message, ...(file === undefined ? {} : { file }) }];
}
function resultOf(view, { entryFile }) {
    const job = `Job ${logLine(view.jobName, 100)}`;
    const about = { file: entryFile, rank: 0, at: 0, count: 1 };
    switch (view.status) {
        case "succeeded":
            return [{ ...about, level: "notice", title: `${job} succeeded`, message: totals(view) }];
        case "failed": {
            // A job may fail although no task did, by a limit: then nothing else would be an error.
            const level = made(view, "error") > 0 ? "notice" : "error";
            const message = bounded(view.reason ?? "", `\n${totals(view)}`);
            return [{ ...about, level, title: `${job} failed`, message }];
        }
        case "canceled": {
            const message = bounded(view.reason ?? "", `\n${totals(view)}`);
            return [{ ...about, level: "notice", title: `${job} was cancelled`, message }];
        }
        case "pending":
        case "running":
            return [];
    }
}
function totals({ works, totals: { modelCalls, inputTokens, outputTokens } }) {
    return `${plural(works.size, "work")}, ${plural(modelCalls, "model call")}, ${inputTokens} tokens in, ${outputTokens} out`;
}
function candidateOf(entry, work, { entryFile, lineOf }) {
    const kind = annotated(entry.kind);
    if (kind === undefined)
        return [];
    const line = work === undefined ? undefined : lineOf(work.taskId);
    // A task that failed on the way and succeeded in the end matters less than one that stayed failed.
    const mended = work?.status === "succeeded" && kind.level === "error" ? 1 : 0;
    return [
        {
            level: kind.level,
            title: logLine(`${entry.category}${work === undefined ? "" : `: ${work.taskId}`}`, MAX_TITLE),
            message: bounded(entry.text),
            file: entryFile,
            ...(line === undefined ? {} : { startLine: line }),
            rank: kind.rank + mended,
            at: entry.at,
            count: 1,
        },
    ];
}
function annotated(kind) {
    switch (kind) {
        case "task-failed":
            return { level: "error", rank: 1 };
        case "crash-budget-drained":
        case "criteria-budget-drained":
        case "limit-crossed":
            return { level: "warning", rank: 1 };
        case "permission-denied":
            return { level: "warning", rank: 2 };
        case "session-crashed":
            return { level: "warning", rank: 3 };
        case "availability-failed":
        case "criteria-failed":
            return { level: "warning", rank: 4 };
        case "task-succeeded":
            return { level: "notice", rank: 1 };
        case "availability-passed":
        case "criteria-passed":
        case "crash-retry":
        case "criteria-retry":
        // It says again what failed.
        case "availability-drained":
        case "session-started":
        case "session-ended":
        case "waiting":
        case "runtime-restarted":
        case "leftovers-ended":
        case "note":
            return undefined;
    }
}
/** How many decisions of a level were made, those included that the view no longer holds. */
function made(view, level) {
    let sum = 0;
    for (const [kind, count] of view.decided)
        if (annotated(kind)?.level === level)
            sum += count;
    return sum;
}
/** The same said several times (by the runs of a loop) is said once. */
function merged(candidates) {
    const known = new Map();
    for (const candidate of candidates) {
        const { level, title, message } = candidate;
        const key = JSON.stringify([level, title, message]);
        const same = known.get(key);
        if (same === undefined)
            known.set(key, candidate);
        else
            same.count += candidate.count;
    }
    return [...known.values()];
}
/** At most `MAX_MESSAGE` units, the end included; not cut inside a character. */
function bounded(text, end = "") {
    // Twice the length is enough to fill it, and keeps megabytes out of the expressions.
    const whole = breakOldMarker(harmless(text.slice(0, 2 * github_annotations_MAX_MESSAGE)));
    const room = github_annotations_MAX_MESSAGE - end.length;
    if (whole.length <= room)
        return whole + end;
    const cut = whole.slice(0, room - 1).replace(/[\uD800-\uDBFF]$/, "");
    return `${cut}…${end}`;
}

;// CONCATENATED MODULE: ./src/reporters/event-line.js
/** Which events a person cares about, and what to say of each: the table behind the terminal reporter. */


/** What is said of each event in the normal and in the verbose form, in UTF-16 units. */
const LENGTH = { quiet: 600, normal: 600, verbose: 4000 };
const SAID = { quiet: 300, normal: 300, verbose: 2000 };
/** `view` holds the event already. Undefined: not worth a line at this verbosity. */
function eventLine(event, view, verbosity) {
    const line = describe(event, view, verbosity);
    if (line === undefined || rank[verbosity] < rank[line.from])
        return undefined;
    return { work: line.work, tone: line.tone, text: oneLine(line.text, LENGTH[verbosity]) };
}
const rank = { quiet: 0, normal: 1, verbose: 2 };
function describe(event, view, verbosity) {
    switch (event.type) {
        case "run.started": {
            const text = `job ${event.jobName} started: ${plural(event.works.length, "work")} in ${event.workingDirectory}`;
            return { work: null, tone: "plain", from: "normal", text };
        }
        case "run.ended":
            return undefined;
        case "work.started":
            return {
                work: event.work,
                tone: "plain",
                from: "normal",
                text: `started, model ${event.modelId}`,
            };
        case "work.ended": {
            const work = view.works.get(event.work.workId);
            const text = `${event.outcome.kind}${work === undefined ? "" : soFar(work)}`;
            return { work: event.work, tone: "faint", from: "normal", text };
        }
        case "decision":
            return {
                work: event.work,
                ...decisionStyle(event.decision),
                text: decisionText(verbosity === "verbose" ? event.decision : brief(event.decision)),
            };
        case "turn.started": {
            const repeat = `${event.retry > 0 ? `, retry ${event.retry}` : ""}${event.attempt > 1 ? `, try ${event.attempt}` : ""}`;
            return {
                work: event.work,
                tone: "faint",
                from: "verbose",
                text: `${event.mission} turn${repeat}: ${event.prompt}`,
            };
        }
        case "turn.ended": {
            if (event.mission !== "prompt" || event.outcome !== "completed")
                return undefined;
            const said = view.works.get(event.work.workId)?.lastMessage;
            if (said === undefined)
                return undefined;
            return {
                work: event.work,
                tone: "plain",
                from: "normal",
                text: `said: ${oneLine(said, SAID[verbosity])}`,
            };
        }
        case "activity": {
            const text = activityText(event.activity);
            return text === undefined
                ? undefined
                : { work: event.work, tone: "faint", from: "verbose", text };
        }
        // The engine decides something of each session that starts or ends.
        case "session.started":
        case "session.ended":
            return undefined;
    }
}
/** What the work took until now, all its runs together. */
function soFar(work) {
    const inAll = work.runs > 1 ? `, in all ${work.runs} runs` : "";
    return ` after ${clockText(work.finishedMs)}${inAll}: ${plural(work.attempts, "attempt")}, ${plural(work.modelCalls, "model call")}, tokens ${countText(work.inputTokens)} in, ${countText(work.outputTokens)} out`;
}
/** The details of a crash, with its stack, are for `--verbose` and for the journal. */
function brief(decision) {
    if (decision.kind !== "session-crashed")
        return decision;
    const { detail: _detail, ...crash } = decision.crash;
    return { ...decision, crash };
}
function decisionStyle(decision) {
    switch (decision.kind) {
        case "task-failed":
        case "session-crashed":
        case "crash-budget-drained":
        case "criteria-budget-drained":
        case "availability-drained":
        case "limit-crossed":
            return { tone: "bad", from: "quiet" };
        case "availability-failed":
        case "criteria-failed":
        case "crash-retry":
        case "criteria-retry":
        case "waiting":
        case "runtime-restarted":
        case "leftovers-ended":
        case "permission-denied":
            return { tone: "warn", from: "normal" };
        case "availability-passed":
        case "criteria-passed":
        case "task-succeeded":
            return { tone: "good", from: "normal" };
        case "note":
            return { tone: "plain", from: "normal" };
        case "session-started":
        case "session-ended":
            return { tone: "faint", from: "verbose" };
    }
}
function activityText(activity) {
    switch (activity.kind) {
        case "message.ended":
            return activity.text.trim() === "" ? undefined : `message: ${activity.text}`;
        case "reasoning.ended":
            return activity.text.trim() === "" ? undefined : `reasoning: ${activity.text}`;
        case "tool.started":
            return `tool ${activity.toolName} ${activity.toolArguments}`;
        case "tool.ended":
            return activity.succeeded
                ? `tool done: ${activity.result?.content ?? ""}`
                : `tool failed: ${activity.error?.message ?? "no reason given"}`;
        case "model.used":
            return `model call: ${activity.modelId}, tokens ${countText(activity.inputTokens)} in, ${countText(activity.outputTokens)} out, ${(activity.durationMs / 1000).toFixed(1)} s${activity.subAgent ? ", by a sub-agent" : ""}`;
        case "model.failed":
            return `model call failed: ${activity.statusCode ?? "no answer"}`;
        // The engine makes a decision of it.
        case "permission.denied":
        case "reasoning.started":
        case "reasoning.delta":
        case "message.started":
        case "message.delta":
        case "tool.delta":
        case "agent.started":
        case "agent.ended":
        case "idle":
        case "model.replied":
            return undefined;
    }
}

;// CONCATENATED MODULE: ./src/reporters/paint.js

const styles = {
    good: "green",
    bad: "red",
    warn: "yellow",
    faint: "dim",
    name: "cyan",
};
/** Whether to colour was decided by whoever knows the stream and the environment. */
function createPaint(colors) {
    return (tone, text) => 
    // Without `validateStream: false` Node looks at its own stdout and at NO_COLOR instead.
    !colors || tone === "plain" || text === ""
        ? text
        : (0,external_node_util_.styleText)(styles[tone], text, { validateStream: false });
}

;// CONCATENATED MODULE: ./src/reporters/works-table.js



const MAX_ROWS = 100;
const MIN_TASK = 8;
const header = ["#", "task", "status", "attempts", "calls", "tokens in", "out", "time"];
/** The column that gives way when the terminal is narrow. */
const TASK = 1;
const STATUS = 2;
/** The columns that are left out, one after the other, when it is very narrow. */
const droppable = [6, 5, 4, 3, 7];
/** A line for each work and one for the totals, at most `width` columns wide where that is possible. */
function worksTable(view, width, paint) {
    const now = view.endedAt ?? view.startedAt ?? 0;
    const all = [...view.works.values()].sort((a, b) => a.workId - b.workId);
    const shown = mostTelling(all);
    const rows = shown.map((work) => ({
        cells: [
            String(work.workId),
            oneLine(work.taskId, 200),
            work.status,
            ...numbers(work, elapsedMs(work, now)),
        ],
        tone: statusTone(work),
    }));
    const total = ["", "total", "", ...numbers(view.totals, now - (view.startedAt ?? now))];
    const widths = columnWidths([header, ...rows.map((row) => row.cells), total], width);
    const lines = [
        paint("faint", tableLine(header, widths)),
        ...rows.map(({ cells, tone }) => tableLine(cells, widths, (cell, column) => (column === STATUS ? paint(tone, cell) : cell))),
    ];
    if (shown.length < all.length)
        lines.push(cutTo(`… and ${all.length - shown.length} more`, width));
    lines.push(paint("faint", tableLine(total, widths)));
    return lines;
}
function numbers(counters, milliseconds) {
    return [
        String(counters.attempts),
        countText(counters.modelCalls),
        countText(counters.inputTokens),
        countText(counters.outputTokens),
        clockText(milliseconds),
    ];
}
/** All of them, or of too many those that failed and then the first others, in the order of their ids. */
function mostTelling(works) {
    if (works.length <= MAX_ROWS)
        return works;
    return works
        .toSorted((a, b) => badFirst(a) - badFirst(b) || a.workId - b.workId)
        .slice(0, MAX_ROWS)
        .sort((a, b) => a.workId - b.workId);
}
function badFirst(work) {
    return statusTone(work) === "bad" ? 0 : 1;
}
function statusTone({ status }) {
    switch (status) {
        case "succeeded":
            return "good";
        case "failed":
        case "crashed":
            return "bad";
        case "canceled":
            return "warn";
        case "pending":
        case "skipped":
            return "faint";
        case "running":
            return "plain";
    }
}
/** A column of width 0 is left out. */
function columnWidths(rows, width) {
    const widths = header.map((_, column) => Math.max(...rows.map((cells) => (0,string_width/* default */.A)(cells[column] ?? ""))));
    const task = widths[TASK] ?? 0;
    const roomForTask = () => {
        const others = widths.filter((each, column) => column !== TASK && each > 0);
        return width - others.reduce((sum, each) => sum + each + 2, 0);
    };
    for (const column of droppable) {
        if (roomForTask() >= Math.min(task, MIN_TASK))
            break;
        widths[column] = 0;
    }
    widths[TASK] = Math.max(1, Math.min(task, roomForTask()));
    return widths;
}
function tableLine(cells, widths, paintCell = (cell) => cell) {
    return cells
        .map((cell, column) => ({ cell, column, width: widths[column] ?? 0 }))
        .filter(({ width }) => width > 0)
        .map(({ cell, column, width }) => paintCell(fit(cell, width, column === TASK || column === STATUS ? "left" : "right"), column))
        .join("  ")
        .trimEnd();
}

;// CONCATENATED MODULE: ./src/reporters/github-log.js





/** Lines kept of a work that runs, and the length of each in UTF-16 units. */
const HEAD = 100;
const TAIL = 300;
const github_log_LENGTH = 1000;
const SAID_LINES = 60;
const SAID_LENGTH = 16_000;
function createGithubLog(core, randomToken, view) {
    const running = new Map();
    const time = (event) => clockText(event.at - (view.startedAt ?? event.at));
    const print = (work, event, text) => {
        const name = work === null ? "" : `${nameOf(work)}: `;
        core.info(`${time(event)} ${logLine(name + text, github_log_LENGTH)}`);
    };
    const printGroup = (kept, title) => {
        core.startGroup(logLine(`${nameOf(kept.work)} ${title}`, github_log_LENGTH));
        const token = randomToken();
        core.info(`::stop-commands::${token}`);
        try {
            for (const line of kept.head)
                core.info(line);
            if (kept.left > 0)
                core.info(`… ${plural(kept.left, "line")} left out: see the journal`);
            for (const line of kept.tail)
                core.info(line);
        }
        finally {
            core.info(`::${token}::`);
            core.endGroup();
        }
    };
    const keptOf = (work) => {
        const known = running.get(work.workId);
        if (known !== undefined)
            return known;
        const kept = { work, head: [], tail: [], left: 0 };
        running.set(work.workId, kept);
        return kept;
    };
    const flush = (workId, title) => {
        const kept = running.get(workId);
        if (kept === undefined)
            return;
        running.delete(workId);
        printGroup(kept, title);
    };
    return {
        report(event) {
            switch (event.type) {
                case "run.started":
                case "run.ended":
                    if (event.type === "run.ended")
                        this.end();
                    for (const line of runLines(event, view, time(event)))
                        core.info(line);
                    return;
                case "work.ended":
                    keep(keptOf(event.work), linesOf(event, view), time(event));
                    flush(event.work.workId, ended(event, view));
                    return;
                default: {
                    const live = eventLine(event, view, "quiet");
                    if (live !== undefined)
                        print(live.work, event, live.text);
                    if (event.type === "work.started") {
                        print(event.work, event, `started, model ${event.modelId}`);
                    }
                    if (event.work !== null)
                        keep(keptOf(event.work), linesOf(event, view), time(event));
                }
            }
        },
        end() {
            for (const workId of running.keys())
                flush(workId, "did not come to its end");
        },
    };
}
function nameOf({ workId, taskId, run }) {
    return `#${workId} ${taskId}${run > 1 ? ` run ${run}` : ""}`;
}
function ended(event, view) {
    const work = view.works.get(event.work.workId);
    const { outcome } = event;
    const kind = outcome.kind === "canceled" ? "cancelled" : outcome.kind;
    if (work === undefined)
        return kind;
    return `${kind} after ${clockText(work.finishedMs)}, ${plural(work.attempts, "attempt")}, ${plural(work.modelCalls, "model call")}`;
}
/** What the group of the work says of an event. The first line follows the time, the others are indented. */
function linesOf(event, view) {
    if (event.type === "activity" && event.activity.kind === "message.ended") {
        const { text } = event.activity;
        if (text.trim() === "")
            return [];
        return ["says:", ...paragraph(text, SAID_LINES, SAID_LENGTH).map((line) => `  ${line}`)];
    }
    // The message has been told by the event before.
    if (event.type === "turn.ended")
        return [];
    const line = eventLine(event, view, "verbose");
    return line === undefined ? [] : [line.text];
}
function keep(kept, lines, time) {
    for (const [index, text] of lines.entries()) {
        // `| ` keeps a line of an agent from being the start of a line.
        const line = index === 0 ? `${time} ${logLine(text, github_log_LENGTH)}` : `      | ${cut(text)}`;
        if (kept.head.length < HEAD) {
            kept.head.push(line);
            continue;
        }
        kept.tail.push(line);
        if (kept.tail.length > TAIL) {
            kept.tail.shift();
            kept.left += 1;
        }
    }
}
/** Of a line that is harmless already; keeps its indentation. */
function cut(line) {
    return breakOldMarker(line.length > github_log_LENGTH ? `${line.slice(0, github_log_LENGTH - 1)}…` : line).trimEnd();
}
function runLines(event, view, time) {
    const job = `${time} job ${view.jobName}`;
    if (event.type === "run.started") {
        return [logLine(`${job} started: ${plural(event.works.length, "work")}`, github_log_LENGTH)];
    }
    const { outcome } = event;
    const result = outcome.kind === "succeeded"
        ? `${job} succeeded`
        : `${job} ${outcome.kind === "canceled" ? "was cancelled" : "failed"}: ${outcome.reason}`;
    // Each row begins with a number, or with a word of ours.
    const table = worksTable(view, 120, createPaint(false)).map((row) => `  ${breakOldMarker(row)}`);
    return [...table, logLine(result, 2000)];
}

;// CONCATENATED MODULE: ./src/reporters/github-layout.js

/** How a work ended, as a sign and a word. */
function result(work) {
    switch (work.status) {
        case "succeeded":
            return work.attempts > work.runs
                ? { sign: "↻", word: "retried" }
                : { sign: "✓", word: "succeeded" };
        case "failed":
            return { sign: "✗", word: "failed" };
        case "crashed":
            return { sign: "✗", word: "crashed" };
        case "canceled":
            return { sign: "■", word: "cancelled" };
        case "skipped":
            return { sign: "–", word: "skipped" };
        case "pending":
            return { sign: "○", word: "pending" };
        case "running":
            return { sign: "…", word: "running" };
    }
}
/** The second line of a node of the chart, so that its colour is not all that tells how it ended. */
function chartDetail(view, workId) {
    const work = view.works.get(workId);
    if (work === undefined)
        return undefined;
    const { sign, word } = result(work);
    const often = work.attempts > 1 ? `, ${plural(work.attempts, "attempt")}` : "";
    return `${sign} ${word}${often}`;
}
function wentBadly({ status }) {
    return status === "failed" || status === "crashed";
}
/** `0.4 s`, `31 s`, `3 min 12 s`, `1 h 02 min`; not to be broken over two lines. */
function durationText(milliseconds) {
    const seconds = Math.max(0, milliseconds) / 1000;
    const whole = Math.round(seconds);
    const minutes = Math.floor(whole / 60);
    const two = (value) => String(value).padStart(2, "0");
    const text = seconds < 9.95
        ? `${seconds.toFixed(1)} s`
        : whole < 60
            ? `${whole} s`
            : minutes < 60
                ? `${minutes} min ${two(whole % 60)} s`
                : `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
    return unbroken(text);
}
function unbroken(text) {
    return text.replaceAll(" ", "\u00A0");
}
function amountText(count) {
    return countText(count);
}
/** In the runtime's own unit. */
function costText(cost) {
    const rounded = Math.round(cost * 100) / 100;
    return `${rounded} premium request${rounded === 1 ? "" : "s"}`;
}
/** Cells must not hold line ends or bare `|`. */
function table(columns, rows) {
    const line = (cells) => `| ${cells.join(" | ")} |`;
    return [
        line(columns.map(([name]) => name)),
        line(columns.map(([, align]) => (align === "left" ? "---" : "---:"))),
        ...rows.map(line),
    ].join("\n");
}
/** The first items that fit into `room` bytes of UTF-8. */
function wholeItems(items, room) {
    const kept = [];
    let left = room;
    for (const item of items) {
        left -= Buffer.byteLength(item);
        if (left < 0)
            break;
        kept.push(item);
    }
    return kept;
}

;// CONCATENATED MODULE: ./src/reporters/github-outputs.js
/**
 * The outputs of the step. GitHub counts the outputs of a job as UTF-16 and refuses more than 1 MB of
 * them, so each is bounded here; `decisions` gives way, from the oldest on.
 */

/** UTF-16 units, two bytes each: together under half of 1 MB even with those of other steps. */
const MAX_DECISIONS = 400_000;
const MAX_TEXT = 8_000;
const MAX_FAILED = 30_000;
function outputsOf(view, options = {}) {
    const { totals } = view;
    const failed = [...view.works.values()].filter(({ status }) => status === "failed" || status === "crashed");
    return {
        result: options.result ?? github_outputs_resultOf(view),
        reason: github_outputs_clip(options.reason ?? view.reason ?? ""),
        "failed-tasks": jsonArray([...new Set(failed.map(({ taskId }) => taskId))], MAX_FAILED),
        decisions: decisionsOf(view),
        "reported-document": github_outputs_clip(view.reportedDocument ?? ""),
        journal: github_outputs_clip(options.journal ?? ""),
        "model-calls": String(totals.modelCalls),
        "input-tokens": String(totals.inputTokens),
        "output-tokens": String(totals.outputTokens),
        cost: String(Math.round(totals.cost * 1e6) / 1e6),
        "duration-seconds": String(Math.round(durationMs(view) / 100) / 10),
    };
}
/** Of the whole run; of one that has no end yet, up to the last thing that is known of it. */
function durationMs(view) {
    const start = view.startedAt;
    if (start === undefined)
        return 0;
    if (view.endedAt !== undefined)
        return Math.max(0, view.endedAt - start);
    const known = [...view.works.values()].map((work) => elapsedMs(work, work.startedAt ?? start));
    return Math.max(0, ...known);
}
function github_outputs_resultOf(view) {
    switch (view.status) {
        case "succeeded":
            return "success";
        case "failed":
            return "failure";
        case "canceled":
        case "pending":
        case "running":
            return "cancelled";
    }
}
function decisionsOf(view) {
    const of = (entry, task, work) => ({
        time: entry.at,
        said: {
            at: isoTime(entry.at),
            task,
            work,
            run: entry.run,
            category: entry.category,
            text: entry.text,
        },
    });
    const all = [
        ...view.decisions.map((entry) => of(entry, null, null)),
        ...[...view.works.values()].flatMap(({ decisions, taskId, workId }) => decisions.map((entry) => of(entry, taskId, workId))),
    ].sort((a, b) => a.time - b.time);
    const dropped = [...view.works.values()].reduce((sum, work) => sum + work.droppedDecisions, view.droppedDecisions);
    return latest(all.map(({ said }) => said), dropped);
}
/** As many as there is room for, the latest ones, behind a line that tells how many are missing. */
function latest(all, dropped) {
    const texts = [];
    let room = MAX_DECISIONS - 300;
    for (const one of all.toReversed()) {
        const text = JSON.stringify(one);
        room -= text.length + 1;
        if (room < 0)
            break;
        texts.unshift(text);
    }
    const missing = dropped + all.length - texts.length;
    if (missing > 0) {
        const said = {
            at: all[all.length - texts.length]?.at ?? isoTime(0),
            task: null,
            work: null,
            run: 0,
            category: "MISC",
            text: `${missing} older decisions are left out here; the journal holds them`,
        };
        texts.unshift(JSON.stringify(said));
    }
    return `[${texts.join(",")}]`;
}
function jsonArray(names, length) {
    const texts = [];
    let room = length;
    for (const name of names) {
        const text = JSON.stringify(name);
        room -= text.length + 1;
        if (room < 0)
            break;
        texts.push(text);
    }
    return `[${texts.join(",")}]`;
}
function isoTime(at) {
    const date = new Date(at);
    return Number.isNaN(date.getTime()) ? "" : date.toISOString();
}
function github_outputs_clip(text) {
    if (text.length <= MAX_TEXT)
        return text;
    return `${text.slice(0, MAX_TEXT - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

;// CONCATENATED MODULE: ./src/reporters/github-section.js


function listSection(name, rank, head, items) {
    return {
        name,
        rank,
        empty: items.length === 0,
        render: (room) => {
            const kept = wholeItems(items, room - Buffer.byteLength(head));
            const text = kept.length === 0 ? "" : (head + kept.join("")).trimEnd();
            return { text, whole: kept.length === items.length };
        },
    };
}
function worksOf(view) {
    return [...view.works.values()].sort((a, b) => a.workId - b.workId);
}
function github_section_nameOf({ workId, taskId, }) {
    return `<b>#${workId}</b> ${code(taskId, 100)}`;
}

;// CONCATENATED MODULE: ./src/reporters/github-sections.js
/**
 * The sections of the job summary. Each can be rendered into a given room; whatever it says of an agent,
 * a tool or an entry goes through `inline`, `code` or `fenced`.
 */






const MAX_REASON = 1000;
const MAX_FAILURES = 50;
const github_sections_MAX_ROWS = 200;
/** Beyond these GitHub shows an error in the place of the chart. */
const MAX_CHART = 50_000;
const MAX_ARROWS = 500;
function headline(view, entryFile) {
    const job = code(view.jobName === "" ? "(unnamed)" : view.jobName, 100);
    const { totals } = view;
    const facts = [
        code(entryFile, 200),
        plural(view.works.size, "work"),
        durationText(durationMs(view)),
        plural(totals.modelCalls, "model call"),
        `${amountText(totals.inputTokens)} tokens in (${amountText(totals.cacheReadTokens)} cached)`,
        `${amountText(totals.outputTokens)} out`,
        ...(totals.cost > 0 ? [costText(totals.cost)] : []),
    ].join(" · ");
    const why = view.reason === undefined ? "" : `\n\n**Why:** ${inline(view.reason, MAX_REASON)}`;
    return `## ${headlineText(view, job)}${why}\n\n<sub>${facts}</sub>`;
}
function headlineText({ status }, job) {
    switch (status) {
        case "succeeded":
            return `✓ Job ${job} succeeded`;
        case "failed":
            return `✗ Job ${job} failed`;
        case "canceled":
            return `■ Job ${job} was cancelled`;
        case "running":
            return `… Job ${job} has not ended yet`;
        case "pending":
            return `○ Job ${job} did not start`;
    }
}
/** The works that failed, and why. */
function failuresSection(view) {
    const failed = worksOf(view).filter(wentBadly);
    const items = failed.slice(0, MAX_FAILURES).map((work) => {
        const tries = work.attempts > 1 ? ` after ${work.attempts} attempts` : "";
        return `- ${github_section_nameOf(work)} ${work.status}${tries}: ${inline(work.reason ?? "no reason given", MAX_REASON)}\n`;
    });
    if (items.length < failed.length)
        items.push(`- and ${failed.length - items.length} more\n`);
    return listSection("failures", 1, `### What failed\n\n`, items);
}
function chartSection(view, chart) {
    let text;
    try {
        text = harmless(chart(view)).trim();
    }
    catch {
        text = "";
    }
    const fits = text.length <= MAX_CHART && (text.match(/-->/g)?.length ?? 0) <= MAX_ARROWS;
    const markdown = `${fenced(text, "mermaid")}\n\n<sub>${legend(view)}</sub>`;
    return {
        name: "the chart",
        rank: 3,
        empty: text === "",
        optional: true,
        render: (room) => text === ""
            ? { text: "", whole: true }
            : fits && Buffer.byteLength(markdown) <= room
                ? { text: markdown, whole: true }
                : { text: "", whole: false },
    };
}
/** What the colours mean, of those that occur. */
function legend(view) {
    const kinds = new Set(worksOf(view).map((work) => result(work).word));
    const colors = [
        ["green", ["succeeded"]],
        ["yellow", ["retried"]],
        ["red", ["failed", "crashed"]],
        ["blue", ["running"]],
        ["dark grey", ["cancelled"]],
        ["light grey", ["skipped"]],
    ];
    return colors
        .map(([color, words]) => [color, words.filter((word) => kinds.has(word)).join(" or ")])
        .flatMap(([color, words]) => (words === "" ? [] : [`${color}: ${words}`]))
        .join(" · ");
}
function worksSection(view) {
    const works = worksOf(view);
    // Of too many, those that failed and then the first others.
    const shown = works
        .toSorted((a, b) => Number(wentBadly(b)) - Number(wentBadly(a)) || a.workId - b.workId)
        .slice(0, github_sections_MAX_ROWS)
        .sort((a, b) => a.workId - b.workId);
    const rows = shown.map((work) => [
        String(work.workId),
        code(work.taskId, 80),
        unbroken(`${result(work).sign} ${result(work).word}`),
        work.modelId === "" ? "" : code(work.modelId, 60),
        ...(work.runs === 0
            ? ["", "", "", ""]
            : [...github_sections_numbers(work), durationText(elapsedMs(work, work.startedAt ?? 0))]),
    ]);
    const left = works.length - shown.length;
    if (left > 0)
        rows.push(["", `and ${left} more`, "", "", "", "", "", ""]);
    rows.push([
        "",
        "**Total**",
        "",
        "",
        ...[...github_sections_numbers(view.totals), durationText(durationMs(view))].map((text) => `**${text}**`),
    ]);
    const text = `### Works\n\n${table([
        ["#", "right"],
        ["Task", "left"],
        ["Result", "left"],
        ["Model", "left"],
        ["Attempts", "right"],
        ["Model calls", "right"],
        [unbroken("Tokens in / out"), "right"],
        ["Time", "right"],
    ], rows)}`;
    return {
        name: "the table of works",
        rank: 2,
        empty: works.length === 0,
        render: (room) => works.length === 0
            ? { text: "", whole: true }
            : Buffer.byteLength(text) <= room
                ? { text, whole: left === 0 }
                : { text: "", whole: false },
        ...(left > 0 ? { optional: true } : {}),
    };
}
function github_sections_numbers(counters) {
    const { attempts, modelCalls, inputTokens, outputTokens } = counters;
    return [
        amountText(attempts),
        amountText(modelCalls),
        unbroken(`${amountText(inputTokens)} / ${amountText(outputTokens)}`),
    ];
}
function denialsSection(view) {
    const { denials, totals } = view;
    const rows = denials.map(({ workId, taskId, operation, target, reason, count }) => `| ${github_section_nameOf({ workId, taskId })} | ${inline(operation, 40)} | ${code(target, 200)}${count > 1 ? ` ×${count}` : ""} | ${inline(reason, 300)} |\n`);
    const counted = denials.reduce((sum, { count }) => sum + count, 0);
    if (counted < totals.denials)
        rows.push(`| | | and ${totals.denials - counted} more | |\n`);
    const head = `### Denied permissions\n\n| Task | Operation | Target | Why |\n| --- | --- | --- | --- |\n`;
    return listSection("denied permissions", 5, head, rows);
}

;// CONCATENATED MODULE: ./src/reporters/github-told.js




const MAX_DECISION = 500;
const MAX_SAID = 2000;
/** What the agent said last, as it said it. */
function finalMessageSection(view) {
    const speaker = view.lastSpeaker === undefined ? undefined : view.works.get(view.lastSpeaker);
    const said = harmless(speaker?.lastMessage ?? "").trim();
    const render = (text) => speaker === undefined || text === ""
        ? ""
        : `### What the agent finally said\n\n<details>\n<summary>${github_section_nameOf(speaker)}</summary>\n\n${fenced(text, "text")}\n\n</details>`;
    const whole = render(said);
    return {
        name: "what the agent finally said",
        rank: 6,
        empty: whole === "",
        render: (room) => {
            if (Buffer.byteLength(whole) <= room)
                return { text: whole, whole: true };
            // Every character has at most three bytes per unit; 1000 for what is around it.
            const fits = Math.floor((room - 1000) / 5);
            return { text: fits < 200 ? "" : render(`${said.slice(0, fits)}…`), whole: false };
        },
    };
}
/** Up to this many works that went well have a fold on the page; more share one. */
const SEPARATE = 8;
/**
 * A fold for each work, and one for the job: those that need a look first. Each also holds what the agent
 * last said in it, where that is not told elsewhere.
 */
function decisionSections(view) {
    const start = view.startedAt ?? 0;
    const works = worksOf(view).filter((work) => work.decisions.length > 0 || work.lastMessage !== undefined);
    const calm = works.filter((work) => result(work).word === "succeeded");
    const others = works.filter((work) => result(work).word !== "succeeded");
    const sections = others
        .toSorted((a, b) => Number(wentBadly(b)) - Number(wentBadly(a)) || a.workId - b.workId)
        .map((work) => foldSection(workFold(work, view, start), wentBadly(work) ? 4 : 8));
    if (view.decisions.length > 0) {
        const count = view.decisions.length + view.droppedDecisions;
        const title = `The whole job, ${plural(count, "decision")}`;
        const name = "decisions about the whole job";
        sections.unshift(foldSection({ ...view, name, title, said: "", start }, 7));
    }
    const folds = calm.map((work) => workFold(work, view, start));
    return folds.length <= SEPARATE
        ? [...sections, ...folds.map((fold) => foldSection(fold, 9))]
        : [...sections, sharedFold(folds)];
}
function workFold(work, view, start) {
    const { decisions, droppedDecisions, lastMessage } = work;
    const { sign, word } = result(work);
    const count = decisions.length + droppedDecisions;
    const counted = count === 0 ? "" : `, ${plural(count, "decision")}`;
    const title = `${github_section_nameOf(work)} ${sign} ${word}${counted}`;
    const name = `decisions of ${github_section_nameOf(work)}`;
    const words = work.workId === view.lastSpeaker ? "" : harmless(lastMessage ?? "").trim();
    const cut = words.length > MAX_SAID ? `${words.slice(0, MAX_SAID)}…` : words;
    const said = cut === "" ? "" : `\nThe agent last said:\n\n${fenced(cut, "text")}\n`;
    return { decisions, droppedDecisions, name, title, said, start };
}
function foldSection(fold, rank) {
    return {
        name: fold.name,
        rank,
        heading: "### Decisions",
        empty: false,
        render: (room) => renderFold(fold, room),
        // Decisions that the view dropped say nothing about the room.
        ...(fold.droppedDecisions > 0 ? { optional: true } : {}),
    };
}
/** Without what was said, then without the oldest decisions: the latest tell what came of it. */
function renderFold({ decisions, droppedDecisions, title, said, start }, room) {
    const head = `<details>\n<summary>${title}</summary>\n\n`;
    const columns = `| Time | Category | Decision |\n| ---: | --- | --- |\n`;
    const left = room - Buffer.byteLength(head) - 300;
    const rows = decisions.map((entry) => decisionRow(entry, start)).toReversed();
    const kept = wholeItems(rows, left);
    if (left < 0 || (kept.length === 0 && rows.length > 0))
        return { text: "", whole: false };
    const missing = droppedDecisions + rows.length - kept.length;
    const before = missing > 0 ? `| | | ${plural(missing, "earlier decision")} left out |\n` : "";
    const log = kept.length === 0 ? "" : `${columns}${before}${kept.toReversed().join("")}`;
    const saidFits = Buffer.byteLength(log) + Buffer.byteLength(said) <= left;
    return {
        text: `${head}${log}${saidFits ? said : ""}\n</details>`,
        whole: missing === 0 && saidFits,
    };
}
function sharedFold(folds) {
    return {
        name: `decisions of ${plural(folds.length, "work")} that succeeded`,
        rank: 9,
        heading: "### Decisions",
        empty: false,
        optional: true,
        render: (room) => {
            const head = `<details>\n<summary>✓ ${plural(folds.length, "work")} that succeeded at once</summary>\n\n`;
            let left = room - Buffer.byteLength(head) - 100;
            let whole = true;
            const texts = [];
            for (const fold of folds) {
                const rendered = renderFold(fold, left);
                whole &&= rendered.whole;
                if (rendered.text === "")
                    break;
                texts.push(rendered.text);
                left -= Buffer.byteLength(rendered.text) + 2;
            }
            if (texts.length === 0)
                return { text: "", whole: false };
            return { text: `${head}${texts.join("\n\n")}\n\n</details>`, whole };
        },
    };
}
function decisionRow({ at, run, category, text }, start) {
    const which = run > 1 ? `run ${run}: ` : "";
    return `| ${durationText(at - start)} | ${code(category, 40)} | ${which}${inline(text, MAX_DECISION)} |\n`;
}

;// CONCATENATED MODULE: ./src/reporters/github-summary.js



/** In bytes of UTF-8. The rest up to 1 MiB is for what else the step may have to say. */
const LIMIT = 1_000_000;
/** For headings, and for the note about what was left out. */
const NOTE = 8_000;
/** Never more than 1 MiB; empty for `off`. */
function renderSummary(view, options) {
    if (options.summary === "off")
        return "";
    const always = headline(view, options.entryFile);
    const sections = options.summary === "compact"
        ? [failuresSection(view), worksSection(view)]
        : [
            failuresSection(view),
            chartSection(view, options.chart),
            worksSection(view),
            denialsSection(view),
            finalMessageSection(view),
            ...decisionSections(view),
        ];
    const { texts, missing } = fitted(sections, LIMIT - NOTE - bytes(always));
    const note = noteOf(missing, options);
    return `${[always, ...texts, note].filter((text) => text !== "").join("\n\n")}\n`;
}
/**
 * The most important sections in full, the first that has no room shortened, nothing of the others that
 * matter less. In the order of the page.
 */
function fitted(sections, limit) {
    let room = limit;
    const missing = new Set();
    const chosen = new Map();
    for (const section of sections.toSorted((a, b) => a.rank - b.rank)) {
        if (room > 0) {
            const { text, whole } = section.render(room - 2);
            if (!whole) {
                missing.add(section);
                room = section.optional === true ? room : 0;
            }
            if (text === "")
                continue;
            chosen.set(section, text);
            room -= bytes(text) + 2;
        }
        else if (!section.empty)
            missing.add(section);
    }
    const headings = new Set();
    const texts = sections.flatMap((section) => {
        const text = chosen.get(section);
        if (text === undefined)
            return [];
        const { heading } = section;
        if (heading === undefined || headings.has(heading))
            return [text];
        headings.add(heading);
        return [heading, text];
    });
    // The folds are many: what there is one of is named first.
    const names = [...missing].sort((a, b) => Number(a.heading !== undefined) - Number(b.heading !== undefined));
    return { texts, missing: names.map(({ name }) => name) };
}
const MAX_MISSING = 20;
function noteOf(missing, { journal, summary }) {
    const where = journal === undefined ? "" : `The journal with every event: ${code(journal, 300)}.`;
    if (missing.length === 0) {
        if (summary === "compact" || where === "")
            return "";
        return `<sub>${where}</sub>`;
    }
    const names = missing.slice(0, MAX_MISSING);
    if (names.length < missing.length)
        names.push(`${missing.length - names.length} more`);
    const unkept = where === "" ? "Keep them with the input <code>journal</code>." : where;
    return `**Left out or shortened:** ${names.join(", ")}. ${unkept}`;
}
function bytes(text) {
    return Buffer.byteLength(text);
}

;// CONCATENATED MODULE: ./src/reporters/github.js








function createGithubReporter(options) {
    const { core } = options;
    const view = createRunView();
    const log = createGithubLog(core, options.randomToken, view);
    let lastAt = 0;
    let finished;
    const finish = async () => {
        if (view.status === "pending" || view.status === "running") {
            const reason = "the process was stopped before the job came to its end";
            applyEvent(view, {
                at: lastAt,
                type: "run.ended",
                outcome: { kind: "canceled", reason },
            });
        }
        log.end();
        for (const annotation of chooseAnnotations(view, options))
            annotate(core, annotation);
        const summary = renderSummary(view, options);
        if (summary !== "")
            await core.writeSummary(summary);
    };
    return {
        name: "summary",
        report(event) {
            if (finished !== undefined)
                return;
            lastAt = event.at;
            applyEvent(view, event);
            log.report(event);
        },
        finish() {
            finished ??= finish();
            return finished;
        },
        close() {
            return this.finish();
        },
    };
}
/** Says an annotation. The port escapes it. */
function annotate(core, { level, message, ...properties }) {
    core[level](message, properties);
}

;// CONCATENATED MODULE: ./src/entry/chart.js
function generateChartNodes(work) {
    const nodes = [];
    const connect = (arrows, to) => {
        for (const { from, label } of arrows) {
            nodes[from]?.arrows.push(label === undefined ? { to } : { to, label });
        }
    };
    const add = (hint, label, into, workIdInJob) => {
        const id = nodes.length;
        const node = { id, hint, label, arrows: [] };
        nodes.push(workIdInJob === undefined ? node : { ...node, workIdInJob });
        connect(into, id);
        return { from: id };
    };
    const decide = (question, into) => {
        const { from } = add("decision", question, into);
        return { succeeded: { from, label: "succeeded" }, failed: { from, label: "failed" } };
    };
    const draw = (part, into) => {
        switch (part.kind) {
            case "Ref": {
                const label = part.taskId + modelLabel(part.modelOverride);
                return [add("task", label, into, part.workIdInJob)];
            }
            case "Seq":
                return part.works.reduce((arrows, one) => draw(one, arrows), into);
            case "Par": {
                const fork = add("fork", "all of", into);
                const ends = part.works.flatMap((one) => draw(one, [fork]));
                return [add("join", "all done", ends)];
            }
            case "Loop": {
                const { preCondition: before, body, postCondition: after } = part;
                const first = nodes.length;
                let open = into;
                const out = [];
                if (before !== undefined) {
                    const outcomes = decide("go on?", draw(before[1], open));
                    open = [before[0] ? outcomes.succeeded : outcomes.failed];
                    out.push(before[0] ? outcomes.failed : outcomes.succeeded);
                }
                open = draw(body, open);
                // What the loop begins with has been drawn by now. Without a condition it always goes on.
                if (after === undefined) {
                    connect(open, first);
                    return out;
                }
                const outcomes = decide("again?", draw(after[1], open));
                connect([after[0] ? outcomes.succeeded : outcomes.failed], first);
                return [...out, after[0] ? outcomes.failed : outcomes.succeeded];
            }
            case "Alt": {
                const { succeeded, failed } = decide("which?", draw(part.condition, into));
                return [
                    ...(part.trueWork === undefined ? [succeeded] : draw(part.trueWork, [succeeded])),
                    ...(part.falseWork === undefined ? [failed] : draw(part.falseWork, [failed])),
                ];
            }
        }
    };
    const start = add("start", "start", []);
    add("end", "end", draw(work, [start]));
    return { nodes };
}
function modelLabel(model) {
    if (model === undefined)
        return "";
    return ` (${"category" in model ? model.category : model.id})`;
}

;// CONCATENATED MODULE: ./src/entry/mermaid.js
/** Each with its own text colour, so that they can be read on a light and on a dark page. */
const mermaid_styles = {
    pending: "fill:#eaeef2,stroke:#6e7781,color:#24292f",
    running: "fill:#0969da,stroke:#054da7,color:#ffffff",
    succeeded: "fill:#1a7f37,stroke:#0f5323,color:#ffffff",
    failed: "fill:#cf222e,stroke:#82071e,color:#ffffff",
    retried: "fill:#bf8700,stroke:#7d4e00,color:#000000",
    skipped: "fill:#afb8c1,stroke:#57606a,color:#24292f,stroke-dasharray:4 3",
    canceled: "fill:#6e7781,stroke:#424a53,color:#ffffff",
};
/** The graph as the text of a Mermaid flowchart, with a final line break. */
function renderMermaid(graph, options = {}) {
    const lines = ["flowchart TD"];
    const used = new Map();
    for (const node of graph.nodes) {
        lines.push(`  n${node.id}${shape(node, options)}`);
        const { workIdInJob } = node;
        const status = workIdInJob === undefined ? undefined : options.statusOf?.(workIdInJob);
        if (status !== undefined)
            used.set(status, [...(used.get(status) ?? []), `n${node.id}`]);
    }
    for (const node of graph.nodes) {
        for (const arrow of node.arrows)
            lines.push(`  n${node.id} ${line(arrow)} n${arrow.to}`);
    }
    for (const [status, ids] of used) {
        lines.push(`  classDef ${status} ${mermaid_styles[status]}`, `  class ${ids.join(",")} ${status}`);
    }
    return `${lines.join("\n")}\n`;
}
function shape(node, options) {
    switch (node.hint) {
        case "start":
        case "end":
            return `(["${escapeLabel(node.label)}"])`;
        case "fork":
        case "join":
            return `[["${escapeLabel(node.label)}"]]`;
        case "decision":
            return `{"${escapeLabel(node.label)}"}`;
        case "task": {
            const { workIdInJob } = node;
            const detail = workIdInJob === undefined ? undefined : options.detailOf?.(workIdInJob);
            const number = workIdInJob === undefined ? "" : ` #${workIdInJob}`;
            const label = detail === undefined ? "" : `\n${detail}`;
            return `["${escapeLabel(node.label + number + label)}"]`;
        }
    }
}
function line({ label }) {
    return label === undefined ? "-->" : `-->|"${escapeLabel(label)}"|`;
}
/**
 * Text as Mermaid shows it literally: punctuation that could be syntax, Markdown or HTML becomes a
 * numeric entity (`#34;`), a line break becomes `<br/>`, any other control character a space.
 */
function escapeLabel(text) {
    const escaped = text
        .replace(/\r\n?/g, "\n")
        .replace(/[^\P{Cc}\n]/gu, " ")
        .trim()
        .replace(markup, (sign) => `#${sign.charCodeAt(0)};`)
        .replaceAll("\n", "<br/>");
    return escaped === "" ? " " : escaped;
}
/** Hyphens, dots and underscores inside a word are harmless, as is `)` unless it numbers a list. */
const markup = /(?<![A-Za-z0-9])[-._]|[-._](?![A-Za-z0-9])|(?<=^ *\d+)\)|[!-'*+:->@[-^`{-~]/gm;

;// CONCATENATED MODULE: ./src/entry/model.js
/**
 * The entry: what a user declares. Data only; every other file of this room reads or makes these.
 * Source of the rules: `docs/entry-format.md`.
 */
const permissionPresets = ["read-only", "workspace", "all"];
/** The tools a job session always has. Each takes one string parameter named `argument`. */
const availableTools = [
    "job_prepare_document",
    "job_boolean_true",
    "job_boolean_false",
    "job_prerequisite_failed",
];
/** Variables whose values are known only while a task runs. */
const runtimeVariables = [
    "$user-input",
    "$task-model",
    "$reported-document",
    "$reported-true-reason",
    "$reported-false-reason",
];
const defaultLimits = {
    jobMinutes: 60,
    tokens: Number.POSITIVE_INFINITY,
    taskMinutes: 30,
    modelCalls: 200,
    turnMinutes: 15,
    idleMinutes: 5,
    loopIterations: 100,
    parallel: 8,
};

;// CONCATENATED MODULE: ./src/engine/limits.js
/** The bounds of a run, resolved, and the counters that are held against them. */

/** Later ones win: `resolveLimits(entry.limits, options.limits)`. */
function resolveLimits(...layers) {
    return Object.assign({}, defaultLimits, ...layers);
}
const minutes = (count) => count * 60_000;
/** Tokens of the job and model calls of one run of a task, counted from the runtime's own account. */
class TokenBudget {
    #limit;
    #job;
    #spent = 0;
    constructor(limit, job) {
        this.#limit = limit;
        this.#job = job;
    }
    spend(used) {
        this.#spent += used.inputTokens + used.outputTokens;
        if (this.#spent > this.#limit) {
            this.#job.stop({ kind: "limit", limit: "tokens", value: this.#limit });
        }
    }
}
class CallBudget {
    #limit;
    #task;
    #spent = 0;
    constructor(limit, task) {
        this.#limit = limit;
        this.#task = task;
    }
    spend() {
        this.#spent += 1;
        if (this.#spent > this.#limit)
            this.#cross();
    }
    /** To be called when another call is about to be made: a spent budget allows none. */
    beforeCall() {
        if (this.#spent >= this.#limit)
            this.#cross();
    }
    #cross() {
        this.#task.stop({ kind: "limit", limit: "modelCalls", value: this.#limit });
    }
}
/** After so many answers of the model that only met denials, the next ones only burn tokens. */
const DENIALS_IN_A_ROW = 10;
/**
 * Ends a turn in which nothing but denials happens. Counted are answers of the model, not denials:
 * the calls of one answer were all made before the model could learn from the first of them.
 */
class DenialStreak {
    #turn;
    #answers = 0;
    /** Whether the latest answer has met a denial. */
    #denied = false;
    #crash;
    constructor(turn) {
        this.#turn = turn;
    }
    observe(activity) {
        switch (activity.kind) {
            case "model.replied":
                if (!this.#denied)
                    this.#answers = 0;
                this.#denied = false;
                break;
            case "tool.ended":
                if (activity.succeeded)
                    this.#answers = 0;
                break;
            case "permission.denied":
                if (!this.#denied)
                    this.#count(activity);
                break;
            default:
                break;
        }
    }
    /** Why the turn was ended; undefined if it was not. */
    get crash() {
        return this.#crash;
    }
    #count({ operation, target }) {
        this.#denied = true;
        this.#answers += 1;
        if (this.#answers < DENIALS_IN_A_ROW || this.#crash !== undefined)
            return;
        const message = `The agent was denied ${DENIALS_IN_A_ROW} times in a row, at last ${operation} of ${target}.`;
        this.#crash = { kind: "denied", message };
        this.#turn.stop({ kind: "canceled", reason: message });
    }
}

;// CONCATENATED MODULE: ./src/entry/work.js
/**
 * Flattens `Seq` directly in `Seq` and `Par` directly in `Par`, over any number of levels, in every
 * part of the tree. (Seed: JobsData.md, validateEntry.)
 */
function simplifyWork(work) {
    switch (work.kind) {
        case "Ref":
            return work;
        case "Seq":
        case "Par":
            return {
                kind: work.kind,
                works: work.works.flatMap((part) => {
                    const simple = simplifyWork(part);
                    return simple.kind === work.kind ? simple.works : [simple];
                }),
            };
        case "Loop":
        case "Alt":
            return mapParts(work, simplifyWork);
    }
}
/**
 * Numbers the tasks of a job 0, 1, 2… in reading order: a condition before its branches, a
 * precondition before the body before the postcondition. Ids that are there already are replaced.
 */
function assignWorkId(work) {
    let next = 0;
    const assign = (part) => {
        switch (part.kind) {
            case "Ref":
                return { ...part, workIdInJob: next++ };
            case "Seq":
            case "Par":
                return { kind: part.kind, works: part.works.map(assign) };
            case "Loop":
            case "Alt":
                return mapParts(part, assign);
        }
    };
    return assign(work);
}
/** Every task of a tree, in reading order. */
function taskWorks(work) {
    const found = [];
    const visit = (part) => {
        if (part.kind === "Ref")
            found.push(part);
        else
            workParts(part).forEach(visit);
    };
    visit(work);
    return found;
}
/** The works directly inside a work, in reading order. */
function workParts(work) {
    switch (work.kind) {
        case "Ref":
            return [];
        case "Seq":
        case "Par":
            return work.works;
        case "Loop":
            return present([work.preCondition?.[1], work.body, work.postCondition?.[1]]);
        case "Alt":
            return present([work.condition, work.trueWork, work.falseWork]);
    }
}
/** The parts are mapped in reading order. */
function mapParts(work, map) {
    switch (work.kind) {
        case "Loop": {
            const { preCondition: before, postCondition: after } = work;
            return {
                kind: "Loop",
                ...(before === undefined ? {} : { preCondition: [before[0], map(before[1])] }),
                body: map(work.body),
                ...(after === undefined ? {} : { postCondition: [after[0], map(after[1])] }),
            };
        }
        case "Alt": {
            const { trueWork, falseWork } = work;
            return {
                kind: "Alt",
                condition: map(work.condition),
                ...(trueWork === undefined ? {} : { trueWork: map(trueWork) }),
                ...(falseWork === undefined ? {} : { falseWork: map(falseWork) }),
            };
        }
    }
}
function present(values) {
    return values.filter((value) => value !== undefined);
}

;// CONCATENATED MODULE: ./src/engine/rate-limit.js
const SHORTEST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 60_000;
class RateLimit {
    /** When it was met first; undefined when there is none. */
    #since;
    #until = 0;
    #trying = false;
    #change = new AbortController();
    #clock;
    constructor(clock) {
        this.#clock = clock;
    }
    /** The model server has refused a request for now. Without a pause given, it grows while the limit holds. */
    met(pauseMs) {
        const now = this.#clock.now();
        this.#since ??= now;
        const grown = Math.min(Math.max(now - this.#since, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS);
        this.#until = Math.max(this.#until, now + (pauseMs ?? grown));
    }
    /** How long the pause still is, in milliseconds. */
    get restMs() {
        return this.#since === undefined ? 0 : Math.max(0, this.#until - this.#clock.now());
    }
    /** The model server has answered. */
    lifted() {
        if (this.#since === undefined)
            return;
        this.#since = undefined;
        this.#until = 0;
        this.#changed();
    }
    /**
     * Resolves when a turn may begin, or when `signal` aborts. `onWait` is called once, if it has to wait.
     * The returned function must be called when the turn has ended.
     */
    async enter(signal, onWait) {
        let told = false;
        while (this.#since !== undefined && !signal.aborted) {
            const rest = this.#until - this.#clock.now();
            if (rest <= 0 && !this.#trying) {
                this.#trying = true;
                return () => {
                    this.#trying = false;
                    this.#changed();
                };
            }
            const pause = rest <= 0 ? LONGEST_PAUSE_MS : Math.min(rest, LONGEST_PAUSE_MS);
            if (!told)
                onWait(pause);
            told = true;
            await this.#clock.sleep(pause, AbortSignal.any([signal, this.#change.signal]));
        }
        return () => { };
    }
    #changed() {
        this.#change.abort("changed");
        this.#change = new AbortController();
    }
}

;// CONCATENATED MODULE: ./src/events/error-detail.js
/**
 * Any thrown value as a JSON string, for `[SESSION CRASHED]` decisions and for logs. Owns the bounds:
 * whatever comes in (cycles, getters that throw, proxies, megabytes), a JSON object of at most about
 * 64 KiB comes out, and nothing is ever thrown.
 *
 * The redactor runs after this function, so a text that is too long is cut at white space or at a quote:
 * a secret that was cut in two would no longer be recognised.
 */
const MAX_DEPTH = 6;
const MAX_FIELDS = 40;
const error_detail_MAX_TEXT = 8 * 1024;
/** What all texts of one error may take together; beyond it only the shape is told. */
const MAX_TOTAL = 48 * 1024;
/**
 * Name, message, stack, cause (and causes of causes), the errors of an AggregateError and every other own
 * field, as a JSON string. Something that is no error keeps its value in `value`.
 * (seeds/api-task.md, "errorToDetailedString")
 */
function errorToDetailedString(err) {
    const budget = { left: MAX_TOTAL, open: new Set() };
    try {
        const detail = typeof err === "object" && err !== null && isError(err)
            ? describeError(err, budget, 0)
            : { name: "NonError", message: briefly(err, budget), value: error_detail_describe(err, budget, 0) };
        return JSON.stringify(detail);
    }
    catch {
        return '{"name":"NonError","message":"An error that cannot be described"}';
    }
}
function isError(value) {
    try {
        return value instanceof Error || Object.prototype.toString.call(value) === "[object Error]";
    }
    catch {
        return false;
    }
}
/** The message of something that is no error: its own `message`, else itself. */
function briefly(value, budget) {
    if (typeof value === "string")
        return error_detail_clip(value, budget);
    if (typeof value === "object" && value !== null) {
        const message = field(value, "message");
        return typeof message === "string" ? error_detail_clip(message, budget) : "An object was thrown";
    }
    return String(error_detail_describe(value, budget, 0));
}
function describeError(error, budget, depth) {
    return guarded(error, budget, depth, () => {
        const detail = new Map();
        for (const key of ["name", "message", "stack", "cause", "errors"]) {
            const value = field(error, key);
            if (value !== undefined)
                detail.set(key, error_detail_describe(value, budget, depth + 1));
        }
        addFields(detail, error, budget, depth);
        return Object.fromEntries(detail);
    });
}
function error_detail_describe(value, budget, depth) {
    switch (typeof value) {
        case "string":
            return error_detail_clip(value, budget);
        case "boolean":
            return value;
        case "number":
            return Number.isFinite(value) ? value : String(value);
        case "bigint":
            return value < 10n ** 100n && value > -(10n ** 100n) ? `${value}n` : "[huge bigint]";
        case "undefined":
            return "[undefined]";
        case "symbol":
            return error_detail_clip(String(value), budget);
        case "function":
            return "[function]";
        case "object":
            return value === null ? null : describeObject(value, budget, depth);
    }
}
function describeObject(value, budget, depth) {
    if (isError(value))
        return describeError(value, budget, depth);
    return guarded(value, budget, depth, () => {
        if (value instanceof Date) {
            return Number.isNaN(value.getTime()) ? "[invalid date]" : value.toISOString();
        }
        if (ArrayBuffer.isView(value))
            return `[${value.byteLength} bytes]`;
        if (value instanceof Map || value instanceof Set) {
            return describeList([...value].slice(0, MAX_FIELDS), value.size, budget, depth);
        }
        if (Array.isArray(value)) {
            return describeList(value.slice(0, MAX_FIELDS), value.length, budget, depth);
        }
        const detail = new Map();
        addFields(detail, value, budget, depth);
        return Object.fromEntries(detail);
    });
}
function describeList(items, length, budget, depth) {
    const list = items.map((item) => error_detail_describe(item, budget, depth + 1));
    return length > list.length ? [...list, `[${length - list.length} more]`] : list;
}
function addFields(detail, value, budget, depth) {
    const keys = Object.keys(value);
    for (const key of keys.slice(0, MAX_FIELDS)) {
        const name = error_detail_clip(key, budget);
        if (!detail.has(name))
            detail.set(name, error_detail_describe(field(value, key), budget, depth + 1));
    }
    if (keys.length > MAX_FIELDS)
        detail.set("…", `[${keys.length - MAX_FIELDS} more fields]`);
}
/** Cycles, depth, and objects whose very inspection throws (a revoked proxy). */
function guarded(value, budget, depth, make) {
    if (budget.open.has(value))
        return "[circular]";
    if (depth >= MAX_DEPTH)
        return "[too deep]";
    if (budget.left <= 0)
        return "[left out: too long]";
    budget.open.add(value);
    // A shape costs too, else many small objects would get past the bound.
    budget.left -= 16;
    try {
        return make();
    }
    catch {
        return "[cannot be inspected]";
    }
    finally {
        budget.open.delete(value);
    }
}
function field(value, key) {
    try {
        return Reflect.get(value, key);
    }
    catch {
        return "[getter threw]";
    }
}
function error_detail_clip(text, budget) {
    const room = Math.max(0, Math.min(error_detail_MAX_TEXT, budget.left));
    if (text.length <= room) {
        budget.left -= text.length + 8;
        return text;
    }
    let end = room;
    while (end > 0 && !/[\s"'`]/.test(text.charAt(end)))
        end -= 1;
    budget.left -= end + 32;
    return `${text.slice(0, end)}… [${text.length - end} more characters]`;
}

;// CONCATENATED MODULE: ./src/events/crash.js
/** Rule 6 of running tasks: which crashes a retry can mend. */
function crashRemedy(crash) {
    const { statusCode } = crash;
    if (statusCode === 429 || (statusCode !== undefined && statusCode >= 500)) {
        return crash.retryAfterMs === undefined
            ? { kind: "retry-later" }
            : { kind: "retry-later", retryAfterMs: crash.retryAfterMs };
    }
    if (statusCode !== undefined && statusCode >= 400 && statusCode !== 408) {
        return { kind: "give-up", advice: adviceFor(statusCode) };
    }
    if (crash.errorType === "authentication" || crash.errorType === "authorization") {
        return { kind: "give-up", advice: adviceFor(401) };
    }
    if (crash.kind === "denied") {
        return {
            kind: "give-up",
            advice: 'Allow in "permissions" what the task needs (each denial names it), or say in the prompt how to do without.',
        };
    }
    if (crash.errorType === "configuration") {
        return { kind: "give-up", advice: "What is missing has to be installed or named first." };
    }
    if (/No GitHub OAuth token|Not authenticated/i.test(crash.message)) {
        return { kind: "give-up", advice: adviceFor(401) };
    }
    return { kind: "retry" };
}
function adviceFor(statusCode) {
    switch (statusCode) {
        case 401:
            return "Check the token or the provider's API key: the model server did not accept it.";
        case 403:
            return "The token is known but may not use this model: check its permissions and the plan.";
        case 404:
            return "Check the model id and the provider's base URL: the model server does not know them.";
        case 413:
            return "The conversation is too large for the model server: shorten the prompt or what it reads.";
        default:
            return "The model server rejected the request itself: a retry would send the same. Check the model id and the length of the prompt.";
    }
}

;// CONCATENATED MODULE: ./src/engine/scope.js
class Scope {
    #controller = new AbortController();
    #children = new Set();
    #release;
    #stopped;
    constructor(release) {
        this.#release = () => release(this);
    }
    /** A scope of its own, stopped as `canceled` when `signal` aborts. */
    static root(signal) {
        const scope = new Scope(() => signal?.removeEventListener("abort", onAbort));
        const onAbort = () => scope.stop({ kind: "canceled", reason: cancelText(signal?.reason) });
        if (signal?.aborted === true)
            onAbort();
        else
            signal?.addEventListener("abort", onAbort, { once: true });
        return scope;
    }
    child() {
        const child = new Scope((scope) => this.#children.delete(scope));
        if (this.#stopped === undefined)
            this.#children.add(child);
        else
            child.stop(this.#stopped);
        return child;
    }
    get signal() {
        return this.#controller.signal;
    }
    get stopped() {
        return this.#stopped;
    }
    stop(reason) {
        if (this.#stopped !== undefined)
            return;
        this.#stopped = reason;
        this.#controller.abort(reason);
        for (const child of this.#children)
            child.stop(reason);
        this.#children.clear();
    }
    /** Must be called when the work of this scope is over. */
    dispose() {
        this.#release();
    }
}
/** A reason of our own: without one, `abort` makes an error with a stack, each time. */
const over = "over";
/** Stops `scope` after `milliseconds`, unless the returned function is called first. */
function stopAfter(clock, scope, milliseconds, reason) {
    if (!Number.isFinite(milliseconds))
        return () => { };
    const timer = new AbortController();
    void clock.sleep(milliseconds, timer.signal).then(() => {
        if (!timer.signal.aborted)
            scope.stop(reason);
    });
    return () => timer.abort(over);
}
/**
 * Waits for `promise`, but no longer than `graceMs` after `scope` has stopped; then undefined. What
 * a session does is bounded by contract: this is the bound for one that breaks it.
 */
async function unlessStopped(scope, clock, graceMs, promise) {
    // Made only when it is needed: a loop of many works passes here for each of them.
    let timer;
    let begin = () => { };
    const grace = new Promise((resolve) => {
        begin = () => {
            timer = new AbortController();
            void clock.sleep(graceMs, timer.signal).then(() => resolve(undefined));
        };
    });
    if (scope.signal.aborted)
        begin();
    else
        scope.signal.addEventListener("abort", begin, { once: true });
    try {
        return await Promise.race([promise, grace]);
    }
    finally {
        scope.signal.removeEventListener("abort", begin);
        timer?.abort(over);
    }
}
/** The sentence for people about why something was stopped. */
function stopText(reason) {
    switch (reason.kind) {
        case "canceled":
            return reason.reason;
        case "task-crashed":
            return `task "${reason.taskId}" crashed: ${reason.crash.message}`;
        case "limit":
            return `limit ${reason.limit} = ${reason.value} crossed; raise it in "limits.${reason.limit}" of the entry`;
    }
}
function cancelText(reason) {
    return typeof reason === "string" && reason !== "" ? reason : "canceled";
}

;// CONCATENATED MODULE: ./src/engine/task-context.js
function decide(context, decision) {
    context.ports.emit({ type: "decision", work: context.work, decision });
}
/** Passes on what happens in a session, and holds it against the budgets. */
function observe(context, sessionId, activity) {
    context.ports.emit({ type: "activity", work: context.work, sessionId, activity });
    switch (activity.kind) {
        case "model.used":
            context.calls.spend();
            context.tokens.spend(activity);
            context.rateLimit.lifted();
            break;
        case "model.failed":
            if (activity.statusCode === 429)
                context.rateLimit.met();
            break;
        case "agent.started":
            context.calls.beforeCall();
            break;
        case "permission.denied": {
            const { operation, target, reason } = activity;
            decide(context, { kind: "permission-denied", operation, target, reason });
            break;
        }
        default:
            break;
    }
}

;// CONCATENATED MODULE: ./src/engine/session-keeper.js


/** How long a stopped run still waits for what it stopped; a cancel must be over within 5 seconds. */
const STOP_GRACE_MS = 2_000;
class SessionKeeper {
    #context;
    #open;
    constructor(context) {
        this.#context = context;
    }
    async acquire(request) {
        const { mode, scope, ports, work, workingDirectory, permissions } = this.#context;
        if (mode.kind === "borrowed")
            return { kind: "ready", session: mode.session };
        if (this.#open !== undefined)
            return { kind: "ready", session: this.#open.session };
        const { modelId, retry, attempt } = request;
        const role = mode.kind === "single" ? "both" : request.role;
        const label = { ...work, role, modelId, retry, attempt };
        const opening = ports.sessions.open({ label, modelId, workingDirectory, permissions }, scope.signal);
        const opened = await unlessStopped(scope, ports.clock, STOP_GRACE_MS, opening);
        if (opened === undefined) {
            // It may still open after we have given up on it: then nobody else would close it.
            void opening.then((late) => (late.kind === "opened" ? late.session.close() : undefined));
            return { kind: "stopped" };
        }
        if (opened.kind === "crashed") {
            return scope.stopped === undefined ? opened : { kind: "stopped" };
        }
        const { session } = opened;
        this.#open = { session, role };
        ports.emit({
            type: "session.started",
            work,
            sessionId: session.id,
            modelId,
            role,
            retry,
            attempt,
        });
        decide(this.#context, { kind: "session-started", sessionId: session.id, modelId, role });
        return { kind: "ready", session };
    }
    /** The mission is over: with multiple models its session has done its duty. */
    async missionDone() {
        if (this.#context.mode.kind === "multiple")
            await this.end(true);
    }
    /** Ends the open session, if there is one. `succeeded`: as `taskSessionStopped` reports it. */
    async end(succeeded) {
        const open = this.#open;
        if (open === undefined)
            return;
        this.#open = undefined;
        const { scope, ports, work } = this.#context;
        const { session, role } = open;
        await unlessStopped(scope, ports.clock, STOP_GRACE_MS, session.close());
        ports.emit({ type: "session.ended", work, sessionId: session.id, role, succeeded });
        decide(this.#context, { kind: "session-ended", sessionId: session.id, role });
    }
}

;// CONCATENATED MODULE: ./src/engine/attempt.js
/**
 * The one crash-retry loop (`sendMonitoredPrompt` of the seed). It sends one prompt for one mission
 * and tries again after crashes, as the budget of the mission and the remedy of the crash allow.
 */





const SESSION_CRASH_PREFIX = "The session crashed, please redo and here is the last request:\n";
const MANAGED_TRIES = 5;
/** After a 429 or 5xx the runtime itself has tried up to six times. */
const OVERLOADED_RETRIES = 2;
const FIRST_WAIT_MS = 2_000;
const LONGEST_WAIT_MS = 120_000;
async function runMission(context, keeper, request) {
    const { scope, variables } = context;
    const models = triesOf(context, request.role);
    let overloaded = 0;
    for (let attempt = 1;; attempt += 1) {
        const modelId = models[attempt - 1] ?? context.modelId;
        const outcome = await tryOnce(context, keeper, request, modelId, attempt);
        if (outcome === "stopped" || outcome.kind === "canceled")
            return { kind: "stopped" };
        variables.report(outcome.toolCalls);
        if (outcome.kind === "completed") {
            await keeper.missionDone();
            return scope.stopped === undefined ? outcome : { kind: "stopped" };
        }
        const { crash } = outcome;
        const limit = limitOf(crash);
        if (limit !== undefined) {
            const scope = `a turn of task "${context.work.taskId}"`;
            decide(context, { kind: "limit-crossed", limit, value: context.limits[limit], scope });
        }
        decide(context, {
            kind: "session-crashed",
            mission: request.mission,
            attempt,
            attempts: models.length,
            crash,
        });
        await keeper.end(false);
        const remedy = crashRemedy(crash);
        if (remedy.kind === "retry-later")
            overloaded += 1;
        if (remedy.kind === "give-up" || attempt === models.length || overloaded > OVERLOADED_RETRIES) {
            const advice = remedy.kind === "give-up" ? { advice: remedy.advice } : {};
            decide(context, {
                kind: "crash-budget-drained",
                mission: request.mission,
                attempts: attempt,
                ...advice,
            });
            return { kind: "exhausted", crash };
        }
        if (remedy.kind === "retry-later") {
            await waitBeforeRetry(context, crash, overloaded, remedy.retryAfterMs);
        }
        if (scope.stopped !== undefined)
            return { kind: "stopped" };
        decide(context, {
            kind: "crash-retry",
            mission: request.mission,
            retry: attempt,
            of: models.length - 1,
            modelId: models[attempt] ?? context.modelId,
        });
    }
}
async function tryOnce(context, keeper, request, modelId, attempt) {
    const { scope, ports } = context;
    if (scope.stopped !== undefined)
        return "stopped";
    const acquired = await keeper.acquire({
        role: request.role,
        modelId,
        retry: request.retry,
        attempt,
    });
    if (acquired.kind === "stopped")
        return "stopped";
    if (acquired.kind === "crashed")
        return { ...acquired, toolCalls: [] };
    context.calls.beforeCall();
    const { session } = acquired;
    const outcome = await ports.gate.run(async () => {
        const leave = await context.rateLimit.enter(scope.signal, (milliseconds) => decide(context, {
            kind: "waiting",
            milliseconds,
            reason: "a rate limit of the model server",
        }));
        const tried = await attempt_runTurn(context, session, request, attempt);
        leave();
        return tried;
    }, scope.signal);
    return outcome ?? "stopped";
}
async function attempt_runTurn(context, session, request, attempt) {
    const { scope, ports, work, limits, variables } = context;
    if (scope.stopped !== undefined)
        return "stopped";
    const { mission, retry } = request;
    const prompt = (attempt > 1 ? SESSION_CRASH_PREFIX : "") + variables.expand(request.prompt);
    const sessionId = session.id;
    ports.emit({
        type: "turn.started",
        work,
        sessionId,
        modelId: session.modelId,
        mission,
        retry,
        attempt,
        prompt,
    });
    // Of its own, so that it can be ended without its task.
    const turnScope = scope.child();
    const denials = new DenialStreak(turnScope);
    const turn = session.runTurn(prompt, {
        signal: turnScope.signal,
        turnMs: minutes(limits.turnMinutes),
        idleMs: minutes(limits.idleMinutes),
        onActivity: (activity) => {
            observe(context, sessionId, activity);
            denials.observe(activity);
        },
    });
    const ended = await unlessStopped(turnScope, ports.clock, STOP_GRACE_MS, turn);
    turnScope.dispose();
    const outcome = scope.stopped === undefined
        ? asCrash(ended, denials.crash)
        : { kind: "canceled", toolCalls: [] };
    ports.emit({ type: "turn.ended", work, sessionId, mission, outcome: outcome.kind });
    return outcome;
}
const abortedByOthers = {
    kind: "aborted",
    message: "The turn was aborted, but not by this run.",
};
/** A turn that says it was canceled was ended for its denials; else somebody else has aborted it. */
function asCrash(outcome, denied) {
    if (outcome !== undefined && outcome.kind !== "canceled")
        return outcome;
    const toolCalls = outcome?.toolCalls ?? [];
    return { kind: "crashed", toolCalls, crash: denied ?? abortedByOthers };
}
/** Rules 4 and 5: the model of every try that a mission may make. */
function triesOf(context, role) {
    const { entry, mode, modelId } = context;
    switch (mode.kind) {
        case "borrowed":
            return [mode.session.modelId];
        case "single":
            return Array.from({ length: MANAGED_TRIES }, () => modelId);
        case "multiple": {
            if (role === "task")
                return Array.from({ length: MANAGED_TRIES }, () => modelId);
            const driving = entry.models.driving;
            const budgets = entry.drivingSessionRetries;
            if (budgets === undefined)
                return Array.from({ length: MANAGED_TRIES }, () => driving);
            const rounds = Math.max(...budgets.map(({ retries }) => retries));
            const retries = Array.from({ length: rounds }, (_, round) => budgets.filter((budget) => budget.retries > round).map((budget) => budget.modelId));
            return [driving, ...retries.flat()];
        }
    }
}
/** The limit whose crossing was the crash. */
function limitOf(crash) {
    switch (crash.kind) {
        case "turn-deadline":
            return "turnMinutes";
        case "idle-deadline":
            return "idleMinutes";
        default:
            return undefined;
    }
}
async function waitBeforeRetry(context, crash, overloaded, retryAfterMs) {
    const { ports, scope } = context;
    const backoff = FIRST_WAIT_MS * 2 ** (overloaded - 1) * (1 + ports.random());
    const limited = crash.statusCode === 429;
    // One wait, not two: what the others wait for is waited for here as well.
    const asked = Math.max(retryAfterMs ?? 0, limited ? context.rateLimit.restMs : 0);
    const milliseconds = Math.round(Math.min(Math.max(backoff, asked), LONGEST_WAIT_MS));
    const status = crash.statusCode === undefined ? "" : ` (${crash.statusCode})`;
    if (limited)
        context.rateLimit.met(milliseconds);
    decide(context, {
        kind: "waiting",
        milliseconds,
        reason: `the model server is overloaded${status}`,
    });
    await ports.clock.sleep(milliseconds, scope.signal);
}

;// CONCATENATED MODULE: ./src/engine/criteria.js
/** Rule 10, first half: the task that finished last before this one must be in the list. */
function judgePreviousTask(previousTasks, previousTask) {
    const content = JSON.stringify(previousTasks);
    if (previousTask === undefined) {
        return {
            kind: "fails",
            field: "previousTasks",
            content,
            reason: "no task has finished before this one",
        };
    }
    return previousTasks.includes(previousTask)
        ? {
            kind: "holds",
            field: "previousTasks",
            content,
            reason: `the previous task was "${previousTask}"`,
        }
        : {
            kind: "fails",
            field: "previousTasks",
            content,
            reason: `the previous task was "${previousTask}", which is not in the list`,
        };
}
/**
 * A condition holds when `job_boolean_true` is the last of the two boolean tools of the turn. In an
 * availability check a call of `job_prerequisite_failed` is a failure, whatever else was called.
 */
function judgeCondition(field, mission, condition, toolCalls) {
    const content = JSON.stringify(condition);
    const succeeded = toolCalls.filter((call) => call.succeeded);
    const refused = mission === "availability"
        ? succeeded.findLast((call) => call.name === "job_prerequisite_failed")
        : undefined;
    if (refused !== undefined) {
        return {
            kind: "fails",
            field,
            content,
            reason: `job_prerequisite_failed was called: ${refused.argument ?? ""}`,
        };
    }
    const last = succeeded.findLast((call) => call.name === "job_boolean_true" || call.name === "job_boolean_false");
    if (last === undefined) {
        return {
            kind: "fails",
            field,
            content,
            reason: "neither job_boolean_true nor job_boolean_false was called",
        };
    }
    const reason = `${last.name} was called: ${last.argument ?? ""}`;
    return { kind: last.name === "job_boolean_true" ? "holds" : "fails", field, content, reason };
}
/** Rule 11: the tools of the list that the last turn of the task session did not run successfully. */
function missingTools(toolExecuted, toolCalls) {
    const executed = new Set(toolCalls.filter((call) => call.succeeded).map((call) => call.name));
    return [...new Set(toolExecuted)].filter((tool) => !executed.has(tool));
}
/** Rule 12: what a retry sends. Parts are one empty line apart. */
function retryPrompt(task, missing) {
    const parts = [task.prompt[0].replace(/(?:\r?\n)+$/, "")];
    if (missing.length > 0)
        parts.push(`## Required Tool Not Called: ${missing.join(", ")}`);
    const additional = task.criteria?.failureAction.additionalPrompt;
    if (additional !== undefined)
        parts.push(`## You accidentally Stopped\n${withoutEdges(additional[0])}`);
    return [parts.join("\n\n")];
}
/** Without the line breaks around it, which YAML's block text brings: between parts there is one empty line. */
function withoutEdges(text) {
    return text.replace(/^(?:\r?\n)+|(?:\r?\n)+$/g, "");
}

;// CONCATENATED MODULE: ./src/engine/run-task.js







/** Never throws. The caller disposes of the scope. */
async function runTask(context, availability) {
    const { scope, ports, limits } = context;
    const keeper = new SessionKeeper(context);
    const disarm = stopAfter(ports.clock, scope, minutes(limits.taskMinutes), {
        kind: "limit",
        limit: "taskMinutes",
        value: limits.taskMinutes,
    });
    const outcome = run_task_settle(context, await runMissions(context, keeper, availability));
    disarm();
    if (outcome.kind === "succeeded")
        decide(context, { kind: "task-succeeded" });
    if (outcome.kind === "failed")
        decide(context, { kind: "task-failed", reason: outcome.reason });
    if (outcome.kind === "crashed") {
        decide(context, { kind: "task-failed", reason: `crashed: ${outcome.crash.message}` });
    }
    await keeper.end(outcome.kind === "succeeded");
    return outcome;
}
/** A stop wins over the failure that it may have caused; a limit of the task's own is a failure. */
function run_task_settle(context, result) {
    const { stopped } = context.scope;
    if (result.kind !== "interrupted" && (stopped === undefined || result.kind === "succeeded")) {
        return result;
    }
    if (stopped?.kind === "limit" &&
        (stopped.limit === "taskMinutes" || stopped.limit === "modelCalls")) {
        const { limit, value } = stopped;
        decide(context, {
            kind: "limit-crossed",
            limit,
            value,
            scope: `task "${context.work.taskId}"`,
        });
        return { kind: "failed", reason: stopText(stopped) };
    }
    return { kind: "stopped", reason: stopped ?? { kind: "canceled", reason: "canceled" } };
}
async function runMissions(context, keeper, availability) {
    try {
        return ((await checkAvailability(context, keeper, availability)) ?? (await runPrompt(context, keeper)));
    }
    catch (error) {
        // A defect of ours, or a session that breaks its contract: converted once, here.
        const message = error instanceof Error ? error.message : String(error);
        return {
            kind: "crashed",
            crash: { kind: "internal", message, detail: errorToDetailedString(error) },
        };
    }
}
/** Rule 10. Undefined when the task may run. */
async function checkAvailability(context, keeper, { previousTask, skip }) {
    const { availability } = context.task;
    if (availability === undefined || skip)
        return undefined;
    if (availability.previousTasks !== undefined) {
        const verdict = judgePreviousTask(availability.previousTasks, previousTask);
        decideAvailability(context, verdict);
        if (verdict.kind === "fails")
            return unavailable(context, verdict.reason);
    }
    if (availability.condition !== undefined) {
        const { condition } = availability;
        const mission = {
            mission: "availability",
            role: "driving",
            prompt: condition,
            retry: 0,
        };
        const outcome = await runMission(context, keeper, mission);
        if (outcome.kind === "stopped")
            return { kind: "interrupted" };
        if (outcome.kind === "exhausted")
            return { kind: "crashed", crash: outcome.crash };
        const verdict = judgeCondition("condition", "availability", condition[0], outcome.toolCalls);
        decideAvailability(context, verdict);
        if (verdict.kind === "fails")
            return unavailable(context, verdict.reason);
    }
    return undefined;
}
function decideAvailability(context, verdict) {
    const { kind, field, content, reason } = verdict;
    decide(context, {
        kind: kind === "holds" ? "availability-passed" : "availability-failed",
        field,
        content,
        reason,
    });
}
function unavailable(context, reason) {
    decide(context, { kind: "availability-drained", reason });
    return { kind: "failed", reason: `not available: ${reason}` };
}
/** Rules 11–13: the prompt, its criteria, and the retries that the failure action allows. */
async function runPrompt(context, keeper) {
    const { task } = context;
    const first = await runMission(context, keeper, {
        mission: "prompt",
        role: "task",
        prompt: task.prompt,
        retry: 0,
    });
    if (first.kind === "stopped")
        return { kind: "interrupted" };
    if (first.kind === "exhausted")
        return { kind: "crashed", crash: first.crash };
    const { criteria } = task;
    if (criteria === undefined)
        return { kind: "succeeded" };
    let check = await checkCriteria(context, keeper, criteria, first.toolCalls, 0);
    if (check.kind === "exhausted")
        return { kind: "crashed", crash: check.crash };
    const of = criteria.failureAction.retryTimes;
    let missing = [];
    let reason = "";
    for (let retry = 0;; retry += 1) {
        if (check.kind === "stopped")
            return { kind: "interrupted" };
        if (check.kind === "holds")
            return { kind: "succeeded" };
        if (check.kind === "fails")
            ({ missing, reason } = check);
        else
            reason = `the session crashed: ${check.crash.message}`;
        if (retry === of)
            break;
        decide(context, { kind: "criteria-retry", retry: retry + 1, of, reason });
        check = await retryOnce(context, keeper, criteria, missing, retry + 1);
    }
    decide(context, { kind: "criteria-budget-drained", retries: of, reason });
    return { kind: "failed", reason: `criteria not met: ${reason}` };
}
/** A crash in here is a failed iteration: the crash budget and the criteria budget are separate. */
async function retryOnce(context, keeper, criteria, missing, retry) {
    const prompt = retryPrompt(context.task, missing);
    const outcome = await runMission(context, keeper, {
        mission: "prompt",
        role: "task",
        prompt,
        retry,
    });
    if (outcome.kind !== "completed")
        return outcome;
    return checkCriteria(context, keeper, criteria, outcome.toolCalls, retry);
}
/** Rule 11: the tools first; only when they were called, the condition. */
async function checkCriteria(context, keeper, { toolExecuted, condition }, toolCalls, retry) {
    if (toolExecuted !== undefined) {
        const content = JSON.stringify(toolExecuted);
        const missing = missingTools(toolExecuted, toolCalls);
        if (missing.length > 0) {
            const reason = `not called successfully in the last turn: ${missing.join(", ")}`;
            decide(context, { kind: "criteria-failed", field: "toolExecuted", content, reason });
            return { kind: "fails", missing, reason };
        }
        decide(context, {
            kind: "criteria-passed",
            field: "toolExecuted",
            content,
            reason: "all of them were called",
        });
    }
    if (condition !== undefined) {
        const mission = { mission: "criteria", role: "driving", prompt: condition, retry };
        const outcome = await runMission(context, keeper, mission);
        if (outcome.kind !== "completed")
            return outcome;
        const verdict = judgeCondition("condition", "criteria", condition[0], outcome.toolCalls);
        const { kind, field, content, reason } = verdict;
        decide(context, {
            kind: kind === "holds" ? "criteria-passed" : "criteria-failed",
            field,
            content,
            reason,
        });
        if (kind === "fails")
            return { kind: "fails", missing: [], reason };
    }
    return { kind: "holds" };
}

;// CONCATENATED MODULE: ./src/engine/run-work.js
/** `last`: the task that finished before this work began. */
async function runWork(runner, work, last) {
    switch (work.kind) {
        case "Ref":
            return runner.runRef(work, last);
        case "Seq": {
            let latest = last;
            for (const child of work.works) {
                const result = await runWork(runner, child, latest);
                if (result.kind !== "succeeded")
                    return result;
                latest = result.last;
            }
            return { kind: "succeeded", last: latest };
        }
        case "Par":
            return joined(await Promise.all(work.works.map((child) => runWork(runner, child, last))), last);
        case "Loop":
            return runLoop(runner, work, last);
        case "Alt": {
            const condition = await runWork(runner, work.condition, last);
            if (condition.kind === "stopped")
                return condition;
            const chosen = condition.kind === "succeeded" ? work.trueWork : work.falseWork;
            return chosen === undefined
                ? { kind: "succeeded", last: condition.last }
                : runWork(runner, chosen, condition.last);
        }
    }
}
/** An absent condition always asks to go on: a loop with `preCondition` alone is a `while`. */
async function runLoop(runner, { preCondition, body, postCondition }, last) {
    let latest = last;
    for (let iteration = 1;; iteration += 1) {
        for (const step of [preCondition, "body", postCondition]) {
            if (step === undefined)
                continue;
            if (step === "body" && iteration > runner.loopIterations) {
                const reason = `a loop did not end within ${runner.loopIterations} iterations`;
                runner.loopLimitCrossed(reason);
                return { kind: "failed", last: latest, reason };
            }
            const result = await runWork(runner, step === "body" ? body : step[1], latest);
            if (result.kind === "stopped")
                return result;
            if (step === "body" && result.kind === "failed")
                return result;
            latest = result.last;
            const goesOn = step === "body" || (result.kind === "succeeded") === step[0];
            if (!goesOn)
                return { kind: "succeeded", last: latest };
        }
    }
}
/** `Par` has waited for all: it failed if any did; the last task is the one that finished last. */
function joined(results, before) {
    const ended = [];
    for (const result of results) {
        if (result.kind === "stopped")
            return result;
        ended.push(result);
    }
    let last = before;
    for (const result of ended) {
        if (result.last !== undefined && result.last.order > (last?.order ?? -1))
            last = result.last;
    }
    const reasons = ended.flatMap((result) => (result.kind === "failed" ? [result.reason] : []));
    return reasons.length === 0
        ? { kind: "succeeded", last }
        : { kind: "failed", last, reason: [...new Set(reasons)].join("; ") };
}

;// CONCATENATED MODULE: ./src/entry/prompt-expander.js
/**
 * Static expansion that collects its faults.
 *
 * Each variable is expanded once and remembered, so that large entries stay fast; chains of
 * variables are walked with a stack of our own, so that their length doesn't matter; sizes are
 * bounded before text is built, so that doubling variables can't fill the memory. A fault inside a
 * variable is reported at its first use only.
 *
 * The result means, to `expandPromptDynamic`, exactly what the parts meant: where joining two parts
 * would make a variable or a `$$` that neither of them wrote, the `$` is doubled.
 */

/** `$$`, or a variable with its name (words joined by hyphens) as the first group. */
const variablePattern = /\$\$|\$([A-Za-z][A-Za-z0-9]*(?:-[A-Za-z][A-Za-z0-9]*)*)/g;
const promptLimits = {
    /** Characters of one expanded prompt. */
    prompt: 10_000_000,
    /** Characters of all expanded prompts of an entry. */
    entry: 100_000_000,
};
const runtimeNames = new Set(runtimeVariables.map((name) => name.slice(1)));
const nothing = { text: "", tail: "plain", complete: false, usesUserInput: false };
class prompt_expander_PromptExpander {
    #lookUp;
    #known = new Map();
    #stack = [];
    /** The names on the stack. */
    #open = new Set();
    #faults = [];
    #said = new Set();
    #total = 0;
    /** Null stands for a variable whose fault has been reported already. */
    constructor(lookUp) {
        this.#lookUp = lookUp;
    }
    expand(prompt, requiresBooleanTool = false) {
        this.#faults = [];
        this.#said.clear();
        this.#stack = [prompt_expander_frame(undefined, promptText(prompt))];
        const piece = this.#run();
        const { text, complete, usesUserInput } = piece;
        if (complete && text.trim() === "")
            this.#fault("The prompt is empty.");
        if (complete && requiresBooleanTool && !/job_boolean_(?:true|false)/.test(text)) {
            this.#fault("The prompt must mention job_boolean_true or job_boolean_false.");
        }
        return { text: complete ? text : "", faults: this.#faults, complete, usesUserInput };
    }
    #run() {
        for (;;) {
            const top = this.#stack.at(-1);
            if (top === undefined)
                return nothing;
            if (this.#advance(top) === "entered")
                continue;
            this.#charge(top);
            this.#stack.pop();
            if (top.name === undefined)
                return top;
            this.#open.delete(top.name);
            this.#known.set(top.name, top);
            const parent = this.#stack.at(-1);
            if (parent !== undefined)
                this.#append(parent, top);
        }
    }
    #charge(top) {
        this.#total += top.text.length;
        if (this.#total <= promptLimits.entry)
            return;
        this.#total -= top.text.length;
        this.#drop(top, `The expanded prompts have more than ${promptLimits.entry} characters in all.`);
    }
    /** Gives up a text for its size. */
    #drop(top, reason) {
        if (top.complete)
            this.#fault(reason);
        top.complete = false;
        top.text = "";
        top.tail = "plain";
    }
    /** Reads on in the frame, to its end or to a variable that has to be expanded first. */
    #advance(top) {
        const pattern = new RegExp(variablePattern);
        for (;;) {
            pattern.lastIndex = top.at;
            const match = pattern.exec(top.source);
            const literal = top.source.slice(top.at, match?.index);
            this.#append(top, plain(literal));
            if (match === null)
                return "done";
            top.at = match.index + match[0].length;
            const name = match[1];
            if (name === undefined)
                this.#append(top, plain("$$", "plain"));
            else if (this.#variable(top, name) === "entered")
                return "entered";
        }
    }
    #variable(top, name) {
        const known = this.#known.get(name);
        if (known !== undefined) {
            this.#append(top, known);
            return "done";
        }
        const prompt = this.#lookUp(name);
        if (prompt === undefined) {
            if (runtimeNames.has(name)) {
                const usesUserInput = name === "user-input";
                this.#append(top, { text: `$${name}`, tail: "runtime", complete: true, usesUserInput });
            }
            else {
                this.#fault(`Cannot find prompt variable: $${name}.`, name);
                top.complete = false;
            }
            return "done";
        }
        if (prompt === null) {
            top.complete = false;
            return "done";
        }
        if (this.#open.has(name)) {
            this.#fault(`Prompt variable $${name} contains itself: ${this.#cycle(name)}.`);
            top.complete = false;
            return "done";
        }
        const entered = prompt_expander_frame(name, promptText(prompt));
        this.#stack.push(entered);
        this.#open.add(name);
        if (prompt.length === 0 && typeof prompt !== "string") {
            this.#fault("The prompt is empty.");
            entered.complete = false;
        }
        return "entered";
    }
    #append(to, piece) {
        if (!piece.complete)
            to.complete = false;
        if (piece.usesUserInput)
            to.usesUserInput = true;
        const { text } = piece;
        if (text === "")
            return;
        if (to.tail === "dollar" && /^[$A-Za-z]/.test(text))
            to.text += "$";
        if (runsOn(to.tail, text)) {
            const runtime = /\$\w+(?:-\w+)*(?=-?$)/.exec(to.text.slice(-40))?.[0] ?? "a runtime variable";
            this.#fault(`The text inserted after ${runtime} would become part of its name.`);
            to.complete = false;
        }
        if (to.text.length + text.length > promptLimits.prompt) {
            return this.#drop(to, `The prompt expands to over ${promptLimits.prompt} characters.`);
        }
        to.text += text;
        to.tail = to.tail === "runtime" && text === "-" ? "runtime-hyphen" : piece.tail;
    }
    #fault(reason, missing) {
        const said = JSON.stringify([this.#stack.at(-1)?.name, reason]);
        if (this.#said.has(said))
            return;
        this.#said.add(said);
        const trail = this.#stack.flatMap(({ name }) => (name === undefined ? [] : [name]));
        this.#faults.push(missing === undefined ? { trail, reason } : { trail, reason, missing });
    }
    /** `$a → $b → $a`, shortened in the middle where it is very long. */
    #cycle(name) {
        const start = this.#stack.findIndex((frame) => frame.name === name);
        const names = this.#stack.slice(start).map((frame) => `$${frame.name ?? ""}`);
        if (names.length > 20)
            names.splice(10, names.length - 20, "…");
        return [...names, `$${name}`].join(" → ");
    }
}
function promptText(prompt) {
    return typeof prompt === "string" ? prompt : prompt.join("\n");
}
function prompt_expander_frame(name, source) {
    return { name, source, at: 0, text: "", tail: "plain", complete: true, usesUserInput: false };
}
function plain(text, tail = text.endsWith("$") ? "dollar" : "plain") {
    return { text, tail, complete: true, usesUserInput: false };
}
/** Whether text after a runtime variable would be read as a part of its name. */
function runsOn(tail, text) {
    if (tail === "runtime")
        return /^(?:[A-Za-z0-9]|-[A-Za-z])/.test(text);
    return tail === "runtime-hyphen" && /^[A-Za-z]/.test(text);
}

;// CONCATENATED MODULE: ./src/entry/prompt.js
/**
 * Expansion of prompts: statically when an entry is prepared, dynamically each time one is sent.
 * (Seed: JobsData.md, expandPromptStatic and expandPromptDynamic.)
 */


/**
 * Joins the lines with LF and inserts the prompt variables, to any depth. Runtime variables and `$$`
 * stay. With `requiresBooleanTool` the result must mention `job_boolean_true` or
 * `job_boolean_false`.
 *
 * @throws {DiagnosticsError} `${codePath}: Cannot find prompt variable: $name.` and the like, with
 * `/$name` appended to the path for each variable on the way.
 */
function expandPromptStatic(entry, codePath, prompt, requiresBooleanTool = false) {
    const variables = entry.promptVariables ?? {};
    const expander = new PromptExpander((name) => Object.hasOwn(variables, name) ? variables[name] : undefined);
    const { text, faults } = expander.expand(prompt, requiresBooleanTool);
    if (faults.length > 0) {
        throw new DiagnosticsError(faults.map(({ trail, reason }) => ({ codePath: trailPath(codePath, trail), reason })));
    }
    return [text];
}
/** The code path of a fault in a variable: `entry.tasks["a"].prompt/$outer/$inner`. */
function trailPath(codePath, trail) {
    return codePath + trail.map((name) => `/$${name}`).join("");
}
/**
 * Inserts the values, whose keys have no `$`. A variable without a value becomes `<MISSING>`, and
 * `$$` becomes `$`. Values are inserted as they are, never expanded again.
 */
function expandPromptDynamic(_entry, prompt, values) {
    if (typeof prompt !== "string" && prompt.length !== 1) {
        throw new Error("Only a prompt of exactly one item can be expanded dynamically.");
    }
    const text = promptText(prompt).replace(variablePattern, (_match, name) => {
        if (name === undefined)
            return "$";
        return (Object.hasOwn(values, name) ? values[name] : undefined) ?? "<MISSING>";
    });
    return [text];
}

;// CONCATENATED MODULE: ./src/engine/variables.js
/** The runtime variables of one run of one task ("Tools and Runtime Variables"). */

class Variables {
    #entry;
    #values = new Map();
    constructor(entry, userInput, taskModel) {
        this.#entry = entry;
        this.#values.set("user-input", userInput);
        this.#values.set("task-model", taskModel);
    }
    /** Takes over what the job tools reported, in the order in which they were called. */
    report(toolCalls) {
        for (const { name, argument, succeeded } of toolCalls) {
            if (!succeeded || argument === undefined)
                continue;
            switch (name) {
                case "job_prepare_document":
                    this.#values.set("reported-document", firstLine(argument));
                    break;
                case "job_boolean_true":
                    this.#values.set("reported-true-reason", argument);
                    this.#values.delete("reported-false-reason");
                    break;
                case "job_boolean_false":
                    this.#values.set("reported-false-reason", argument);
                    this.#values.delete("reported-true-reason");
                    break;
                default:
                    break;
            }
        }
    }
    /** The text to send, from the values of this moment. */
    expand(prompt) {
        return expandPromptDynamic(this.#entry, prompt, Object.fromEntries(this.#values))[0];
    }
}
function firstLine(text) {
    return (text.split(/\r\n|\r|\n/, 1)[0] ?? "").trim();
}

;// CONCATENATED MODULE: ./src/engine/run-job.js
/**
 * A job from its first event to its last. Source: "Running Jobs" of the seed and rules 15–19.
 *
 * Owns the scope of the job, its counters and the numbering of runs. Invariants: `run.started` is the
 * first event and `run.ended` the last; every `work.started` has its `work.ended`; nothing here grows
 * with the number of works done.
 */







/** Never throws. `signal` cancels the job; its reason, if it is a string, is the reason shown. */
async function runJob(spec, ports, signal) {
    const job = spec.entry.jobs[spec.jobName];
    if (job === undefined)
        throw new Error(`There is no job "${spec.jobName}" in the entry.`);
    const run = new Run(spec, ports, signal);
    const works = [...taskWorks(job.work)].map((work) => ({
        workId: work.workIdInJob,
        taskId: work.taskId,
        modelId: modelOf(spec.entry, work.taskId, work.modelOverride),
    }));
    return run.whole(spec.jobName, works, () => runWork({
        loopIterations: spec.limits.loopIterations,
        runRef: (work, last) => run.ref(work, last),
        loopLimitCrossed: () => run.limitCrossed("loopIterations", spec.limits.loopIterations, "a loop"),
    }, job.work, undefined));
}
/** Never throws; as `runJob`, for one task. */
async function runSingleTask(spec, ports, signal) {
    const { taskName: taskId, modelOverride, borrowed } = spec;
    const run = new Run(spec, ports, signal);
    const override = modelOverride === undefined ? undefined : { id: modelOverride };
    const modelId = modelOf(spec.entry, taskId, override);
    return run.whole(taskId, [{ workId: 0, taskId, modelId }], () => run.task({
        workId: 0,
        taskId,
        modelId,
        availability: { previousTask: undefined, skip: spec.ignorePrerequisiteCheck },
        ...(borrowed === undefined ? {} : { borrowed }),
    }));
}
/** Rule 9: the override of the work, else the task's own model, else the driving model. */
function modelOf(entry, taskId, override) {
    const model = override ?? entry.tasks[taskId]?.model;
    if (model === undefined)
        return entry.models.driving;
    return "id" in model ? model.id : (entry.models[model.category] ?? entry.models.driving);
}
class Run {
    #spec;
    #ports;
    #scope;
    #tokens;
    #rateLimit;
    /** By work id, so bounded by the size of the job's tree. */
    #runs = new Map();
    #finishes = 0;
    constructor(spec, ports, signal) {
        this.#spec = spec;
        this.#ports = ports;
        this.#scope = Scope.root(signal);
        this.#rateLimit = new RateLimit(ports.clock);
        this.#tokens = new TokenBudget(spec.limits.tokens, this.#scope);
    }
    async whole(jobName, works, body) {
        const { entryFile, workingDirectory, limits } = this.#spec;
        const { emit, clock } = this.#ports;
        const file = entryFile === undefined ? {} : { entryFile };
        emit({ type: "run.started", jobName, workingDirectory, works, ...file });
        const { jobMinutes } = limits;
        const reason = { kind: "limit", limit: "jobMinutes", value: jobMinutes };
        const disarm = stopAfter(clock, this.#scope, minutes(jobMinutes), reason);
        const outcome = this.#conclude(await body());
        disarm();
        this.#scope.dispose();
        emit({ type: "run.ended", outcome });
        return outcome;
    }
    limitCrossed(limit, value, scope) {
        this.#ports.emit({
            type: "decision",
            work: null,
            decision: { kind: "limit-crossed", limit, value, scope },
        });
    }
    #conclude(result) {
        const { stopped } = this.#scope;
        if (result.kind === "succeeded")
            return { kind: "succeeded" };
        if (result.kind === "failed" && stopped === undefined)
            return { kind: "failed", reason: result.reason };
        if (stopped === undefined || stopped.kind === "canceled") {
            return { kind: "canceled", reason: stopped === undefined ? "canceled" : stopText(stopped) };
        }
        if (stopped.kind === "limit")
            this.limitCrossed(stopped.limit, stopped.value, "the job");
        return { kind: "failed", reason: stopText(stopped) };
    }
    async ref(work, last) {
        const { workIdInJob: workId, taskId, modelOverride } = work;
        const modelId = modelOf(this.#spec.entry, taskId, modelOverride);
        const availability = { previousTask: last?.taskId, skip: false };
        return this.task({ workId, taskId, modelId, availability });
    }
    async task(start) {
        if (this.#scope.stopped !== undefined)
            return { kind: "stopped" };
        const { workId, taskId, modelId } = start;
        const { emit } = this.#ports;
        const run = (this.#runs.get(workId) ?? 0) + 1;
        this.#runs.set(workId, run);
        const work = { workId, taskId, run };
        emit({ type: "work.started", work, modelId });
        const scope = this.#scope.child();
        const outcome = await this.#runTask(start, run, scope);
        scope.dispose();
        if (outcome.kind === "crashed") {
            // Rule 16: what else runs is stopped at once.
            this.#scope.stop({ kind: "task-crashed", taskId, crash: outcome.crash });
        }
        emit({ type: "work.ended", work, outcome: reported(outcome) });
        if (outcome.kind === "crashed" || outcome.kind === "stopped")
            return { kind: "stopped" };
        this.#finishes += 1;
        const last = { taskId, order: this.#finishes };
        return outcome.kind === "succeeded"
            ? { kind: "succeeded", last }
            : { kind: "failed", last, reason: `task "${taskId}" failed: ${outcome.reason}` };
    }
    async #runTask(start, run, scope) {
        const { entry, userInput, workingDirectory, limits, permissionsOf } = this.#spec;
        const { workId, taskId, modelId, borrowed } = start;
        const task = entry.tasks[taskId];
        if (task === undefined) {
            const message = `There is no task "${taskId}" in the entry.`;
            return { kind: "crashed", crash: { kind: "internal", message } };
        }
        const multiple = task.criteria?.runConditionInSameSession === false;
        return runTask({
            entry,
            task,
            work: { workId, taskId, run },
            mode: borrowed !== undefined
                ? { kind: "borrowed", session: borrowed }
                : { kind: multiple ? "multiple" : "single" },
            modelId,
            workingDirectory,
            permissions: permissionsOf(taskId),
            limits,
            variables: new Variables(entry, userInput, modelId),
            scope,
            calls: new CallBudget(limits.modelCalls, scope),
            tokens: this.#tokens,
            rateLimit: this.#rateLimit,
            ports: this.#ports,
        }, start.availability);
    }
}
function reported(outcome) {
    return outcome.kind === "stopped"
        ? { kind: "canceled", reason: stopText(outcome.reason) }
        : outcome;
}

;// CONCATENATED MODULE: ./src/events/secret-forms.js
/** In which forms a known secret may turn up in a text. */
/** Shorter values are ignored: masking `1` or `yes` would destroy every text and tell the value. */
const MIN_SECRET = 4;
/** An encoded form or a single line that is shorter would hit ordinary text by chance. */
const MIN_DERIVED = 8;
/** How long GitHub's tokens with a short prefix were before they got parts and dots. */
const OLD_TOKEN = 40;
/**
 * The value itself, trimmed; its JSON-escaped form (once and twice: JSON inside JSON); URL-encoded, also as
 * form data; base64 and base64url at each of the three alignments inside a longer text; and the same for
 * each line of a secret with several lines, and for the rest of a long token of GitHub's.
 */
function secretForms(secret) {
    const value = secret.trim();
    if (value.length < MIN_SECRET || /^\*+$/.test(value))
        return [];
    const forms = new Set([value]);
    const pieces = [value];
    for (const line of value.split(/[\r\n]+/)) {
        if (line.trim().length >= MIN_DERIVED && line.trim() !== value)
            pieces.push(line.trim());
    }
    // The runtime masks these by itself, but knows only their old length and shows the rest.
    if (/^gh[pousr]_/.test(value))
        pieces.push(value.slice(OLD_TOKEN));
    for (const piece of pieces) {
        for (const form of [piece, ...encodedForms(piece)]) {
            if (form.length >= MIN_DERIVED)
                forms.add(form);
        }
    }
    return [...forms];
}
function encodedForms(value) {
    const once = JSON.stringify(value).slice(1, -1);
    const twice = JSON.stringify(once).slice(1, -1);
    // A lone surrogate cannot be encoded; UTF-8 turns it into U+FFFD, as every encoder would.
    const bytes = new TextEncoder().encode(value);
    const percent = encodeURIComponent(new TextDecoder().decode(bytes));
    const strict = percent.replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
    const base64 = base64Forms(bytes);
    return [
        once,
        twice,
        percent,
        strict,
        lowerEscapes(percent),
        lowerEscapes(strict),
        new URLSearchParams([["", value]]).toString().slice(1),
        ...base64,
        ...base64.map((form) => form.replaceAll("+", "-").replaceAll("/", "_")),
    ];
}
function lowerEscapes(text) {
    return text.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase());
}
/** The characters that only depend on the secret, when 0, 1 or 2 other bytes come before it. */
function base64Forms(bytes) {
    const whole = toBase64(bytes);
    const forms = [whole, whole.replace(/=+$/, "")];
    for (const before of [0, 1, 2]) {
        const shifted = new Uint8Array(before + bytes.length);
        shifted.set(bytes, before);
        const from = Math.ceil((before * 8) / 6);
        const to = Math.floor(((before + bytes.length) * 8) / 6);
        forms.push(toBase64(shifted).slice(from, to));
    }
    return forms;
}
function toBase64(bytes) {
    let binary = "";
    for (const byte of bytes)
        binary += String.fromCharCode(byte);
    return btoa(binary);
}

;// CONCATENATED MODULE: ./src/events/secret-patterns.js
/**
 * Where a text holds something that looks like a credential, whoever it belongs to. Owns the patterns,
 * and their cost: each is linear in the length of the text. The rule for that is: a pattern either starts
 * at a place that occurs once per run of characters (a look-behind), or whatever it scans before it gives
 * up is bounded or consumed. `test/events/redact.test.ts` feeds each with its worst case.
 */
const patterns = [
    // Installation tokens have about 520 characters, with dots, underscores and a JWT inside.
    { regex: /gh[pousr]_[A-Za-z0-9._-]{20,}/dg },
    { regex: /github_pat_[A-Za-z0-9_]{20,}/dg },
    { regex: /(?<![\w-])[\w-]+(?:\.[\w-]*)+/dg, spans: jsonWebTokens },
    { regex: /(?<![A-Za-z0-9])A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])/dg },
    { regex: /(?<![A-Za-z0-9])xox[a-z]-[A-Za-z0-9-]{10,}/dg },
    // Words such as `sk-folding-cube-container` have no digit.
    { regex: /(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{20,}/dg, spans: ifDigit },
    {
        regex: /authorization\\{0,4}["'`]?\s{0,8}[:=]\s{0,8}\\{0,4}["'`]?(?:bearer|basic)\s{1,8}((?![$<{%])[^\s"'`,;\\]+)/dgi,
    },
    {
        regex: /(?<![A-Za-z0-9])(?:bearer|basic)\s([A-Za-z0-9._~+/=-]{20,})/dgi,
        spans: ifDigitAfterScheme,
    },
    // user:password@ of a URL. The part runs to the last @ before the path.
    { regex: /:\/\/([^\s/?#"'`<>\\:@]*:[^\s/?#"'`<>\\]+)@/dg },
];
/** What every match holds, some of it: most texts hold none, and one look is cheaper than ten. */
const hint = /gh[pousr]_|github_pat_|eyJ|A[KS]IA|xox|sk-|bearer|basic|:\/\/|PRIVATE KEY/i;
/** Spans may overlap and come in no order. */
function credentialSpans(text) {
    if (!hint.test(text))
        return [];
    const found = privateKeys(text);
    for (const { regex, spans } of patterns) {
        for (const match of text.matchAll(regex)) {
            if (spans === undefined) {
                const [from, to] = match.indices?.[1] ?? match.indices?.[0] ?? [0, 0];
                found.push({ from, to });
                continue;
            }
            for (const { from, to } of spans(match[0])) {
                found.push({ from: match.index + from, to: match.index + to });
            }
        }
    }
    return found;
}
/** At least three dotted parts of which one holds `eyJ`: base64 of `{"`. Encrypted ones have five. */
function jsonWebTokens(run) {
    const start = run.indexOf("eyJ");
    if (start < 0)
        return [];
    const token = run.slice(start).replace(/\.+$/, "");
    const dots = token.split(".").length - 1;
    return dots >= 2 && token.indexOf(".") >= 10 && token.length >= 24
        ? [{ from: start, to: start + token.length }]
        : [];
}
function ifDigit(match) {
    return /\d/.test(match) ? [{ from: 0, to: match.length }] : [];
}
function ifDigitAfterScheme(match) {
    const from = match.search(/\s/) + 1;
    return /\d/.test(match.slice(from)) ? [{ from, to: match.length }] : [];
}
/** A key without its end (the text was cut) goes on as far as lines look like base64. */
function privateKeys(text) {
    const spans = [];
    if (!text.includes("PRIVATE KEY"))
        return spans;
    const begins = [...text.matchAll(/-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g)];
    const ends = [...text.matchAll(/-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g)];
    let nextEnd = 0;
    for (const [index, begin] of begins.entries()) {
        const bodyStart = begin.index + begin[0].length;
        while ((ends[nextEnd]?.index ?? Infinity) < bodyStart)
            nextEnd += 1;
        const end = ends[nextEnd];
        const before = begins[index + 1]?.index ?? Infinity;
        if (end !== undefined && end.index < before) {
            spans.push({ from: begin.index, to: end.index + end[0].length });
            continue;
        }
        const body = /(?:(?:\s|\\+[nr])*[A-Za-z0-9+/=]{16,})*/y;
        body.lastIndex = bodyStart;
        spans.push({ from: begin.index, to: bodyStart + (body.exec(text)?.[0].length ?? 0) });
    }
    return spans;
}

;// CONCATENATED MODULE: ./src/events/redact.js


const MASK = "***";
const redact_MAX_DEPTH = 100;
function redact_createRedactor(secrets) {
    const forms = new Set();
    const addSecret = (secret) => {
        for (const form of secretForms(secret))
            forms.add(form);
    };
    for (const secret of secrets)
        addSecret(secret);
    const text = (original) => {
        // Once more after a change: a mask may complete another secret. Every round masks at least one
        // character that was no mask before, and in practice the second one changes nothing.
        for (let before = original;;) {
            const after = mask(before, [
                ...knownSpans(before, forms),
                ...wrappedSpans(before, forms),
                ...credentialSpans(before),
            ]);
            if (after === before)
                return after;
            before = after;
        }
    };
    return { text, addSecret, event: (event) => redactEvent(event, text) };
}
function knownSpans(text, forms) {
    const spans = [];
    for (const form of forms) {
        let from = text.indexOf(form);
        while (from !== -1) {
            const to = from + form.length;
            const last = spans.at(-1);
            // Overlapping finds of one form are one span, so that "aaaa…" stays linear in memory.
            if (last !== undefined && last.from <= from && from <= last.to) {
                spans[spans.length - 1] = { from: last.from, to: Math.max(to, last.to) };
            }
            else {
                spans.push({ from, to });
            }
            from = text.indexOf(form, from + 1);
        }
    }
    return spans;
}
/** Shorter forms could come about by chance where two lines are joined. */
const MIN_WRAPPED = 16;
const lineBreak = String.raw `(?:\r?\n|(?:\\{1,4}r)?\\{1,4}n)`;
const wrapped = new RegExp(String.raw `[\w+/=.~%-]{40}${lineBreak}[\w+/=.~%-]`);
const lineBreaks = new RegExp(lineBreak, "g");
/** What `base64` and its like print comes in lines: finds what goes on behind the end of a long one. */
function wrappedSpans(text, forms) {
    if (!wrapped.test(text))
        return [];
    let joined = "";
    let end = 0;
    /** Where a line begins in the joined text, and how much has been left out before it. */
    const lines = [];
    for (const { 0: found, index } of text.matchAll(lineBreaks)) {
        joined += text.slice(end, index);
        end = index + found.length;
        lines.push({ at: joined.length, left: end - joined.length });
    }
    joined += text.slice(end);
    const long = [...forms].filter((form) => form.length >= MIN_WRAPPED);
    const original = (at) => at + (lines[linesBefore(lines, at) - 1]?.left ?? 0);
    return knownSpans(joined, long).map(({ from, to }) => ({
        from: original(from),
        to: original(to - 1) + 1,
    }));
}
/** How many lines begin at `at` or before it. */
function linesBefore(lines, at) {
    let low = 0;
    let high = lines.length;
    while (low < high) {
        const middle = (low + high) >>> 1;
        if ((lines[middle]?.at ?? 0) <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
function mask(text, spans) {
    if (spans.length === 0)
        return text;
    spans.sort((a, b) => a.from - b.from);
    let result = "";
    let end = 0;
    let maskedTo = -1;
    for (const { from, to } of spans) {
        if (to <= maskedTo || to === from)
            continue;
        if (from > maskedTo)
            result += text.slice(end, from) + MASK;
        maskedTo = to;
        end = to;
    }
    return result + text.slice(end);
}
/** Fields whose strings are words of our vocabulary. */
const fixedWords = new Set(["type", "kind", "role", "mission", "field", "outcome", "errorType"]);
/** Fields whose strings are JSON: a secret may be hidden there behind escapes. */
const jsonFields = new Set(["toolArguments", "detail"]);
function redactEvent(event, text) {
    if (event.type === "activity") {
        const { activity } = event;
        switch (activity.kind) {
            case "message.delta":
            case "reasoning.delta":
            case "tool.delta":
                return redactFields({ ...event, activity: { ...activity, text: "" } }, text);
            default:
                break;
        }
    }
    return redactFields(event, text);
}
/** Our own objects: the names of fields are ours, the values may be anybody's. */
function redactFields(value, text) {
    return mapObject(value, (key, item) => {
        if (typeof item === "string") {
            if (fixedWords.has(key))
                return item;
            return jsonFields.has(key) ? redactJson(item, text) : text(item);
        }
        return key === "arguments" ? redactForeign(item, text, new Map(), 0) : redactFields(item, text);
    });
}
/** A copy if `change` changed anything. The copy has the fields of the original, hence its type. */
function mapObject(value, change) {
    if (typeof value !== "object" || value === null)
        return value;
    let copy;
    for (const [key, item] of Object.entries(value)) {
        const changed = change(key, item);
        if (changed === item)
            continue;
        copy ??= copyOf(value);
        Reflect.set(Object(copy), key, changed);
    }
    return copy ?? value;
}
function copyOf(value) {
    return Array.isArray(value) ? Object.assign([], value) : { ...value };
}
function redactJson(json, text) {
    let parsed;
    try {
        parsed = JSON.parse(json);
    }
    catch {
        return text(json);
    }
    const redacted = redactForeign(parsed, text, new Map(), 0);
    return text(redacted === parsed ? json : JSON.stringify(redacted));
}
/** What a model or a tool made: keys, numbers and nested JSON may hide a secret as well. */
function redactForeign(value, text, seen, depth) {
    if (typeof value === "string")
        return text(value);
    // JSON has no bigint, and whatever reports the event writes JSON.
    if (typeof value === "bigint")
        return text(String(value));
    if (typeof value === "number")
        return text(String(value)) === String(value) ? value : MASK;
    if (typeof value !== "object" || value === null)
        return value;
    if (seen.has(value))
        return seen.get(value);
    if (depth >= redact_MAX_DEPTH)
        return "[too deep]";
    seen.set(value, "[circular]");
    const result = Array.isArray(value)
        ? redactList(value, text, seen, depth)
        : redactRecord(value, text, seen, depth);
    seen.set(value, result);
    return result;
}
function redactList(list, text, seen, depth) {
    const copy = list.map((item) => redactForeign(item, text, seen, depth + 1));
    return copy.every((item, index) => item === list[index]) ? list : copy;
}
function redactRecord(record, text, seen, depth) {
    const copy = new Map();
    let changed = false;
    for (const [key, item] of Object.entries(record)) {
        let name = text(key);
        for (let n = 2; copy.has(name); n += 1)
            name = `${text(key)} ${n}`;
        const redacted = redactForeign(item, text, seen, depth + 1);
        changed ||= name !== key || redacted !== item;
        copy.set(name, redacted);
    }
    return changed ? Object.fromEntries(copy) : record;
}

;// CONCATENATED MODULE: ./src/events/sink.js
/**
 * From the engine to the reporters. Owns the stamp (`at` never runs backwards), the one redaction and the
 * isolation: whatever a reporter does, the run and the other reporters go on.
 */

const CLOSE_MS = 2000;
function createSink({ clock, redactor, reporters }) {
    const failures = new Map();
    const waiting = [];
    let busy = false;
    let last = 0;
    let closing;
    const fail = (reporter, error) => {
        const known = failures.get(reporter);
        const message = known?.message ?? safeText(error, redactor);
        failures.set(reporter, { reporter, message, count: (known?.count ?? 0) + 1 });
    };
    const deliver = (body) => {
        last = Math.max(last, clock.now());
        let event;
        try {
            event = redactor.event({ at: last, ...body });
        }
        catch (error) {
            // Rather an event too few than a secret too many.
            fail("redactor", error);
            return;
        }
        for (const [index, reporter] of reporters.entries()) {
            try {
                reporter.report(event);
            }
            catch (error) {
                fail(sink_nameOf(reporter, index), error);
            }
        }
    };
    const closeOne = async (reporter, index) => {
        const timeout = new AbortController();
        try {
            const closed = (reporter.close?.() ?? Promise.resolve()).then(() => true);
            const late = clock.sleep(CLOSE_MS, timeout.signal).then(() => false);
            if (!(await Promise.race([closed, late]))) {
                fail(sink_nameOf(reporter, index), new Error(`It did not close within ${CLOSE_MS} ms.`));
            }
        }
        catch (error) {
            fail(sink_nameOf(reporter, index), error);
        }
        finally {
            timeout.abort();
        }
    };
    return {
        emit(body) {
            if (closing !== undefined)
                return;
            waiting.push(body);
            // A reporter that emits: its event comes after the one in hand, for everybody in the same order.
            if (busy)
                return;
            busy = true;
            for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
                deliver(next);
            busy = false;
        },
        close() {
            closing ??= Promise.all(reporters.map(closeOne)).then(() => [...failures.values()]);
            return closing;
        },
    };
}
function sink_nameOf(reporter, index) {
    return reporter.name ?? `reporter ${index + 1}`;
}
function safeText(error, redactor) {
    try {
        return redactor.text(error instanceof Error ? error.message : errorToDetailedString(error));
    }
    catch {
        return "unknown error";
    }
}

;// CONCATENATED MODULE: ./src/platform/clock.js
/** The real time. Everything that waits takes a clock, so that tests can inject one. */
const clock_systemClock = {
    now() {
        return Date.now();
    },
    /** Resolves after `milliseconds`, or at once when `signal` aborts; never rejects. */
    sleep(milliseconds, signal) {
        return new Promise((resolve) => {
            if (signal?.aborted === true) {
                resolve();
                return;
            }
            const done = () => {
                clearTimeout(timer);
                signal?.removeEventListener("abort", done);
                resolve();
            };
            // A timer holds at most 2^31-1 ms; a longer one would fire at once.
            const timer = setTimeout(done, Math.min(milliseconds, 2_147_483_647));
            signal?.addEventListener("abort", done, { once: true });
        });
    },
};

;// CONCATENATED MODULE: ./src/rehearsal/text-condition.js
/** As a condition is written; a field of the file, with its shorthands. */
function toCondition(field) {
    if (typeof field === "string")
        return { contains: [field], excludes: [] };
    const { contains = [], excludes = [], equals, matches } = field;
    if (matches !== undefined) {
        try {
            void new RegExp(matches, "u");
        }
        catch {
            return { problem: "This is no valid regular expression." };
        }
    }
    return {
        contains: [contains].flat(),
        excludes: [excludes].flat(),
        ...(equals === undefined ? {} : { equals }),
        ...(matches === undefined ? {} : { matches }),
    };
}
/** Why the text does not meet the condition, as the predicate of a sentence; undefined if it does. */
function mismatch(condition, text, fill) {
    for (const needle of condition.contains) {
        if (!text.includes(block(fill(needle))))
            return `does not contain ${quote(fill(needle))}`;
    }
    for (const needle of condition.excludes) {
        if (text.includes(block(fill(needle)))) {
            return `contains ${quote(fill(needle))}, which it must not`;
        }
    }
    const { equals, matches } = condition;
    if (equals !== undefined && fill(equals).trimEnd() !== text.trimEnd()) {
        return `is not equal to ${quote(fill(equals))}`;
    }
    if (matches !== undefined && !new RegExp(matches, "u").test(text)) {
        return `does not match /${matches}/`;
    }
    return undefined;
}
/** The condition in a few words, to name what was looked for. */
function describeCondition({ contains, excludes, equals, matches }) {
    const parts = [
        ...contains.map((needle) => `contains ${quote(needle)}`),
        ...excludes.map((needle) => `does not contain ${quote(needle)}`),
        ...(equals === undefined ? [] : [`equals ${quote(equals)}`]),
        ...(matches === undefined ? [] : [`matches /${matches}/`]),
    ];
    return parts.join(" and ");
}
const SHOWN = 160;
/** On one line, shortened in the middle: both ends of a prompt tell what it is. */
function quote(text) {
    if (text.length <= SHOWN)
        return JSON.stringify(text);
    const half = SHOWN / 2;
    return `${JSON.stringify(text.slice(0, half))} … ${JSON.stringify(text.slice(-half))} (${text.length} characters)`;
}
const PLACEHOLDER = /(\$?)\$\{workingDirectory\}/g;
/** `${workingDirectory}` → the path; `$${workingDirectory}` → `${workingDirectory}`. */
function fillIn(template, workingDirectory) {
    return template.replace(PLACEHOLDER, (whole, escape) => escape === "" ? workingDirectory : whole.slice(1));
}
/** The reverse of `fillIn`, for recordings. */
function takeOut(text, workingDirectory) {
    const escaped = text.replace(/\$\{workingDirectory\}/g, "$$$&");
    // The root and the empty path are in every text by chance.
    if (workingDirectory.length < 2)
        return escaped;
    return escaped.replaceAll(workingDirectory, (path, at) => {
        const longerName = /^[\w-]/.test(escaped.slice(at + path.length));
        return longerName || escaped[at - 1] === "$" ? path : "${workingDirectory}";
    });
}
/** A block of YAML text ends with a line break that nobody means. */
function block(needle) {
    return needle.replace(/\n+$/, "");
}

;// CONCATENATED MODULE: ./src/rehearsal/matching.js

function usedUp({ rule, used }) {
    return rule.repeat !== "any" && used >= rule.repeat;
}
/** The first rule that fits, or in words which rule came nearest. */
function chooseRule(candidates, request, chat, fill) {
    let nearest;
    for (const candidate of candidates) {
        const { rule } = candidate;
        const conflicts = selectorConflicts(rule, request, chat);
        const prompt = promptConflict(rule, chat, fill);
        const spent = usedUp(candidate);
        if (conflicts.length === 0 && prompt === undefined && !spent) {
            return { kind: "chosen", rule: candidate };
        }
        const distance = conflicts.reduce((sum, { weight }) => sum + weight, 0) +
            (prompt === undefined ? 0 : 2) +
            (spent ? 1 : 0);
        if (distance < (nearest?.distance ?? Number.POSITIVE_INFINITY)) {
            const why = [
                ...conflicts.map(({ text }) => text),
                ...(prompt === undefined ? [] : [`its first turn does not fit: the prompt ${prompt}`]),
                ...(spent ? [`it is used up (repeat: ${rule.repeat})`] : []),
            ];
            nearest = { distance, why: `The nearest rule is ${rule.place}: ${why.join("; ")}.` };
        }
    }
    return { kind: "none", why: nearest?.why ?? "The rehearsal has no rules." };
}
function selectorConflicts({ selectors }, { label, subAgent }, chat) {
    const conflicts = [];
    const compare = (name, wanted, actual, weight) => {
        if (wanted === undefined || wanted === actual)
            return;
        const is = actual === undefined ? "this session has none" : `not ${show(actual)}`;
        conflicts.push({ text: `it is for ${name} ${show(wanted)}, ${is}`, weight });
    };
    if (selectors.subAgent !== subAgent) {
        const text = selectors.subAgent ? "it is for a sub-agent" : "it is not for a sub-agent";
        conflicts.push({ text, weight: 8 });
    }
    compare("task", selectors.task, label?.taskId, 8);
    if (label?.role !== "both")
        compare("role", selectors.role, label?.role, 4);
    compare("model", selectors.model, matching_modelOf(label?.modelId, subAgent, chat), 4);
    compare("workId", selectors.workId, label?.workId, 4);
    compare("run", selectors.run, label?.run, 4);
    compare("retry", selectors.retry, label?.retry, 4);
    compare("attempt", selectors.attempt, label?.attempt, 4);
    return conflicts;
}
/** A sub-agent may run on a model of its own. */
function matching_modelOf(sessionModel, subAgent, chat) {
    return subAgent ? chat.model : (sessionModel ?? chat.model);
}
function promptConflict({ turns }, { prompts }, fill) {
    const condition = turns[0].prompt;
    return condition === undefined ? undefined : mismatch(condition, prompts[0], fill);
}
/** The request in words: whose it is, and its prompt. */
function describeRequest({ label, subAgent }, chat) {
    const session = label === undefined
        ? `a session of no task (model ${show(chat.model)})`
        : `a session of task ${show(label.taskId)} (workId ${label.workId}, run ${label.run}, role ${label.role}, model ${show(label.modelId)}, retry ${label.retry}, attempt ${label.attempt})`;
    return `${subAgent ? "a sub-agent of " : ""}${session} with the prompt ${quote(chat.prompts.at(-1) ?? "")}`;
}
function show(value) {
    return typeof value === "string" ? JSON.stringify(value) : String(value);
}

;// CONCATENATED MODULE: ./src/rehearsal/usage.js
function unusedParts({ rule, used, played, given }) {
    if (rule.optional)
        return [];
    if (used === 0)
        return [`${rule.place} was never used: no session fitted it.`];
    const missing = [];
    if (rule.repeat !== "any" && used < rule.repeat) {
        missing.push(`${rule.place} was used by ${used} of ${rule.repeat} sessions.`);
    }
    for (const turn of rule.turns)
        missing.push(...unusedIn(turn, played, given));
    return missing;
}
function unusedIn(turn, played, given) {
    if (!played.has(turn))
        return [`${turn.place} was never played: its session got no such prompt.`];
    return turn.replies.flatMap((reply, index) => {
        if (reply.implied)
            return [];
        if (!played.has(reply)) {
            const before = turn.replies[index - 1]?.play;
            const hint = before?.kind === "answer" && before.tools.length === 0
                ? " A reply that calls no tool ends the turn."
                : "";
            return [`${reply.place} was never given.${hint}`];
        }
        const { play } = reply;
        const times = play.kind === "error" || play.kind === "cut" ? play.times : undefined;
        const count = given.get(reply) ?? 0;
        return times === undefined || count >= times
            ? []
            : [`${reply.place} was given ${count} of ${times} times.`];
    });
}

;// CONCATENATED MODULE: ./src/rehearsal/wire.js
function decodeRequest(url, method, body) {
    const request = method === "GET" || method === "HEAD" ? undefined : parsed(body);
    const messages = isRecord(request) ? request["messages"] : undefined;
    if (!isRecord(request) || !Array.isArray(messages)) {
        return {
            kind: "other",
            reason: `${method} ${pathOf(url)} is no request for a chat completion; a rehearsal plays the wire API "completions" only`,
        };
    }
    const turns = messages.filter(isRecord);
    const users = turns.flatMap((message, index) => message["role"] === "user" ? [{ index, text: textOf(message["content"]) }] : []);
    // The runtime also speaks as the user (images, notices); only real prompts carry the time.
    const timed = users.filter(({ text }) => PROMPT_TIME.test(text));
    const prompts = timed.length > 0 ? timed : users;
    const [first] = prompts;
    const last = prompts.at(-1);
    if (first === undefined || last === undefined) {
        return { kind: "other", reason: `${method} ${pathOf(url)} has no message of the user` };
    }
    const since = turns.slice(last.index + 1);
    const lastAnswer = since.findLastIndex((message) => message["role"] === "assistant");
    return {
        kind: "chat",
        chat: {
            model: stringOf(request["model"]),
            stream: request["stream"] === true,
            prompts: [promptOf(first.text), ...prompts.slice(1).map(({ text }) => promptOf(text))],
            opening: users[0]?.text ?? first.text,
            answered: since.filter((message) => message["role"] === "assistant").length,
            toolResults: since
                .slice(lastAnswer + 1)
                .filter((message) => message["role"] === "tool")
                .map((message) => textOf(message["content"])),
            offeredTools: offeredTools(request["tools"]),
        },
    };
}
/** What the runtime puts before every prompt. */
const PROMPT_TIME = /^<current_datetime>[^<]*<\/current_datetime>\n*/;
function promptOf(message) {
    return message.replace(PROMPT_TIME, "");
}
function offeredTools(tools) {
    const offered = new Map();
    for (const tool of Array.isArray(tools) ? tools : []) {
        if (!isRecord(tool))
            continue;
        const { function: plain, custom } = tool;
        if (isRecord(plain))
            offered.set(stringOf(plain["name"]), "function");
        if (isRecord(custom))
            offered.set(stringOf(custom["name"]), "custom");
    }
    return offered;
}
/** The id of an answer also names its tool calls, so it must be unique within a session. */
function encodeAnswer(chat, id, answer) {
    const calls = answer.tools.map(({ name, input }, index) => {
        const callId = `${id}_${index}`;
        return chat.offeredTools.get(name) === "custom"
            ? { id: callId, type: "custom", custom: { name, input } }
            : { id: callId, type: "function", function: { name, arguments: input } };
    });
    const finish = calls.length > 0 ? "tool_calls" : "stop";
    const { input, output } = answer.usage;
    const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
    if (chat.stream) {
        return streamed([
            ...deltas(chat, id, answer),
            ...calls.map((call, index) => chunk(chat, id, { tool_calls: [{ index, ...call }] })),
            chunk(chat, id, {}, finish),
            wire_event(JSON.stringify({ ...envelope(chat, id), choices: [], usage })),
            wire_event("[DONE]"),
        ]);
    }
    const message = {
        role: "assistant",
        content: answer.text === "" && calls.length > 0 ? null : answer.text,
        ...(answer.reasoning === "" ? {} : { reasoning_content: answer.reasoning }),
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
    };
    const choices = [{ index: 0, message, finish_reason: finish }];
    const body = { ...envelope(chat, id), object: "chat.completion", choices, usage };
    return Response.json(body);
}
/** An answer whose connection breaks before its end. */
function encodeCut(chat, id, partial) {
    return streamed(deltas(chat, id, partial), () => Promise.reject(new Error("The connection was cut by the rehearsal.")));
}
/** An answer that never ends; `signal` is the request's. */
function encodeHang(chat, id, partial, signal) {
    return streamed(deltas(chat, id, partial), () => never(signal));
}
/** Rejects when `signal` aborts, and does nothing until then. */
function never(signal) {
    return new Promise((_resolve, reject) => {
        const giveUp = () => reject(new Error("The request was given up."));
        if (signal.aborted)
            giveUp();
        else
            signal.addEventListener("abort", giveUp, { once: true });
    });
}
function encodeError(status, message, headers = {}) {
    return Response.json({ error: { message, type: "rehearsal", code: null } }, { status, headers });
}
/** A few deltas, as a model would send them, and never half a character. */
function deltas(chat, id, { text, reasoning }) {
    return [
        chunk(chat, id, { role: "assistant" }),
        ...pieces(reasoning).map((piece) => chunk(chat, id, { reasoning_content: piece })),
        ...pieces(text).map((piece) => chunk(chat, id, { content: piece })),
    ];
}
const PIECES = 3;
function pieces(text) {
    const result = [];
    for (let from = 0, left = PIECES; from < text.length; left -= 1) {
        let to = left <= 1 ? text.length : from + Math.ceil((text.length - from) / left);
        const unit = text.charCodeAt(to - 1);
        if (to < text.length && unit >= 0xd800 && unit < 0xdc00)
            to += 1;
        result.push(text.slice(from, to));
        from = to;
    }
    return result;
}
function envelope(chat, id) {
    return { id, object: "chat.completion.chunk", created: 0, model: chat.model };
}
function chunk(chat, id, delta, finish = null) {
    const choices = [{ index: 0, delta, finish_reason: finish }];
    return wire_event(JSON.stringify({ ...envelope(chat, id), choices }));
}
function wire_event(data) {
    return `data: ${data}\n\n`;
}
/** One event at a time, as it is read; then `afterwards`, and only then the end. */
function streamed(events, afterwards) {
    const encoder = new TextEncoder();
    let next = 0;
    const body = new ReadableStream({
        async pull(controller) {
            const event = events[next];
            next += 1;
            if (event !== undefined)
                controller.enqueue(encoder.encode(event));
            else if (afterwards === undefined)
                controller.close();
            else
                await afterwards();
        },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
}
function textOf(content) {
    if (typeof content === "string")
        return content;
    if (!Array.isArray(content))
        return "";
    return content.map((part) => (isRecord(part) ? stringOf(part["text"]) : "")).join("");
}
function parsed(body) {
    try {
        return JSON.parse(body);
    }
    catch {
        return undefined;
    }
}
function pathOf(url) {
    return URL.canParse(url) ? new URL(url).pathname : url;
}
function stringOf(value) {
    return typeof value === "string" ? value : "";
}
function isRecord(value) {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}

;// CONCATENATED MODULE: ./src/rehearsal/model.js




function createScriptedModel(script, options) {
    return new Model(script, options);
}
class Model {
    #rules;
    #clock;
    #fill;
    #conversations = new Map();
    #failures = new Set();
    constructor(script, { clock, workingDirectory }) {
        this.#rules = script.rules.map((rule) => ({
            rule,
            used: 0,
            played: new Set(),
            given: new Map(),
        }));
        this.#clock = clock;
        this.#fill = (template) => fillIn(template, workingDirectory);
    }
    failures() {
        return [...this.#failures];
    }
    unused() {
        return this.#rules.flatMap(unusedParts);
    }
    async send(request) {
        const decoded = decodeRequest(request.url, request.method, request.body);
        if (decoded.kind === "other")
            return this.#fail(`${decoded.reason}.`);
        const { chat } = decoded;
        const found = this.#conversation(request, chat);
        if ("problem" in found)
            return this.#fail(found.problem);
        const choice = this.#choose(found, request, chat);
        if ("problem" in choice)
            return this.#fail(choice.problem);
        return this.#play(choice.reply, found, request, chat);
    }
    /** The answer is a 400: no retry can mend it, so the run fails at once and with this text. */
    #fail(problem) {
        this.#failures.add(problem);
        return encodeError(400, `Rehearsal: ${problem}`);
    }
    #conversation(request, chat) {
        // Two sub-agents of one session are told apart by the prompt they began with.
        const key = `${request.sessionId}\n${request.subAgent ? chat.opening : ""}`;
        const known = this.#conversations.get(key);
        if (known !== undefined)
            return known;
        const choice = chooseRule(this.#rules, request, chat, this.#fill);
        if (choice.kind === "none") {
            return { problem: `no rule expects ${describeRequest(request, chat)}. ${choice.why}` };
        }
        choice.rule.used += 1;
        const number = this.#conversations.size + 1;
        const conversation = { number, played: choice.rule, given: new Map() };
        this.#conversations.set(key, conversation);
        return conversation;
    }
    #choose(conversation, request, chat) {
        const { rule, played } = conversation.played;
        const refuse = (problem) => ({
            problem: `${problem}. It was ${describeRequest(request, chat)}.`,
        });
        const count = chat.prompts.length;
        const turn = rule.turns[count - 1];
        if (turn === undefined) {
            return refuse(`${rule.place} has ${model_plural(rule.turns.length, "turn")}, but its session got prompt number ${count}`);
        }
        if (turn.prompt !== undefined) {
            const why = mismatch(turn.prompt, chat.prompts.at(-1) ?? "", this.#fill);
            if (why !== undefined)
                return refuse(`${turn.place} does not fit: the prompt ${why}`);
        }
        played.add(turn);
        const reply = nextReply(turn, chat.answered, conversation);
        if (reply === undefined) {
            return refuse(`${turn.place} has no reply left: it answers ${model_plural(chat.answered, "time")}, and the session asked once more`);
        }
        if (reply.toolResults !== undefined) {
            const why = mismatch(reply.toolResults, chat.toolResults.join("\n"), this.#fill);
            if (why !== undefined) {
                return refuse(`${reply.place} does not fit: what the tools returned ${why}; it is ${JSON.stringify(chat.toolResults.join("\n").slice(0, 500))}`);
            }
        }
        return notOffered(reply, chat) ?? { reply };
    }
    async #play(reply, conversation, request, chat) {
        const { given, played } = conversation;
        const times = (given.get(reply) ?? 0) + 1;
        given.set(reply, times);
        played.played.add(reply);
        played.given.set(reply, Math.max(times, played.given.get(reply) ?? 0));
        const id = `rehearsal_${conversation.number}_${chat.prompts.length}_${chat.answered + 1}`;
        if (reply.delayMs > 0)
            await this.#clock.sleep(reply.delayMs, request.signal);
        const { play } = reply;
        switch (play.kind) {
            case "answer":
                return encodeAnswer(chat, id, {
                    ...play,
                    text: this.#fill(play.text),
                    reasoning: this.#fill(play.reasoning),
                    tools: play.tools.map((tool) => ({ ...tool, input: this.#input(tool.input) })),
                });
            case "error": {
                const { status, message, headers } = play;
                // Without this header the runtime repeats the request for up to a minute.
                const final = play.times === undefined ? { "x-should-retry": "false" } : {};
                return encodeError(status, this.#fill(message), { ...final, ...headers });
            }
            case "cut":
                return encodeCut(chat, id, play.partial);
            case "hang":
                return encodeHang(chat, id, play.partial, request.signal);
            case "die":
                request.killRuntime();
                return never(request.signal);
        }
    }
    /** In JSON a path must be escaped, on Windows. */
    #input(input) {
        if (!input.includes("${workingDirectory}"))
            return input;
        try {
            return JSON.stringify(JSON.parse(input), (_key, value) => typeof value === "string" ? this.#fill(value) : value);
        }
        catch {
            return this.#fill(input);
        }
    }
}
/**
 * The reply after `answered` answers. Errors and cuts leave no trace in the request: they are passed over
 * once they were given as often as they say.
 */
function nextReply(turn, answered, { given }) {
    let before = answered;
    for (const reply of turn.replies) {
        const { play } = reply;
        if (play.kind === "answer") {
            if (before === 0)
                return reply;
            before -= 1;
            continue;
        }
        const times = play.kind === "error" || play.kind === "cut" ? play.times : undefined;
        if (times === undefined || (given.get(reply) ?? 0) < times)
            return reply;
    }
    return undefined;
}
function notOffered({ place, play }, { offeredTools }) {
    if (play.kind !== "answer")
        return undefined;
    const stranger = play.tools.find(({ name, unknown }) => !unknown && !offeredTools.has(name));
    if (stranger === undefined)
        return undefined;
    const names = [...offeredTools.keys()].join(", ");
    return {
        problem: `${place} calls the tool ${JSON.stringify(stranger.name)}, which this session does not offer to its model. It offers: ${names === "" ? "none" : names}. (To rehearse a model's mistake, add "unknown: true" to the call.)`,
    };
}
function model_plural(count, noun) {
    return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

// EXTERNAL MODULE: external "node:fs"
var external_node_fs_ = __webpack_require__(3024);
;// CONCATENATED MODULE: ./src/platform/files.js
/** The few things this project does to files, behind one door. */



/** Creates a folder of our own under the system's temporary directory and returns its absolute path. */
async function makeTemporaryDirectory(prefix) {
    return external_node_fs_.promises.mkdtemp((0,external_node_path_.join)((0,external_node_os_.tmpdir)(), prefix));
}
/** Creates a folder and its parents; one that is there is fine. */
async function makeDirectory(path) {
    await external_node_fs_.promises.mkdir(path, { recursive: true });
}
/** False also for what we may not look at. */
async function isDirectory(path) {
    return external_node_fs_.promises.stat(path).then((stat) => stat.isDirectory(), () => false);
}
/**
 * Creates a folder at once. Not with `recursive`: Node then tries for ever where a folder refuses children although
 * it is there, as /proc does.
 */
function makeDirectoryNow(path) {
    if ((0,external_node_fs_.existsSync)(path))
        return;
    const parent = (0,external_node_path_.dirname)(path);
    if (parent !== path)
        makeDirectoryNow(parent);
    (0,external_node_fs_.mkdirSync)(path);
}
/**
 * Throws if something is there that a writer may wait for, for ever: a pipe without a reader, a socket. Devices
 * such as /dev/null are fine; that a folder is no file, the system says itself.
 */
function refuseSpecialFile(path) {
    const found = (0,external_node_fs_.statSync)(path, { throwIfNoEntry: false });
    if (found === undefined || found.isFile() || found.isDirectory() || found.isCharacterDevice())
        return;
    throw new Error("it is not a regular file");
}
/** The same as `removeDirectory`, at once, as far as it goes: for a process that has no time left. */
function removeDirectoryNow(path) {
    try {
        (0,external_node_fs_.rmSync)(path, { recursive: true, force: true, maxRetries: 2 });
    }
    catch {
        // A process that is just dying may still write there.
    }
}
/** Removes a folder and all it holds; one that is not there is fine. A writer that is just ending is waited for. */
async function removeDirectory(path) {
    await external_node_fs_.promises.rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
}

;// CONCATENATED MODULE: ./src/reporters/journal.js
/**
 * The journal: every event of a run in JSONL, to be read by people with `jq` and by us with `parseJournal`.
 * See `docs/journal.md`. Owns the format and the file descriptor.
 *
 * - A line is one write, complete with its LF, before `report` returns: a killed process leaves at most one
 *   torn line, the last.
 * - Streaming deltas are left out: the whole text follows (and a secret could be split over them).
 * - A full disk or a folder that vanished ends the journal, never the run: the failure is thrown once, for
 *   the sink to remember and tell.
 */



/** Raised when a reader of the old version would misread the new one. */
const JOURNAL_VERSION = 1;
/**
 * Starts a new journal at `path`; folders above it are created, a file that is there is replaced. Throws if
 * that is not possible: better to know before the run than after it.
 */
function createJournal(path, now) {
    makeDirectoryNow((0,external_node_path_.dirname)((0,external_node_path_.resolve)(path)));
    refuseSpecialFile(path);
    const { O_WRONLY, O_CREAT, O_TRUNC, O_APPEND } = external_node_fs_.constants;
    const fd = (0,external_node_fs_.openSync)(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0o666);
    return createJournalReporter({
        write: (bytes, offset) => (0,external_node_fs_.writeSync)(fd, bytes, offset),
        close: () => {
            const { nlink } = (0,external_node_fs_.fstatSync)(fd);
            (0,external_node_fs_.closeSync)(fd);
            if (nlink === 0)
                throw new Error(`The journal ${path} was deleted during the run.`);
        },
    }, now);
}
function createJournalReporter(file, now) {
    let seq = 0;
    let broken = false;
    const write = (fields) => {
        if (broken)
            return;
        const bytes = new TextEncoder().encode(`${JSON.stringify({ v: JOURNAL_VERSION, seq, ...fields })}\n`);
        try {
            for (let offset = 0; offset < bytes.length;) {
                const written = file.write(bytes, offset);
                if (written <= 0)
                    throw new Error("nothing was written");
                offset += written;
            }
        }
        catch (error) {
            broken = true;
            const why = error instanceof Error ? error.message : String(error);
            throw new Error(`The journal ends after ${seq} lines: ${why}`, { cause: error });
        }
        seq += 1;
    };
    let unwrittenHeader;
    try {
        write({ type: "journal", at: now(), format: "agent-jobs journal" });
    }
    catch (error) {
        unwrittenHeader = error;
    }
    return {
        name: "journal",
        report(event) {
            if (unwrittenHeader !== undefined) {
                const error = unwrittenHeader;
                unwrittenHeader = undefined;
                throw error;
            }
            if (!isDelta(event))
                write(event);
        },
        async close() {
            broken = true;
            file.close();
        },
    };
}
function isDelta(event) {
    return event.type === "activity" && event.activity.kind.endsWith(".delta");
}
/** Reads a journal back. Never throws: a line that cannot be read is a problem, and the others are used. */
function parseJournal(text) {
    const events = [];
    const problems = [];
    const lines = text.split("\n");
    const rest = lines.pop() ?? "";
    let expected;
    for (const [index, line] of lines.entries()) {
        const record = parseLine(line);
        const problem = typeof record === "string" ? record : checkRecord(record, index === 0, expected);
        if (problem !== undefined)
            problems.push({ line: index + 1, reason: problem });
        if (typeof record === "string") {
            expected = undefined;
            continue;
        }
        expected = typeof record["seq"] === "number" ? record["seq"] + 1 : undefined;
        if (record["v"] === JOURNAL_VERSION && isEvent(record)) {
            const { v: _v, seq: _seq, ...event } = record;
            events.push(event);
        }
    }
    if (rest !== "")
        problems.push({ line: lines.length + 1, reason: "The line is incomplete." });
    if (text === "")
        problems.push({ line: 1, reason: "The journal is empty." });
    return { events, problems, torn: rest !== "" };
}
function parseLine(line) {
    try {
        const parsed = JSON.parse(line);
        return journal_isRecord(parsed) ? parsed : "The line is not a JSON object.";
    }
    catch {
        return "The line is not JSON.";
    }
}
function checkRecord(record, first, expected) {
    if (record["v"] !== JOURNAL_VERSION) {
        return `Version ${JSON.stringify(record["v"])} is not ${JOURNAL_VERSION}, the one this program reads.`;
    }
    if (first)
        return record["type"] === "journal" ? undefined : "The header is missing.";
    if (expected !== undefined && record["seq"] !== expected) {
        return `Lines are missing: expected number ${expected}, found ${JSON.stringify(record["seq"])}.`;
    }
    return isEvent(record)
        ? undefined
        : `An event of type ${JSON.stringify(record["type"])} is not known or not whole.`;
}
function journal_isRecord(value) {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}
function isWorkRef(value) {
    return (journal_isRecord(value) && typeof value["workId"] === "number" && typeof value["taskId"] === "string");
}
/** The fields that every fold relies on; the rest is as we wrote it. */
function isEvent(record) {
    if (typeof record["at"] !== "number")
        return false;
    const { work } = record;
    switch (record["type"]) {
        case "run.started":
            return (typeof record["jobName"] === "string" &&
                Array.isArray(record["works"]) &&
                record["works"].every((planned) => isWorkRef(planned)));
        case "run.ended":
            return isKinded(record["outcome"]);
        case "work.started":
            return isWorkRef(work);
        case "work.ended":
            return isWorkRef(work) && isKinded(record["outcome"]);
        case "decision":
            return (work === null || isWorkRef(work)) && isKinded(record["decision"]);
        case "session.started":
        case "session.ended":
        case "turn.started":
        case "turn.ended":
            return isWorkRef(work) && typeof record["sessionId"] === "string";
        case "activity":
            return (isWorkRef(work) && typeof record["sessionId"] === "string" && isKinded(record["activity"]));
        default:
            return false;
    }
}
function isKinded(value) {
    return journal_isRecord(value) && typeof value["kind"] === "string";
}

// EXTERNAL MODULE: external "node:stream"
var external_node_stream_ = __webpack_require__(7075);
// EXTERNAL MODULE: ../../node_modules/log-update/index.js + 13 modules
var log_update = __webpack_require__(6966);
;// CONCATENATED MODULE: ./src/reporters/live.js
/**
 * The running works, below the log, redrawn ten times a second. Owns the bottom of the terminal between
 * `start` and `stop`; everything else that wants to be printed meanwhile goes through `print`.
 *
 * - Each refresh is one write: erase, new log lines, new frame. Nobody sees a half of it.
 * - The cursor is never hidden, so that no way to die can leave it hidden.
 * - A frame has fewer lines than the terminal, and each line fewer columns: the terminal wraps none of them.
 *   When it gets narrower it wraps those already drawn; they are erased at their new height.
 */




const REFRESH_MS = 100;
/** So much text is written at once, without waiting for the next refresh. */
const MAX_WAITING = 64 * 1024;
function createLiveView(stream, clock, view, paint) {
    const canvas = new Canvas(stream);
    const log = (0,log_update/* createLogUpdate */.SY)(canvas, { showCursor: true });
    let drawn = [];
    let drawnColumns = 0;
    let waiting = "";
    let ticks = 0;
    let running;
    const erase = () => {
        if (drawn.length === 0)
            return;
        if (canvas.columns < drawnColumns) {
            const height = drawn.reduce((sum, line) => sum + rowsOf(line, canvas.columns), 0);
            canvas.write(`\u001B[${height}A\u001B[J`);
            log.done();
        }
        else {
            log.clear();
        }
        drawn = [];
    };
    const refresh = () => {
        if (waiting !== "" || canvas.columns !== drawnColumns)
            erase();
        canvas.write(waiting);
        waiting = "";
        drawn = live_frame(view, clock.now(), canvas.columns, canvas.rows, ticks, paint);
        drawnColumns = canvas.columns;
        ticks += 1;
        if (drawn.length > 0)
            log(drawn.join("\n"));
        else
            log.clear();
        canvas.flush();
    };
    const keepRefreshing = async (signal) => {
        for (;;) {
            await clock.sleep(REFRESH_MS, signal);
            if (signal.aborted)
                return;
            refresh();
        }
    };
    return {
        start() {
            if (running !== undefined)
                return;
            running = new AbortController();
            void keepRefreshing(running.signal);
        },
        print(lines) {
            waiting += lines;
            if (running === undefined || waiting.length > MAX_WAITING) {
                erase();
                canvas.write(waiting);
                waiting = "";
                canvas.flush();
            }
        },
        stop() {
            running?.abort();
            running = undefined;
            erase();
            canvas.write(waiting);
            waiting = "";
            canvas.flush();
        },
    };
}
/** Collects what is drawn, until `flush` writes it at once as one synchronised update. */
class Canvas extends external_node_stream_.Writable {
    #stream;
    #collected = "";
    constructor(stream) {
        super({ decodeStrings: false });
        this.#stream = stream;
    }
    get columns() {
        return Math.max(1, this.#stream.columns ?? 80);
    }
    get rows() {
        return Math.max(1, this.#stream.rows ?? 24);
    }
    write(chunk) {
        this.#collected += String(chunk);
        return true;
    }
    flush() {
        if (this.#collected === "")
            return;
        this.#stream.write(`\u001B[?2026h${this.#collected}\u001B[?2026l`);
        this.#collected = "";
    }
}
function rowsOf(line, columns) {
    return Math.max(1, Math.ceil((0,string_width/* default */.A)(line) / columns));
}
const spinner = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/** Exported for its test: the lines of one frame. */
function live_frame(view, now, columns, rows, tick, paint) {
    const width = columns - 1;
    const works = [...view.works.values()];
    const running = works
        .filter((work) => work.startedAt !== undefined)
        .sort((a, b) => (a.startedAt ?? 0) - (b.startedAt ?? 0) || a.workId - b.workId);
    if (running.length === 0)
        return [];
    const done = works.filter(({ status }) => status !== "pending" && status !== "running").length;
    const { totals } = view;
    const head = cutTo(`${running.length} running, ${done} of ${works.length} done, ${clockText(now - (view.startedAt ?? now))}, ${plural(totals.modelCalls, "model call")}, ${countText(totals.inputTokens + totals.outputTokens)} tokens`, width);
    // At most 60 % of the terminal: the log above stays readable.
    const room = Math.max(0, Math.floor(rows * 0.6) - 1);
    const shown = running.length <= room ? running : running.slice(0, Math.max(0, room - 1));
    const label = Math.min(Math.max(8, Math.floor(width * 0.4)), Math.max(0, ...shown.map((work) => (0,string_width/* default */.A)(workLabel(work)))));
    const mark = spinner[tick % spinner.length] ?? "";
    const lines = [
        paint("faint", head),
        ...shown.map((work) => workLine(work, now, width, label, mark, paint)),
    ];
    if (shown.length < running.length && room > 0) {
        lines.push(paint("faint", cutTo(`… and ${running.length - shown.length} more`, width)));
    }
    return lines;
}
function workLabel(work) {
    return `#${work.workId} ${oneLine(work.taskId, 200)}${work.runs > 1 ? ` run ${work.runs}` : ""}`;
}
function workLine(work, now, width, label, mark, paint) {
    const sessions = [...work.sessions.values()];
    const busy = sessions.findLast((session) => session.mission !== undefined) ?? sessions.at(-1);
    const details = [doing(work, now)];
    // On a narrow terminal the tool is worth more than the model.
    if (width >= 50)
        details.unshift(plural(work.modelCalls, "call"));
    if (width >= 64)
        details.unshift(oneLine(busy?.modelId ?? work.modelId, 100));
    const start = `${mark} ${fit(workLabel(work), label)}`;
    // Of the run that goes on, not of all: that is what a person who watches wants to know.
    const rest = ` ${clockText(now - (work.startedAt ?? now))} ${details.join(", ")}`;
    return paint("name", cutTo(start, width)) + cutTo(rest, Math.max(0, width - (0,string_width/* default */.A)(start)));
}
/** The tool that runs longest, else what the turn is for. */
function doing(work, now) {
    const sessions = [...work.sessions.values()];
    const tools = sessions.flatMap((session) => [...session.tools.values()]);
    const [first] = tools;
    if (first !== undefined) {
        const more = tools.length > 1 ? ` +${tools.length - 1}` : "";
        return `${oneLine(first.name, 100)} ${clockText(now - first.startedAt)}${more}`;
    }
    const mission = sessions.findLast((session) => session.mission !== undefined)?.mission;
    switch (mission) {
        case "prompt":
            return "thinking";
        case "availability":
            return "checking availability";
        case "criteria":
            return "checking criteria";
        case undefined:
            return "waiting";
    }
}

;// CONCATENATED MODULE: ./src/reporters/terminal.js
/**
 * The run for a person at a terminal, or for a log file: one line per event, and at the end what came of it.
 * Owns the layout; what is said of an event is in `event-line.ts`, the live view in `live.ts`.
 *
 * The last line is exactly `job NAME succeeded`, `job NAME failed: REASON` or `job NAME canceled: REASON`;
 * nothing follows it. Text of an agent, a tool or an entry never reaches the terminal raw.
 */







/** Without a terminal there is no width to keep to. */
const LOG_COLUMNS = 120;
const MAX_LABEL = 32;
const terminal_SAID_LINES = 20;
const terminal_SAID_LENGTH = 4000;
function createTerminalReporter(options) {
    const { stream, verbosity, clock } = options;
    const tty = stream.isTTY === true;
    const paint = createPaint(options.colors && tty);
    const view = createRunView();
    const live = options.live && tty && verbosity !== "quiet"
        ? createLiveView(stream, clock, view, paint)
        : undefined;
    let labelWidth = 0;
    let over = false;
    const print = (line) => {
        if (live === undefined)
            stream.write(`${line}\n`);
        else
            live.print(`${line}\n`);
    };
    const label = (work) => {
        if (work === null)
            return "";
        const name = terminal_workLabel(work);
        const padding = " ".repeat(Math.max(0, labelWidth - (0,string_width/* default */.A)(name)) + 1);
        return paint("name", name) + padding;
    };
    const printEvent = (event) => {
        const line = eventLine(event, view, verbosity);
        if (line === undefined)
            return;
        const time = paint("faint", clockText(event.at - (view.startedAt ?? event.at)));
        print(`${time} ${label(line.work)}${paint(line.tone, line.text)}`);
    };
    const printEnd = (outcome) => {
        live?.stop();
        if (verbosity !== "quiet") {
            for (const section of [lastWords(view), chartLines(view, options.chart)]) {
                if (section.length > 0)
                    print(["", ...section].join("\n"));
            }
            print(["", ...worksTable(view, tty ? (stream.columns ?? 80) : LOG_COLUMNS, paint)].join("\n"));
            print("");
        }
        const tone = outcome.kind === "succeeded" ? "good" : outcome.kind === "failed" ? "bad" : "warn";
        print(paint(tone, lastLine(view.jobName, outcome)));
        over = true;
    };
    return {
        name: "terminal",
        report(event) {
            if (over)
                return;
            applyEvent(view, event);
            if (event.type === "run.started") {
                labelWidth = Math.max(0, ...event.works.map((planned) => (0,string_width/* default */.A)(terminal_workLabel({ ...planned, run: 1 }))));
                // Aligned texts are worth a third of a narrow terminal, not more.
                if (tty)
                    labelWidth = Math.min(labelWidth, Math.floor((stream.columns ?? 80) / 3));
                live?.start();
            }
            if (event.type === "run.ended")
                printEnd(event.outcome);
            else
                printEvent(event);
        },
        async close() {
            live?.stop();
        },
    };
}
function terminal_workLabel(work) {
    const name = cutTo(oneLine(`#${work.workId} ${work.taskId}`, 200), MAX_LABEL);
    return work.run > 1 ? `${name} run ${work.run}` : name;
}
function lastWords(view) {
    const speaker = view.lastSpeaker === undefined ? undefined : view.works.get(view.lastSpeaker);
    if (speaker?.lastMessage === undefined)
        return [];
    const label = terminal_workLabel({ ...speaker, run: speaker.runs });
    return [
        `${label} said:`,
        ...paragraph(speaker.lastMessage, terminal_SAID_LINES, terminal_SAID_LENGTH).map((line) => `  ${line}`.trimEnd()),
    ];
}
function chartLines(view, chart) {
    if (chart === undefined)
        return [];
    try {
        const text = harmless(chart(view)).trimEnd();
        return text === "" ? [] : text.split("\n");
    }
    catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        return [`The chart could not be drawn: ${oneLine(why, 200)}`];
    }
}
function lastLine(jobName, outcome) {
    const end = outcome.kind === "succeeded"
        ? "succeeded"
        : `${outcome.kind}: ${oneLine(outcome.reason, 2000)}`;
    return `job ${oneLine(jobName, 200)} ${end}`;
}

;// CONCATENATED MODULE: ./src/sessions/permission-shell.js
function readShell(text) {
    try {
        const commands = new ShellReader(text).read();
        return commands.length === 0
            ? { kind: "opaque", reason: "it holds no command" }
            : { kind: "commands", commands };
    }
    catch (error) {
        if (error instanceof Opaque)
            return { kind: "opaque", reason: error.message };
        throw error;
    }
}
class Opaque extends Error {
}
/** Words that begin a compound command, or change what the next word means. */
const reserved = new Set("if then elif else fi for while until do done case esac select function time coproc in ! { } [[ ]]".split(" "));
class ShellReader {
    #text;
    #at = 0;
    #word;
    #words = [];
    #commands = [];
    constructor(text) {
        this.#text = text;
    }
    read() {
        // Carriage returns, bells, NUL… have no business here, and terminals and shells disagree on them.
        // eslint-disable-next-line no-control-regex
        if (/[\u0000-\u0008\u000b-\u001f\u007f]/.test(this.#text)) {
            throw new Opaque("it holds control characters");
        }
        while (this.#at < this.#text.length)
            this.#step();
        this.#endCommand();
        return this.#commands;
    }
    #step() {
        const char = this.#text[this.#at] ?? "";
        switch (char) {
            case " ":
            case "\t":
                this.#endWord();
                this.#at += 1;
                return;
            case "\n":
            case ";":
            case "&":
            case "|":
                this.#separator(char);
                return;
            case "#":
                if (this.#word === undefined)
                    this.#skipComment();
                else
                    this.#literal(char);
                return;
            case "'":
                this.#singleQuoted();
                return;
            case '"':
                this.#doubleQuoted();
                return;
            case "\\":
                this.#escaped();
                return;
            case "<":
            case ">":
                this.#redirection();
                return;
            case "(":
            case ")":
                throw new Opaque("it holds parentheses (a subshell, a function or an array)");
            case "$":
            case "`":
                this.#expansion();
                return;
            case "*":
            case "?":
            case "[":
                // The name of a planted file could begin with a dash, and become an option.
                if (this.#word === undefined) {
                    throw new Opaque(`a word begins with the wildcard ${char} (write ./${char})`);
                }
                this.#literal(char);
                return;
            case "{":
                this.#brace();
                return;
            default:
                this.#literal(char);
        }
    }
    #literal(char) {
        this.#word ??= { text: "", quoted: false };
        this.#word.text += char;
        this.#at += 1;
    }
    #quote(text) {
        this.#word ??= { text: "", quoted: true };
        this.#word.quoted = true;
        this.#word.text += text;
    }
    #separator(char) {
        const rest = this.#text.slice(this.#at, this.#at + 2);
        if (rest === "&>") {
            this.#redirection();
            return;
        }
        this.#endWord();
        if (char !== "\n" && this.#words.length === 0) {
            throw new Opaque(`there is no command before ${char}`);
        }
        this.#endCommand();
        this.#at += rest === "&&" || rest === "||" || rest === "|&" ? 2 : 1;
    }
    #skipComment() {
        const end = this.#text.indexOf("\n", this.#at);
        this.#at = end === -1 ? this.#text.length : end;
    }
    #singleQuoted() {
        const end = this.#text.indexOf("'", this.#at + 1);
        if (end === -1)
            throw new Opaque("a quote is not closed");
        this.#quote(this.#text.slice(this.#at + 1, end));
        this.#at = end + 1;
    }
    #doubleQuoted() {
        let content = "";
        let at = this.#at + 1;
        for (;;) {
            const char = this.#text[at];
            if (char === undefined)
                throw new Opaque("a quote is not closed");
            if (char === '"')
                break;
            if (char === "`" || (char === "$" && expands(this.#text[at + 1]))) {
                throw new Opaque(`it holds an expansion or a substitution (${char})`);
            }
            if (char === "\\") {
                const next = this.#text[at + 1] ?? "";
                // Inside double quotes a backslash escapes only these; before a line break both vanish.
                if (next !== "\n")
                    content += '$`"\\'.includes(next) && next !== "" ? next : `\\${next}`;
                at += 2;
            }
            else {
                content += char;
                at += 1;
            }
        }
        this.#quote(content);
        this.#at = at + 1;
    }
    #escaped() {
        const next = this.#text[this.#at + 1];
        if (next === undefined)
            throw new Opaque("it ends in a backslash");
        if (next !== "\n")
            this.#quote(next);
        this.#at += 2;
    }
    #expansion() {
        const next = this.#text[this.#at + 1];
        const ansiQuote = next === "'" || next === '"';
        if (this.#text[this.#at] === "`" || ansiQuote || expands(next)) {
            throw new Opaque("it holds an expansion or a substitution ($ or `)");
        }
        this.#literal("$");
    }
    #brace() {
        // `{a,b}` and `{1..3}` make several words of one; `{}` and a lone brace inside a word do not.
        const rest = this.#text.slice(this.#at);
        if (/^\{[^\s}]*(?:,|\.\.)/.test(rest))
            throw new Opaque("it holds a brace expansion");
        this.#literal("{");
    }
    /** Only those that can neither read nor write a file: to /dev/null, or from one descriptor to another. */
    #redirection() {
        const descriptor = this.#word;
        if (descriptor !== undefined && !descriptor.quoted && /^\d+$/.test(descriptor.text)) {
            this.#word = undefined;
        }
        this.#endWord();
        const match = /^(?:(?:&>>?|>>?)[ \t]*\/dev\/null|[<>]&(?:\d+|-)|<[ \t]*\/dev\/null)(?=[\s;&|]|$)/.exec(this.#text.slice(this.#at));
        if (match === null)
            throw new Opaque("it redirects from or to a file");
        this.#at += match[0].length;
    }
    #endWord() {
        const word = this.#word;
        if (word === undefined)
            return;
        this.#word = undefined;
        if (this.#words.length === 0 && !word.quoted) {
            if (reserved.has(word.text))
                throw new Opaque(`it is a compound command (${word.text})`);
            if (/^[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?\+?=/.test(word.text)) {
                throw new Opaque("it sets an environment variable");
            }
        }
        if (this.#words.length === 0 && word.quoted && /^[A-Za-z_][A-Za-z0-9_]*\+?=/.test(word.text)) {
            throw new Opaque("it sets an environment variable");
        }
        this.#words.push(word.text);
    }
    #endCommand() {
        this.#endWord();
        if (this.#words.length > 0)
            this.#commands.push(this.#words);
        this.#words = [];
    }
}
/** Whether `$` before this character means something to a shell. */
function expands(next) {
    return next !== undefined && /[A-Za-z0-9_{([@*#?$!-]/.test(next);
}

;// CONCATENATED MODULE: ./src/sessions/wildcard.js
/**
 * Whether a text is what a pattern describes: `*` stands for any characters, also none; everything else
 * for itself. In linear space and, unlike a regular expression, never worse than quadratic in time.
 */
function wildcardMatches(text, pattern) {
    const [first = "", ...rest] = pattern.split("*");
    const last = rest.pop();
    if (last === undefined)
        return text === first;
    if (!text.startsWith(first))
        return false;
    let at = first.length;
    for (const part of rest) {
        const found = text.indexOf(part, at);
        if (found === -1)
            return false;
        at = found + part.length;
    }
    return text.length - last.length >= at && text.endsWith(last);
}

;// CONCATENATED MODULE: ./src/sessions/permission-commands.js
/** Matches the commands of a shell line against the patterns of `permissions.shell`. Pure. */


/**
 * Every command of the line must match one of `allow` (`true`: any command) and none may match one of `deny`.
 * A pattern is words separated by blanks: `*` inside a word stands for any characters of that word, and a
 * last word `*` for any further arguments, also none.
 */
function decideShell(line, allow, deny) {
    if (allow === true && deny.length === 0)
        return { allowed: true };
    const reading = readShell(line);
    if (reading.kind === "opaque") {
        return {
            allowed: false,
            reason: `the command can't be checked against the patterns of permissions.shell: ${reading.reason}. Use plain commands`,
        };
    }
    for (const command of reading.commands) {
        const denied = deny.find((pattern) => mentions(command, pattern));
        if (denied !== undefined) {
            return { allowed: false, reason: `"${command.join(" ")}" is denied by "!${denied}"` };
        }
        if (allow !== true && !allow.some((pattern) => matches(command, pattern))) {
            return { allowed: false, reason: unmatched(command, allow) };
        }
    }
    return { allowed: true };
}
function unmatched(command, allow) {
    const hazard = hazardOf(command);
    const why = hazard === undefined
        ? `"${command.join(" ")}" matches no pattern of permissions.shell`
        : `"${command.join(" ")}" has ${hazard}, which can run programs or write files, and no pattern of permissions.shell names it`;
    return `${why}. Allowed: ${allow.length === 0 ? "nothing" : allow.map((p) => `"${p}"`).join(", ")}`;
}
/** Whether the pattern allows exactly this command. */
function matches(command, pattern) {
    const words = pattern.trim().split(/\s+/);
    const open = words.length > 1 && words.at(-1) === "*";
    const fixed = open ? words.slice(0, -1) : words;
    // `*` alone: every command, with every argument. Who writes that has switched the check off.
    if (words.length === 1 && words[0] === "*")
        return true;
    if (open ? command.length < fixed.length : command.length !== fixed.length)
        return false;
    if (!fixed.every((word, index) => wordMatches(command[index] ?? "", word)))
        return false;
    // Options that turn a harmless command into a dangerous one are allowed only by name.
    const [name = ""] = command;
    return !command.some((word, index) => index > 0 && isHazard(name, word) && !isHazard(name, fixed[index] ?? ""));
}
/**
 * Whether the command, or a command inside one of its arguments (`env rm x`, `sh -c "rm x"`), is what the
 * pattern denies. Best effort: a shell that is otherwise open can't be fenced in by names.
 */
function mentions(command, pattern) {
    for (let start = 0; start < command.length; start += 1) {
        const rest = command.slice(start);
        const name = rest[0] ?? "";
        const base = name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1);
        if (plainMatches(rest, pattern) || plainMatches([base, ...rest.slice(1)], pattern))
            return true;
        if (start > 0 && /[\s;|&]/.test(name)) {
            const inner = readShell(name);
            if (inner.kind === "opaque") {
                // A text with a blank in it is often just a text; one that only a shell can read may be a script.
                if (isInterpreter(command[0] ?? ""))
                    return true;
            }
            else if (inner.commands.some((one) => mentions(one, pattern)))
                return true;
        }
    }
    return false;
}
/** A deny pattern also matches with more arguments than it names. */
function plainMatches(command, pattern) {
    const words = pattern.trim().split(/\s+/);
    const fixed = words.at(-1) === "*" ? words.slice(0, -1) : words;
    if (command.length < fixed.length)
        return false;
    return fixed.every((word, index) => wordMatches(command[index] ?? "", word, true));
}
function isInterpreter(name) {
    return /(?:^|\/)(?:ba|da|z|k|c|tc|fi)?sh$|(?:^|\/)(?:eval|env|sudo|xargs|find|python[\d.]*|node|perl|ruby)$/.test(name);
}
function wordMatches(word, pattern, anyCase = false) {
    return anyCase
        ? wildcardMatches(word.toLowerCase(), pattern.toLowerCase())
        : wildcardMatches(word, pattern);
}
/** Options with which a command that otherwise only looks runs programs, or reads or writes other files. */
const hazards = new Map([
    [
        "git",
        {
            long: ("config config-env exec-path upload-pack receive-pack exec ext-diff textconv output " +
                "output-directory open-files-in-pager git-dir work-tree no-index template contents").split(" "),
            short: ["-c", "-C", "-x", "-u", "-O", "-o"],
        },
    ],
    ["find", { long: [], short: "-exec -ok -delete -fprint -fls".split(" ") }],
    ["rg", { long: ["pre", "pre-glob", "hostname-bin", "search-zip"], short: ["-z"] }],
    ["fd", { long: ["exec", "exec-batch"], short: ["-x", "-X"] }],
    ["sort", { long: ["output", "compress-program", "temporary-directory"], short: ["-o", "-T"] }],
    [
        "tar",
        {
            long: "to-command checkpoint-action use-compress-program info-script new-volume-script rsh-command".split(" "),
            short: ["-I", "-F"],
        },
    ],
    ["sed", { long: ["in-place"], short: ["-i"] }],
    ["curl", { long: ["output", "remote-name", "config"], short: ["-o", "-O", "-K"] }],
]);
function isHazard(name, word) {
    const known = hazards.get(name);
    if (known === undefined)
        return false;
    if (word.startsWith("--")) {
        const option = word.slice(2).split("=")[0] ?? "";
        return option !== "" && known.long.some((long) => long.startsWith(option));
    }
    return known.short.some((short) => word.startsWith(short) || bundles(word, short));
}
/** `-ruo file`: short options may be written together. */
function bundles(word, short) {
    return short.length === 2 && /^-[A-Za-z]+$/.test(word) && word.includes(short.charAt(1), 2);
}
function hazardOf(command) {
    return command.slice(1).find((word) => isHazard(command[0] ?? "", word));
}

// EXTERNAL MODULE: ../../node_modules/picomatch/index.js
var picomatch = __webpack_require__(1026);
;// CONCATENATED MODULE: ./src/sessions/permission-paths.js
/** Where a path really leads, and whether the file rules of `permissions` allow it. Asks the file system, changes nothing. */


/**
 * Where a path leads with every symbolic link resolved; a part that does not exist yet hangs below the
 * deepest one that does. Undefined when that can't be said for sure. Two places when `link/..` means one
 * thing to the operating system and another to a program that tidies the path up first: both must be fine.
 */
function realLocations(path, context) {
    // eslint-disable-next-line no-control-regex
    if (path === "" || /[\u0000-\u001f]/.test(path))
        return undefined;
    const tidy = (0,external_node_path_.resolve)(context.workingDirectory, path);
    const raw = (0,external_node_path_.isAbsolute)(path) ? path : `${context.workingDirectory}${external_node_path_.sep}${path}`;
    const tidied = realLocation(tidy, context);
    const walked = raw === tidy ? tidied : walk(raw, context);
    return tidied === undefined || walked === undefined ? undefined : [...new Set([tidied, walked])];
}
/** Follows the path as the operating system does: `..` is the parent of where we really are. */
function walk(path, context) {
    let at = (0,external_node_path_.parse)(path).root;
    for (const part of path.slice(at.length).split(/[\\/]/)) {
        if (part === "" || part === ".")
            continue;
        at = part === ".." ? (0,external_node_path_.dirname)(at) : realLocation((0,external_node_path_.join)(at, part), context);
        if (at === undefined)
            return undefined;
    }
    return at;
}
/** Of an absolute path without `..`. */
function realLocation(path, context) {
    let existing = path;
    let rest = "";
    for (;;) {
        try {
            return (0,external_node_path_.join)(context.realpath(existing), rest);
        }
        catch (error) {
            // A loop, a folder that we may not enter, a link to what does not exist yet: who knows where it ends.
            if (!isMissing(error) || context.isThere(existing))
                return undefined;
        }
        const parent = (0,external_node_path_.dirname)(existing);
        if (parent === existing)
            return undefined;
        rest = (0,external_node_path_.join)(existing.slice(parent.length).replace(/^[\\/]+/, ""), rest);
        existing = parent;
    }
}
function isMissing(error) {
    return error instanceof Error && "code" in error && error.code === "ENOENT";
}
function isUnder(path, folder) {
    const way = (0,external_node_path_.relative)(folder, path);
    return way === "" || (way !== ".." && !way.startsWith(`..${external_node_path_.sep}`) && !(0,external_node_path_.isAbsolute)(way));
}
/** Whether a glob of the entry matches a real path. Relative ones start at the working directory. */
function globMatches(glob, real, root, anyCase) {
    const options = { dot: true, nocase: anyCase, nonegate: true };
    if ((0,external_node_path_.isAbsolute)(glob))
        return picomatch(glob, options)(real);
    if (!isUnder(real, root))
        return false;
    return picomatch(permission_paths_plain(glob), options)(slashes((0,external_node_path_.relative)(root, real)));
}
/**
 * Whether something below `folder` could match the glob: a search of that folder would then show what the
 * glob keeps away. Errs on the side of yes.
 */
function mayMatchBelow(glob, folder, root) {
    const base = (0,external_node_path_.resolve)(root, picomatch.scan(permission_paths_plain(glob)).base);
    return isUnder(base, folder) || isUnder(folder, base);
}
/** `./src/**` and `src/` as people write them. */
function permission_paths_plain(glob) {
    const short = glob.replace(/^(?:\.\/)+/, "");
    return short.endsWith("/") ? `${short}**` : short;
}
function slashes(path) {
    return external_node_path_.sep === "/" ? path : path.split(external_node_path_.sep).join("/");
}
/**
 * Names of what holds credentials or runs code, as a part of a pattern that ignores case: git's own folder,
 * files of passwords, settings that are not committed (their examples are).
 */
const privateParts = String.raw `\.git|\.git-credentials|[._]netrc|\.env(?!\.(?:example|sample|template|dist|defaults)(?:$|[:-]))(?:\.[^\\/:-]+)?`;
const privatePart = new RegExp(`^(?:${privateParts})$`, "i");
/** Whether any part of the path is one of those names. */
function isPrivate(path) {
    return path.split(/[\\/]/).some((part) => privatePart.test(part));
}

;// CONCATENATED MODULE: ./src/sessions/permission-rules.js
/** `permissions` of an entry in a form that is easy to ask; what is stronger than what; and which tools it needs. Pure. */

function ruleSet(permissions) {
    const rules = inFull(permissions);
    const preset = rules.preset ?? "read-only";
    const shell = split(rules.shell === true ? [] : rules.shell);
    return {
        preset,
        read: split(rules.read),
        write: split(rules.write),
        shell: {
            allow: preset !== "read-only" || rules.shell === true ? true : shell.allow,
            deny: shell.deny,
        },
        url: split(rules.url),
        tools: split(rules.tools),
    };
}
/**
 * What holds for a task: its own permissions replace the entry's; the option (`--permissions`) applies
 * where neither says anything, and is a ceiling where one does. Default: read-only.
 */
function effectivePermissions(entry, task, option) {
    const stated = task ?? entry;
    if (stated === undefined)
        return option ?? "read-only";
    return option === undefined ? stated : ceilPermissions(stated, option);
}
/** What both allow. Every denial stays. */
function ceilPermissions(permissions, ceiling) {
    if (ceiling === "all")
        return permissions;
    const rules = inFull(permissions);
    const rank = { "read-only": 0, workspace: 1, all: 2 };
    const stated = rules.preset ?? "read-only";
    const preset = rank[stated] <= rank[ceiling] ? stated : ceiling;
    const workspace = ceiling === "workspace";
    const lists = {
        // A preset reads the working directory only; so nothing that a pattern adds to it is left.
        read: denials(rules.read),
        write: workspace
            ? [...(rules.write ?? []).filter(isInside), ...denials(rules.write)]
            : denials(rules.write),
        url: denials(rules.url),
        tools: workspace
            ? [
                ...(rules.tools ?? []).filter((name) => workspaceTools.includes(name)),
                ...denials(rules.tools),
            ]
            : denials(rules.tools),
    };
    const shell = workspace ? rules.shell : denials(rules.shell === true ? [] : rules.shell);
    return {
        preset,
        ...Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0)),
        ...(shell === undefined || (shell !== true && shell.length === 0) ? {} : { shell }),
    };
}
/** A write pattern that can't leave the working directory, nor reach git's own files. */
function isInside(glob) {
    return (!glob.startsWith("!") &&
        !(0,external_node_path_.isAbsolute)(glob) &&
        !/(?:^|[\\/{,(])\.\.(?:[\\/},)]|$)|\.git/i.test(glob));
}
function denials(patterns) {
    return (patterns ?? []).filter((pattern) => pattern.startsWith("!"));
}
function inFull(permissions) {
    return typeof permissions === "string" ? { preset: permissions } : permissions;
}
function split(patterns) {
    const list = patterns ?? [];
    return {
        allow: list.filter((pattern) => !pattern.startsWith("!")),
        deny: denials(list).map((pattern) => pattern.slice(1)),
    };
}
/** Model families know the same ability under different names: all of them, the runtime picks. */
const readTools = ["view", "grep", "rg", "glob"];
const writeTools = ["create", "edit", "apply_patch"];
const shellTools = [
    "bash",
    "read_bash",
    "stop_bash",
    "list_bash",
    "powershell",
    "read_powershell",
    "stop_powershell",
    "list_powershell",
];
const workspaceTools = [...readTools, ...writeTools, ...shellTools];
/** For the SDK's `availableTools`. The job tools are always there; sub-agents, `sql` and the web are not, unless named. */
function toolsFor(permissions) {
    const rules = ruleSet(permissions);
    const hidden = new Set(rules.tools.deny);
    if (rules.preset === "all" && hidden.size === 0)
        return ["builtin:*", "mcp:*", "custom:*"];
    const names = new Set(readTools);
    const add = (more) => more.forEach((name) => names.add(name));
    if (rules.preset !== "read-only" || rules.write.allow.length > 0)
        add(writeTools);
    if (rules.shell.allow === true || rules.shell.allow.length > 0)
        add(shellTools);
    if (rules.preset === "all" || rules.url.allow.length > 0)
        add(["web_fetch"]);
    if (rules.preset === "all")
        add(["sql", "task", "read_agent", "list_agents", "write_agent"]);
    add(rules.tools.allow.filter((name) => !name.includes("/")));
    return [
        ...[...names].filter((name) => !hidden.has(name)).map((name) => `builtin:${name}`),
        "custom:*",
    ];
}
/** Whether a session with these permissions has any tool that could start a process. */
function canStartProcesses(permissions) {
    const harmless = new Set([...readTools, ...writeTools].map((name) => `builtin:${name}`));
    return toolsFor(permissions).some((name) => !harmless.has(name) && name !== "custom:*");
}

;// CONCATENATED MODULE: ./src/sessions/permission-urls.js
/** Matches URLs against the patterns of `permissions.url`. Pure. */

/**
 * `*` stands for any characters, before the path for any but a slash: `https://*.example.com/docs/*`.
 * A pattern without a path means every path, one without a scheme means https. A URL that carries a user
 * name matches nothing, nor does one that is neither http nor https.
 */
function urlMatches(url, pattern) {
    let parsed;
    try {
        parsed = new URL(url);
    }
    catch {
        return false;
    }
    if (parsed.username !== "" || parsed.password !== "")
        return false;
    if (parsed.protocol !== "https:" && parsed.protocol !== "http:")
        return false;
    const match = /^(?:([a-z*]+):\/\/)?([^/?#]+)(\/.*)?$/i.exec(pattern.trim());
    if (match === null)
        return false;
    const [, scheme = "https", host = "", path = "/*"] = match;
    return (wildcardMatches(parsed.protocol.slice(0, -1), scheme.toLowerCase()) &&
        wildcardMatches(parsed.host, host.toLowerCase()) &&
        wildcardMatches(`${parsed.pathname}${parsed.search}`, path));
}

;// CONCATENATED MODULE: ./src/sessions/permissions.js





/** Never throws for a request of a kind that it knows; any other kind is denied. */
function decidePermission(permissions, request, context) {
    const rules = ruleSet(permissions);
    if (request.managedApprovalRequired === true) {
        return denied(request.kind, permissions_describe(request), "a policy of the organisation asks for a person's approval");
    }
    switch (request.kind) {
        case "read":
            return decideRead(rules, request, context);
        case "write":
            return decideWrite(rules, request, context);
        case "shell":
            return decideCommand(rules, request.fullCommandText);
        case "url":
            return decideUrl(rules, request.url);
        case "custom-tool":
            return decideTool(rules, request.toolName);
        case "mcp":
            return decideTool(rules, `${request.serverName}/${request.toolName}`);
        default:
            return rules.preset === "all"
                ? { kind: "allowed" }
                : denied(request.kind, permissions_describe(request), "only the preset all allows that");
    }
}
/** One sentence for the model: what it may do, so that it can go on in another way. */
function describePermissions(permissions) {
    const { preset, read, write, shell, url } = ruleSet(permissions);
    const parts = [`read and search files under the working directory${also(read)}`];
    if (preset !== "read-only")
        parts.push(`write files under the working directory${also(write)}`);
    else if (write.allow.length > 0)
        parts.push(`write ${write.allow.join(", ")}`);
    if (shell.allow === true)
        parts.push("run shell commands");
    else if (shell.allow.length > 0) {
        parts.push(`run shell commands that match ${shell.allow.map((p) => `"${p}"`).join(", ")}`);
    }
    if (preset === "all")
        return "Everything is allowed but what is denied by name.";
    if (url.allow.length > 0)
        parts.push(`fetch ${url.allow.join(", ")}`);
    return `You may ${parts.join("; ")}; call the job tools; nothing else.`;
}
function also(globs) {
    return globs.allow.length === 0 ? "" : ` and ${globs.allow.join(", ")}`;
}
function decideRead(rules, request, context) {
    // What these show is one file, or names only. Everything else is taken as a search in all that is below.
    const deep = !/^(?:Read file|Search in file|List directory|Search for files matching pattern in): /.test(request.intention);
    for (const path of [request.path, request.resolvedPath ?? request.path]) {
        const reason = fileReason("read", rules, path, context, deep);
        if (reason !== undefined)
            return denied("read", path, reason);
    }
    return { kind: "allowed" };
}
function decideWrite(rules, request, context) {
    const { fileName, resolvedPath, diff, intention } = request;
    // A patch that moves a file asks only for where it goes; where it comes from is in the diff's head.
    const inDiff = diffPaths(diff);
    if (inDiff.length < 2 && /\b(?:move|rename|copy)\b/i.test(intention)) {
        return denied("write", fileName, "the runtime does not say which file is moved");
    }
    for (const path of [fileName, resolvedPath ?? fileName, ...inDiff]) {
        const reason = fileReason("write", rules, path, context, false);
        if (reason !== undefined)
            return denied("write", path, reason);
    }
    return { kind: "allowed" };
}
function diffPaths(diff) {
    const [head = ""] = diff.split(/^@@/m);
    const paths = [];
    for (const [, path = ""] of head.matchAll(/^(?:--- a|\+\+\+ b)(.+)$/gm)) {
        if (path !== "/dev/null")
            paths.push(path);
    }
    return paths;
}
/** Why a file may not be read or written; undefined when it may. */
function fileReason(operation, rules, path, context, deep) {
    const root = realLocation(context.workingDirectory, context);
    const reals = typeof path === "string" ? realLocations(path, context) : undefined;
    if (root === undefined || reals === undefined) {
        return "where this path leads can't be said for sure";
    }
    for (const real of reals) {
        const reason = placeReason(operation, rules, real, root, deep);
        if (reason === undefined)
            continue;
        return real === path || reason !== outside ? reason : `it leads to ${real}, ${outside}`;
    }
    return undefined;
}
const outside = "outside the working directory";
function placeReason(operation, rules, real, root, deep) {
    const { allow, deny } = rules[operation];
    const denial = deny.find((glob) => globMatches(glob, real, root, true) || (deep && mayMatchBelow(glob, real, root)));
    if (denial !== undefined) {
        return `it is, or holds, what permissions.${operation} denies with "!${denial}"`;
    }
    if (rules.preset === "all")
        return undefined;
    const secret = isPrivate(isUnder(real, root) ? real.slice(root.length) : real);
    const named = allow.filter((glob) => !secret || isPrivate(glob));
    if (named.some((glob) => globMatches(glob, real, root, false)))
        return undefined;
    if (secret) {
        return "files like this hold credentials or run code; only a pattern that names them allows it";
    }
    if (operation === "write" && rules.preset === "read-only") {
        return allow.length === 0
            ? "the permissions are read-only"
            : "it matches no pattern of permissions.write";
    }
    return isUnder(real, root) ? undefined : outside;
}
function decideCommand(rules, line) {
    const { allow, deny } = rules.shell;
    if (allow !== true && allow.length === 0) {
        return denied("shell", line, "the permissions allow no shell commands");
    }
    const verdict = decideShell(line, allow, deny);
    return verdict.allowed ? { kind: "allowed" } : denied("shell", line, verdict.reason);
}
function decideUrl(rules, url) {
    const denial = rules.url.deny.find((pattern) => urlMatches(url, pattern));
    if (denial !== undefined)
        return denied("url", url, `permissions.url denies "!${denial}"`);
    if (rules.preset === "all" || rules.url.allow.some((pattern) => urlMatches(url, pattern))) {
        return { kind: "allowed" };
    }
    return denied("url", url, "it matches no pattern of permissions.url");
}
function decideTool(rules, name) {
    if (rules.tools.deny.includes(name))
        return denied("tool", name, `permissions.tools denies it`);
    if (rules.preset === "all" || rules.tools.allow.includes(name))
        return { kind: "allowed" };
    return denied("tool", name, "permissions.tools does not name it");
}
function denied(operation, target, reason) {
    return { kind: "denied", operation, target, reason };
}
function permissions_describe(request) {
    for (const key of ["path", "fileName", "fullCommandText", "url", "toolName", "name"]) {
        const value = Reflect.get(request, key);
        if (typeof value === "string")
            return value;
    }
    return request.kind;
}

// EXTERNAL MODULE: external "node:child_process"
var external_node_child_process_ = __webpack_require__(1421);
;// CONCATENATED MODULE: ./src/platform/processes.js
/**
 * Looking at and ending processes. Nothing is ever ended by name: only a pid that we started, or one
 * whose environment carries a mark that we gave it.
 */


function isRunning(pid) {
    try {
        process.kill(pid, 0);
        return true;
    }
    catch (error) {
        return error instanceof Error && "code" in error && error.code === "EPERM";
    }
}
/** Sends a signal; a process that is already gone, or is not ours, is no error. */
function sendSignal(pid, signal) {
    try {
        process.kill(pid, signal);
    }
    catch {
        // Gone, or not ours to end.
    }
}
/**
 * The pids of all processes, but our own, whose environment holds exactly `name=value`. Exact on Linux,
 * best effort on macOS (what `ps` shows), none elsewhere.
 */
async function processesMarked(name, value) {
    const mark = `${name}=${value}`;
    if (process.platform === "linux")
        return fromProc(mark);
    if (process.platform === "darwin")
        return fromPs(mark);
    return [];
}
/**
 * Ends every process that carries the mark: politely first, then for certain. Looks again after each
 * round, because a process may have forked while we looked. Bounded: about two seconds at worst.
 */
async function processes_endMarkedProcesses(name, value) {
    for (let round = 0; round < 8; round += 1) {
        const pids = await processesMarked(name, value);
        if (pids.length === 0)
            return;
        for (const pid of pids)
            sendSignal(pid, round === 0 ? "SIGTERM" : "SIGKILL");
        await waitUntilGone(pids, round === 0 ? 150 : 250);
    }
}
/**
 * Ends at once, without waiting, every process whose environment holds `name` with one of the values:
 * the last thing that a process does that has no time left. Linux only.
 */
function killMarkedProcesses(name, values) {
    if (process.platform !== "linux" || values.size === 0)
        return;
    for (const pid of (0,external_node_fs_.readdirSync)("/proc")) {
        if (!/^\d+$/.test(pid) || Number(pid) === process.pid)
            continue;
        try {
            const marked = (0,external_node_fs_.readFileSync)(`/proc/${pid}/environ`, "latin1")
                .split("\0")
                .some((entry) => entry.startsWith(`${name}=`) && values.has(entry.slice(name.length + 1)));
            if (marked)
                sendSignal(Number(pid), "SIGKILL");
        }
        catch {
            // Gone, or not ours.
        }
    }
}
/** True when all of them are gone within `milliseconds`. */
async function waitUntilGone(pids, milliseconds) {
    const end = Date.now() + milliseconds;
    for (;;) {
        if (!pids.some((pid) => isRunning(pid)))
            return true;
        if (Date.now() >= end)
            return false;
        await new Promise((resolve) => {
            setTimeout(resolve, 10);
        });
    }
}
async function fromProc(mark) {
    const names = await external_node_fs_.promises.readdir("/proc").catch(() => []);
    const found = await Promise.all(names
        .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
        .map(async (name) => {
        // Unreadable means another user's process, or one that has just ended; a zombie reads as empty.
        const environment = await external_node_fs_.promises.readFile(`/proc/${name}/environ`, "latin1").catch(() => "");
        return environment.split("\0").includes(mark) ? Number(name) : undefined;
    }));
    return found.filter((pid) => pid !== undefined);
}
async function fromPs(mark) {
    const text = await new Promise((resolve) => {
        (0,external_node_child_process_.execFile)("ps", ["-Eaxww", "-o", "pid=,command="], { maxBuffer: 64 * 1024 * 1024, timeout: 2000 }, (_error, stdout) => resolve(stdout));
    });
    return text
        .split("\n")
        .filter((line) => line.split(" ").includes(mark))
        .map((line) => Number.parseInt(line, 10))
        .filter((pid) => Number.isSafeInteger(pid) && pid !== process.pid);
}
/** Runs a program to its end, without a shell: its stdout. Rejects with the tail of its stderr if it fails. */
async function runProgram(command, args, options) {
    return new Promise((resolve, reject) => {
        (0,external_node_child_process_.execFile)(command, args, { ...options, timeout: 30_000 }, (error, stdout, stderr) => {
            if (error === null)
                resolve(stdout);
            else
                reject(new Error(`${command} ${args[0] ?? ""}: ${stderr.trim().slice(-500) || error.message}`));
        });
    });
}

// EXTERNAL MODULE: external "node:events"
var external_node_events_ = __webpack_require__(8474);
;// CONCATENATED MODULE: ./src/sessions/deadline.js
/** Nothing in the runtime has a deadline of its own (its trap 3): every wait for it goes through here. */

/**
 * Calls the listener once when the signal aborts, at once if it has. Returns the way to unsubscribe.
 * One signal may serve a whole job of hundreds of sessions: Node's warning about many listeners is no leak here.
 */
function onAbort(signal, listener) {
    if (signal.aborted) {
        listener();
        return () => undefined;
    }
    (0,external_node_events_.setMaxListeners)(0, signal);
    signal.addEventListener("abort", listener, { once: true });
    return () => signal.removeEventListener("abort", listener);
}
/**
 * Waits for `promise`, at most `milliseconds`: the value in a box, or undefined when the time is over, the
 * signal aborts, or the promise is rejected after that. A rejection in time is passed on.
 */
async function within(promise, milliseconds, clock, signal) {
    const timer = new AbortController();
    const unsubscribe = signal === undefined ? undefined : onAbort(signal, () => timer.abort());
    try {
        return await Promise.race([
            promise.then((value) => ({ value })),
            clock.sleep(milliseconds, timer.signal).then(() => undefined),
        ]);
    }
    finally {
        timer.abort();
        unsubscribe?.();
        // If time was up first, what becomes of it later is nobody's business any more.
        promise.catch(() => undefined);
    }
}
/** A step of an ending: whatever goes wrong, we go on. `late`: it did not answer in time. */
async function deadline_attempt(step, milliseconds, clock) {
    try {
        return (await within(step(), milliseconds, clock)) === undefined ? "late" : "done";
    }
    catch {
        return "failed";
    }
}

;// CONCATENATED MODULE: ./src/sessions/job-tools.js

const descriptions = {
    job_prepare_document: [
        "Hands over a document that you were asked to prepare. It becomes the input of what comes next. If you call it several times, the last document counts.",
        "The whole document, or its absolute path if you were asked for a file.",
    ],
    job_boolean_true: [
        "Reports that the condition you were asked to check HOLDS. Call it exactly once you are sure; if you call both boolean tools, the last call counts.",
        "Why the condition holds.",
    ],
    job_boolean_false: [
        "Reports that the condition you were asked to check does NOT hold. Call it exactly once you are sure; if you call both boolean tools, the last call counts.",
        "Why the condition does not hold.",
    ],
    job_prerequisite_failed: [
        "Reports that the task can't be done at all because something it needs is missing or wrong. The task ends as failed.",
        "What is missing or wrong.",
    ],
};
const parameters = (argument) => ({
    type: "object",
    properties: { argument: { type: "string", description: argument } },
    required: ["argument"],
    additionalProperties: false,
});
function jobTools() {
    return availableTools.map((name) => {
        const [description, argument] = descriptions[name];
        return {
            name,
            description,
            parameters: parameters(argument),
            skipPermission: true,
            defer: "never",
            handler: (given) => answer(name, given),
        };
    });
}
/** The runtime checks no arguments, and hides a thrown text from the model: an error is a result. */
function answer(name, given) {
    const argument = typeof given === "object" && given !== null && "argument" in given ? given.argument : undefined;
    if (typeof argument !== "string") {
        return {
            resultType: "failure",
            textResultForLlm: `${name} takes one parameter named "argument", and it must be a string. Call it again.`,
        };
    }
    return { resultType: "success", textResultForLlm: "Reported." };
}

;// CONCATENATED MODULE: ./src/sessions/permission-handler.js


const realFiles = {
    realpath: external_node_fs_.realpathSync.native,
    isThere: (path) => (0,external_node_fs_.lstatSync)(path, { throwIfNoEntry: false }) !== undefined,
};
function permissionHandler(options) {
    const { permissions, workingDirectory, onActivity, files = realFiles } = options;
    const help = describePermissions(permissions);
    return (request) => {
        const decision = permission_handler_decide(() => decidePermission(permissions, request, { workingDirectory, ...files }));
        if (decision.kind === "allowed")
            return { kind: "approve-once" };
        const { operation, target, reason } = decision;
        try {
            onActivity({ kind: "permission.denied", operation, target, reason });
        }
        catch {
            // A listener's fault must not turn a no into anything else.
        }
        // Without feedback a rejection ends the turn silently (trap 8).
        return { kind: "reject", feedback: `Denied: ${operation} of ${target}: ${reason}. ${help}` };
    };
}
function permission_handler_decide(policy) {
    try {
        return policy();
    }
    catch (error) {
        return {
            kind: "denied",
            operation: "tool",
            target: "this request",
            reason: `it could not be checked (${error instanceof Error ? error.message : String(error)})`,
        };
    }
}

// EXTERNAL MODULE: ../../node_modules/@github/copilot-sdk/dist/index.js + 13 modules
var dist = __webpack_require__(9434);
;// CONCATENATED MODULE: ./src/sessions/broken-pipe.js
/**
 * When the runtime has died and we do not know it yet, a request is written into a broken pipe. The RPC
 * library under the SDK then rejects the request, which we handle, and throws the same error once more
 * where nobody can catch it (`throw` in an async promise executor): Node would end our process for it.
 */
/** Swallows just those errors until the returned function is called. */
function tolerateBrokenPipes() {
    process.on("unhandledRejection", ignoreBrokenPipe);
    return () => process.off("unhandledRejection", ignoreBrokenPipe);
}
function ignoreBrokenPipe(reason) {
    if (isBrokenPipe(reason))
        return;
    // With a listener Node leaves the judgement to it: somebody else's, or as if there were none.
    const others = process.listeners("unhandledRejection").some((one) => one !== ignoreBrokenPipe);
    if (!others)
        throw reason;
}
function isBrokenPipe(reason) {
    if (!(reason instanceof Error) || !("code" in reason))
        return false;
    const { code } = reason;
    const written = "syscall" in reason ? reason.syscall === "write" : true;
    return written && ["EPIPE", "ECONNRESET", "ERR_STREAM_DESTROYED"].includes(String(code));
}

;// CONCATENATED MODULE: ./src/sessions/runtime-process.js
/**
 * One running Copilot runtime: a client of the SDK and the child process under it.
 *
 * Owns: the child, from spawn until it is surely gone, and the folder it writes to. Knows when it died:
 * the SDK does not say so, and no call that is pending then ever settles (traps 2 and 3), so every call
 * to the runtime is raced against its death and a deadline.
 */






const startMs = 15_000;
const stopMs = 5_000;
/** Ctrl-C reaches the runtime as well as us: a death this soon before our own cancel is no crash. */
const graceMs = 250;
const pingEveryMs = 1_000;
const pingMs = 5_000;
/** After a call that was left unanswered for some seconds already. */
const doubtMs = 2_000;
const silent = "The Copilot runtime does not answer any more.";
class RuntimeProcess {
    client;
    outputDirectory;
    /** It has left a step of an ending unanswered: nobody waits for it politely any more. */
    mute = false;
    #temporary;
    #mourners = new Set();
    #dead;
    #loss;
    #stopped = false;
    #ending;
    #asking;
    #child;
    #pid;
    #errors = "";
    #restore = () => { };
    #ended = new AbortController();
    #options;
    constructor(options) {
        this.#options = options;
        this.outputDirectory = (0,external_node_path_.join)(options.directory, "output");
        this.#temporary = (0,external_node_path_.join)(options.directory, "tmp");
        const { authentication } = options;
        const clientOptions = {
            mode: "empty",
            connection: dist/* RuntimeConnection */.$6.forStdio({ path: options.path }),
            env: {
                ...options.environment,
                ...authentication.environment,
                // Detached shells leave their logs there, and agents what they like: it ends with the runtime.
                ...Object.fromEntries(["TMPDIR", "TMP", "TEMP"].map((name) => [name, this.#temporary])),
            },
            baseDirectory: (0,external_node_path_.join)(options.directory, "home"),
            workingDirectory: options.directory,
            logLevel: "error",
            useLoggedInUser: authentication.useLoggedInUser,
            ...(authentication.gitHubToken === undefined
                ? {}
                : { gitHubToken: authentication.gitHubToken }),
            ...(options.requestHandler === undefined
                ? {}
                : { requestHandler: options.requestHandler(() => this.kill()) }),
        };
        this.client = new dist/* CopilotClient */.ue(clientOptions);
    }
    get gone() {
        return this.#stopped || this.#loss !== undefined;
    }
    /** Why it is gone, if it went by itself. */
    get loss() {
        return this.#loss;
    }
    onDeath(listener) {
        if (this.#dead !== undefined)
            listener(this.#dead);
        else
            this.#mourners.add(listener);
        return () => this.#mourners.delete(listener);
    }
    /** Undefined before the start, or if the SDK does not let us see its child. */
    get pid() {
        return this.#pid;
    }
    /** What the runtime wrote to its standard error: the last 4 KB. */
    get errors() {
        return this.#errors;
    }
    /** Rejects with an Error that says why; the process is ended and its folder removed then. */
    async start() {
        this.#restore = tolerateBrokenPipes();
        try {
            await makeDirectory(this.outputDirectory);
            await makeDirectory(this.#temporary);
            const starting = this.client.start();
            this.#watchChild();
            const outcome = await within(Promise.race([
                starting.then(() => "started"),
                new Promise((resolve) => {
                    this.onDeath((reason) => resolve(new Error(reason)));
                }),
            ]), startMs, this.#options.clock);
            if (outcome === undefined) {
                throw new Error(`The Copilot runtime did not start within ${startMs / 1000} s.`);
            }
            if (outcome.value instanceof Error)
                throw outcome.value;
            if (this.#child === undefined)
                void this.#watchByPing();
        }
        catch (error) {
            this.#loss ??= errorMessage(error);
            await this.stop();
            throw new Error(`${errorMessage(error)}${this.#errors === "" ? "" : `\n${this.#errors.trim()}`}`, { cause: error });
        }
    }
    /**
     * It left a call unanswered, or the call failed. If it leaves a ping unanswered too, it is as good as dead, and declared so:
     * else every further session would wait for it in vain. Bounded, never throws.
     */
    doubt() {
        this.#asking ??= this.#ask().finally(() => {
            this.#asking = undefined;
        });
        return this.#asking;
    }
    async #ask() {
        if (this.gone || this.#ending !== undefined)
            return;
        const { clock } = this.#options;
        const { signal } = this.#ended;
        const ping = await within(this.client.ping(), doubtMs, clock, signal).catch(() => "broken");
        // Who ends tells why, a moment after the connection is broken.
        if (ping === "broken")
            await clock.sleep(graceMs, signal);
        if (typeof ping === "object")
            this.mute = false;
        else
            await this.#lost(silent);
    }
    /** Ends the process at once, as a crash would. */
    kill() {
        if (this.#pid !== undefined)
            sendSignal(this.#pid, "SIGKILL");
    }
    /** Ends the process, orderly if it lets us, and removes what it wrote. Bounded, idempotent, never throws. */
    stop() {
        this.#ending ??= this.#stop();
        return this.#ending;
    }
    async #stop() {
        this.#ended.abort();
        const { clock } = this.#options;
        if (this.#loss === undefined && !this.mute) {
            await deadline_attempt(() => this.client.stop(), stopMs, clock);
        }
        // Clears what a failed stop or a dead child left in the client: timers, the connection.
        await deadline_attempt(() => this.client.forceStop(), stopMs, clock);
        if (this.#pid !== undefined && isRunning(this.#pid)) {
            this.kill();
            await waitUntilGone([this.#pid], 2_000);
        }
        this.#stopped = true;
        this.#restore();
        await removeDirectory(this.#options.directory).catch(() => undefined);
    }
    /**
     * The SDK keeps its child to itself, tells nobody when it ends and copies its standard error to ours.
     * The field is private: if it is not there one day, we ask by ping instead, and the copy stays.
     */
    #watchChild() {
        const { childOf = privateChild } = this.#options;
        const child = childOf(this.client);
        if (!isChildProcess(child))
            return;
        this.#child = child;
        this.#pid = child.pid;
        child.stderr?.removeAllListeners("data");
        child.stderr?.on("data", (data) => {
            this.#errors = (this.#errors + data.toString()).slice(-4096);
        });
        const ended = (how) => {
            void this.#lost(`The Copilot runtime ended unexpectedly (${how}).`);
        };
        child.once("exit", (code, signal) => ended(signal ?? `exit code ${code}`));
        child.once("error", (error) => ended(error.message));
    }
    async #watchByPing() {
        const { clock } = this.#options;
        const { signal } = this.#ended;
        while (!signal.aborted && !this.gone) {
            await clock.sleep(pingEveryMs, signal);
            if (signal.aborted)
                return;
            if ((await deadline_attempt(() => this.client.ping(), pingMs, clock)) !== "done") {
                await this.#lost(silent);
            }
        }
    }
    async #lost(reason) {
        if (this.gone || this.#ended.signal.aborted)
            return;
        this.#loss = reason;
        await this.#options.clock.sleep(graceMs, this.#ended.signal);
        if (this.#ending !== undefined)
            return;
        this.#dead = reason;
        for (const mourner of this.#mourners)
            mourner(reason);
        this.#mourners.clear();
    }
}
function privateChild(client) {
    return Reflect.get(client, "cliProcess");
}
function isChildProcess(value) {
    return (typeof value === "object" &&
        value !== null &&
        "pid" in value &&
        typeof value.pid === "number" &&
        "once" in value &&
        typeof value.once === "function");
}
function errorMessage(error) {
    return error instanceof Error ? error.message : String(error);
}

;// CONCATENATED MODULE: ./src/sessions/tool-guard.js


const handlerMs = 60_000;
/** More than a model can make use of; the runtime keeps a result in the conversation. */
const resultCharacters = 200_000;
/** The same tool, whose handler always answers in time, with a text of bounded size. */
function tool_guard_guarded(tool, clock) {
    const { name, handler } = tool;
    if (handler === undefined)
        return tool;
    const guard = async (given, invocation) => {
        try {
            const running = Promise.resolve(handler(given, invocation));
            const answered = await within(running, handlerMs, clock);
            if (answered !== undefined)
                return tool_guard_bounded(answered.value);
            return failure(`${name} did not answer within ${handlerMs / 1000} s.`);
        }
        catch (error) {
            return failure(`${name} failed: ${errorMessage(error)}`);
        }
    };
    return { ...tool, handler: guard };
}
function failure(text) {
    return { resultType: "failure", textResultForLlm: tool_guard_cut(text) };
}
function tool_guard_bounded(result) {
    if (typeof result === "string")
        return tool_guard_cut(result);
    if (!hasText(result))
        return result;
    return { ...result, textResultForLlm: tool_guard_cut(result.textResultForLlm) };
}
function hasText(result) {
    return (typeof result === "object" &&
        result !== null &&
        "textResultForLlm" in result &&
        typeof result.textResultForLlm === "string");
}
function tool_guard_cut(text) {
    if (text.length <= resultCharacters)
        return text;
    return `${text.slice(0, resultCharacters)}\n… cut: ${text.length} characters in all.`;
}

;// CONCATENATED MODULE: ./src/sessions/search-results.js



/** Every place in a line where a path could end whose last or earlier part is private. */
const candidates = new RegExp(String.raw `(?<=^|[\\/])(?:${privateParts})(?=[\\/:-]|$)[^:]*?(?=[:-]|$)`, "gi");
function searchFilter(permissions, context) {
    const mayRead = (path) => decidePermission(permissions, { kind: "read", path, intention: `Read file: ${path}` }, context)
        .kind === "allowed";
    return ({ toolName, toolResult }) => {
        if (toolName !== "grep")
            return undefined;
        const text = toolResult.textResultForLlm;
        const shown = safely(() => withoutPrivateFiles(text, mayRead, context));
        return shown === text
            ? undefined
            : { modifiedResult: { ...toolResult, textResultForLlm: shown } };
    };
}
/** Lines have the form `path`, `path:count`, `path:line:text` or, around a match, `path-line-text`. */
function withoutPrivateFiles(result, mayRead, { workingDirectory, isThere }) {
    const lines = result.split("\n");
    const shown = lines.filter((line) => [...line.matchAll(candidates)].every(({ 0: part, index }) => {
        const path = line.slice(0, index + part.length);
        // Behind a colon it may be what the file says, not where it is.
        const isPath = !path.includes(":") || isThere((0,external_node_path_.resolve)(workingDirectory, path));
        return !isPath || mayRead((0,external_node_path_.resolve)(workingDirectory, path));
    }));
    if (shown.length === lines.length)
        return result;
    return shown.some((line) => line !== "" && line !== "--")
        ? shown.join("\n")
        : "No matches found.";
}
function safely(filter) {
    try {
        return filter();
    }
    catch {
        return "The result of this search could not be checked; search in a smaller folder.";
    }
}

;// CONCATENATED MODULE: ./src/sessions/session-config.js





function session_config_sessionConfig(options) {
    const { provider, permissions, workingDirectory, onActivity } = options;
    return {
        sessionId: options.id,
        clientName: "agent-jobs",
        model: options.modelId,
        streaming: true,
        includeSubAgentStreamingEvents: false,
        workingDirectory,
        tools: [...jobTools(), ...(options.tools ?? [])].map((tool) => tool_guard_guarded(tool, options.clock)),
        availableTools: toolsFor(permissions),
        onPermissionRequest: permissionHandler({ permissions, workingDirectory, onActivity }),
        hooks: { onPostToolUse: searchFilter(permissions, { workingDirectory, ...realFiles }) },
        largeOutput: { outputDirectory: options.outputDirectory },
        infiniteSessions: { enabled: false },
        // Nothing that lies in the checkout may speak to the model or run (trap 10).
        skipCustomInstructions: true,
        enableFileHooks: false,
        enableConfigDiscovery: false,
        enableSkills: false,
        enableSessionStore: false,
        enableSessionTelemetry: false,
        ...(provider === undefined ? {} : { provider: sdkProvider(provider) }),
    };
}
function sdkProvider(provider) {
    const { type, baseUrl, apiKey, wireApi } = provider;
    return {
        type,
        baseUrl,
        ...(apiKey === undefined ? {} : { apiKey }),
        ...(wireApi === undefined ? {} : { wireApi }),
    };
}

;// CONCATENATED MODULE: ./src/sessions/translate.js
class Translator {
    #reasoning;
    #message;
    /** Reasoning and messages that have ended: their late whole text is no news. */
    #ended = new Set();
    /** Open tool calls and the output seen so far. */
    #tools = new Map();
    translate(event) {
        const subAgent = event.agentId !== undefined;
        switch (event.type) {
            case "assistant.usage":
                return [modelUsed(event, subAgent)];
            case "model.call_failure":
                return [modelFailed(event, subAgent)];
            case "assistant.message":
                return subAgent
                    ? [modelReplied(event, true)]
                    : [...this.#wholeMessage(event), modelReplied(event, false)];
            default:
                return subAgent ? [] : this.#root(event);
        }
    }
    /** Ends what is still open: after an abort, a crash, or the end of a turn. */
    close() {
        const activities = this.#closeTexts();
        for (const toolCallId of this.#tools.keys()) {
            activities.push({
                kind: "tool.ended",
                toolCallId,
                succeeded: false,
                error: { message: "The turn ended before the tool did." },
            });
        }
        this.#tools.clear();
        this.#ended.clear();
        return activities;
    }
    #root(event) {
        switch (event.type) {
            case "assistant.turn_start":
                return [...this.#closeTexts(), { kind: "agent.started", turnId: event.data.turnId }];
            case "assistant.turn_end":
                return [...this.#closeTexts(), { kind: "agent.ended", turnId: event.data.turnId }];
            case "assistant.reasoning_delta":
                return this.#reasoningDelta(event.data.reasoningId, event.data.deltaContent);
            case "assistant.reasoning":
                return this.#wholeReasoning(event.data.reasoningId, event.data.content);
            case "assistant.message_start":
                return this.#startMessage(event.data.messageId);
            case "assistant.message_delta":
                return this.#messageDelta(event.data.messageId, event.data.deltaContent);
            case "tool.execution_start":
                return this.#toolStarted(event);
            case "tool.execution_partial_result":
                return this.#toolOutput(event.data.toolCallId, event.data.partialOutput);
            case "tool.execution_complete":
                return this.#toolEnded(event);
            case "session.idle":
                return [...this.close(), { kind: "idle" }];
            default:
                return [];
        }
    }
    #reasoningDelta(reasoningId, text) {
        if (this.#ended.has(reasoningId))
            return [];
        const activities = [];
        if (this.#reasoning?.id !== reasoningId) {
            // A new id while another is open: the runtime asks the model again.
            activities.push(...this.#closeTexts(), { kind: "reasoning.started", reasoningId });
            this.#reasoning = { id: reasoningId, text: "" };
        }
        this.#reasoning.text += text;
        activities.push({ kind: "reasoning.delta", reasoningId, text });
        return activities;
    }
    /** Comes after the message; news only when nothing was streamed. */
    #wholeReasoning(reasoningId, text) {
        if (this.#reasoning?.id === reasoningId)
            return this.#closeReasoning();
        if (this.#ended.has(reasoningId))
            return [];
        this.#ended.add(reasoningId);
        return [
            { kind: "reasoning.started", reasoningId },
            { kind: "reasoning.ended", reasoningId, text },
        ];
    }
    #startMessage(messageId) {
        if (this.#message?.id === messageId || this.#ended.has(messageId))
            return [];
        const activities = this.#closeTexts();
        this.#message = { id: messageId, text: "" };
        activities.push({ kind: "message.started", messageId });
        return activities;
    }
    #messageDelta(messageId, text) {
        if (this.#ended.has(messageId))
            return [];
        const activities = this.#startMessage(messageId);
        if (this.#message !== undefined)
            this.#message.text += text;
        activities.push({ kind: "message.delta", messageId, text });
        return activities;
    }
    #wholeMessage(event) {
        const { messageId, content } = event.data;
        const activities = [];
        if (this.#ended.has(messageId))
            return activities;
        activities.push(...this.#closeReasoning());
        // An answer that is only tool calls has no message to tell of.
        if (content !== "" || this.#message?.id === messageId) {
            activities.push(...this.#startMessage(messageId));
            if (this.#message !== undefined)
                this.#message.text = content;
            activities.push(...this.#closeMessage());
        }
        return activities;
    }
    #toolStarted(event) {
        const { toolCallId, parentToolCallId, toolName } = event.data;
        this.#tools.set(toolCallId, "");
        return [
            ...this.#closeTexts(),
            {
                kind: "tool.started",
                toolCallId,
                ...(parentToolCallId === undefined ? {} : { parentToolCallId }),
                toolName,
                toolArguments: JSON.stringify(event.data.arguments ?? {}),
            },
        ];
    }
    /** The output is cumulative; we tell what is new. */
    #toolOutput(toolCallId, output) {
        const seen = this.#tools.get(toolCallId);
        if (seen === undefined || seen === output)
            return [];
        this.#tools.set(toolCallId, output);
        const text = output.startsWith(seen) ? output.slice(seen.length) : output;
        return [{ kind: "tool.delta", toolCallId, text }];
    }
    #toolEnded(event) {
        const { toolCallId, success, result, error } = event.data;
        if (!this.#tools.delete(toolCallId))
            return [];
        return [
            {
                kind: "tool.ended",
                toolCallId,
                succeeded: success,
                ...(result === undefined
                    ? {}
                    : {
                        result: {
                            content: result.content,
                            ...(result.detailedContent === undefined
                                ? {}
                                : { detailedContent: result.detailedContent }),
                        },
                    }),
                ...(error === undefined
                    ? {}
                    : {
                        error: {
                            message: error.message,
                            ...(error.code === undefined ? {} : { code: error.code }),
                        },
                    }),
            },
        ];
    }
    #closeTexts() {
        return [...this.#closeReasoning(), ...this.#closeMessage()];
    }
    #closeReasoning() {
        const open = this.#reasoning;
        if (open === undefined)
            return [];
        this.#reasoning = undefined;
        this.#ended.add(open.id);
        return [{ kind: "reasoning.ended", reasoningId: open.id, text: open.text }];
    }
    #closeMessage() {
        const open = this.#message;
        if (open === undefined)
            return [];
        this.#message = undefined;
        this.#ended.add(open.id);
        return [{ kind: "message.ended", messageId: open.id, text: open.text }];
    }
}
function modelReplied(event, subAgent) {
    const { content, reasoningText, toolRequests } = event.data;
    return {
        kind: "model.replied",
        text: content,
        ...(reasoningText === undefined ? {} : { reasoning: reasoningText }),
        toolCalls: (toolRequests ?? []).map((call) => ({
            name: call.name,
            arguments: call.arguments ?? {},
        })),
        subAgent,
    };
}
function modelFailed(event, subAgent) {
    const { model, statusCode } = event.data;
    return {
        kind: "model.failed",
        ...(model === undefined ? {} : { modelId: model }),
        ...(statusCode === undefined ? {} : { statusCode }),
        subAgent,
    };
}
function modelUsed(event, subAgent) {
    const { data } = event;
    return {
        kind: "model.used",
        modelId: data.model,
        inputTokens: data.inputTokens ?? 0,
        outputTokens: data.outputTokens ?? 0,
        cacheReadTokens: data.cacheReadTokens ?? 0,
        reasoningTokens: data.reasoningTokens ?? 0,
        cost: data.cost ?? 0,
        durationMs: data.duration ?? 0,
        subAgent,
    };
}

;// CONCATENATED MODULE: ./src/sessions/turn-state.js

class TurnState {
    #calls = [];
    /** Tools and permission requests that are under way, sub-agents included. */
    #open = new Set();
    #text = "";
    #filtered = false;
    #refusal;
    #error;
    #rootQuiet = false;
    #idle;
    /** Takes the events of one turn, from its own `user.message` on. */
    accept(event) {
        this.#follow(event);
        if (event.agentId !== undefined)
            return;
        switch (event.type) {
            case "tool.execution_start":
                this.#calls.push(toolCall(event));
                break;
            case "tool.execution_complete": {
                const call = this.#calls.findLast((one) => one.id === event.data.toolCallId);
                if (call !== undefined)
                    call.succeeded = event.data.success;
                break;
            }
            case "assistant.turn_start":
                this.#rootQuiet = false;
                break;
            case "model.call_failure":
                this.#refusal = event.data.statusCode;
                break;
            case "assistant.usage":
                this.#refusal = undefined;
                this.#filtered = event.data.contentFilterTriggered === true;
                break;
            case "assistant.message":
                // After a content filter the text is the runtime's own, not the model's (its trap 16).
                if (event.data.content !== "" && !this.#filtered)
                    this.#text = event.data.content;
                break;
            case "session.error":
                this.#error ??= sessionError(event);
                break;
            case "assistant.idle":
                this.#rootQuiet = true;
                break;
            case "session.idle":
                this.#idle = { aborted: event.data.aborted === true };
                break;
            default:
                break;
        }
    }
    /** A tool runs or a permission is being decided: silence is no sign of a hanging model. */
    get busy() {
        return this.#open.size > 0;
    }
    /** The conversation has ended its answer, though the session may still wait for background work. */
    get rootQuiet() {
        return this.#rootQuiet;
    }
    /** The session has said that it is done with the turn. */
    get idle() {
        return this.#idle;
    }
    get error() {
        return this.#error;
    }
    /** A content filter has blocked the last answer. */
    get filtered() {
        return this.#filtered;
    }
    /** The status with which the model server refused the last call: what a silence after it is about. */
    get refusal() {
        return this.#refusal;
    }
    get text() {
        return this.#text;
    }
    toolCalls() {
        return this.#calls.map(({ name, argument, succeeded }) => ({
            name,
            ...(argument === undefined ? {} : { argument }),
            succeeded,
        }));
    }
    #follow(event) {
        switch (event.type) {
            case "tool.execution_start":
                this.#open.add(`tool ${event.data.toolCallId}`);
                break;
            case "tool.execution_complete":
                this.#open.delete(`tool ${event.data.toolCallId}`);
                break;
            case "permission.requested":
                this.#open.add(`permission ${event.data.requestId}`);
                break;
            case "permission.completed":
                this.#open.delete(`permission ${event.data.requestId}`);
                break;
            default:
                break;
        }
    }
}
function toolCall(event) {
    const { toolCallId, toolName } = event.data;
    const call = { id: toolCallId, name: toolName, succeeded: false };
    if (!availableTools.includes(toolName))
        return call;
    const { arguments: given } = event.data;
    const argument = typeof given === "object" && given !== null && !Array.isArray(given)
        ? given["argument"]
        : undefined;
    return typeof argument === "string" ? { ...call, argument } : call;
}
function sessionError(event) {
    const { message, errorType, statusCode } = event.data;
    return {
        kind: "session-error",
        // The lines below the first give advice for another product; the detail keeps them.
        message: message.split("\n")[0]?.trim() || "The session reported an error without a message.",
        errorType,
        ...(statusCode === undefined ? {} : { statusCode }),
        detail: JSON.stringify(event.data),
    };
}

;// CONCATENATED MODULE: ./src/sessions/turn.js




const sendMs = 15_000;
/** An abort is asked for, and the session given time to become quiet: together well below 5 s. */
const abortMs = 1_500;
const drainMs = 2_000;
/** From `assistant.idle` to `session.idle` it takes about a millisecond, unless background work runs. */
const settleMs = 750;
const askMs = 2_000;
async function turn_runTurn(session, prompt, options, context) {
    if (options.signal.aborted)
        return { kind: "canceled", toolCalls: [] };
    const turn = new Turn(session, options, context.clock, context.life);
    try {
        return await turn.run(prompt);
    }
    catch (error) {
        return turn.crashed({ kind: "internal", message: errorMessage(error) });
    }
    finally {
        turn.end();
    }
}
class Turn {
    #state = new TurnState();
    #translator = new Translator();
    /** Events seen before we know which message is ours; undefined from then on. */
    #early = [];
    #messageId;
    #begun = false;
    #refused;
    #lastEvent;
    #wake = () => { };
    #unsubscribe;
    #death;
    #session;
    #options;
    #clock;
    #life;
    constructor(session, options, clock, life) {
        this.#session = session;
        this.#options = options;
        this.#clock = clock;
        this.#life = life;
        this.#lastEvent = clock.now();
        this.#unsubscribe = [
            session.on((event) => this.#receive(event)),
            life.onDeath((reason) => {
                this.#death = reason;
                this.#wake();
            }),
            onAbort(options.signal, () => this.#wake()),
        ];
    }
    async run(prompt) {
        const end = this.#clock.now() + this.#options.turnMs;
        const sent = await this.#send(prompt);
        const ending = sent ?? (await this.#wait(end));
        switch (ending.kind) {
            case "idle":
                return this.#judge();
            case "canceled":
                await this.#quieten(true);
                return { kind: "canceled", toolCalls: this.#state.toolCalls() };
            case "crashed":
                // A session that failed by itself becomes quiet by itself; any other has to be stopped.
                await this.#quieten(ending.crash.kind !== "session-error");
                return this.crashed(ending.crash);
        }
    }
    crashed(crash) {
        return { kind: "crashed", toolCalls: this.#state.toolCalls(), crash };
    }
    /** Idempotent. */
    end() {
        for (const unsubscribe of this.#unsubscribe)
            unsubscribe();
        for (const activity of this.#translator.close())
            this.#tell(activity);
    }
    /** Undefined when the message is on its way. */
    async #send(prompt) {
        const sending = this.#session.send({ prompt }).then((messageId) => ({ messageId }), (error) => ({ error }));
        const end = this.#clock.now() + sendMs;
        let result;
        void sending.then((value) => {
            result = value;
            this.#wake();
        });
        for (;;) {
            const interrupted = this.#interruption();
            if (interrupted !== undefined)
                return interrupted;
            if (result !== undefined)
                break;
            const rest = end - this.#clock.now();
            if (rest <= 0) {
                return crash("session-error", `The session did not take the prompt in ${seconds(sendMs)}.`);
            }
            await this.#pause(rest);
        }
        if ("error" in result)
            return crash("session-error", errorMessage(result.error));
        this.#messageId = result.messageId;
        const early = this.#early ?? [];
        this.#early = undefined;
        for (const event of early)
            this.#process(event);
        return undefined;
    }
    async #wait(end) {
        for (;;) {
            const interrupted = this.#interruption();
            if (interrupted !== undefined)
                return interrupted;
            if (this.#state.idle !== undefined)
                return { kind: "idle" };
            const { error, busy, rootQuiet } = this.#state;
            if (error !== undefined)
                return { kind: "crashed", crash: error };
            const now = this.#clock.now();
            if (now >= end)
                return turnDeadline(this.#options.turnMs);
            const silentUntil = this.#lastEvent + this.#options.idleMs;
            if (!busy && now >= silentUntil) {
                if (!rootQuiet)
                    return idleDeadline(this.#options.idleMs, this.#state.refusal);
                // The answer is complete; only something in the background is not.
                await this.#cancelTasks();
                return { kind: "idle" };
            }
            const rest = busy ? end - now : Math.min(end, silentUntil) - now;
            const woken = await this.#pause(rootQuiet ? Math.min(rest, settleMs) : rest);
            if (!woken && this.#state.rootQuiet && (await this.#nothingRuns()))
                return { kind: "idle" };
        }
    }
    /** Our own abort first, always: what it causes is no crash. */
    #interruption() {
        if (this.#options.signal.aborted)
            return { kind: "canceled" };
        return this.#death === undefined ? undefined : crash("runtime-died", this.#death);
    }
    /** Waits until something happens (true) or the time is over (false). */
    async #pause(milliseconds) {
        const timer = new AbortController();
        let woken = false;
        this.#wake = () => {
            woken = true;
            timer.abort();
        };
        await this.#clock.sleep(milliseconds, timer.signal);
        this.#wake = () => { };
        return woken;
    }
    #receive(event) {
        if (this.#early === undefined)
            this.#process(event);
        else
            this.#early.push(event);
    }
    #process(event) {
        if (!this.#begun && !this.#begins(event))
            return;
        this.#lastEvent = this.#clock.now();
        this.#state.accept(event);
        for (const activity of this.#translator.translate(event))
            this.#tell(activity);
        this.#wake();
    }
    /** The turn begins with its own message, or with the error that kept the message from being taken up. */
    #begins(event) {
        if (event.agentId !== undefined)
            return false;
        if (event.type === "user.message")
            this.#begun = event.data.messageId === this.#messageId;
        else if (event.type === "session.error")
            this.#refused = event;
        else if (event.type === "session.idle" && this.#refused !== undefined) {
            this.#begun = true;
            this.#state.accept(this.#refused);
        }
        return this.#begun;
    }
    #tell(activity) {
        try {
            this.#options.onActivity(activity);
        }
        catch {
            // A listener's fault must not cost the turn.
        }
    }
    #judge() {
        const { error, idle, text, filtered } = this.#state;
        const toolCalls = this.#state.toolCalls();
        if (error !== undefined)
            return this.crashed(error);
        if (idle?.aborted === true) {
            return this.crashed({ kind: "aborted", message: "The turn was aborted by someone else." });
        }
        if (text.trim() === "" && toolCalls.length === 0) {
            return this.crashed({
                kind: "empty-answer",
                message: filtered
                    ? "The model's answer was blocked by its content filter."
                    : "The model returned neither text nor a tool call.",
            });
        }
        return { kind: "completed", toolCalls, text };
    }
    /** Waits until the session is done with the turn, a moment at most; nobody waits for a dead one. */
    async #quieten(abort) {
        if (this.#life.gone || this.#messageId === undefined)
            return;
        if (abort && (await deadline_attempt(() => this.#session.abort(), abortMs, this.#clock)) === "late") {
            return;
        }
        const end = this.#clock.now() + drainMs;
        while (this.#state.idle === undefined && !this.#life.gone) {
            const rest = end - this.#clock.now();
            if (rest <= 0)
                return;
            await this.#pause(rest);
        }
    }
    async #nothingRuns() {
        try {
            const answer = await within(this.#session.rpc.tasks.list(), askMs, this.#clock);
            return answer === undefined || !answer.value.tasks.some(({ status }) => status === "running");
        }
        catch {
            return true;
        }
    }
    async #cancelTasks() {
        try {
            const answer = await within(this.#session.rpc.tasks.list(), askMs, this.#clock);
            for (const { id } of answer?.value.tasks ?? []) {
                await deadline_attempt(() => this.#session.rpc.tasks.cancel({ id }), askMs, this.#clock);
            }
        }
        catch {
            // Closing the session ends what is left.
        }
    }
}
function crash(kind, message) {
    return { kind: "crashed", crash: { kind, message } };
}
function turnDeadline(turnMs) {
    return crash("turn-deadline", `The turn took longer than ${seconds(turnMs)} (limits.turnMinutes).`);
}
/** After a refusal the runtime waits in silence to try again: then that is the cause. */
function idleDeadline(idleMs, statusCode) {
    const message = `Nothing came from the model for ${seconds(idleMs)} (limits.idleMinutes).`;
    const status = statusCode === undefined ? {} : { statusCode };
    return { kind: "crashed", crash: { kind: "idle-deadline", message, ...status } };
}
function seconds(milliseconds) {
    return milliseconds >= 120_000
        ? `${Math.round(milliseconds / 6_000) / 10} minutes`
        : `${Math.round(milliseconds / 100) / 10} s`;
}

;// CONCATENATED MODULE: ./src/sessions/callbacks.js








/** Tells an activity to the callback that stands for it. Usage and denials have none. */
function callBack(callback, activity) {
    switch (activity.kind) {
        case "reasoning.started":
            return callback.onStartReasoning(activity.reasoningId);
        case "reasoning.delta":
            return callback.onReasoning(activity.reasoningId, activity.text);
        case "reasoning.ended":
            return callback.onEndReasoning(activity.reasoningId, activity.text);
        case "message.started":
            return callback.onStartMessage(activity.messageId);
        case "message.delta":
            return callback.onMessage(activity.messageId, activity.text);
        case "message.ended":
            return callback.onEndMessage(activity.messageId, activity.text);
        case "tool.started":
            return callback.onStartToolExecution(activity.toolCallId, activity.parentToolCallId, activity.toolName, activity.toolArguments);
        case "tool.delta":
            return callback.onToolExecution(activity.toolCallId, activity.text);
        case "tool.ended":
            return callback.onEndToolExecution(activity.toolCallId, activity.result, activity.error);
        case "agent.started":
            return callback.onAgentStart(activity.turnId);
        case "agent.ended":
            return callback.onAgentEnd(activity.turnId);
        case "idle":
            return callback.onIdle();
        case "model.replied":
        case "model.used":
        case "model.failed":
        case "permission.denied":
            return undefined;
    }
}
const longMs = 24 * 60 * 60_000;
class CallbackSession {
    #options;
    #stopped = new AbortController();
    #stopping;
    constructor(options) {
        this.#options = options;
        const { callback } = options;
        if (callback === undefined)
            return;
        const translator = new Translator();
        const tell = (activities) => {
            for (const activity of activities)
                tellSafely(callback, activity);
        };
        // The callbacks follow the session itself, so they also see what is sent through `rawSection`.
        options.session.on((event) => tell(translator.translate(event)));
        options.life.onDeath(() => tell(translator.close()));
    }
    get rawSection() {
        return this.#options.session;
    }
    get life() {
        return this.#options.life;
    }
    async sendRequest(message, timeout) {
        const { session, clock, life } = this.#options;
        const outcome = await turn_runTurn(session, message, {
            signal: this.#stopped.signal,
            turnMs: timeout ?? longMs,
            idleMs: timeout ?? longMs,
            onActivity: () => { },
        }, { clock, life });
        if (outcome.kind === "crashed") {
            const { crash } = outcome;
            const late = crash.kind === "turn-deadline" || crash.kind === "idle-deadline";
            const message = late && timeout !== undefined
                ? `The session was not done within ${timeout} ms.`
                : crash.message;
            throw new Error(message, { cause: crash });
        }
        if (outcome.kind === "canceled")
            throw new Error("The session was stopped.");
    }
    stop() {
        this.#stopping ??= this.#stop();
        return this.#stopping;
    }
    async #stop() {
        const { session, clock, life, end } = this.#options;
        this.#stopped.abort();
        if (!life.gone)
            await deadline_attempt(() => session.abort(), 1_500, clock);
        await end();
    }
}
function tellSafely(callback, activity) {
    try {
        callBack(callback, activity);
    }
    catch {
        // A listener's fault is not the session's.
    }
}
/**
 * Starts a session with the job tools on any client of the SDK, read-only, and wires up the callbacks.
 * `workingDirectory` defaults to the current one.
 */
async function startSession(client, modelId, callback, workingDirectory = process.cwd()) {
    const id = randomUUID();
    const clock = systemClock;
    const session = await client.createSession(sessionConfig({
        id,
        modelId,
        workingDirectory,
        permissions: "read-only",
        outputDirectory: tmpdir(),
        onActivity: () => { },
        clock,
    }));
    return new CallbackSession({
        session,
        life: foreignLife,
        clock,
        callback,
        end: async () => {
            await attempt(() => session.disconnect(), 2_000, clock);
            await attempt(() => client.deleteSession(id), 2_000, clock);
            await endMarkedProcesses("COPILOT_AGENT_SESSION_ID", id).catch(() => undefined);
        },
    });
}
/** The runtime of somebody else's client: we can't see its process. */
const foreignLife = { gone: false, onDeath: () => () => { } };
/** A session that somebody lends us, as the engine wants it. It is theirs: `close()` leaves it alone. */
function adoptSession(session, options) {
    const life = session instanceof CallbackSession ? session.life : foreignLife;
    return {
        id: session.rawSection.sessionId,
        modelId: options.modelId,
        runTurn(prompt, turn) {
            return runTurn(session.rawSection, prompt, turn, { clock: options.clock, life });
        },
        close: () => Promise.resolve(),
    };
}

;// CONCATENATED MODULE: ./src/platform/run-folder.js
/**
 * A temporary folder that knows whose it is, so that what a killed process left can be told from what a
 * living one uses.
 *
 * Owns the file `owner.json` in it. Invariants: only a folder of our own user, made by a process that is
 * surely dead, is removed; "surely" is said only about processes of this machine and this pid namespace.
 */






/** Every process that a run starts has this in its environment, with the run's mark as its value. */
const RUN_MARK = "AGENT_JOBS_RUN";
const prefix = "agent-jobs-";
const ownerFile = "owner.json";
/** Makes a folder under the system's temporary directory. `purpose` becomes a part of its name. */
async function makeRunFolder(purpose = "", mark = (0,external_node_crypto_.randomUUID)()) {
    const path = await makeTemporaryDirectory(`${prefix}${purpose}`);
    const { pid } = process;
    const owner = { mark, pid, started: startOf(pid), place: here() };
    (0,external_node_fs_.writeFileSync)((0,external_node_path_.join)(path, ownerFile), JSON.stringify(owner));
    return { path, mark };
}
/**
 * Ends the processes and removes the folders of runs whose own process was killed. Never throws; a folder
 * that can't be judged stays. Returns the marks of the runs that had left something.
 */
async function reapDeadRuns() {
    const root = (0,external_node_os_.tmpdir)();
    const names = await external_node_fs_.promises.readdir(root).catch(() => []);
    const reaped = new Set();
    for (const name of names.filter((one) => one.startsWith(prefix))) {
        const path = (0,external_node_path_.join)(root, name);
        const owner = await ownerOf(path).catch(() => undefined);
        if (owner === undefined || !isDead(owner))
            continue;
        await processes_endMarkedProcesses(RUN_MARK, owner.mark).catch(() => undefined);
        await removeDirectory(path).catch(() => undefined);
        reaped.add(owner.mark);
    }
    return [...reaped];
}
async function ownerOf(path) {
    const folder = await external_node_fs_.promises.lstat(path);
    // Anybody may write to the temporary directory: what another user put there proves nothing.
    if (!folder.isDirectory() || folder.uid !== (process.getuid?.() ?? folder.uid))
        return undefined;
    const file = (0,external_node_path_.join)(path, ownerFile);
    if (!(await external_node_fs_.promises.lstat(file)).isFile())
        return undefined;
    const owner = JSON.parse(await external_node_fs_.promises.readFile(file, "utf8"));
    return isOwner(owner) ? owner : undefined;
}
function isOwner(value) {
    return (typeof value === "object" &&
        value !== null &&
        "mark" in value &&
        typeof value.mark === "string" &&
        /^[0-9a-f-]{36}$/.test(value.mark) &&
        "pid" in value &&
        typeof value.pid === "number" &&
        "started" in value &&
        typeof value.started === "string" &&
        "place" in value &&
        typeof value.place === "string");
}
function isDead({ pid, started, place }) {
    if (place !== here())
        return false;
    return !isRunning(pid) || startOf(pid) !== started;
}
/** Empty where the system does not tell; then a pid that lives is taken for the owner. */
function startOf(pid) {
    if (process.platform !== "linux")
        return "";
    try {
        const stat = (0,external_node_fs_.readFileSync)(`/proc/${pid}/stat`, "latin1");
        // The name in the second field may hold blanks and brackets; the start time is field 22.
        return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
    }
    catch {
        return "";
    }
}
function here() {
    if (process.platform !== "linux")
        return (0,external_node_os_.hostname)();
    try {
        const boot = (0,external_node_fs_.readFileSync)("/proc/sys/kernel/random/boot_id", "latin1").trim();
        return `${(0,external_node_os_.hostname)()} ${boot} ${(0,external_node_fs_.readlinkSync)("/proc/self/ns/pid")}`;
    }
    catch {
        return (0,external_node_os_.hostname)();
    }
}

;// CONCATENATED MODULE: ./src/sessions/client.js
/**
 * The one runtime that all sessions share.
 *
 * Invariants: at most one runtime starts at a time, whoever asks; a dead one is replaced once, for
 * everybody who needs it; one that has served its share of sessions is replaced too, and stopped when the
 * last of them has closed (it keeps some memory of every session); `stop()` leaves no process and no file.
 */





/** Measured: a runtime keeps about 0.2 MB of every session that it has ended. */
const sessionsPerRuntime = 250;
class RuntimePool {
    #current;
    /** Every runtime that may still have a process or a file. */
    #running = new Map();
    #root;
    #folder;
    #started = 0;
    /** Why the runtime before the next one is gone. */
    #lastLoss;
    #stopping;
    #options;
    constructor(options) {
        this.#options = options;
    }
    get pids() {
        return [...this.#running.keys()]
            .map((runtime) => runtime.pid)
            .filter((pid) => pid !== undefined);
    }
    /**
     * The running runtime for one more session; started, or started again, if need be. Rejects with an Error
     * for people. Whoever gets a lease has to release it.
     */
    async acquire() {
        for (;;) {
            if (this.#stopping !== undefined)
                throw new Error("The sessions have been stopped.");
            this.#current ??= this.#start();
            const current = this.#current;
            const runtime = await current;
            // Whether it still answers is being asked: nobody new has to wait for one that does not.
            if (runtime.mute)
                await runtime.doubt();
            const served = this.#running.get(runtime);
            if (served?.retired === true)
                continue;
            if (!runtime.gone && served !== undefined)
                return this.#lease(runtime, served);
            // It died while it started or since; whoever sees it first makes way for its successor.
            if (this.#current === current) {
                this.#lastLoss = runtime.loss;
                this.#current = undefined;
            }
        }
    }
    #lease(runtime, served) {
        const lease = {
            runtime,
            release: () => {
                served.open.delete(lease);
                if (served.retired && served.open.size === 0)
                    void this.#bury(runtime);
            },
        };
        served.open.add(lease);
        served.opened += 1;
        if (served.opened >= (this.#options.sessionsPerRuntime ?? sessionsPerRuntime)) {
            served.retired = true;
            this.#current = undefined;
        }
        return lease;
    }
    /** Ends all runtimes by force and removes their files, before it returns. */
    kill() {
        for (const pid of this.pids)
            sendSignal(pid, "SIGKILL");
        if (this.#folder !== undefined)
            removeDirectoryNow(this.#folder);
    }
    /** Ends all runtimes. Bounded, idempotent, never throws. */
    stop() {
        this.#stopping ??= this.#stop();
        return this.#stopping;
    }
    async #start() {
        try {
            this.#root ??= this.#prepare();
            this.#started += 1;
            const { path, mark } = await this.#root;
            const configuration = this.#options.configure();
            const runtime = new RuntimeProcess({
                ...configuration,
                environment: { ...configuration.environment, [RUN_MARK]: mark },
                clock: this.#options.clock,
                directory: (0,external_node_path_.join)(path, `runtime-${this.#started}`),
            });
            this.#running.set(runtime, { opened: 0, open: new Set(), retired: false });
            await runtime.start().catch((error) => {
                this.#running.delete(runtime);
                throw error;
            });
            runtime.onDeath(() => void this.#bury(runtime));
            if (this.#lastLoss !== undefined)
                this.#tellRestarted(this.#lastLoss);
            this.#lastLoss = undefined;
            return runtime;
        }
        catch (error) {
            this.#current = undefined;
            throw error;
        }
    }
    /** A folder of our own, and none of those who can't clean up after themselves any more. */
    async #prepare() {
        const folder = await makeRunFolder("", this.#options.mark);
        this.#folder = folder.path;
        const { length } = await reapDeadRuns();
        if (length > 0)
            this.#options.onLeftovers?.(length);
        return folder;
    }
    async #bury(runtime) {
        await runtime.stop();
        this.#running.delete(runtime);
    }
    #tellRestarted(reason) {
        try {
            this.#options.onRuntimeRestarted?.(reason);
        }
        catch {
            // A listener's fault is not the session's.
        }
    }
    async #stop() {
        await this.#current?.catch(() => undefined);
        await Promise.all([...this.#running.keys()].map((runtime) => runtime.stop()));
        this.#running.clear();
        const root = await this.#root?.catch(() => undefined);
        if (root !== undefined)
            await removeDirectory(root.path).catch(() => undefined);
    }
}

;// CONCATENATED MODULE: ./src/sessions/environment.js
const allowed = new Set([
    // Where things are, and who runs.
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "TMP",
    "TEMP",
    "XDG_RUNTIME_DIR",
    // How text looks.
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "COLUMNS",
    "NO_COLOR",
    // That nobody is watching.
    "CI",
    // How to get out.
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "GH_HOST",
    // Windows can't start a process without these.
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "USERPROFILE",
    "USERNAME",
    "HOMEDRIVE",
    "HOMEPATH",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROCESSOR_ARCHITECTURE",
    "NUMBER_OF_PROCESSORS",
]);
/** The part of `source` on the allow-list, and `extra` on top of it. */
function runtimeEnvironment(source, extra = {}) {
    const result = {};
    for (const [name, value] of Object.entries(source)) {
        if (value !== undefined && isAllowed(name))
            result[name] = withoutPassword(value);
    }
    return { ...result, ...noStartUpFiles, ...extra };
}
/**
 * Otherwise the runtime runs the login shell of the user, and what `~/.profile` and its like export is in
 * the environment of every command: for many people that is where their keys are.
 */
const noStartUpFiles = { COPILOT_DISABLE_LOGIN_SHELL_ENV: "1" };
function isAllowed(name) {
    const upper = name.toUpperCase();
    return allowed.has(upper) || upper.startsWith("LC_");
}
/** A proxy may be given as `http://user:password@host`. Its name and password are no business of a shell. */
function withoutPassword(value) {
    return value.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@\s]*@/i, "$1");
}
/**
 * How a token reaches the runtime (its trap 12, measured): an installation token (`ghs_…`, such as a
 * workflow's own) is refused through the client's option and is honoured in the environment, there only
 * with `useLoggedInUser`. With a provider of one's own no token goes anywhere.
 */
function authentication(options) {
    const { gitHubToken } = options;
    if (options.hasProvider || gitHubToken === undefined || gitHubToken === "") {
        return { environment: {}, useLoggedInUser: false };
    }
    if (gitHubToken.startsWith("ghs_")) {
        return { environment: { COPILOT_GITHUB_TOKEN: gitHubToken }, useLoggedInUser: true };
    }
    return { environment: {}, gitHubToken, useLoggedInUser: false };
}

;// CONCATENATED MODULE: ./src/sessions/request-handler.js
/** Hands every model request of the runtime to a `ModelTransport`. The SDK marks this seam experimental: it stays here. */

class TransportRequestHandler extends dist/* CopilotRequestHandler */.KY {
    #transport;
    #context;
    constructor(transport, context) {
        super();
        this.#transport = transport;
        this.#context = context;
    }
    async sendRequest(request, context) {
        const sessionId = context.sessionId ?? "";
        return this.#transport.send({
            sessionId,
            label: this.#context.label(sessionId),
            // The root conversation has no parent, and its agent id is the session's.
            subAgent: context.parentAgentId !== undefined ||
                (context.agentId !== undefined && context.agentId !== sessionId),
            url: request.url,
            method: request.method,
            headers: Object.fromEntries(request.headers),
            body: await request.text(),
            signal: context.signal,
            killRuntime: this.#context.killRuntime,
        });
    }
    openWebSocket() {
        return Promise.reject(new Error("Model requests over WebSocket are not supported here."));
    }
}
/** Answers nothing and goes nowhere: with a transport of our own the address is never looked up. */
const rehearsalProvider = {
    type: "openai",
    baseUrl: "http://rehearsal.invalid/v1",
    apiKey: "rehearsal",
};

// EXTERNAL MODULE: external "node:module"
var external_node_module_ = __webpack_require__(8995);
// EXTERNAL MODULE: external "node:url"
var external_node_url_ = __webpack_require__(3136);
;// CONCATENATED MODULE: ./src/sessions/runtime.js
/** Finds the native Copilot runtime: an executable that comes in a package of its own for each platform. */




/** The runtime can't be had. The message is for people and says what to do. */
class RuntimeNotFoundError extends Error {
    name = "RuntimeNotFoundError";
}
const waysToFixIt = "Install the dependencies with `npm ci` (the package @github/copilot-sdk brings the runtime of your platform), " +
    "or give its path with `--runtime-path` or in the environment variable COPILOT_CLI_PATH.";
/**
 * The absolute path of the runtime. Looked for in this order: the option, `COPILOT_CLI_PATH`, the platform
 * package next to our own code (also when that code is a bundle), the platform package next to where we run.
 * @throws RuntimeNotFoundError
 */
function findRuntime(options) {
    const named = [
        [options.runtimePath, "The runtime path"],
        [options.environment["COPILOT_CLI_PATH"], "COPILOT_CLI_PATH"],
    ];
    for (const [path, source] of named) {
        if (path !== undefined && path !== "")
            return checked(path, source);
    }
    const platform = platformName();
    const root = packageRoot(`@github/copilot-sdk-${platform}`);
    if (root === undefined) {
        throw new RuntimeNotFoundError(`The Copilot runtime for ${platform} is not installed (package @github/copilot-sdk-${platform}). ${waysToFixIt}`);
    }
    const path = runtimeInPackage(root, platform);
    return checked(path, `The package @github/copilot-sdk-${platform}`);
}
/** The executable in an unpacked platform package, made executable if it has lost the bit. */
function runtimeInPackage(root, platform) {
    const name = platform.startsWith("win32") ? "copilot-runtime.exe" : "copilot-runtime";
    const path = (0,external_node_path_.join)(root, "prebuilds", platform, name);
    makeExecutable(path);
    return path;
}
function checked(path, source) {
    const absolute = (0,external_node_path_.isAbsolute)(path) ? path : (0,external_node_path_.resolve)(path);
    const wrong = runtimeProblem(absolute);
    if (wrong !== undefined) {
        throw new RuntimeNotFoundError(`${source} leads to ${absolute}, ${wrong}. ${waysToFixIt}`);
    }
    return absolute;
}
/** Why an absolute path can't be the runtime; undefined if it can. */
function runtimeProblem(path) {
    const stat = statOf(path);
    if (stat === undefined)
        return "but there is no such file";
    if (stat.isDirectory())
        return "but that is a directory, not the runtime's executable";
    if (stat.size === 0)
        return "but that file is empty";
    if (!isExecutable(path))
        return "but that file is not executable";
    return isForeign(path)
        ? `but that is a program for another platform, not for ${platformName()}`
        : undefined;
}
const elfMachines = { x64: 0x3e, arm64: 0xb7 };
/** Whether the first bytes of a program say that it can't run here. Without them it starts, fails and is tried again. */
function isForeign(path) {
    const head = firstBytes(path, 20);
    const magic = head.toString("latin1", 0, 4);
    if (magic === "\x7fELF") {
        const machine = elfMachines[process.arch];
        const ours = machine === undefined || head.readUInt16LE(18) === machine;
        return process.platform !== "linux" || !ours;
    }
    // 64-bit Mach-O, and one for several processors.
    if (magic === "\xcf\xfa\xed\xfe" || magic === "\xca\xfe\xba\xbe") {
        return process.platform !== "darwin";
    }
    return magic.startsWith("MZ") && process.platform !== "win32";
}
/** Zeros where the file is shorter, or can't be read. */
function firstBytes(path, count) {
    const bytes = Buffer.alloc(count);
    try {
        const fd = (0,external_node_fs_.openSync)(path, "r");
        try {
            (0,external_node_fs_.readSync)(fd, bytes);
        }
        finally {
            (0,external_node_fs_.closeSync)(fd);
        }
    }
    catch {
        // Then its start will say what is wrong.
    }
    return bytes;
}
/** A path through a file, or through a folder that we may not read, leads to no file either. */
function statOf(path) {
    try {
        return (0,external_node_fs_.statSync)(path, { throwIfNoEntry: false });
    }
    catch {
        return undefined;
    }
}
function isExecutable(path) {
    // The SDK starts a script of this ending with node.
    if (path.endsWith(".js"))
        return true;
    try {
        (0,external_node_fs_.accessSync)(path, external_node_fs_.constants.X_OK);
        return true;
    }
    catch {
        return false;
    }
}
/** Some package managers lose the bit. */
function makeExecutable(path) {
    try {
        const { mode } = (0,external_node_fs_.statSync)(path);
        if (process.platform !== "win32" && (mode & 0o111) === 0)
            (0,external_node_fs_.chmodSync)(path, mode | 0o111);
    }
    catch {
        // `checked` says what is wrong.
    }
}
/** `linux-x64`, `linuxmusl-arm64`, `darwin-arm64`, `win32-x64`…: the runtime's own names. */
function platformName() {
    const system = process.platform === "linux" && isMusl() ? "linuxmusl" : process.platform;
    return `${system}-${process.arch}`;
}
function isMusl() {
    const report = process.report.getReport();
    if (typeof report !== "object" || report === null || !("header" in report))
        return false;
    const { header } = report;
    return typeof header === "object" && header !== null && !("glibcVersionRuntime" in header);
}
/**
 * Looks in every `node_modules` above this file (or the bundle that holds it) and above the SDK. Not above
 * the current directory: that may be a checkout of somebody else's, with a program of theirs in it.
 */
function packageRoot(name) {
    const here = import.meta.url;
    const sdk = resolvedFrom(here);
    const starts = sdk === undefined ? [here] : [here, sdk];
    for (const start of starts) {
        for (const base of (0,external_node_module_.createRequire)(start).resolve.paths(name) ?? []) {
            const candidate = (0,external_node_path_.join)(base, ...name.split("/"));
            if ((0,external_node_fs_.existsSync)((0,external_node_path_.join)(candidate, "package.json")))
                return candidate;
        }
    }
    return undefined;
}
/** Where the SDK itself is (with pnpm the platform package is next to it, not next to us). */
function resolvedFrom(start) {
    try {
        return (0,external_node_url_.pathToFileURL)((0,external_node_module_.createRequire)(start).resolve("@github/copilot-sdk")).href;
    }
    catch {
        return undefined;
    }
}

;// CONCATENATED MODULE: ./src/sessions/session.js









const createMs = 15_000;
/** Less than a stopped run waits for a session: it then knows that the runtime has to be ended by force. */
const closeStepMs = 1_500;
class CopilotSessionFactory {
    #options;
    constructor(options) {
        this.#options = options;
    }
    async open(request, signal) {
        const { clock, labels, refusal } = this.#options;
        if (signal.aborted)
            return canceled;
        if (refusal !== undefined)
            return { kind: "crashed", crash: refusal };
        const id = (0,external_node_crypto_.randomUUID)();
        labels.set(id, request.label);
        const opened = await openCopilotSession(this.#options, { ...request, id }, signal);
        if (!("session" in opened)) {
            labels.delete(id);
            return opened;
        }
        const { open } = this.#options;
        open.set(id, opened);
        const closed = () => {
            labels.delete(id);
            open.delete(id);
        };
        return { kind: "opened", session: new JobSession(opened, request.modelId, clock, closed) };
    }
}
const canceled = {
    kind: "crashed",
    crash: { kind: "aborted", message: "Canceled before the session was open." },
};
async function openCopilotSession(context, request, signal) {
    const { clock, pool } = context;
    let lease;
    try {
        const acquiring = pool.acquire();
        const acquired = await untilAborted(acquiring, signal);
        if (acquired === undefined) {
            void acquiring.then((late) => late.release(), () => undefined);
            return canceled;
        }
        lease = acquired;
    }
    catch (error) {
        return startFailed(error);
    }
    const { runtime } = lease;
    const listener = { current: () => { } };
    const config = session_config_sessionConfig({
        ...request,
        clock,
        provider: context.provider,
        tools: context.tools,
        outputDirectory: runtime.outputDirectory,
        onActivity: (activity) => listener.current(activity),
    });
    try {
        const result = await create(lease, config, clock, signal);
        if (result.kind === "created") {
            const startsProcesses = canStartProcesses(request.permissions);
            const { release } = lease;
            return { session: result.session, runtime, release, startsProcesses, listener };
        }
        return result;
    }
    catch (error) {
        lease.release();
        // Into a dead runtime's pipe, perhaps: then the next try must not meet it again.
        await runtime.doubt();
        if (runtime.gone)
            return { kind: "crashed", crash: runtimeDied(runtime, errorMessage(error)) };
        return (await isDirectory(request.workingDirectory))
            ? startFailed(error)
            : startFailed(new GoneError(`The working directory ${request.workingDirectory} is gone.`));
    }
}
/** What a session needs is not there any more. */
class GoneError extends Error {
}
function runtimeDied({ loss }, otherwise) {
    return { kind: "runtime-died", message: loss ?? otherwise };
}
/** Unless the session comes up, or it rejects, it sees to the release of the lease. */
async function create({ runtime, release }, config, clock, signal) {
    const creating = runtime.client.createSession(config);
    let unsubscribe;
    const death = new Promise((resolve) => {
        unsubscribe = runtime.onDeath((reason) => resolve({ reason }));
    });
    try {
        const result = await within(Promise.race([creating, death]), createMs, clock, signal);
        if (result !== undefined && !("reason" in result.value)) {
            if (!signal.aborted)
                return { kind: "created", session: result.value };
        }
        // It may still come up: then it is ended at once.
        void creating.then((session) => endCopilotSession({ session, runtime, release, startsProcesses: false }, clock), release);
        if (signal.aborted)
            return canceled;
        if (result !== undefined && "reason" in result.value) {
            return { kind: "crashed", crash: { kind: "runtime-died", message: result.value.reason } };
        }
        runtime.mute = true;
        void runtime.doubt();
        return startFailed(`The session was not created within ${createMs / 1000} s.`);
    }
    finally {
        unsubscribe?.();
    }
}
/** Ends a session and every process it started. Bounded, never throws. */
async function endCopilotSession(open, clock) {
    const { session, runtime, release } = open;
    const steps = [() => session.disconnect(), () => runtime.client.deleteSession(session.sessionId)];
    for (const step of steps) {
        if (runtime.gone || runtime.mute)
            break;
        if ((await deadline_attempt(step, closeStepMs, clock)) !== "late")
            continue;
        runtime.mute = true;
        void runtime.doubt();
    }
    // Async, detached and nohup shells outlive all of that, and a dead runtime too (trap 13).
    if (open.startsProcesses)
        await processes_endMarkedProcesses("COPILOT_AGENT_SESSION_ID", session.sessionId).catch(() => undefined);
    release();
}
class JobSession {
    id;
    modelId;
    #running;
    #closing;
    #closed = new AbortController();
    #open;
    #clock;
    #onClosed;
    constructor(open, modelId, clock, onClosed) {
        this.#open = open;
        this.id = open.session.sessionId;
        this.modelId = modelId;
        this.#clock = clock;
        this.#onClosed = onClosed;
    }
    async runTurn(prompt, options) {
        if (this.#closing !== undefined || this.#running !== undefined) {
            const message = this.#closing === undefined ? "A turn is running already." : "The session is closed.";
            return { kind: "crashed", toolCalls: [], crash: { kind: "internal", message } };
        }
        const stop = new AbortController();
        const unsubscribe = [options.signal, this.#closed.signal].map((signal) => onAbort(signal, () => stop.abort()));
        const { session, runtime, listener } = this.#open;
        listener.current = options.onActivity;
        this.#running = turn_runTurn(session, prompt, { ...options, signal: stop.signal }, { clock: this.#clock, life: runtime });
        try {
            return await this.#running;
        }
        finally {
            for (const one of unsubscribe)
                one();
            this.#running = undefined;
            listener.current = () => { };
        }
    }
    close() {
        this.#closing ??= this.#close();
        return this.#closing;
    }
    async #close() {
        this.#closed.abort();
        await this.#running;
        await endCopilotSession(this.#open, this.#clock);
        this.#onClosed();
    }
}
/** Undefined when the signal aborts first. */
async function untilAborted(promise, signal) {
    let unsubscribe;
    const aborted = new Promise((resolve) => {
        unsubscribe = onAbort(signal, () => resolve(undefined));
    });
    try {
        return await Promise.race([promise, aborted]);
    }
    finally {
        unsubscribe?.();
        promise.catch(() => undefined);
    }
}
function startFailed(error) {
    const crash = { kind: "start-failed", message: errorMessage(error) };
    return {
        kind: "crashed",
        // No retry finds a runtime or a folder that is not there: who decides about retries can see that.
        crash: error instanceof RuntimeNotFoundError || error instanceof GoneError
            ? { ...crash, errorType: "configuration" }
            : crash,
    };
}

;// CONCATENATED MODULE: ./src/sessions/sessions.js








/** Starts nothing: the runtime comes up with the first session. */
function createSessions(options) {
    const { clock, transport } = options;
    const provider = options.provider ?? (transport === undefined ? undefined : rehearsalProvider);
    const access = authentication({
        gitHubToken: options.gitHubToken,
        hasProvider: provider !== undefined,
    });
    const labels = new Map();
    const open = new Map();
    /** The ids of the sessions of `startSession`. */
    const helpers = new Set();
    const pool = new RuntimePool({
        clock,
        onRuntimeRestarted: options.onRuntimeRestarted,
        onLeftovers: options.onLeftovers,
        mark: options.mark,
        sessionsPerRuntime: options.sessionsPerRuntime,
        configure: () => ({
            path: findRuntime(options),
            environment: runtimeEnvironment(options.environment),
            authentication: access,
            requestHandler: transport === undefined
                ? undefined
                : (killRuntime) => new TransportRequestHandler(transport, {
                    label: (sessionId) => labels.get(sessionId),
                    killRuntime,
                }),
        }),
    });
    const context = { clock, pool, provider, tools: options.tools };
    const refusal = provider === undefined && (options.gitHubToken ?? "") === "" ? noModel : undefined;
    return {
        factory: new CopilotSessionFactory({ ...context, labels, open, refusal }),
        async startSession(request) {
            if (refusal !== undefined)
                throw new Error(refusal.message);
            const id = (0,external_node_crypto_.randomUUID)();
            const opened = await openCopilotSession(context, { ...request, id }, new AbortController().signal);
            if (!("session" in opened))
                throw new Error(opened.crash.message);
            helpers.add(id);
            return new CallbackSession({
                session: opened.session,
                life: opened.runtime,
                clock,
                callback: request.callback,
                async end() {
                    await endCopilotSession(opened, clock);
                    helpers.delete(id);
                    request.onEnded?.();
                },
            });
        },
        find(sessionId) {
            const found = open.get(sessionId);
            return (found &&
                new CallbackSession({
                    session: found.session,
                    life: found.runtime,
                    clock,
                    end: () => endCopilotSession(found, clock),
                }));
        },
        stop: () => pool.stop(),
        kill() {
            pool.kill();
            killMarkedProcesses("COPILOT_AGENT_SESSION_ID", new Set([...labels.keys(), ...helpers]));
        },
        get runtimePids() {
            return pool.pids;
        },
    };
}
/** What a session without any way to a model ends with. */
const noModel = {
    kind: "start-failed",
    errorType: "configuration",
    message: "There is no model to talk to. Give a GitHub token with the permission for Copilot requests " +
        "(COPILOT_GITHUB_TOKEN, GH_TOKEN or GITHUB_TOKEN), or a model server of your own " +
        "(--provider-base-url), or rehearse with a script (--rehearse).",
};

;// CONCATENATED MODULE: ./src/app/usage-error.js
/** What the person who started us can mend: shown without a stack trace, exit code 2. */
class UsageError extends Error {
    constructor(message) {
        super(message);
        this.name = "UsageError";
    }
}

;// CONCATENATED MODULE: ./src/app/access.js



/** Refuses a run that could not reach a model, or has no runtime to reach it with, before it starts. */
function checkAccess({ provider, gitHubToken, runtimePath, environment }, rehearsed) {
    if (!rehearsed && provider === undefined && (gitHubToken ?? "") === "") {
        throw new UsageError(noModel.message);
    }
    try {
        findRuntime({ environment, ...(runtimePath === undefined ? {} : { runtimePath }) });
    }
    catch (error) {
        if (error instanceof RuntimeNotFoundError)
            throw new UsageError(error.message);
        throw error;
    }
}

// EXTERNAL MODULE: ../../node_modules/p-limit/index.js + 1 modules
var p_limit = __webpack_require__(8630);
;// CONCATENATED MODULE: ./src/app/gate.js

/** At most `parallel` turns at once; the others wait in the order in which they came. */
function createGate(parallel) {
    const limit = (0,p_limit/* default */.A)(parallel);
    return {
        run: (turn, signal) => new Promise((resolve, reject) => {
            // Who waits for a slot leaves at once; a turn that has begun ends in its own way.
            const leave = () => resolve(undefined);
            if (signal.aborted) {
                leave();
                return;
            }
            signal.addEventListener("abort", leave, { once: true });
            limit(async () => {
                signal.removeEventListener("abort", leave);
                return signal.aborted ? undefined : turn();
            }).then(resolve, reject);
        }),
    };
}

// EXTERNAL MODULE: ../../node_modules/jsonc-parser/lib/umd/main.js
var main = __webpack_require__(7415);
;// CONCATENATED MODULE: ./src/entry/read-text.js
/**
 * An object whose every key is its own: nothing is inherited, and `__proto__` is a key like any other.
 * (Its prototype is an empty object without prototype: V8 keeps such objects fast, which it doesn't
 * for those that have none at all.)
 */
function read_text_emptyObject() {
    return Object.create(read_text_nothing);
}
const read_text_nothing = Object.freeze(Object.create(null));

;// CONCATENATED MODULE: ./src/entry/document-json.js
/** JSON as RFC 8259 has it: no comments, no trailing commas, and no key twice in an object. */


function readJson(text, limits) {
    const unsafe = scan(text, limits.nesting);
    if (unsafe !== undefined)
        return { kind: "rejected", faults: [unsafe] };
    let value;
    let key = "";
    const open = [];
    const duplicates = [];
    let syntax;
    const put = (item) => {
        const parent = open.at(-1);
        if (parent === undefined)
            value = item;
        else if (Array.isArray(parent))
            parent.push(item);
        else
            parent[key] = item;
    };
    const enter = (container) => {
        put(container);
        open.push(container);
    };
    const leave = () => {
        open.pop();
    };
    (0,main.visit)(text, {
        onObjectBegin: () => enter(read_text_emptyObject()),
        onObjectProperty: (name, offset) => {
            const parent = open.at(-1);
            if (parent !== undefined && name in parent) {
                duplicates.push({ offset, reason: `Duplicate key ${JSON.stringify(name)}.` });
            }
            key = name;
        },
        onObjectEnd: leave,
        onArrayBegin: () => enter([]),
        onArrayEnd: leave,
        onLiteralValue: put,
        onError: (code, offset) => {
            // Whatever follows the first fault in the syntax is a guess.
            syntax ??= syntaxFault(text, (0,main.printParseErrorCode)(code), offset);
        },
    }, { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false });
    if (syntax !== undefined)
        return { kind: "rejected", faults: [syntax] };
    if (duplicates.length > 0)
        return { kind: "rejected", faults: duplicates };
    return { kind: "read", value, offsetOf: jsonOffsets(text) };
}
const noComments = {
    reason: "Comments are not allowed in JSON.",
    hint: "a YAML file (.yml) may have them",
};
/**
 * Finds the bracket that is one too many. A comment ends the scan: it is a fault anyway, and what
 * is in it would be read differently here and by the parser.
 */
function scan(text, limit) {
    let depth = 0;
    for (let at = 0; at < text.length; at++) {
        switch (text.charCodeAt(at)) {
            case 0x22: // a string: on to its end
                for (at++; at < text.length && text.charCodeAt(at) !== 0x22; at++) {
                    const unit = text.charCodeAt(at);
                    if (unit === 0x5c)
                        at++;
                    // No string goes over the end of a line: one that is never closed must not hide the rest.
                    else if (unit === 0x0a || unit === 0x0d)
                        break;
                }
                break;
            case 0x2f:
                if (/[/*]/.test(text.charAt(at + 1)))
                    return { offset: at, ...noComments };
                break;
            case 0x5b:
            case 0x7b:
                depth++;
                if (depth > limit)
                    return { offset: at, reason: `Nested deeper than ${limit} levels.` };
                break;
            case 0x5d:
            case 0x7d:
                depth--;
                break;
            default:
        }
    }
    return undefined;
}
function syntaxFault(text, code, offset) {
    if (text.slice(offset).trim() === "" && code !== "InvalidCommentToken") {
        return { offset, reason: "The file ends in the middle of its JSON.", hint: "is it complete?" };
    }
    const found = JSON.stringify(/^\w+|^[^]/u.exec(text.slice(offset, offset + 20))?.[0] ?? "");
    return { offset, ...document_json_describe(code, found) };
}
function document_json_describe(code, found) {
    switch (code) {
        case "InvalidCommentToken":
            return noComments;
        case "PropertyNameExpected":
            return { reason: `Expected a key in double quotes, found ${found}.` };
        case "ValueExpected":
            return { reason: `Expected a value, found ${found}.` };
        case "ColonExpected":
            return { reason: `Expected ":" after the key, found ${found}.` };
        case "CommaExpected":
            return { reason: `Expected "," or the end of the list or object, found ${found}.` };
        case "CloseBraceExpected":
            return { reason: `Expected "}", found ${found}.` };
        case "CloseBracketExpected":
            return { reason: `Expected "]", found ${found}.` };
        case "EndOfFileExpected":
            return { reason: `Expected the end of the file, found ${found}.` };
        case "InvalidSymbol":
            return { reason: `${found} is not JSON.`, hint: "text is written in double quotes" };
        case "UnexpectedEndOfString":
            return { reason: "A string is not closed on its line.", hint: "a line break in it is \\n" };
        case "InvalidCharacter":
            return { reason: "A string holds a control character.", hint: "a tab in it is \\t" };
        case "InvalidNumberFormat":
        case "UnexpectedEndOfComment":
        case "UnexpectedEndOfNumber":
        case "InvalidUnicode":
        case "InvalidEscapeCharacter":
        case "<unknown ParseErrorCode>":
            return { reason: `Not valid JSON: ${words(code)}, at ${found}.` };
    }
}
/** `InvalidUnicode` → `invalid unicode`. */
function words(name) {
    return name.replace(/(?<!^)[A-Z]/g, " $&").toLowerCase();
}
function jsonOffsets(text) {
    let root;
    const members = new WeakMap();
    const child = (node, key) => {
        if (node.type === "array")
            return typeof key === "number" ? node.children?.[key] : undefined;
        if (node.type !== "object")
            return undefined;
        let known = members.get(node);
        if (known === undefined) {
            known = new Map();
            for (const { children } of node.children ?? []) {
                const [name, item] = children ?? [];
                if (name !== undefined && item !== undefined)
                    known.set(String(name.value), item);
            }
            members.set(node, known);
        }
        return known.get(String(key));
    };
    return (path) => {
        root ??= (0,main.parseTree)(text);
        let node = root;
        for (const key of path) {
            const next = node && child(node, key);
            if (next === undefined)
                break;
            node = next;
        }
        return node?.offset ?? 0;
    };
}

// EXTERNAL MODULE: ../../node_modules/yaml/dist/index.js
var yaml_dist = __webpack_require__(3483);
;// CONCATENATED MODULE: ./src/entry/guards.js
/** Any object that is not a list; its fields are unknown until somebody looks. */
function guards_isRecord(value) {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}
/** `Array.isArray` without its `any`. */
function isList(value) {
    return Array.isArray(value);
}
function isText(value) {
    return typeof value === "string";
}

;// CONCATENATED MODULE: ./src/entry/yaml-value.js
/** Nodes of `yaml` to plain values, with aliases and merge keys resolved and their cost bounded. */



function convertYaml(root, limits) {
    const converter = new Converter(limits);
    const value = converter.convert(root, 0);
    return { value, faults: converter.faults, targets: converter.targets };
}
class Converter {
    faults = [];
    targets = new Map();
    #anchors = new Map();
    #limits;
    /** About the length of the text, had it been written without aliases. */
    #size = 0;
    /** The deepest level reached since somebody last looked. */
    #deepest = 0;
    #stopped = false;
    constructor(limits) {
        this.#limits = limits;
    }
    convert(node, depth) {
        if (this.#stopped)
            return undefined;
        if ((0,yaml_dist/* isAlias */.Vj)(node))
            return this.#alias(node, depth);
        if (!(0,yaml_dist/* isScalar */.jn)(node) && !(0,yaml_dist/* isMap */.jh)(node) && !(0,yaml_dist/* isSeq */.oP)(node))
            return null;
        const anchor = node.anchor;
        if (anchor === undefined)
            return this.#plain(node, depth);
        const anchored = { node };
        this.#anchors.set(anchor, anchored);
        const { size, deepest } = { size: this.#size, deepest: this.#deepest };
        this.#deepest = depth;
        const value = this.#plain(node, depth);
        anchored.done = { value, size: this.#size - size, height: this.#deepest - depth };
        this.#deepest = Math.max(deepest, this.#deepest);
        return value;
    }
    #plain(node, depth) {
        this.#size += 1;
        if ((0,yaml_dist/* isScalar */.jn)(node))
            return this.#scalar(node);
        this.#reach(node, depth + 1);
        if (this.#stopped)
            return undefined;
        if ((0,yaml_dist/* isSeq */.oP)(node))
            return node.items.map((item) => this.convert(item, depth + 1));
        return (0,yaml_dist/* isMap */.jh)(node) ? this.#map(node, depth + 1) : null;
    }
    #scalar(node) {
        const { value } = node;
        this.#size += node.source?.length ?? 0;
        if (value === null || typeof value === "string")
            return value;
        if (typeof value === "number" || typeof value === "boolean")
            return value;
        this.#fault(node, "This value is neither text, a number, true, false nor null.");
        return null;
    }
    #map(map, depth) {
        const object = read_text_emptyObject();
        const merged = [];
        for (const pair of map.items) {
            if (isMergeKey(pair.key)) {
                for (const source of this.#mergeSources(pair.value, depth))
                    merged.push(source);
                continue;
            }
            const key = this.#key(pair.key);
            if (key === undefined) {
                this.#fault(pair.key, "A key must be text.", "put it in quotes");
            }
            else if (key in object) {
                this.#fault(pair.key, `Duplicate key ${JSON.stringify(key)}.`);
            }
            else {
                // An absent value comes as null, in `a:` as in `? a`.
                object[key] = this.convert(pair.value, depth);
            }
        }
        for (const source of merged) {
            for (const [key, value] of Object.entries(source ?? {})) {
                if (!(key in object))
                    object[key] = value;
            }
        }
        return object;
    }
    #mergeSources(node, depth) {
        const value = this.convert(node, depth);
        const sources = Array.isArray(value) ? value : [value];
        const ok = sources.every(guards_isRecord);
        if (ok)
            return sources;
        if (!this.#stopped)
            this.#fault(node, "Only objects can be merged with <<.");
        return [];
    }
    /** Numbers and booleans count as they are written: `404: …` is the key "404". */
    #key(key) {
        const node = (0,yaml_dist/* isAlias */.Vj)(key) ? this.#anchors.get(key.source)?.node : key;
        if (!(0,yaml_dist/* isScalar */.jn)(node))
            return undefined;
        this.#size += node.source?.length ?? 0;
        if (node === key && node.anchor !== undefined) {
            const done = { value: node.value, size: node.source?.length ?? 0, height: 0 };
            this.#anchors.set(node.anchor, { node, done });
        }
        if (typeof node.value === "string")
            return node.value;
        const other = typeof node.value === "number" || typeof node.value === "boolean";
        return other ? node.source : undefined;
    }
    #alias(alias, depth) {
        const anchored = this.#anchors.get(alias.source);
        if (anchored === undefined) {
            this.#fault(alias, `There is no anchor &${alias.source} before this alias.`);
            return null;
        }
        if (anchored.done === undefined) {
            this.#fault(alias, `The anchor &${alias.source} contains itself.`);
            return null;
        }
        const { value, size, height } = anchored.done;
        this.targets.set(alias, anchored.node);
        this.#size += size;
        if (this.#size > this.#limits.bytes) {
            const limit = this.#limits.bytes / 1e6;
            this.#fault(alias, `With its aliases written out the file has more than ${limit} MB.`);
            this.#stopped = true;
        }
        this.#reach(alias, depth + height);
        return value;
    }
    #reach(node, depth) {
        this.#deepest = Math.max(this.#deepest, depth);
        if (depth > this.#limits.nesting && !this.#stopped) {
            this.#fault(node, `Nested deeper than ${this.#limits.nesting} levels.`);
            this.#stopped = true;
        }
    }
    #fault(node, reason, hint) {
        const fault = { offset: offsetOf(node), reason };
        this.faults.push(hint === undefined ? fault : { ...fault, hint });
    }
}
function isMergeKey(key) {
    return (0,yaml_dist/* isScalar */.jn)(key) && key.value === "<<" && key.type === "PLAIN";
}
function offsetOf(node) {
    const range = (0,yaml_dist/* isAlias */.Vj)(node) || (0,yaml_dist/* isScalar */.jn)(node) || (0,yaml_dist/* isMap */.jh)(node) || (0,yaml_dist/* isSeq */.oP)(node) ? node.range : null;
    return range?.[0] ?? 0;
}
/** Positions by path. Fields that came by a merge key are found at the object they were merged into. */
function yamlOffsets(root, targets) {
    const members = new WeakMap();
    const child = (node, key) => {
        const target = (0,yaml_dist/* isAlias */.Vj)(node) ? targets.get(node) : node;
        if ((0,yaml_dist/* isSeq */.oP)(target))
            return typeof key === "number" ? target.items[key] : undefined;
        if (!(0,yaml_dist/* isMap */.jh)(target))
            return undefined;
        let known = members.get(target);
        if (known === undefined) {
            known = new Map();
            for (const pair of target.items) {
                if (!(0,yaml_dist/* isPair */.tO)(pair))
                    continue;
                const keyNode = (0,yaml_dist/* isAlias */.Vj)(pair.key) ? targets.get(pair.key) : pair.key;
                if (!(0,yaml_dist/* isScalar */.jn)(keyNode))
                    continue;
                const text = typeof keyNode.value === "string" ? keyNode.value : keyNode.source;
                // An empty value has no place of its own.
                const place = isEmpty(pair.value) ? pair.key : pair.value;
                if (text !== undefined)
                    known.set(text, place);
            }
            members.set(target, known);
        }
        return known.get(String(key));
    };
    return (path) => {
        let node = root;
        for (const key of path) {
            const next = child(node, key);
            if (next === undefined || next === null)
                break;
            node = next;
        }
        return offsetOf(node);
    };
}
function isEmpty(node) {
    return node === null || ((0,yaml_dist/* isScalar */.jn)(node) && node.value === null && (node.source ?? "") === "");
}

;// CONCATENATED MODULE: ./src/entry/document-yaml.js
/**
 * YAML 1.2 (core schema), one document, plus merge keys (`<<`), which people expect with anchors.
 *
 * The composer of `yaml` recurses, and a text that is nested deeply enough ends the process. Its
 * lexer and its parser of concrete syntax keep explicit stacks, so the text goes through those
 * first, under watch; the composer sees only what has passed.
 */


/**
 * The stack of the concrete syntax holds the document, then one item for each list or object, then
 * the scalar at hand. The converter counts exactly; this bound only has to keep recursion short.
 */
const stackMargin = 10;
function readYaml(text, limits) {
    const tokens = parseConcrete(text, limits);
    if (!Array.isArray(tokens))
        return { kind: "rejected", faults: [tokens] };
    const documents = compose(tokens, text.length);
    const [document, second] = documents;
    if (document === undefined)
        return rejected(0, "The file is empty.");
    // Whatever follows the first fault in the syntax is a guess. Warnings are about tags that stand
    // for types that neither JSON nor an entry has.
    const fault = document.errors[0] ?? document.warnings[0];
    if (fault !== undefined) {
        return rejected(fault.pos[0], `Not valid YAML: ${sentence(fault.message)}`);
    }
    if (second !== undefined) {
        return rejected(second.range[0], "The file holds more than one YAML document.", "remove ---");
    }
    if (document.contents === null)
        return rejected(0, "The file is empty.");
    const converted = convertYaml(document.contents, limits);
    if (converted.faults.length > 0)
        return { kind: "rejected", faults: converted.faults };
    return {
        kind: "read",
        value: converted.value,
        offsetOf: yamlOffsets(document.contents, converted.targets),
    };
}
function rejected(offset, reason, hint) {
    return {
        kind: "rejected",
        faults: [{ offset, reason, ...(hint === undefined ? {} : { hint }) }],
    };
}
function parseConcrete(text, limits) {
    const parser = new yaml_dist/* Parser */.iX();
    const tokens = [];
    for (const lexeme of new yaml_dist/* Lexer */.JG().lex(text)) {
        for (const token of parser.next(lexeme))
            tokens.push(token);
        if (parser.stack.length > limits.nesting + stackMargin) {
            return { offset: parser.offset, reason: tooDeep(limits) };
        }
    }
    for (const token of parser.end())
        tokens.push(token);
    return tokens;
}
function tooDeep(limits) {
    return `Nested deeper than ${limits.nesting} levels.`;
}
function compose(tokens, end) {
    const composer = new yaml_dist/* Composer */.Dk({
        version: "1.2",
        // Named, so that a `%YAML 1.1` directive doesn't turn `no` into false.
        schema: "core",
        // The composer's own check compares every key with every other; the converter has a faster one.
        uniqueKeys: false,
        keepSourceTokens: false,
        logLevel: "silent",
    });
    const documents = [];
    for (const document of composer.compose(tokens, true, end))
        documents.push(document);
    return documents;
}
/** The first line of a message of `yaml`, with a full stop. */
function sentence(message) {
    const line = message.split("\n", 1)[0] ?? "";
    return /[.!?]$/.test(line) ? line : `${line}.`;
}

;// CONCATENATED MODULE: ./src/entry/text-position.js
/** Offsets to lines and columns, by binary search; built on first use. */
function textPositions(text) {
    let starts;
    return (offset) => {
        starts ??= lineStarts(text);
        let low = 0;
        let high = starts.length - 1;
        while (low < high) {
            const middle = (low + high + 1) >> 1;
            if ((starts[middle] ?? 0) <= offset)
                low = middle;
            else
                high = middle - 1;
        }
        return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
    };
}
function lineStarts(text) {
    const starts = [0];
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1))
        starts.push(at + 1);
    return starts;
}

;// CONCATENATED MODULE: ./src/entry/document.js



const documentLimits = {
    /** 10 MB, in UTF-8; also the limit of a YAML document with all its aliases written out. */
    bytes: 10_000_000,
    /** Lists and objects inside one another. */
    nesting: 100,
};
/** The format that a file name stands for; undefined for every other name. */
function formatOfFile(fileName) {
    const extension = /\.([^./\\]+)$/.exec(fileName)?.[1]?.toLowerCase();
    if (extension === "json")
        return "json";
    return extension === "yml" || extension === "yaml" ? "yaml" : undefined;
}
function readDocument(source, options) {
    const { file, format } = options;
    const rejected = (reason, hint, position) => ({
        kind: "rejected",
        diagnostics: [
            {
                ...(file === undefined ? {} : { file }),
                ...position,
                codePath: "",
                reason,
                ...(hint === undefined ? {} : { hint }),
            },
        ],
    });
    const bytes = typeof source === "string" ? utf8Length(source) : source.length;
    if (bytes > documentLimits.bytes) {
        const size = (bytes / 1e6).toFixed(1);
        return rejected(`The file has ${size} MB; at most ${documentLimits.bytes / 1e6} MB are read.`);
    }
    const text = typeof source === "string" ? source.replace(/^\uFEFF/, "") : decode(source);
    if (text === undefined) {
        return rejected("The file is not text in UTF-8.", "save it as UTF-8");
    }
    if (text.includes("\0"))
        return rejected("The file is binary, not text.");
    if (text.trim() === "")
        return rejected("The file is empty.");
    const read = format === "json" ? readJson(text, documentLimits) : readYaml(text, documentLimits);
    const positionOf = textPositions(text);
    switch (read.kind) {
        case "read":
            return {
                kind: "read",
                value: read.value,
                locate: (path) => positionOf(read.offsetOf(path)),
            };
        case "rejected":
            return {
                kind: "rejected",
                diagnostics: read.faults.map(({ offset, reason, hint }) => ({
                    ...(file === undefined ? {} : { file }),
                    ...positionOf(Math.min(offset, text.length)),
                    codePath: "",
                    reason,
                    ...(hint === undefined ? {} : { hint }),
                })),
            };
    }
}
/** Without the byte order mark; undefined for what is not UTF-8. */
function decode(bytes) {
    try {
        return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    }
    catch {
        return undefined;
    }
}
function utf8Length(text) {
    // A UTF-16 unit takes one to three bytes: most texts need no counting.
    if (text.length > documentLimits.bytes || text.length * 3 <= documentLimits.bytes) {
        return text.length;
    }
    return new TextEncoder().encode(text).length;
}

// EXTERNAL MODULE: ../../node_modules/ajv/dist/2020.js
var _2020 = __webpack_require__(3774);
;// CONCATENATED MODULE: ./src/entry/code-path.js
/**
 * Paths as JavaScript expressions, the form of the seed: fields that a schema names are dotted, keys
 * that an author chose are bracketed: `entry.tasks["a"].model`, `entry.grid[0].jobs[1].jobName`.
 */

function codePathOf(schema, root, path) {
    let expression = root;
    let current = alternatives(schema, [schema]);
    for (const key of path) {
        if (typeof key === "number") {
            expression += `[${key}]`;
            current = alternatives(schema, current.flatMap((one) => items(one, key)));
            continue;
        }
        const named = current.flatMap((one) => own(one["properties"], key));
        const chosen = current.flatMap((one) => objects(one["additionalProperties"]));
        const dotted = (named.length > 0 || chosen.length === 0) && /^[A-Za-z_$][\w$]*$/.test(key);
        expression += dotted ? `.${key}` : `[${JSON.stringify(key)}]`;
        current = alternatives(schema, named.length > 0 ? named : chosen);
    }
    return expression;
}
/** The schemas and all that they refer to or choose from, each once. */
function alternatives(root, schemas) {
    const found = new Set();
    const queue = schemas.flatMap(objects);
    for (let schema = queue.pop(); schema !== undefined; schema = queue.pop()) {
        if (found.has(schema))
            continue;
        found.add(schema);
        const reference = schema["$ref"];
        if (typeof reference === "string")
            queue.push(...objects(resolve(root, reference)));
        for (const keyword of ["allOf", "anyOf", "oneOf"]) {
            const branches = schema[keyword];
            if (Array.isArray(branches))
                queue.push(...branches.flatMap(objects));
        }
        for (const keyword of ["then", "else"])
            queue.push(...objects(schema[keyword]));
    }
    return [...found];
}
/** A reference inside the document, such as `#/$defs/work`. */
function resolve(root, reference) {
    let schema = root;
    for (const key of reference.split("/").slice(1))
        [schema] = own(schema, key);
    return schema;
}
function items(schema, index) {
    const tuple = schema["prefixItems"];
    const inTuple = Array.isArray(tuple) ? tuple[index] : undefined;
    return [inTuple ?? schema["items"]];
}
function own(value, key) {
    return objects(value).flatMap((one) => (Object.hasOwn(one, key) ? [one[key]] : []));
}
function objects(value) {
    return guards_isRecord(value) ? [value] : [];
}

;// CONCATENATED MODULE: ./src/entry/problem.js
/** Adds the places; with a document at hand the result is in reading order. */
function toDiagnostics(problems, place = {}) {
    const { file, locate } = place;
    const diagnostics = problems.map(({ path, codePath, reason, hint }) => ({
        ...(file === undefined ? {} : { file }),
        ...locate?.(path),
        codePath,
        reason,
        ...(hint === undefined ? {} : { hint }),
    }));
    return locate === undefined ? diagnostics : diagnostics.sort(byPosition);
}
function byPosition(a, b) {
    return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

;// CONCATENATED MODULE: ./src/entry/suggest.js
/** Words longer than this are not compared: nobody needs a hint for them, and it costs the square. */
const longestWord = 64;
/** The candidate that `word` is most likely a misspelling of, if there is one. */
function suggest(word, candidates) {
    if (word.length > longestWord)
        return undefined;
    const typed = word.toLowerCase();
    let best;
    // One slip in three letters; of a single letter only the case may be wrong.
    let bestDistance = (word.length === 2 ? 1 : Math.floor(word.length / 3)) + 1;
    for (const candidate of candidates) {
        if (candidate.length > longestWord)
            continue;
        if (Math.abs(candidate.length - word.length) >= bestDistance)
            continue;
        const distance = editDistance(typed, candidate.toLowerCase());
        if (distance < bestDistance) {
            best = candidate;
            bestDistance = distance;
        }
    }
    return best;
}
/** The same as a hint, ready to be spread into a problem. */
function suggestion(word, candidates) {
    const best = suggest(word, candidates);
    return best === undefined ? {} : { hint: didYouMean(best) };
}
function didYouMean(candidate) {
    return `did you mean ${JSON.stringify(candidate)}?`;
}
/** Insertions, deletions, replacements, and swaps of neighbours. */
function editDistance(a, b) {
    let beforeLast = [];
    let last = Array.from({ length: b.length + 1 }, (_, column) => column);
    for (let row = 1; row <= a.length; row++) {
        const current = [row];
        for (let column = 1; column <= b.length; column++) {
            const same = a[row - 1] === b[column - 1];
            let distance = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (same ? 0 : 1));
            if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
                distance = Math.min(distance, at(beforeLast, column - 2) + 1);
            }
            current.push(distance);
        }
        beforeLast = last;
        last = current;
    }
    return at(last, b.length);
}
function at(row, column) {
    return row[column] ?? Number.POSITIVE_INFINITY;
}

;// CONCATENATED MODULE: ./src/entry/schema-reason.js



/** One sentence for one error of ajv; `path` is that of the value that ajv names. */
function explain(error, path, root) {
    const params = error.params;
    const schema = error.schema;
    switch (error.keyword) {
        case "required": {
            const name = String(params["missingProperty"]);
            return { path: [...path, name], reason: "This field is required." };
        }
        case "additionalProperties":
        case "unevaluatedProperties": {
            const name = String(params["additionalProperty"] ?? params["unevaluatedProperty"]);
            const known = Object.keys(error.parentSchema?.["properties"] ?? {});
            const meant = suggest(name, known);
            const unknown = { path: [...path, name], reason: `Unknown field ${JSON.stringify(name)}.` };
            if (meant !== undefined)
                return { ...unknown, hint: didYouMean(meant), meant };
            return known.length === 0 ? unknown : { ...unknown, hint: `known are ${known.join(", ")}` };
        }
        case "type":
        case "anyOf":
        case "oneOf": {
            const types = [params["types"] ?? schema].flat().filter(isText);
            if (types.length === 0)
                return { path, reason: "Has none of the possible forms." };
            return { path, reason: `Must be ${either(types)}, not ${schema_reason_describe(error.data)}.` };
        }
        case "enum": {
            const allowed = [schema].flat().map((one) => JSON.stringify(one));
            const typed = error.data;
            return {
                path,
                reason: `Must be ${list(allowed)}, not ${schema_reason_describe(typed)}.`,
                ...(typeof typed === "string" ? suggestion(typed, [schema].flat().filter(isText)) : {}),
            };
        }
        case "const":
            return { path, reason: `Must be ${JSON.stringify(schema)}, not ${schema_reason_describe(error.data)}.` };
        case "discriminator":
            return explainTag(error, path, root);
        case "propertyNames":
            return {
                path: [...path, String(params["propertyName"])],
                reason: `${JSON.stringify(params["propertyName"])} can't be a name here.`,
            };
        case "minimum":
            return { path, reason: `Must be at least ${String(schema)}, not ${schema_reason_describe(error.data)}.` };
        case "exclusiveMinimum":
            return { path, reason: `Must be more than ${String(schema)}, not ${schema_reason_describe(error.data)}.` };
        case "maximum":
            return { path, reason: `Must be at most ${String(schema)}, not ${schema_reason_describe(error.data)}.` };
        case "exclusiveMaximum":
            return { path, reason: `Must be less than ${String(schema)}, not ${schema_reason_describe(error.data)}.` };
        case "minLength":
            return { path, reason: "Must not be empty." };
        case "minItems":
            return { path, reason: `Must have at least ${schema_reason_count(schema, "element")}.` };
        case "maxItems":
            return { path, reason: `Must have at most ${schema_reason_count(schema, "element")}.` };
        case "minProperties":
        case "maxProperties":
            return explainSize(error, path);
        default:
            return { path, reason: `Is not as expected: ${error.message ?? error.keyword}.` };
    }
}
/** A union whose cases are told apart by a constant in a field. */
function explainTag(error, path, root) {
    const params = error.params;
    const tag = String(params["tag"]);
    const value = params["tagValue"];
    if (value === undefined)
        return { path: [...path, tag], reason: "This field is required." };
    const cases = tagValues(error.parentSchema?.["oneOf"], tag, root);
    const expected = cases.length === 0 ? "one of the known cases" : list(cases.map(schema_reason_quote));
    return {
        path: [...path, tag],
        reason: `Must be ${expected}, not ${schema_reason_describe(value)}.`,
        ...(typeof value === "string" ? suggestion(value, cases) : {}),
    };
}
function explainSize(error, path) {
    const known = Object.keys(error.parentSchema?.["properties"] ?? {});
    const { minProperties, maxProperties } = error.parentSchema ?? {};
    if (known.length > 0 && minProperties === 1 && maxProperties === 1) {
        return { path, reason: `Must have exactly one of the fields ${list(known.map(schema_reason_quote))}.` };
    }
    const bound = error.keyword === "minProperties" ? "at least" : "at most";
    return { path, reason: `Must have ${bound} ${schema_reason_count(error.schema, "field")}.` };
}
/** The constants that tell the branches apart. */
function tagValues(branches, tag, root) {
    if (!isList(branches))
        return [];
    return branches.filter(guards_isRecord).flatMap((branch) => {
        const reference = branch["$ref"];
        const target = isText(reference) ? resolve(root, reference) : branch;
        const properties = guards_isRecord(target) ? target["properties"] : undefined;
        const property = guards_isRecord(properties) ? properties[tag] : undefined;
        return guards_isRecord(property) ? [property["const"]].filter(isText) : [];
    });
}
function schema_reason_quote(text) {
    return JSON.stringify(text);
}
/** `a`, `a or b`, `a, b or c`. */
function list(words) {
    const last = words.at(-1) ?? "";
    return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} or ${last}`;
}
/** Types by their names; anything else, such as the constant `true`, by itself. */
function either(types) {
    const names = types.map((type) => typeNames.get(type) ?? type);
    return list([...new Set(names)]);
}
const typeNames = new Map([
    ["string", "text"],
    ["integer", "a whole number"],
    ["number", "a number"],
    ["boolean", "true or false"],
    ["array", "a list"],
    ["object", "an object"],
    ["null", "null"],
]);
function schema_reason_count(number, noun) {
    return number === 1 ? `one ${noun}` : `${String(number)} ${noun}s`;
}
/** What was found, short enough for a sentence. */
function schema_reason_describe(data) {
    if (typeof data === "string") {
        return data.length > 40 ? "another text" : `the text ${JSON.stringify(data)}`;
    }
    if (Array.isArray(data))
        return "a list";
    if (data === null)
        return "null";
    switch (typeof data) {
        case "number":
        case "boolean":
        case "undefined":
            return String(data);
        case "object":
            return "an object";
        default:
            return `a ${typeof data}`;
    }
}

;// CONCATENATED MODULE: ./src/entry/schema-check.js







/**
 * More faults than this are not explained: a file with so many is not what it was taken for, and a
 * list of a million wrong elements would fill the memory with sentences.
 */
const reportedProblems = 20_000;
/** `root` is the name that expressions begin with. The schema is compiled on first use. */
function compileSchema(schema, root) {
    let compiled;
    let ajv;
    const branches = new Map();
    const getAjv = () => (ajv ??= new _2020.Ajv2020({
        allErrors: true,
        verbose: true,
        strict: true,
        strictRequired: false,
        allowUnionTypes: true,
        discriminator: true,
        ownProperties: true,
        // Schemas are ours, and a test holds them against the meta-schema: to compile that one as well would
        // be half of the time that a start spends here.
        meta: false,
        validateSchema: false,
        // Reported as results, never to the console.
        logger: false,
    }));
    const branch = (one) => {
        const known = branches.get(one);
        if (known !== undefined)
            return known;
        const made = getAjv().compile({ $defs: schema["$defs"], ...one });
        branches.set(one, made);
        return made;
    };
    const validate = () => (compiled ??= getAjv().compile(schema));
    const codePath = (path) => codePathOf(schema, root, path);
    const inspect = (value) => {
        const check = validate();
        if (check(value))
            return { problems: [], complete: true };
        const all = check.errors ?? [];
        const errors = collapseUnions(all.slice(0, reportedProblems), schema, branch);
        const found = errors.map((error) => ({
            keyword: error.keyword,
            codePath: codePath(schema_check_pathOf(value, error.instancePath)),
            explained: explain(error, schema_check_pathOf(value, error.instancePath), schema),
        }));
        const problems = withoutNoise(found).map(({ path, reason, hint, meant }) => ({
            path,
            codePath: codePath(path),
            reason,
            ...(hint === undefined ? {} : { hint }),
            ...(meant === undefined ? {} : { meant: codePath([...path.slice(0, -1), meant]) }),
        }));
        return { problems, complete: all.length <= reportedProblems };
    };
    const problems = (value) => inspect(value).problems;
    return {
        accepts: (value) => validate()(value),
        problems,
        inspect,
        diagnose: (value, place) => toDiagnostics(problems(value), place),
        codePath,
    };
}
function key(codePath, field) {
    return JSON.stringify([codePath, field]);
}
/** A misspelled field is one fault: not also a missing field, or an object of the wrong size. */
function withoutNoise(found) {
    const misspelled = new Set();
    const withUnknown = new Set();
    for (const { keyword, codePath, explained } of found) {
        if (keyword === "additionalProperties")
            withUnknown.add(codePath);
        if (explained.meant !== undefined)
            misspelled.add(key(codePath, explained.meant));
    }
    const seen = new Set();
    return found.flatMap(({ keyword, codePath, explained }) => {
        const place = explained.path.at(-1);
        if (keyword === "required" || keyword === "discriminator") {
            if (misspelled.has(key(codePath, String(place))))
                return [];
        }
        if (/^(min|max)Properties$/.test(keyword) && withUnknown.has(codePath))
            return [];
        const once = key(codePath, `${String(place)} ${explained.reason}`);
        if (seen.has(once))
            return [];
        seen.add(once);
        return [explained];
    });
}
/** A JSON pointer as a path; the value tells an index from a key that is a number. */
function schema_check_pathOf(value, pointer) {
    const path = [];
    let current = value;
    for (const part of pointer.split("/").slice(1)) {
        const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
        if (isList(current)) {
            path.push(Number(key));
            current = current[Number(key)];
        }
        else {
            path.push(key);
            current = guards_isRecord(current) ? current[key] : undefined;
        }
    }
    return path;
}
/**
 * ajv reports a failed `anyOf` or `oneOf` as the errors of every branch, then one for the union. What
 * helps is the errors of the branch that was meant, which is the one whose type fits.
 */
function collapseUnions(errors, root, compile) {
    const kept = [];
    for (const error of errors) {
        // `if` and `propertyNames` only say that something below them failed.
        if (error.keyword === "if" || error.propertyName !== undefined)
            continue;
        if (error.keyword !== "anyOf" && error.keyword !== "oneOf") {
            kept.push(error);
            continue;
        }
        const branches = isList(error.schema) ? error.schema.filter(guards_isRecord) : [];
        const failures = branches.map((branch) => {
            const check = compile(branch);
            check(error.data);
            return {
                types: typesOf(branch, root),
                errors: collapseUnions(check.errors ?? [], root, compile),
            };
        });
        const total = failures.reduce((sum, failure) => sum + failure.errors.length, 0);
        kept.splice(kept.length - total);
        const meant = failures
            .filter(({ types }) => types.length === 0 || types.some((type) => isOfType(error.data, type)))
            .sort((a, b) => a.errors.length - b.errors.length)[0];
        if (meant === undefined || meant.errors.length === 0) {
            kept.push({ ...error, params: { types: failures.flatMap(({ types }) => types) } });
            continue;
        }
        for (const one of meant.errors) {
            kept.push({ ...one, instancePath: error.instancePath + one.instancePath });
        }
    }
    return kept;
}
function typesOf(branch, root) {
    const reference = branch["$ref"];
    const target = isText(reference) ? resolve(root, reference) : branch;
    if (!guards_isRecord(target))
        return [];
    return "const" in target
        ? [JSON.stringify(target["const"])]
        : [target["type"]].flat().filter(isText);
}
function isOfType(data, type) {
    switch (type) {
        case "null":
            return data === null;
        case "array":
            return isList(data);
        case "object":
            return guards_isRecord(data);
        case "integer":
            return Number.isInteger(data);
        case "string":
        case "number":
        case "boolean":
            return typeof data === type;
        default:
            return JSON.stringify(data) === type;
    }
}

;// CONCATENATED MODULE: ./src/entry/schema.js


const schema_text = { type: "string" };
const schema_name = { type: "string", minLength: 1 };
const texts = { type: "array", items: { type: "string" } };
const names = { type: "array", items: { type: "string", minLength: 1 } };
function ref(definition, description) {
    const reference = { $ref: `#/$defs/${definition}` };
    return description === undefined ? reference : { ...reference, description };
}
function object(properties, required, more = {}) {
    return { type: "object", ...more, properties, required, additionalProperties: false };
}
function map(values, more) {
    return { type: "object", ...more, additionalProperties: values };
}
function schema_minutes(of, fallback) {
    const description = `Minutes, fractions allowed: ${of}.`;
    return { type: "number", exclusiveMinimum: 0, default: fallback, description };
}
function amount(of, fallback) {
    const defaults = Number.isFinite(fallback) ? { default: fallback } : {};
    return { type: "integer", minimum: 1, ...defaults, description: of };
}
const schema_prompt = {
    title: "Prompt",
    description: "Text, or lines that are joined with a line break. $name inserts a prompt variable or a runtime variable such as $user-input; $$ is a literal $.",
    type: ["string", "array"],
    items: schema_text,
    minItems: 1,
};
const model = {
    title: "Model",
    description: "A model by its category (a key of models) or by its id.",
    type: "object",
    properties: {
        category: { ...schema_name, description: "A key of models." },
        id: { ...schema_name, description: "The id of a model, as the provider knows it." },
    },
    additionalProperties: false,
    minProperties: 1,
    maxProperties: 1,
    examples: [{ category: "driving" }, { id: "gpt-5" }],
};
const permissionRules = object({
    preset: { enum: permissionPresets, default: "read-only", description: "Where to start from." },
    read: { ...names, description: "Globs of files that may be read; a leading ! denies." },
    write: { ...names, description: "Globs of files that may be written; a leading ! denies." },
    shell: {
        description: "true, or patterns of shell commands such as `git diff *`. Every command of a pipeline or list must match; a leading ! denies.",
        oneOf: [{ const: true }, names],
    },
    url: { ...names, description: "Patterns of addresses that may be fetched; ! denies." },
    tools: { ...names, description: "Names of further tools that may be called; ! denies." },
}, []);
const permissions = {
    title: "Permissions",
    description: "What the agent may do: a preset, or rules that add to one. A rule that denies wins over one that allows.",
    oneOf: [{ type: "string", enum: permissionPresets }, permissionRules],
    default: "read-only",
};
const limits = object({
    jobMinutes: schema_minutes("the whole job, which then fails", defaultLimits.jobMinutes),
    tokens: amount("Tokens of the whole job, input and output.", defaultLimits.tokens),
    taskMinutes: schema_minutes("one run of a task, which then fails", defaultLimits.taskMinutes),
    modelCalls: amount("Model calls of one run of a task.", defaultLimits.modelCalls),
    turnMinutes: schema_minutes("a turn, which then counts as crashed", defaultLimits.turnMinutes),
    idleMinutes: schema_minutes("silence while no tool runs: a crash", defaultLimits.idleMinutes),
    loopIterations: amount("Iterations of one Loop.", defaultLimits.loopIterations),
    parallel: amount("Turns at the same time; more wait.", defaultLimits.parallel),
}, [], { title: "Limits", description: "Bounds of a run. Crossing one is reported with its name." });
const availability = object({
    previousTasks: { ...texts, description: "The task before this one must be in the list." },
    condition: ref("prompt", "Asked first; must mention job_boolean_true or job_boolean_false."),
}, [], { description: "When the task may run; all of it must hold." });
const criteria = object({
    toolExecuted: {
        type: "array",
        items: { enum: availableTools },
        description: "Tools that must have run in the last turn.",
    },
    condition: ref("prompt", "Asked last; must mention job_boolean_true or job_boolean_false."),
    runConditionInSameSession: {
        type: "boolean",
        default: true,
        description: "false asks conditions in sessions of their own, with the driving model.",
    },
    failureAction: object({
        retryTimes: {
            type: "integer",
            minimum: 0,
            description: "How often the task is retried when its criteria don't hold.",
        },
        additionalPrompt: ref("prompt", "Added to the prompt of a retry."),
    }, ["retryTimes"]),
}, ["failureAction"], { description: "When the task has succeeded; all of it must hold." });
const task = object({
    model: ref("model", "Without it, every Ref to this task needs a modelOverride."),
    prompt: ref("prompt", "What the agent is asked to do."),
    requireUserInput: {
        type: "boolean",
        default: false,
        description: "Must be true if, and only if, the prompt uses $user-input.",
    },
    availability,
    criteria,
    permissions: ref("permissions", "Replaces the permissions of the entry."),
}, ["prompt"], { title: "Task" });
function schema_workOf(kind, description, properties, required) {
    return object({ kind: { const: kind }, ...properties }, ["kind", ...required], {
        title: kind,
        description,
    });
}
function condition(description) {
    const prefixItems = [{ type: "boolean" }, ref("work")];
    return { type: "array", description, prefixItems, minItems: 2, maxItems: 2 };
}
const works = { type: "array", items: ref("work"), minItems: 1 };
const work = {
    title: "Work",
    type: "object",
    required: ["kind"],
    discriminator: { propertyName: "kind" },
    oneOf: [
        schema_workOf("Ref", "Runs a task.", {
            taskId: { ...schema_text, description: "A key of tasks." },
            modelOverride: ref("model", "The model to use in place of the task's."),
            workIdInJob: { type: "integer", minimum: 0, description: "Assigned; no need to write it." },
        }, ["taskId"]),
        schema_workOf("Seq", "One after the other; stops at the first that fails.", { works }, ["works"]),
        schema_workOf("Par", "All at once; fails if one of them fails.", { works }, ["works"]),
        schema_workOf("Loop", "Repeats its body while a condition has the outcome that is waited for.", {
            preCondition: condition("[outcome, work]: the body runs while the work has the outcome."),
            body: ref("work"),
            postCondition: condition("[outcome, work]: starts over while the work has the outcome."),
        }, ["body"]),
        schema_workOf("Alt", "Chooses by the outcome of a condition.", { condition: ref("work"), trueWork: ref("work"), falseWork: ref("work") }, ["condition"]),
    ],
};
const job = object({
    requireUserInput: {
        type: "boolean",
        description: "Whether any task of the job requires user input; filled in where it is absent.",
    },
    work: ref("work"),
}, ["work"], { title: "Job" });
const gridRow = object({
    keyword: schema_text,
    jobs: {
        type: "array",
        items: {
            ...object({ name: schema_text, jobName: { ...schema_text, description: "A key of jobs." } }, [
                "name",
                "jobName",
            ]),
            type: ["object", "null"],
        },
    },
}, ["keyword", "jobs"]);
const drivingSessionRetry = object({ modelId: schema_name, retries: { type: "integer", minimum: 0 } }, [
    "modelId",
    "retries",
]);
const entrySchema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "agent-jobs entry",
    ...object({
        $schema: { ...schema_text, description: "For editors; ignored." },
        models: {
            ...map(schema_name, { title: "Models", description: "Categories of models and their ids." }),
            properties: { driving: { ...schema_name, description: "Checks conditions." } },
            required: ["driving"],
            examples: [{ driving: "gpt-5-mini", planning: "gpt-5" }],
        },
        promptVariables: map(ref("prompt"), {
            description: "Texts to be used in prompts as $name; they may use one another.",
        }),
        tasks: map(ref("task"), { description: "Tasks by name." }),
        jobs: map(ref("job"), { description: "Jobs by name." }),
        grid: {
            type: "array",
            items: ref("gridRow"),
            description: "How a page may lay out the jobs: rows of cells, null for an empty one.",
        },
        drivingSessionRetries: {
            type: "array",
            items: ref("drivingSessionRetry"),
            minItems: 1,
            description: "Models to try in turn for a driving session; the first is models.driving.",
        },
        permissions: ref("permissions"),
        limits: ref("limits"),
    }, ["models", "tasks", "jobs"]),
    $defs: {
        prompt: schema_prompt,
        model,
        permissions,
        limits,
        task,
        job,
        work,
        gridRow,
        drivingSessionRetry,
    },
};
const schema_entryCheck = compileSchema(entrySchema, "entry");

;// CONCATENATED MODULE: ./src/entry/check-entry.js





function entryNames(value) {
    const keys = (field) => {
        const map = guards_isRecord(value) ? value[field] : undefined;
        return new Set(guards_isRecord(map) ? Object.keys(map) : []);
    };
    return {
        models: keys("models"),
        promptVariables: keys("promptVariables"),
        tasks: keys("tasks"),
        jobs: keys("jobs"),
    };
}
function checkEntry(entry, names, schemaProblems) {
    return new EntryChecker(entry, names, schemaProblems).check();
}
class EntryChecker {
    #entry;
    #names;
    #problems = [];
    /** Code paths with a problem. */
    #broken;
    #expander;
    /** Looking for a similar name among thousands, for thousands of names, would take minutes. */
    #suggestionsLeft = 100;
    constructor(entry, names, schemaProblems) {
        this.#entry = entry;
        this.#names = names;
        this.#broken = new Set(schemaProblems.flatMap(({ codePath, meant = codePath }) => [codePath, meant]));
        const variables = entry.promptVariables ?? {};
        this.#expander = new prompt_expander_PromptExpander((name) => {
            if (names.promptVariables.has(name))
                return sound(variables[name]) ?? null;
            return this.#isBroken(["promptVariables"]) ? null : undefined;
        });
    }
    check() {
        const { tasks, jobs } = this.#entry;
        this.#checkDrivingRetries();
        for (const [name, task] of Object.entries(tasks ?? {})) {
            if (task !== undefined)
                this.#checkTask(name, task);
        }
        for (const [name, job] of Object.entries(jobs ?? {})) {
            if (job?.work !== undefined)
                this.#checkJob(name, job.work, job.requireUserInput);
        }
        this.#checkGrid();
        return this.#problems;
    }
    #checkDrivingRetries() {
        const first = this.#entry.drivingSessionRetries?.[0]?.modelId;
        const driving = this.#entry.models?.driving;
        if (first === undefined || driving === undefined || first === driving)
            return;
        this.#add(["drivingSessionRetries", 0, "modelId"], `Must equal entry.models.driving, which is ${JSON.stringify(driving)}.`);
    }
    #checkTask(name, task) {
        const at = ["tasks", name];
        this.#checkModel([...at, "model"], task.model);
        task.availability?.previousTasks?.forEach((previous, index) => {
            if (previous !== undefined) {
                this.#checkTaskName([...at, "availability", "previousTasks", index], previous);
            }
        });
        const usesUserInput = this.#checkPrompt([...at, "prompt"], task.prompt);
        this.#checkPrompt([...at, "availability", "condition"], task.availability?.condition, true);
        this.#checkPrompt([...at, "criteria", "condition"], task.criteria?.condition, true);
        this.#checkPrompt([...at, "criteria", "failureAction", "additionalPrompt"], task.criteria?.failureAction?.additionalPrompt);
        this.#checkTaskUserInput(name, task.requireUserInput === true, usesUserInput);
    }
    #checkTaskUserInput(name, required, used) {
        const path = ["tasks", name, "requireUserInput"];
        if (used === undefined || used === required || this.#isBroken(path))
            return;
        this.#add(path, used
            ? "Must be true, because the prompt uses $user-input."
            : "Must not be true, because the prompt doesn't use $user-input.");
    }
    /** Whether the prompt uses `$user-input`; undefined if that can't be said. */
    #checkPrompt(path, prompt, requiresBooleanTool = false) {
        const whole = sound(prompt);
        if (whole === undefined)
            return undefined;
        const { faults, complete, usesUserInput } = this.#expander.expand(whole, requiresBooleanTool);
        for (const { trail, reason, missing } of faults) {
            const codePath = trailPath(schema_entryCheck.codePath(path), trail);
            const variable = trail.at(-1);
            // The text at fault is that of the innermost variable.
            const place = variable === undefined ? path : ["promptVariables", variable];
            const hint = missing === undefined ? {} : this.#suggest(missing, this.#names.promptVariables);
            this.#problems.push({ path: place, codePath, reason, ...hint });
        }
        return complete ? usesUserInput : undefined;
    }
    #checkJob(name, work, required) {
        const at = ["jobs", name];
        const need = this.#checkWork([...at, "work"], work);
        const path = [...at, "requireUserInput"];
        if (required === undefined || need === "unknown")
            return;
        if (need === "none") {
            if (required) {
                this.#add(path, "Must not be true, because no task of the job requires user input.");
            }
        }
        else if (!required) {
            this.#add(path, `Must be true, because task ${need.of} requires user input.`);
        }
    }
    #checkWork(path, work) {
        switch (work?.kind) {
            case undefined:
                return "unknown";
            case "Ref":
                return this.#checkRef(path, work.taskId, work.modelOverride);
            case "Seq":
            case "Par":
                if (work.works === undefined)
                    return "unknown";
                return most(work.works.map((part, index) => this.#checkWork([...path, "works", index], part)));
            case "Loop":
                return most([
                    this.#checkCondition([...path, "preCondition"], work.preCondition),
                    this.#checkWork([...path, "body"], work.body),
                    this.#checkCondition([...path, "postCondition"], work.postCondition),
                ]);
            case "Alt":
                return most([
                    this.#checkWork([...path, "condition"], work.condition),
                    this.#checkBranch([...path, "trueWork"], work.trueWork),
                    this.#checkBranch([...path, "falseWork"], work.falseWork),
                ]);
        }
    }
    #checkCondition(path, condition) {
        if (condition === undefined)
            return this.#isBroken(path) ? "unknown" : "none";
        return this.#checkWork([...path, 1], condition[1]);
    }
    #checkBranch(path, work) {
        if (work === undefined)
            return this.#isBroken(path) ? "unknown" : "none";
        return this.#checkWork(path, work);
    }
    #checkRef(path, taskId, modelOverride) {
        const overridePath = [...path, "modelOverride"];
        this.#checkModel(overridePath, modelOverride);
        if (taskId === undefined || !this.#checkTaskName([...path, "taskId"], taskId))
            return "unknown";
        const task = this.#entry.tasks?.[taskId];
        if (task === undefined)
            return "unknown";
        const quoted = JSON.stringify(taskId);
        const hasModel = task.model !== undefined || this.#isBroken(["tasks", taskId, "model"]);
        if (!hasModel && modelOverride === undefined && !this.#isBroken(overridePath)) {
            this.#add(overridePath, `Must be given, because task ${quoted} has no model.`);
        }
        if (this.#isBroken(["tasks", taskId, "requireUserInput"]))
            return "unknown";
        return task.requireUserInput === true ? { of: quoted } : "none";
    }
    #checkGrid() {
        this.#entry.grid?.forEach((row, rowIndex) => {
            row?.jobs?.forEach((cell, column) => {
                const jobName = cell?.jobName;
                if (jobName === undefined || this.#names.jobs.has(jobName))
                    return;
                if (this.#isBroken(["jobs"]))
                    return;
                const path = ["grid", rowIndex, "jobs", column, "jobName"];
                this.#addMissing(path, "job", jobName, this.#names.jobs);
            });
        });
    }
    #checkModel(path, model) {
        if (model === undefined || !("category" in model))
            return;
        const { category } = model;
        if (category === undefined || this.#names.models.has(category))
            return;
        if (this.#isBroken(["models"]))
            return;
        this.#addMissing([...path, "category"], "model category", category, this.#names.models);
    }
    #checkTaskName(path, name) {
        if (this.#names.tasks.has(name))
            return true;
        if (!this.#isBroken(["tasks"]))
            this.#addMissing(path, "task", name, this.#names.tasks);
        return false;
    }
    #addMissing(path, what, name, known) {
        const reason = `There is no ${what} ${JSON.stringify(name)}.`;
        this.#add(path, reason, this.#suggest(name, known));
    }
    #suggest(name, known) {
        return this.#suggestionsLeft-- > 0 ? suggestion(name, known) : {};
    }
    #add(path, reason, hint = {}) {
        const codePath = schema_entryCheck.codePath(path);
        this.#broken.add(codePath);
        this.#problems.push({ path, codePath, reason, ...hint });
    }
    #isBroken(path) {
        // The common case must not pay for the expression.
        return this.#broken.size > 0 && this.#broken.has(schema_entryCheck.codePath(path));
    }
}
/** A known need for user input wins over an unknown one, which wins over none. */
function most(needs) {
    return needs.find((need) => typeof need === "object") ?? needs.find(isUnknown) ?? "none";
}
function isUnknown(need) {
    return need === "unknown";
}
/** A prompt of which no line has been taken out. */
function sound(prompt) {
    if (prompt === undefined || typeof prompt === "string")
        return prompt;
    const lines = prompt.filter((line) => line !== undefined);
    return lines.length === prompt.length ? lines : undefined;
}

;// CONCATENATED MODULE: ./src/entry/plain.js

const plainLimits = {
    nesting: 100,
    /** Values in the whole of it. */
    values: 1_000_000,
};
class NotPlain extends Error {
    path;
    constructor(path, reason) {
        super(reason);
        this.path = path;
    }
}
function plain_plainCopy(value) {
    const path = [];
    const open = new Set();
    let values = 0;
    const copy = (one) => {
        if (++values > plainLimits.values) {
            throw new NotPlain([], `Has more than ${plainLimits.values} values.`);
        }
        if (typeof one !== "object" || one === null)
            return one;
        if (open.has(one))
            throw new NotPlain([...path], "Contains itself.");
        if (open.size >= plainLimits.nesting) {
            throw new NotPlain([...path], `Nested deeper than ${plainLimits.nesting} levels.`);
        }
        open.add(one);
        const copied = Array.isArray(one) ? copyList(one) : copyObject(one);
        open.delete(one);
        return copied;
    };
    const copyList = (list) => {
        const { length } = list;
        const copied = [];
        for (let index = 0; index < length; index++) {
            path.push(index);
            copied.push(copy(list[index]));
            path.pop();
        }
        return copied;
    };
    const copyObject = (object) => {
        const kind = Object.prototype.toString.call(object).slice("[object ".length, -1);
        if (kind !== "Object")
            throw new NotPlain([...path], `Must be plain data, not a ${kind}.`);
        const copied = emptyObject();
        for (const key of Object.keys(object)) {
            path.push(key);
            const item = copy(Reflect.get(object, key));
            // A field that is undefined is as good as absent.
            if (item !== undefined)
                copied[key] = item;
            path.pop();
        }
        return copied;
    };
    try {
        return { kind: "copied", value: copy(value) };
    }
    catch (error) {
        if (error instanceof NotPlain) {
            return { kind: "rejected", path: error.path, reason: error.message };
        }
        // A getter or a proxy of the caller's.
        const cause = error instanceof Error ? error.message : "unknown error";
        return { kind: "rejected", path: [...path], reason: `Cannot be read: ${cause}.` };
    }
}

;// CONCATENATED MODULE: ./src/entry/salvage.js

/** Takes out, in place, every value that a problem is about; undefined if it is no object at all. */
function salvage(value, problems) {
    for (const { path } of problems)
        remove(value, path);
    return isSalvaged(value) ? value : undefined;
}
function remove(root, path) {
    let parent = root;
    for (const key of path.slice(0, -1)) {
        if (isList(parent))
            parent = parent[Number(key)];
        else
            parent = guards_isRecord(parent) ? parent[key] : undefined;
    }
    const last = path.at(-1);
    if (last === undefined)
        return;
    // An element leaves a hole, so that the others keep their indexes.
    if (isList(parent))
        Reflect.set(parent, last, undefined);
    else if (guards_isRecord(parent))
        Reflect.deleteProperty(parent, last);
}
/** The schema has spoken: this only tells the compiler. */
function isSalvaged(value) {
    return guards_isRecord(value);
}

;// CONCATENATED MODULE: ./src/entry/prepare.js
/** Raw value in, prepared entry or all of its problems out. (Seed: JobsData.md, validateEntry.) */








/**
 * Checks an entry and returns it prepared: prompts expanded, works simplified and numbered, every
 * `requireUserInput` filled in. The input is not changed.
 *
 * @throws {DiagnosticsError} with the first problem as its message, `${codePath}entry.…: REASON`,
 * and all of them as `diagnostics`.
 */
function validateEntry(entry, codePath) {
    const result = prepareEntry(entry, { codePath });
    switch (result.kind) {
        case "prepared":
            return result.entry;
        case "rejected":
            throw new DiagnosticsError(result.diagnostics);
    }
}
/** The same, but with the problems as a value. */
function prepareEntry(value, options = {}) {
    const copy = plainCopy(value);
    if (copy.kind === "copied")
        return preparePlain(copy.value, options);
    const { path, reason } = copy;
    return prepare_rejected([{ path, codePath: entryCheck.codePath(path), reason }], options);
}
/** The same for plain data of the caller's own making, such as a document: it may be changed. */
function preparePlain(data, options) {
    const names = entryNames(data);
    if (schema_entryCheck.accepts(data)) {
        const problems = checkEntry(data, names, []);
        if (problems.length > 0)
            return prepare_rejected(problems, options);
        return { kind: "prepared", entry: build(data) };
    }
    const { problems: schemaProblems, complete } = schema_entryCheck.inspect(data);
    // With faults unreported, what is left would not be sound.
    if (!complete)
        return prepare_rejected(schemaProblems, options);
    const sound = salvage(data, schemaProblems);
    const problems = sound === undefined ? [] : checkEntry(sound, names, schemaProblems);
    return prepare_rejected([...schemaProblems, ...problems], options);
}
function prepare_rejected(problems, options) {
    const { codePath: prefix = "", ...place } = options;
    const named = problems.map((problem) => ({ ...problem, codePath: prefix + problem.codePath }));
    return { kind: "rejected", diagnostics: toDiagnostics(named, place) };
}
/** Only for an entry without problems. */
function build(entry) {
    const expander = new prompt_expander_PromptExpander((name) => entry.promptVariables?.[name]);
    const tasks = mapValues(entry.tasks, (task) => buildTask(task, expander));
    return { ...entry, tasks, jobs: mapValues(entry.jobs, (job) => buildJob(job, tasks)) };
}
function buildTask(task, expander) {
    const expand = (prompt) => [expander.expand(prompt).text];
    const condition = (prompt) => prompt === undefined ? {} : { condition: expand(prompt) };
    const { prompt, requireUserInput = false, availability, criteria, ...rest } = task;
    const { condition: available, ...otherAvailability } = availability ?? {};
    const built = {
        ...rest,
        prompt: expand(prompt),
        requireUserInput,
        ...(availability && { availability: { ...otherAvailability, ...condition(available) } }),
    };
    if (criteria === undefined)
        return built;
    const { condition: done, failureAction, ...otherCriteria } = criteria;
    const { additionalPrompt, ...otherAction } = failureAction;
    const additional = additionalPrompt && { additionalPrompt: expand(additionalPrompt) };
    return {
        ...built,
        criteria: {
            ...otherCriteria,
            ...condition(done),
            failureAction: { ...otherAction, ...additional },
        },
    };
}
function buildJob(job, tasks) {
    const work = assignWorkId(simplifyWork(job.work));
    const requireUserInput = taskWorks(work).some(({ taskId }) => tasks[taskId]?.requireUserInput);
    return { requireUserInput, work };
}
/** The keys are an author's names, so the result has no prototype either. */
function mapValues(map, change) {
    const changed = Object.create(null);
    for (const [key, value] of Object.entries(map))
        changed[key] = change(value);
    return changed;
}

;// CONCATENATED MODULE: ./src/entry/load.js


/** The text of an entry file, prepared, or every problem at its line and column. */
function loadEntry(text, file) {
    const format = formatOfFile(file);
    if (format === undefined) {
        const reason = "The name of an entry file must end in .json, .yml or .yaml.";
        return { kind: "rejected", diagnostics: [{ file, codePath: "", reason }] };
    }
    const document = readDocument(text, { file, format });
    if (document.kind === "rejected")
        return document;
    const { value, locate } = document;
    const prepared = preparePlain(value, { file, locate });
    switch (prepared.kind) {
        case "rejected":
            return prepared;
        case "prepared":
            return {
                kind: "loaded",
                entry: prepared.entry,
                file,
                locate,
                locateTask: (taskName) => locate(["tasks", taskName]),
            };
    }
}

;// CONCATENATED MODULE: ./src/rehearsal/replies.js
const endings = ["error", "cut", "hang", "die"];
function replyProblems(replies) {
    const problems = [];
    let last;
    let final;
    for (const { fields, path } of replies) {
        if (final !== undefined) {
            problems.push({
                path,
                reason: `This reply can't be given: ${final} before it happens on every request.`,
                ...(final === '"error"' || final === '"cut"'
                    ? { hint: 'say with "times" how often it happens' }
                    : {}),
            });
            return problems;
        }
        problems.push(...ownProblems(fields, path));
        if (fields.toolResults !== undefined && last?.tools === undefined) {
            problems.push({
                path: [...path, "toolResults"],
                reason: "The reply before this one calls no tools.",
            });
        }
        const ending = endings.find((name) => fields[name] !== undefined);
        if (ending === undefined)
            last = fields;
        else if (fields.times === undefined)
            final = `"${ending}"`;
    }
    return problems;
}
function ownProblems(fields, path) {
    const present = endings.filter((name) => fields[name] !== undefined);
    const [ending, second] = present;
    const problems = [];
    const refuse = (name, reason) => {
        problems.push({ path: [...path, name], reason });
    };
    if (ending === undefined) {
        if (fields.times !== undefined)
            refuse("times", 'Only "error" and "cut" can have "times".');
        const { text, reasoning, tools } = fields;
        if (text === undefined && reasoning === undefined && tools === undefined) {
            if (Object.keys(fields).length > 0) {
                problems.push({
                    path,
                    reason: "This reply says nothing.",
                    hint: 'give it a "text", "tools" or an "error"; an empty "text" is an empty answer',
                });
            }
        }
        return problems;
    }
    if (second !== undefined)
        refuse(second, `A reply is either "${ending}" or "${second}".`);
    for (const name of ["tools", "usage"]) {
        if (fields[name] !== undefined) {
            refuse(name, `A reply with "${ending}" never ends, so it has no "${name}".`);
        }
    }
    if (ending === "error" || ending === "die") {
        for (const name of ["text", "reasoning"]) {
            if (fields[name] !== undefined)
                refuse(name, `Nothing arrives before "${ending}".`);
        }
    }
    if (fields.times !== undefined && ending !== "error" && ending !== "cut") {
        refuse("times", 'Only "error" and "cut" can have "times".');
    }
    return problems;
}
function toReply(fields, place, condition) {
    const toolResults = condition(fields.toolResults, "toolResults");
    return {
        place,
        implied: false,
        ...(toolResults === undefined ? {} : { toolResults }),
        delayMs: fields.delay ?? 0,
        play: toPlay(fields),
    };
}
function toPlay(fields) {
    const { text = "", reasoning = "", error, cut, hang, die, times } = fields;
    const repeated = times === undefined ? {} : { times };
    if (error !== undefined) {
        const { status, message, headers = {} } = typeof error === "number" ? { status: error } : error;
        return {
            kind: "error",
            status,
            message: message ?? `The rehearsal answers with status ${status}.`,
            headers,
            ...repeated,
        };
    }
    if (cut === true)
        return { kind: "cut", partial: { text, reasoning }, ...repeated };
    if (hang === true)
        return { kind: "hang", partial: { text, reasoning } };
    if (die === true)
        return { kind: "die" };
    const tools = (fields.tools ?? []).map((tool) => ({
        name: tool.name,
        input: typeof tool.arguments === "string" ? tool.arguments : JSON.stringify(tool.arguments ?? {}),
        unknown: tool.unknown === true,
    }));
    const { input = 0, output = 0 } = fields.usage ?? {};
    return { kind: "answer", text, reasoning, tools, usage: { input, output } };
}
/** After tools the model is always asked again; a script need not say that it then has nothing to add. */
function withImpliedEnd(replies, place) {
    const last = replies.at(-1)?.play;
    if (last?.kind !== "answer" || last.tools.length === 0)
        return replies;
    const play = {
        kind: "answer",
        text: "Done.",
        reasoning: "",
        tools: [],
        usage: { input: 0, output: 0 },
    };
    return [...replies, { place, implied: true, delayMs: 0, play }];
}

;// CONCATENATED MODULE: ./src/rehearsal/schema-workspace.js
/** The part of the schema about the folder that a rehearsal makes for itself. */
const workspace = {
    type: "object",
    description: "Instead of `workingDirectory`: a new folder with these files, removed after the run. So a rehearsal of a job that writes needs nothing of its surroundings and changes nothing of them.",
    additionalProperties: false,
    properties: {
        files: {
            type: "object",
            description: "Path in the folder to content.",
            additionalProperties: { type: "string" },
        },
        git: {
            type: "boolean",
            description: "Makes the folder a git repository with one commit of all the files. Default: false.",
        },
    },
};

;// CONCATENATED MODULE: ./src/rehearsal/schema.js
/** The JSON Schema of a rehearsal file: what editors complete and what the loader checks first. */

const rehearsal_schema_text = (description) => ({ type: "string", description });
const whole = (minimum, description) => ({ type: "integer", minimum, description });
const flag = (description) => ({ type: "boolean", const: true, description });
const schema_condition = (description) => ({
    type: ["string", "object"],
    description: `${description} A plain string is short for "contains".`,
    minLength: 1,
    minProperties: 1,
    additionalProperties: false,
    properties: {
        contains: strings("What the text must contain: one string or several."),
        excludes: strings("What the text must not contain: one string or several."),
        equals: rehearsal_schema_text("The whole text; white space at its end does not count."),
        matches: rehearsal_schema_text("A JavaScript regular expression that must match somewhere in the text."),
    },
});
function strings(description) {
    return {
        type: ["string", "array"],
        description,
        minLength: 1,
        minItems: 1,
        items: { type: "string", minLength: 1 },
    };
}
const tool = {
    type: "object",
    description: "One tool call.",
    additionalProperties: false,
    required: ["name"],
    properties: {
        name: rehearsal_schema_text("The tool, by the name that the model of this session sees."),
        arguments: {
            type: ["object", "string"],
            description: "The arguments. A string is sent as it is: the input of a freeform tool such as apply_patch, or invalid JSON.",
        },
        unknown: flag("The session need not offer this tool: rehearses a model that calls a tool which does not exist."),
    },
};
const replyProperties = {
    text: rehearsal_schema_text('The text of the answer. An empty string is an empty answer, which is a crash if nothing else happened in the turn. With "cut" and "hang": what arrives before.'),
    reasoning: rehearsal_schema_text("What the model thinks before it answers."),
    tools: {
        type: "array",
        description: 'The tools that the model calls. They really run; the next reply of the turn answers to their results. If there is no next reply, the model then says "Done."',
        minItems: 1,
        items: tool,
    },
    toolResults: schema_condition("What the tools called by the reply before must have returned, all results joined with line breaks."),
    delay: {
        type: "number",
        minimum: 0,
        description: "How long the model waits before this reply, in milliseconds.",
    },
    usage: {
        type: "object",
        description: "The tokens that this reply reports. Default: none.",
        additionalProperties: false,
        properties: {
            input: whole(0, "Input tokens."),
            output: whole(0, "Output tokens."),
        },
    },
    error: {
        type: ["integer", "object"],
        description: 'An HTTP error: its status, or an object. Without "times" it is final: the runtime does not repeat the request, and the turn has crashed.',
        minimum: 400,
        maximum: 599,
        additionalProperties: false,
        required: ["status"],
        properties: {
            status: { type: "integer", minimum: 400, maximum: 599, description: "The HTTP status." },
            message: rehearsal_schema_text("The error's message. Default: a sentence that names the status."),
            headers: {
                type: "object",
                description: "Further headers of the answer, such as retry-after.",
                additionalProperties: { type: "string" },
            },
        },
    },
    cut: flag('The connection breaks in mid-answer, after "text". Without "times" it does so every time.'),
    hang: flag('The answer never ends; nothing comes after "text".'),
    die: flag("The runtime process dies at once (SIGKILL), and all its sessions with it."),
    times: whole(1, 'With "error" or "cut": how many requests in a row get it. The runtime repeats such a request up to 5 times by itself; then the next reply of the turn is given.'),
};
const reply = {
    type: ["string", "object"],
    description: "One answer of the model. A plain string is a text and nothing else.",
    minProperties: 1,
    additionalProperties: false,
    properties: replyProperties,
};
const turn = {
    type: ["string", "object"],
    description: "What happens on one prompt. If there is only one reply its fields may stand here; a plain string is a text and nothing else.",
    minProperties: 1,
    additionalProperties: false,
    properties: {
        prompt: schema_condition("What the prompt must be."),
        replies: {
            type: "array",
            description: "The model's answers, one for each request of the turn.",
            minItems: 1,
            items: reply,
        },
        ...replyProperties,
    },
};
const rule = {
    type: "object",
    description: "How the model behaves in one session. The first rule that is not used up, whose selectors fit and whose first turn accepts the prompt, plays a new session to its end.",
    additionalProperties: false,
    required: ["turns"],
    properties: {
        task: rehearsal_schema_text("Selects sessions of this task."),
        role: {
            enum: ["task", "driving"],
            description: 'Selects sessions by what they are for: "driving" checks conditions, "task" does the work. A session that does both fits both.',
        },
        model: rehearsal_schema_text("Selects sessions with this model id."),
        workId: whole(0, "Selects sessions of the work with this id: its number in the job, from 0 in reading order."),
        run: whole(1, "Selects sessions of this run of the work: 2 is the second time around a loop."),
        retry: whole(0, "Selects sessions opened for this criteria retry; 0: for the first try."),
        attempt: whole(1, "Selects sessions by how often the prompt was tried: 2 replaces a session that crashed."),
        subAgent: flag("Plays a sub-agent of such a session instead of the session itself."),
        repeat: {
            description: 'How many sessions this rule plays, exactly; "any": one or more. Default: 1.',
            anyOf: [
                { type: "integer", minimum: 1 },
                { type: "string", const: "any" },
            ],
        },
        optional: flag("It is no failure if the rule is not used, or not to its end."),
        turns: {
            type: "array",
            description: "One turn for each prompt that the session gets.",
            minItems: 1,
            items: turn,
        },
    },
};
const outcomes = ["succeeded", "failed", "crashed", "canceled"];
const schema_work = {
    type: "object",
    description: "How one work of the job must have ended.",
    additionalProperties: false,
    required: ["task", "outcome"],
    properties: {
        task: rehearsal_schema_text("The task of the work."),
        workId: whole(0, "The id of the work, where the task occurs more than once in the job."),
        model: rehearsal_schema_text("The model id of the work."),
        outcome: {
            description: 'How it ended: the last time if it ran more than once. A list tells how each of its runs ended, in order. "skipped": it never ran.',
            anyOf: [
                { type: "string", enum: [...outcomes, "skipped"] },
                { type: "array", minItems: 1, items: { type: "string", enum: outcomes } },
            ],
        },
        runs: whole(1, "How often it ran."),
        attempts: whole(1, "How often its prompt was sent, in all its runs together: the first time, criteria retries, tries after a crash."),
        retries: whole(0, "How many criteria retries it needed, in all its runs together."),
        crashes: whole(0, "How many crashes it had, in all its runs together."),
    },
};
const decisions = (description) => ({
    type: "array",
    description,
    minItems: 1,
    items: schema_condition("A decision in its printed form: `[CATEGORY] text`."),
});
const minutesOrCount = (description) => ({
    type: "number",
    exclusiveMinimum: 0,
    description,
});
const rehearsalSchema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "agent-jobs rehearsal",
    description: "A run of a job in which a script plays the model, and what is expected of it. In every text of the script and of the expectations `${workingDirectory}` stands for the absolute path of the working directory (`$${workingDirectory}` for itself).",
    type: "object",
    additionalProperties: false,
    required: ["entry", "sessions"],
    properties: {
        $schema: rehearsal_schema_text("The schema of this file, for editors."),
        description: rehearsal_schema_text("What this rehearsal shows. Printed with its result."),
        entry: rehearsal_schema_text("The entry file, relative to this file."),
        job: rehearsal_schema_text("The job. May be left out if the entry has just one."),
        userInput: rehearsal_schema_text("The user input of the job."),
        workingDirectory: rehearsal_schema_text("The directory that the sessions work in, relative to this file. Default: the one given on the command line, else the current directory."),
        workspace: workspace,
        models: {
            type: "object",
            description: "Models to use instead of the entry's: category to model id.",
            additionalProperties: { type: "string", minLength: 1 },
        },
        permissions: {
            enum: ["read-only", "workspace", "all"],
            description: "As the command line's --permissions.",
        },
        limits: {
            type: "object",
            description: "Limits to use instead of the entry's, to rehearse time-outs quickly.",
            additionalProperties: false,
            properties: {
                jobMinutes: minutesOrCount("Minutes for the job."),
                tokens: minutesOrCount("Tokens for the job."),
                taskMinutes: minutesOrCount("Minutes for one run of a task."),
                modelCalls: minutesOrCount("Model calls for one run of a task."),
                turnMinutes: minutesOrCount("Minutes for one turn."),
                idleMinutes: minutesOrCount("Minutes without a sign of life from a session."),
                loopIterations: minutesOrCount("Iterations of one loop."),
                parallel: minutesOrCount("Turns at once."),
            },
        },
        sessions: {
            type: "array",
            description: "Rules for the sessions of the run, tried in this order.",
            items: rule,
        },
        expect: {
            type: "object",
            description: "What must be true of the run.",
            additionalProperties: false,
            properties: {
                result: {
                    enum: ["succeeded", "failed", "canceled"],
                    description: "How the job must end. Default: succeeded.",
                },
                reason: schema_condition("Why it failed or was canceled."),
                works: {
                    type: "array",
                    description: "Every work that must have run, and how it ended. A work that ran and is not in the list is a failure.",
                    items: schema_work,
                },
                decisions: {
                    type: "object",
                    description: "Decisions of the run.",
                    additionalProperties: false,
                    properties: {
                        include: decisions("Each of these must occur, in any order."),
                        sequence: decisions("These must occur in this order; others may come between them."),
                        exclude: decisions("None of these may occur."),
                    },
                },
            },
        },
    },
};

;// CONCATENATED MODULE: ./src/rehearsal/load.js
/** Text to script: the document loader, the schema, then what a schema can't say. */






const schema = compileSchema(rehearsalSchema, "rehearsal");
/**
 * `file` as the user named it: messages show it, and the paths in the rehearsal are relative to its
 * folder. Unless its extension says JSON it is YAML, of which JSON is a part.
 */
function loadScript(source, file) {
    const format = formatOfFile(file) ?? "yaml";
    const read = readDocument(source, { file, format });
    if (read.kind === "rejected")
        return read;
    const { value, locate } = read;
    const place = { file, locate };
    if (!schema.accepts(value)) {
        return { kind: "rejected", diagnostics: schema.diagnose(value, place) };
    }
    const builder = new Builder(file, (path) => {
        const { line, column } = locate(path);
        return `${schema.codePath(path).replace(/^rehearsal\.?/, "")} (${file}:${line}:${column})`;
    });
    const script = builder.script(value);
    return builder.problems.length === 0
        ? { kind: "loaded", script }
        : { kind: "rejected", diagnostics: toDiagnostics(builder.problems, place) };
}
class Builder {
    problems = [];
    #file;
    #place;
    constructor(file, place) {
        this.#file = file;
        this.#place = place;
    }
    script(value) {
        const { description, job, userInput, workingDirectory, workspace, permissions } = value;
        return {
            file: this.#file,
            ...(description === undefined ? {} : { description }),
            entryFile: this.#beside(value.entry),
            ...(job === undefined ? {} : { job }),
            ...(userInput === undefined ? {} : { userInput }),
            ...(workingDirectory === undefined
                ? {}
                : { workingDirectory: this.#beside(workingDirectory) }),
            ...(workspace === undefined
                ? {}
                : { workspace: this.#workspace(workspace, workingDirectory !== undefined) }),
            models: value.models ?? {},
            ...(permissions === undefined ? {} : { permissions }),
            limits: value.limits ?? {},
            rules: value.sessions.map((rule, index) => this.#rule(rule, ["sessions", index])),
            expect: this.#expectation(value),
        };
    }
    #beside(path) {
        return (0,external_node_path_.isAbsolute)(path) ? path : (0,external_node_path_.join)((0,external_node_path_.dirname)(this.#file), path);
    }
    #workspace({ files = {}, git = false }, alsoDirectory) {
        if (alsoDirectory) {
            this.#problem(["workspace"], "A rehearsal has a workingDirectory or a workspace, not both.");
        }
        for (const name of Object.keys(files)) {
            if (!isWithin(name)) {
                this.#problem(["workspace", "files", name], "This is not a path within the workspace.", "write it relative, with /, without . and ..");
            }
        }
        return { files, git };
    }
    #problem(path, reason, hint) {
        const problem = { path, codePath: schema.codePath(path), reason };
        this.problems.push(hint === undefined ? problem : { ...problem, hint });
    }
    #rule(fields, path) {
        const { turns, repeat = 1, optional, subAgent, ...selectors } = fields;
        const built = turns.map((turn, index) => this.#turn(typeof turn === "string" ? { text: turn } : turn, [...path, "turns", index]));
        const death = built.findIndex(({ replies }) => replies.some(({ play }) => play.kind === "die"));
        if (death !== -1 && death < built.length - 1) {
            this.#problem([...path, "turns", death + 1], "This turn can't be played: the runtime died in the turn before, and the session with it.", 'what follows happens in a new session: give it a rule of its own, with "attempt: 2"');
        }
        const [first, ...rest] = built;
        if (first === undefined)
            throw new Error("The schema asks for at least one turn.");
        return {
            place: this.#place(path),
            selectors: { ...selectors, subAgent: subAgent === true },
            repeat,
            optional: optional === true,
            turns: [first, ...rest],
        };
    }
    #turn({ prompt, replies, ...own }, path) {
        const hasOwn = Object.keys(own).length > 0;
        if (replies !== undefined && hasOwn) {
            const names = Object.keys(own).join(", ");
            this.#problem([...path, Object.keys(own)[0] ?? ""], `A turn has either "replies" or the fields of its only reply (${names}), not both.`, 'move them into "replies"');
        }
        if (replies === undefined && !hasOwn) {
            this.#problem(path, "This turn has no reply.", "say what the model answers, such as a text");
        }
        const list = replies === undefined
            ? [{ fields: own, path }]
            : replies.map((reply, index) => ({
                fields: typeof reply === "string" ? { text: reply } : reply,
                path: [...path, "replies", index],
            }));
        for (const { path: at, reason, hint } of replyProblems(list))
            this.#problem(at, reason, hint);
        const built = list.map((reply) => toReply(reply.fields, this.#place(reply.path), (condition, name) => this.#condition(condition, [...reply.path, name])));
        const place = this.#place(path);
        const condition = this.#condition(prompt, [...path, "prompt"]);
        return {
            place,
            ...(condition === undefined ? {} : { prompt: condition }),
            replies: withImpliedEnd(built, place),
        };
    }
    #condition(field, path) {
        if (field === undefined)
            return undefined;
        const condition = toCondition(field);
        if ("problem" in condition) {
            this.#problem([...path, "matches"], condition.problem);
            return { contains: [], excludes: [] };
        }
        return condition;
    }
    #expectation({ expect = {} }) {
        const { result = "succeeded", reason, works, decisions = {} } = expect;
        const failure = this.#condition(reason, ["expect", "reason"]);
        if (failure !== undefined && result === "succeeded") {
            this.#problem(["expect", "reason"], "A job that succeeds has no reason.", 'say "result: failed"');
        }
        const list = (name) => (decisions[name] ?? []).map((field, index) => {
            const path = ["expect", "decisions", name, index];
            const condition = this.#condition(field, path) ?? { contains: [], excludes: [] };
            return { place: this.#place(path), condition };
        });
        return {
            place: this.#place(["expect"]),
            result,
            ...(failure === undefined ? {} : { reason: failure }),
            ...(works === undefined
                ? {}
                : {
                    works: {
                        place: this.#place(["expect", "works"]),
                        items: works.map((work, index) => this.#work(work, ["expect", "works", index])),
                    },
                }),
            include: list("include"),
            sequence: list("sequence"),
            exclude: list("exclude"),
        };
    }
    #work({ outcome, ...rest }, path) {
        const { runs, attempts, retries, crashes } = rest;
        if (outcome === "skipped") {
            const stray = Object.entries({ runs, attempts, retries, crashes }).find(([, count]) => count !== undefined);
            if (stray !== undefined) {
                this.#problem([...path, stray[0]], `A skipped work has no "${stray[0]}".`);
            }
        }
        if (typeof outcome !== "string" && runs !== undefined && runs !== outcome.length) {
            this.#problem([...path, "runs"], `"outcome" lists ${outcome.length} runs, but "runs" is ${runs}.`, 'leave "runs" out');
        }
        const place = this.#place(path);
        if (outcome === "skipped")
            return { ...rest, place, outcome: { kind: "skipped" } };
        if (typeof outcome === "string")
            return { ...rest, place, outcome: { kind: "last", outcome } };
        return { ...rest, place, outcome: { kind: "each", outcomes: outcome } };
    }
}
/** A relative path in its shortest form that stays below where it starts, with `/` on every system. */
function isWithin(path) {
    return (path !== "" &&
        external_node_path_.posix.normalize(path) === path &&
        !/^\.{0,2}(?:\/|$)|\/$|\\|\0/.test(path) &&
        !external_node_path_.win32.isAbsolute(path));
}

;// CONCATENATED MODULE: ./src/app/load.js
/** From paths to checked input: everything that can be wrong with a run before it begins. */








/** Reads and checks an entry file. Throws `DiagnosticsError` with all of its problems. */
async function load_readEntry(file) {
    const loaded = loadEntry(await readText(file), file);
    if (loaded.kind === "rejected")
        throw new diagnostic_DiagnosticsError(loaded.diagnostics);
    return loaded;
}
/** Reads and checks a rehearsal file. Throws `DiagnosticsError` with all of its problems. */
async function readRehearsal(file) {
    const loaded = loadScript(await readText(file), file);
    if (loaded.kind === "rejected")
        throw new diagnostic_DiagnosticsError(loaded.diagnostics);
    return loaded.script;
}
/** Checks a file of either kind: `NAME.rehearsal.EXT` is a rehearsal, every other name an entry. */
async function checkFile(file) {
    await (/\.rehearsal\.[^./\\]+$/.test(file) ? readRehearsal(file) : load_readEntry(file));
}
/** The bytes of a file that a person named; what is wrong with it is a diagnostic. */
async function readText(file) {
    const refuse = (reason, hint) => {
        const diagnostic = {
            file,
            codePath: "",
            reason,
            ...(hint === undefined ? {} : { hint }),
        };
        return new diagnostic_DiagnosticsError([diagnostic]);
    };
    try {
        const found = await (0,promises_.stat)(file);
        if (found.isDirectory())
            throw refuse("This is a folder, not a file.");
        if (!found.isFile())
            throw refuse("This is not a regular file.");
        if (found.size > documentLimits.bytes)
            throw refuse(`The file has ${found.size} bytes; at most ${documentLimits.bytes} are read.`);
        return await (0,promises_.readFile)(file);
    }
    catch (error) {
        if (error instanceof diagnostic_DiagnosticsError)
            throw error;
        const code = error instanceof Error && "code" in error ? error.code : undefined;
        if (code === "ENOENT" || code === "ENOTDIR") {
            throw refuse("There is no such file.", "paths are relative to the current directory");
        }
        if (code === "EACCES" || code === "EPERM")
            throw refuse("The file may not be read: permission denied.");
        throw refuse(`The file can't be read: ${error instanceof Error ? error.message : String(error)}.`);
    }
}
/** The job to run: the named one, or the only one. */
function load_chooseJob(entry, jobName) {
    const names = Object.keys(entry.jobs);
    const known = `The entry has ${names.length === 0 ? "no jobs" : `the jobs ${names.map((name) => JSON.stringify(name)).join(", ")}`}.`;
    if (jobName !== undefined) {
        if (Object.hasOwn(entry.jobs, jobName))
            return jobName;
        throw new UsageError(`There is no job ${JSON.stringify(jobName)}. ${known}`);
    }
    const [only, ...others] = names;
    if (only !== undefined && others.length === 0)
        return only;
    throw new UsageError(`Name the job to run. ${known}`);
}
/** The entry with other model ids for some of its categories. */
function overrideModels(entry, models) {
    if (models === undefined)
        return entry;
    for (const category of Object.keys(models)) {
        if (!Object.hasOwn(entry.models, category)) {
            const known = Object.keys(entry.models).join(", ");
            throw new UsageError(`There is no model category ${JSON.stringify(category)} in the entry; it has: ${known}.`);
        }
    }
    const driving = models["driving"];
    const retries = entry.drivingSessionRetries;
    return {
        ...entry,
        models: { ...entry.models, ...models },
        // The first of them stands for the driving model itself.
        ...(driving === undefined || retries === undefined
            ? {}
            : {
                drivingSessionRetries: retries.map((retry, index) => index === 0 ? { ...retry, modelId: driving } : retry),
            }),
    };
}
/** Refuses to write a file over one that the run reads, or two into one. */
function checkOutputs(inputs, outputs) {
    const taken = new Map(inputs.flatMap((path) => (path === undefined ? [] : [[identity(path), path]])));
    for (const [what, path] of Object.entries(outputs)) {
        if (path === undefined)
            continue;
        const other = taken.get(identity(path));
        if (other !== undefined) {
            throw new UsageError(`The ${what} ${path} would overwrite ${other}: name another file.`);
        }
        taken.set(identity(path), path);
    }
}
/** The same for all names of a file, links of both kinds among them. */
function identity(path) {
    const absolute = (0,external_node_path_.resolve)(path);
    try {
        const found = (0,external_node_fs_.statSync)(absolute, { bigint: true, throwIfNoEntry: false });
        return found === undefined
            ? (0,external_node_path_.join)((0,external_node_fs_.realpathSync)((0,external_node_path_.dirname)(absolute)), (0,external_node_path_.basename)(absolute))
            : `${found.dev}:${found.ino}`;
    }
    catch {
        return absolute;
    }
}
async function checkWorkingDirectory(path) {
    const found = await (0,promises_.stat)(path).catch(() => undefined);
    if (found === undefined)
        throw new UsageError(`The working directory ${path} does not exist.`);
    if (!found.isDirectory())
        throw new UsageError(`The working directory ${path} is not a folder.`);
}

;// CONCATENATED MODULE: ./src/app/options.js
const providerTypes = (/* unused pure expression or super */ null && (["openai", "azure", "anthropic"]));
const wireApis = (/* unused pure expression or super */ null && (["completions", "responses"]));
/** The defaults of a provider, and no token beside one. */
function modelServer({ provider, gitHubToken, }) {
    return provider === undefined
        ? { gitHubToken }
        : { provider: { type: "openai", wireApi: "completions", ...provider } };
}
/** The token in an environment, most specific name first. */
function gitHubTokenOf(environment) {
    const names = ["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"];
    return names
        .map((name) => environment[name])
        .find((token) => token !== undefined && token !== "");
}

;// CONCATENATED MODULE: ./src/rehearsal/recorded-turn.js

const LONGEST_LINE = 200;
/** What stands where a secret stood. A replay knows the secret, or another one. */
const recorded_turn_MASK = "***";
/** Its first and its last line: the crash prefix, the task, and what a retry adds. */
function recordedPrompt(prompt, workingDirectory) {
    const lines = prompt.split(/\r?\n/).filter((line) => line.trim() !== "");
    const ends = [lines[0] ?? "", lines.at(-1) ?? ""];
    const pieces = ends.flatMap((line) => line.slice(0, LONGEST_LINE).split(recorded_turn_MASK));
    const contains = [...new Set(pieces)]
        .filter((piece) => piece.trim() !== "")
        .map((piece) => takeOut(piece, workingDirectory));
    const [only] = contains;
    if (only === undefined)
        return undefined;
    return contains.length === 1 ? only : { contains };
}
function recordedReply({ text, reasoning = "", toolCalls }, usage, workingDirectory) {
    const tools = toolCalls.map(({ name, arguments: given }) => ({
        name,
        arguments: recordedArguments(given, workingDirectory),
    }));
    return {
        ...(reasoning === "" ? {} : { reasoning: takeOut(reasoning, workingDirectory) }),
        ...(text === "" && tools.length > 0 ? {} : { text: takeOut(text, workingDirectory) }),
        ...(tools.length === 0 ? {} : { tools }),
        ...(usage === undefined || (usage.input === 0 && usage.output === 0) ? {} : { usage }),
    };
}
function recordedArguments(given, workingDirectory) {
    if (typeof given === "string")
        return takeOut(given, workingDirectory);
    const copy = JSON.parse(JSON.stringify(given ?? {}, (_key, value) => typeof value === "string" ? takeOut(value, workingDirectory) : value));
    return recorded_turn_isRecord(copy) ? copy : JSON.stringify(copy);
}
/**
 * The reply that makes a turn crash as it did; undefined if its last answer does so already. Crashes
 * without a status become a 408: like them it is worth a retry, and it takes no time. So does a death of
 * the runtime beside other works: a replay would not hit their sessions where the run did, so each
 * crashes for itself.
 */
function playedCrash(crash, overlapped, last) {
    switch (crash.kind) {
        case "runtime-died":
            return overlapped ? { error: { status: 408, message: crash.message } } : { die: true };
        case "idle-deadline":
        case "turn-deadline":
            return { hang: true };
        case "empty-answer":
            return last === undefined ? { text: "" } : undefined;
        // The same denials end the turn again.
        case "denied":
            return undefined;
        case "session-error":
        case "start-failed":
        case "aborted":
        case "internal": {
            const status = crash.statusCode ?? (isRefusal(crash) ? 401 : 408);
            return { error: { status: Math.min(Math.max(status, 400), 599), message: crash.message } };
        }
    }
}
/** As `crashRemedy` sees it: no retry can mend it, although no status says so. */
function isRefusal({ errorType, message }) {
    return (errorType === "authentication" ||
        errorType === "authorization" ||
        /No GitHub OAuth token|Not authenticated/i.test(message));
}
/** The runtime's own words for a call of a tool that it does not have. */
const NO_SUCH_TOOL = /^Tool '(.+)' does not exist/;
/** A call of a tool that there is none of is a mistake of the model that belongs to the recording. */
function markUnknown(replies, error) {
    const name = NO_SUCH_TOOL.exec(error ?? "")?.[1];
    const last = replies.at(-1);
    if (name === undefined || last?.tools === undefined)
        return;
    const tools = last.tools.map((tool) => tool.name === name ? { ...tool, unknown: true } : tool);
    replies[replies.length - 1] = { ...last, tools };
}
function recorded_turn_isRecord(value) {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}

;// CONCATENATED MODULE: ./src/rehearsal/recorded-session.js

function recordedRules(sessions, context) {
    const differences = new Map();
    for (const { work, retry, attempt } of sessions) {
        const known = differences.get(work.workId) ?? { run: false, retry: false, attempt: false };
        known.run ||= work.run > 1;
        known.retry ||= retry > 0;
        known.attempt ||= attempt > 1;
        differences.set(work.workId, known);
    }
    return sessions.flatMap((session) => sessionRules(session, differences.get(session.work.workId), context));
}
const hang = { hang: true };
function sessionRules(session, differ, context) {
    const { turns, subAgents, work, role, retry, attempt } = session;
    const selectors = {
        task: work.taskId,
        workId: work.workId,
        ...(differ?.run === true ? { run: work.run } : {}),
        ...(role === "task" || role === "driving" ? { role } : {}),
        ...(differ?.retry === true ? { retry } : {}),
        ...(differ?.attempt === true ? { attempt } : {}),
    };
    const differs = context.stoppable(work.workId);
    const unsure = differs || turns.some(({ state }) => state === "open" || state === "canceled");
    const optional = unsure ? { optional: true } : {};
    const played = turns.map((turn) => turnFields(turn, context.overlapped(work.workId), context));
    // Where the run was stopped between two turns a replay may have come further.
    if (differs && turns.at(-1)?.state === "completed")
        played.push(hang);
    return [
        ...(turns.length === 0 ? [] : [{ ...selectors, ...optional, turns: played }]),
        ...subAgents.map((replies) => ({
            ...selectors,
            subAgent: true,
            ...optional,
            turns: [{ replies }],
        })),
    ];
}
function turnFields({ prompt, replies, state, crash }, overlapped, { workingDirectory }) {
    const condition = recordedPrompt(prompt, workingDirectory);
    const start = condition === undefined ? {} : { prompt: condition };
    const all = [...replies];
    const last = all.at(-1);
    const end = state === "open" || state === "canceled"
        ? hang
        : crash === undefined
            ? undefined
            : playedCrash(crash, overlapped, last);
    if (end !== undefined) {
        // An answer without tools ends a turn: what follows can only come in its place.
        if (last !== undefined && last.tools === undefined)
            all.pop();
        all.push(end);
    }
    const [only = { text: "" }] = all;
    return all.length > 1 ? { ...start, replies: all } : { ...start, ...only };
}

;// CONCATENATED MODULE: ./src/rehearsal/recorded-works.js
class RecordedWorks {
    #works = new Map();
    #running = new Set();
    report(event) {
        if (event.type === "run.started") {
            for (const { workId, taskId } of event.works) {
                const counters = { retries: 0, crashes: 0, overlapped: false };
                this.#works.set(workId, { workId, taskId, outcomes: [], ...counters });
            }
            return;
        }
        const work = "work" in event && event.work !== null ? this.#works.get(event.work.workId) : undefined;
        if (work === undefined)
            return;
        if (event.type === "work.started") {
            this.#running.add(work);
            if (this.#running.size > 1)
                for (const one of this.#running)
                    one.overlapped = true;
        }
        if (event.type === "work.ended") {
            this.#running.delete(work);
            work.outcomes.push(event.outcome.kind);
        }
        if (event.type === "decision" && event.decision.kind === "criteria-retry")
            work.retries += 1;
        if (event.type === "decision" && event.decision.kind === "session-crashed")
            work.crashes += 1;
    }
    /** The works beside which others ran. */
    overlapped() {
        const works = [...this.#works.values()].filter(({ overlapped }) => overlapped);
        return new Set(works.map(({ workId }) => workId));
    }
    /** Undefined where works may differ. */
    expectation() {
        if (this.torn())
            return undefined;
        return [...this.#works.values()].map(({ taskId, workId, outcomes, retries, crashes }) => {
            const [first] = outcomes;
            if (first === undefined)
                return { task: taskId, workId, outcome: "skipped" };
            const uniform = outcomes.every((outcome) => outcome === first);
            return {
                task: taskId,
                workId,
                outcome: uniform ? first : outcomes,
                ...(uniform && outcomes.length > 1 ? { runs: outcomes.length } : {}),
                ...(retries > 0 ? { retries } : {}),
                ...(crashes > 0 ? { crashes } : {}),
            };
        });
    }
    /**
     * Whether a crash or a cancel stopped works that ran at the same time: how far each had come by then
     * is a matter of time, so a replay may stop them at other points.
     */
    torn() {
        return [...this.#works.values()].some(({ overlapped, outcomes }) => overlapped && outcomes.some((one) => one === "crashed" || one === "canceled"));
    }
}

;// CONCATENATED MODULE: ./src/rehearsal/record.js



function createRecorder(options) {
    return new Recording(options);
}
/** What comes after the run was torn: nothing that its result depends on. */
const anythingElse = { repeat: "any", optional: true, turns: [{ hang: true }] };
class Recording {
    name = "recording";
    #options;
    #works = new RecordedWorks();
    #sessions = [];
    #open = new Map();
    /** By work: the session whose turn crashed last, until its decision says why. */
    #crashed = new Map();
    /** By work: the criteria retry that goes on. */
    #retries = new Map();
    /** The longest limit in minutes, of a job or a task, that was crossed. */
    #waitedMinutes = 0;
    #workingDirectory = "";
    #outcome;
    constructor(options) {
        this.#options = options;
    }
    report(event) {
        this.#works.report(event);
        switch (event.type) {
            case "run.started":
                this.#workingDirectory = event.workingDirectory;
                break;
            case "run.ended":
                this.#outcome = event.outcome;
                break;
            case "work.started":
                this.#retries.delete(event.work.workId);
                this.#crashed.delete(event.work.workId);
                break;
            case "session.started":
                this.#start(event.sessionId, event);
                break;
            case "session.ended":
                this.#open.delete(event.sessionId);
                break;
            case "turn.started": {
                // A borrowed session was started by somebody else.
                const session = this.#open.get(event.sessionId) ??
                    this.#start(event.sessionId, { ...event, role: undefined });
                session.turns.push(newTurn(event.prompt));
                break;
            }
            case "turn.ended": {
                const session = this.#open.get(event.sessionId);
                const turn = session?.turns.at(-1);
                if (session === undefined || turn === undefined)
                    break;
                turn.state = event.outcome;
                session.usage = undefined;
                if (event.outcome === "crashed")
                    this.#crashed.set(event.work.workId, session);
                break;
            }
            case "activity":
                this.#act(event.sessionId, event.activity);
                break;
            case "decision":
                this.#decide(event.work, event.decision);
                break;
            case "work.ended":
                break;
        }
    }
    toRehearsal() {
        const { entry, job, userInput, workingDirectory, models, permissions } = this.#options;
        const outcome = this.#outcome ?? { kind: "canceled" };
        const limits = this.#limits();
        const works = this.#works.expectation();
        const overlapped = this.#works.overlapped();
        const torn = this.#works.torn();
        const context = {
            workingDirectory: this.#workingDirectory,
            overlapped: (workId) => overlapped.has(workId),
            stoppable: (workId) => torn && overlapped.has(workId),
        };
        return {
            entry,
            job,
            ...(userInput === undefined ? {} : { userInput }),
            ...(workingDirectory === undefined ? {} : { workingDirectory }),
            ...(models === undefined ? {} : { models }),
            ...(permissions === undefined ? {} : { permissions }),
            ...(limits === undefined ? {} : { limits }),
            sessions: [...recordedRules(this.#sessions, context), ...(torn ? [anythingElse] : [])],
            expect: { result: outcome.kind, ...(works === undefined ? {} : { works }) },
        };
    }
    #start(id, { work, role, retry, attempt }) {
        const session = newSession({ work, role, retry, attempt });
        this.#sessions.push(session);
        this.#open.set(id, session);
        return session;
    }
    #act(sessionId, activity) {
        const session = this.#open.get(sessionId);
        const turn = session?.turns.at(-1);
        if (session === undefined || turn === undefined)
            return;
        switch (activity.kind) {
            case "model.used": {
                if (activity.subAgent)
                    break;
                const { input, output } = session.usage ?? { input: 0, output: 0 };
                session.usage = {
                    input: input + activity.inputTokens,
                    output: output + activity.outputTokens,
                };
                break;
            }
            case "model.replied":
                if (activity.subAgent) {
                    this.#subAgentReplied(session, activity);
                }
                else {
                    turn.replies.push(recordedReply(activity, session.usage, this.#workingDirectory));
                    session.usage = undefined;
                }
                break;
            case "tool.ended":
                markUnknown(turn.replies, activity.error?.message);
                break;
            default:
                break;
        }
    }
    /** A sub-agent is over with its first answer that calls no tool. */
    #subAgentReplied({ subAgents }, activity) {
        const reply = recordedReply(activity, undefined, this.#workingDirectory);
        const current = subAgents.at(-1);
        if (current?.at(-1)?.tools === undefined)
            subAgents.push([reply]);
        else
            current.push(reply);
    }
    #decide(work, decision) {
        if (decision.kind === "limit-crossed" && /^(job|task)Minutes$/.test(decision.limit)) {
            this.#waitedMinutes = Math.max(this.#waitedMinutes, decision.value);
        }
        if (work === null)
            return;
        if (decision.kind === "criteria-retry")
            this.#retries.set(work.workId, decision.retry);
        if (decision.kind !== "session-crashed")
            return;
        const { crash, attempt } = decision;
        const turn = this.#crashed.get(work.workId)?.turns.at(-1);
        this.#crashed.delete(work.workId);
        if (turn !== undefined) {
            turn.crash = crash;
            return;
        }
        // The session did not even start. In a replay it starts, and crashes on its first prompt.
        const retry = this.#retries.get(work.workId) ?? 0;
        const failed = newSession({ work, role: undefined, retry, attempt });
        failed.turns.push({ ...newTurn(""), state: "crashed", crash });
        this.#sessions.push(failed);
    }
    #limits() {
        const { limits } = this.#options;
        if (this.#waitedMinutes > 0) {
            // A hang must last until that limit is crossed again.
            const longer = this.#waitedMinutes + 1;
            return { ...limits, turnMinutes: longer, idleMinutes: longer };
        }
        const hangs = this.#sessions.some(({ turns }) => turns.some(({ crash }) => crash?.kind === "idle-deadline" || crash?.kind === "turn-deadline"));
        // Nothing else in a replay is silent for so long, so that a hang need not take as long as it did.
        return hangs ? { ...limits, idleMinutes: 0.1 } : limits;
    }
}
function newTurn(prompt) {
    return { prompt, replies: [], state: "open", crash: undefined };
}
function newSession(of) {
    return { ...of, turns: [], subAgents: [], usage: undefined };
}

;// CONCATENATED MODULE: ./src/rehearsal/render.js
/** A rehearsal as text that people like to read, and that `loadScript` reads back as it was. */

function renderRehearsal(rehearsal, format = "yaml") {
    if (format === "json")
        return `${JSON.stringify(rehearsal, undefined, 2)}\n`;
    return (0,yaml_dist/* stringify */.As)(rehearsal, {
        lineWidth: 0,
        aliasDuplicateObjects: false,
        blockQuote: "literal",
    });
}

;// CONCATENATED MODULE: ./src/app/recording.js






/** Keeps a run as a rehearsal, written when the run has ended. Throws if the file can't be written. */
function createRecording(path, prepared, options, redactor) {
    const folder = (0,external_node_path_.dirname)((0,external_node_path_.resolve)(path));
    try {
        makeDirectoryNow(folder);
        // Now, so that nobody learns only after a long run that the file can't be written.
        refuseSpecialFile(path);
        (0,external_node_fs_.writeFileSync)(path, "");
    }
    catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        throw new UsageError(`The recording ${path} can't be written: ${why}`);
    }
    const { loaded, entry, jobName, userInput, workingDirectory, permissions, script } = prepared;
    // A folder made for the run is gone after it: a replay makes it again.
    const workspace = options.workingDirectory === undefined ? script?.workspace : undefined;
    // What this run was told beside its entry, by the script that it rehearsed too.
    const models = { ...script?.models, ...options.models };
    const limits = { ...script?.limits, ...options.limits };
    const recorder = createRecorder({
        entry: fromFolder(folder, loaded.file),
        job: jobName,
        ...(workspace === undefined ? { workingDirectory: fromFolder(folder, workingDirectory) } : {}),
        ...(entry.jobs[jobName]?.requireUserInput === true
            ? { userInput: redactor.text(userInput) }
            : {}),
        ...(Object.keys(models).length === 0 ? {} : { models }),
        ...(permissions === undefined ? {} : { permissions }),
        ...(Object.keys(limits).length === 0 ? {} : { limits }),
    });
    return {
        name: "recording",
        report: (event) => recorder.report(event),
        async close() {
            // Again: an agent may have put something else there.
            refuseSpecialFile(path);
            const format = path.endsWith(".json") ? "json" : "yaml";
            (0,external_node_fs_.writeFileSync)(path, renderRehearsal({ ...recorder.toRehearsal(), ...(workspace === undefined ? {} : { workspace }) }, format));
        },
    };
}
/** Relative and with `/`, so that a recording means the same in another clone and on another system. */
function fromFolder(folder, path) {
    return (0,external_node_path_.relative)(folder, (0,external_node_path_.resolve)(path)).replaceAll("\\", "/") || ".";
}

;// CONCATENATED MODULE: ./src/app/secrets.js

// What people call their secrets. `PAT`, `PASS`, `AUTH` and `KEY` as whole words: `PATH` is none.
const SECRET_NAME = /TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|PRIVATE_?KEY|API[_-]?KEY|ACCESS_?KEY|(?:^|_)(?:PAT|PASS|AUTH|KEY)(?:$|_)/i;
const MIN_LENGTH = 8;
/** Every value that must not leave the process: what we were given, and what our environment calls a secret. */
function knownSecrets({ provider, gitHubToken, environment, }) {
    const values = Object.entries(environment).flatMap(([name, value = ""]) => SECRET_NAME.test(name) ? [value, ...passwords(value)] : passwords(value));
    return [
        ...[provider?.apiKey, gitHubToken].filter((value) => value !== undefined && value !== ""),
        ...passwords(provider?.baseUrl ?? ""),
        ...values.filter((value) => value.length >= MIN_LENGTH),
    ].filter((value) => value !== undefined);
}
/** For what a front-end says beside the events of a run. */
function withoutSecrets(text, access) {
    return createRedactor(knownSecrets(access)).text(text);
}
/** Of the URL that a value is, such as a proxy's or a database's: as it stands there, and decoded. */
function passwords(value) {
    const [, password] = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#:@]*:([^\s/?#]+)@/i.exec(value) ?? [];
    if (password === undefined || password.length < MIN_LENGTH)
        return [];
    return [password, decoded(password)];
}
function decoded(text) {
    try {
        return decodeURIComponent(text);
    }
    catch {
        return text;
    }
}

;// CONCATENATED MODULE: ./src/app/workspace.js
/** The folder that a rehearsal makes for itself: its files, if it wants a commit of them, then nothing left. */






/** Throws a `UsageError` if the files can't be written or git fails; then nothing is left either. */
async function makeWorkspace({ files, git }, environment) {
    const folder = await (0,promises_.realpath)((await makeRunFolder("workspace-")).path);
    const path = (0,external_node_path_.join)(folder, "workspace");
    const remove = () => removeDirectory(folder);
    try {
        await makeDirectory(path);
        for (const [name, content] of Object.entries(files)) {
            const file = (0,external_node_path_.join)(path, name);
            await (0,promises_.mkdir)((0,external_node_path_.dirname)(file), { recursive: true });
            await (0,promises_.writeFile)(file, content);
        }
        if (git)
            await commitAll(path, environment);
        return { path, remove };
    }
    catch (error) {
        await remove();
        const why = error instanceof Error ? error.message : String(error);
        throw new UsageError(`The workspace of the rehearsal can't be made: ${why}`);
    }
}
/** Always the same commit for the same files, whatever git is told on this machine. */
async function commitAll(cwd, environment) {
    const date = "2026-01-01T00:00:00Z";
    const env = {
        PATH: environment["PATH"],
        HOME: cwd,
        GIT_CONFIG_NOSYSTEM: "1",
        GIT_AUTHOR_NAME: "rehearsal",
        GIT_AUTHOR_EMAIL: "rehearsal@example.com",
        GIT_AUTHOR_DATE: date,
        GIT_COMMITTER_NAME: "rehearsal",
        GIT_COMMITTER_EMAIL: "rehearsal@example.com",
        GIT_COMMITTER_DATE: date,
    };
    await runProgram("git", ["init", "--quiet", "--initial-branch=main"], { cwd, env });
    await runProgram("git", ["add", "--all"], { cwd, env });
    const message = "The workspace of the rehearsal";
    await runProgram("git", ["commit", "--quiet", "--allow-empty", `--message=${message}`], {
        cwd,
        env,
    });
}

;// CONCATENATED MODULE: ./src/app/run.js
/**
 * The composition root: options in, a wired run out. Everything that a front-end shows comes to it as
 * events or as the `RunReport`; everything that can be wrong beforehand is thrown by `prepareRun`.
 */






















/** Throws `UsageError` or `DiagnosticsError`: for both the person gets no run and exit code 2. */
async function prepareRun(options) {
    const loaded = await load_readEntry(options.entryFile);
    const jobName = load_chooseJob(loaded.entry, options.jobName);
    const script = options.rehearse === undefined ? undefined : await readRehearsal(options.rehearse);
    return prepareLoaded(options, loaded, jobName, script);
}
/** As `prepareRun`, for a rehearsal that names its entry and job itself. */
async function prepareRehearsal(options, script) {
    const loaded = await readEntry(script.entryFile);
    return prepareLoaded(options, loaded, chooseJob(loaded.entry, script.job), script);
}
async function prepareLoaded(options, loaded, jobName, script) {
    const { journal, record: recording } = options;
    checkOutputs([loaded.file, script?.file], { journal, recording });
    if (script?.job !== undefined && script.job !== jobName) {
        throw new UsageError(`${script.file} rehearses the job "${script.job}", not "${jobName}".`);
    }
    const entry = overrideModels(loaded.entry, { ...script?.models, ...options.models });
    const userInput = options.userInput ?? script?.userInput;
    if (entry.jobs[jobName]?.requireUserInput === true && userInput === undefined) {
        throw new UsageError(`The job "${jobName}" needs user input: give it with --user-input TEXT or --user-input-file PATH.`);
    }
    const named = options.workingDirectory ?? script?.workingDirectory;
    const folder = (0,external_node_path_.resolve)(named ?? ".");
    await checkWorkingDirectory(folder);
    const workspace = named === undefined && script?.workspace !== undefined
        ? await makeWorkspace(script.workspace, options.environment)
        : undefined;
    const workingDirectory = workspace?.path ?? folder;
    return {
        loaded,
        entry,
        jobName,
        userInput: userInput ?? "",
        workingDirectory,
        limits: resolveLimits(loaded.entry.limits, script?.limits, options.limits),
        permissions: options.permissions ?? script?.permissions,
        script,
        cleanUp: async () => workspace?.remove(),
    };
}
/** Runs what was prepared. Rejects only with a `UsageError`: no model, no runtime, a file that can't be written. */
async function executeRun(prepared, options, signals = {}) {
    try {
        return await execute(prepared, options, signals);
    }
    finally {
        await prepared.cleanUp();
    }
}
async function execute(prepared, options, { signal, lastCall }) {
    const { loaded, entry, jobName, userInput, workingDirectory, limits, script } = prepared;
    // Not in `prepareRun`: an edge may check an entry first and install the runtime then.
    checkAccess(options, script !== undefined);
    const clock = clock_systemClock;
    const model = script === undefined ? undefined : createScriptedModel(script, { clock, workingDirectory });
    const view = createRunView();
    const redactor = redact_createRedactor(knownSecrets(options));
    const reporters = [
        { name: "view", report: (event) => applyEvent(view, event) },
        options.journal === undefined ? undefined : openJournal(options.journal),
        options.record === undefined
            ? undefined
            : createRecording(options.record, prepared, options, redactor),
        options.terminal &&
            createTerminalReporter({
                ...options.terminal,
                clock,
                chart: (shown) => chartOf(entry, jobName, shown),
            }),
        ...(options.reporters ?? []),
    ];
    const sink = createSink({
        clock,
        redactor,
        reporters: reporters.filter((reporter) => reporter !== undefined),
    });
    const sessions = createSessions({
        clock,
        environment: options.environment,
        runtimePath: options.runtimePath,
        // A rehearsal needs no model: nothing of ours reaches a server, whatever else was given.
        ...(model === undefined ? modelServer(options) : { transport: model }),
        onRuntimeRestarted: (reason) => sink.emit({ type: "decision", work: null, decision: { kind: "runtime-restarted", reason } }),
        onLeftovers: (runs) => sink.emit({ type: "decision", work: null, decision: { kind: "leftovers-ended", runs } }),
        mark: options.mark,
    });
    lastCall?.addEventListener("abort", () => sessions.kill(), { once: true });
    const ports = {
        sessions: sessions.factory,
        clock,
        gate: createGate(limits.parallel),
        random: Math.random,
        emit: (event) => sink.emit(judged(event, model)),
    };
    const declared = entry.permissions;
    const outcome = await runJob({
        entry,
        jobName,
        entryFile: loaded.file,
        userInput,
        workingDirectory,
        limits,
        permissionsOf: (taskId) => effectivePermissions(declared, entry.tasks[taskId]?.permissions, prepared.permissions),
    }, ports, signal);
    await sessions.stop();
    const reporterFailures = await sink.close();
    return {
        outcome: judgedOutcome(outcome, model),
        view,
        unexpected: model?.failures() ?? [],
        unused: model?.unused() ?? [],
        reporterFailures,
    };
}
/** A run that asked for something its script does not expect has failed, whatever its tasks made of it. */
function judged(event, model) {
    return event.type === "run.ended"
        ? { ...event, outcome: judgedOutcome(event.outcome, model) }
        : event;
}
function judgedOutcome(outcome, model) {
    const [failure] = model?.failures() ?? [];
    return failure === undefined || outcome.kind === "canceled"
        ? outcome
        : { kind: "failed", reason: `the rehearsal does not fit: ${failure}` };
}
function openJournal(path) {
    try {
        return createJournal(path, () => clock_systemClock.now());
    }
    catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        throw new UsageError(`The journal ${path} can't be written: ${why}`);
    }
}
/** The job as a Mermaid flowchart in which every node shows how it ended. */
function chartOf(entry, jobName, view, detailOf) {
    const job = entry.jobs[jobName];
    if (job === undefined)
        return "";
    const graph = generateChartNodes(job.work);
    if (view === undefined)
        return renderMermaid(graph);
    return renderMermaid(graph, {
        statusOf: (workId) => {
            const work = view.works.get(workId);
            return work === undefined ? undefined : nodeStatus(work);
        },
        ...(detailOf === undefined ? {} : { detailOf }),
    });
}
function nodeStatus(work) {
    switch (work.status) {
        case "crashed":
            return "failed";
        case "succeeded":
            return work.attempts > work.runs ? "retried" : "succeeded";
        case "pending":
        case "running":
        case "failed":
        case "canceled":
        case "skipped":
            return work.status;
    }
}

;// CONCATENATED MODULE: ./src/app/github.js
/** A run on GitHub, composed for the action: the reporter of a prepared run, and what is said without a run. */





function createGithubRun(prepared, options) {
    const { loaded, entry, jobName } = prepared;
    const { journal } = options;
    const view = createRunView();
    const reporter = createGithubReporter({
        ...options,
        lineOf: (taskId) => loaded.locateTask(taskId).line,
        chart: (shown) => chartOf(entry, jobName, shown, (workId) => chartDetail(shown, workId)),
    });
    return {
        reporters: [{ name: "outputs", report: (event) => applyEvent(view, event) }, reporter],
        outputs: () => outputsOf(view, journal === undefined ? {} : { journal }),
        finish: () => reporter.finish(),
    };
}
/** The outputs of a step that had no run. */
function outputsWithoutRun(result, reason) {
    return outputsOf(createRunView(), { result, reason });
}
/** The summary of such a step. */
function summaryWithoutRun(result, reasons) {
    const lines = reasons.flatMap((reason) => reason.split("\n"));
    return `## agent-jobs: ${result}\n\n${lines.map((line) => inline(line, 2000)).join("\n\n")}\n`;
}
/** All problems of an entry: as annotations where they are wanted, and in the log if there are more. */
function reportDiagnostics(core, diagnostics, options) {
    const annotations = options.annotations === "off" ? [] : diagnosticAnnotations(diagnostics, options.entryFile);
    for (const annotation of annotations)
        annotate(core, annotation);
    if (annotations.length === diagnostics.length && diagnostics.length < 10)
        return;
    for (const diagnostic of diagnostics)
        sayLine(core, `Invalid: ${diagnosticLine(diagnostic)}`);
}
/** Why there was no run: as annotations where they are wanted, and in the log if there are more. */
function reportReasons(core, level, reasons, wanted) {
    const shown = wanted === "all" || (wanted === "errors" && level === "error");
    const annotations = shown ? reasonAnnotations(level, reasons) : [];
    for (const annotation of annotations)
        annotate(core, annotation);
    if (reasons.length <= annotations.length)
        return;
    for (const reason of reasons)
        sayLine(core, `No run: ${reason}`);
}
/** A line in the log whatever it holds: `text` begins with words of ours. */
function sayLine(core, text) {
    core.info(logLine(text, 4000));
}
/** An annotation's text, harmless on every line. */
function annotationText(text) {
    return breakOldMarker(text).slice(0, 4096);
}

;// CONCATENATED MODULE: ./src/app/runtime.js
/** What an edge needs to find or install the native runtime; the sessions find it by themselves. */


;// CONCATENATED MODULE: ./src/app/version.js
/** Kept equal to `package.json` by a test. */
const version = "0.1.0";

;// CONCATENATED MODULE: ./src/action/input-table.js
const permissionValues = ["read-only", "workspace", "all"];
const providerTypeValues = ["openai", "azure", "anthropic"];
const wireApiValues = ["completions", "responses"];
const summaryValues = ["full", "compact", "off"];
const annotationValues = ["all", "errors", "off"];
const failOnValues = ["failure", "never"];
const allowUntrustedValues = ["false", "true"];
const inputTable = {
    entry: {
        description: "The entry file: models, tasks and jobs. For an event that the repository does not trust it is read from the base branch.",
        default: "",
        required: true,
    },
    job: {
        description: "The job to run. May be left out if the entry has just one.",
        default: "",
    },
    "user-input": {
        description: "What `$user-input` stands for in the prompts. It is data, not instructions: HTML comments, invisible characters and control characters are removed, and it is cut at 100000 characters. Risk: text of an issue or a pull request is written by whoever opened it.",
        default: "",
    },
    "user-input-file": {
        description: "A file that holds the user input, cleaned and cut in the same way. Not together with `user-input`.",
        default: "",
    },
    "working-directory": {
        description: "Where the agent works. Default: the workspace, or the folder that the rehearsal names.",
        default: "",
    },
    models: {
        description: "Other models for categories of the entry: one `category=id` a line.",
        default: "",
    },
    permissions: {
        description: "What the agent may do where the entry says nothing, and at most where it does: `read-only`, `workspace` or `all`. Default: the entry's, `read-only` where it has none. Risk: with `all` the agent runs any command, and on hosted runners every command can become root.",
        default: "",
    },
    "max-parallel": {
        description: "Turns at once, over the entry's `limits.parallel` (8).",
        default: "",
    },
    "github-token": {
        description: "Pays for the models, and asks GitHub who may start an agent. The built-in token needs `permissions: copilot-requests: write`; a fine-grained personal token needs “Copilot Requests” (then give the built-in one as the environment variable `GITHUB_TOKEN`, which is preferred for asking). Classic `ghp_` tokens do not work.",
        default: "${{ github.token }}",
    },
    "provider-type": {
        description: "The kind of your own model server: `openai`, `azure` or `anthropic`.",
        default: "openai",
        values: providerTypeValues,
    },
    "provider-base-url": {
        description: "The address of a model server of your own; no GitHub token pays for models then. Risk: that server sees the prompts and everything that the agent reads.",
        default: "",
    },
    "provider-api-key": {
        description: "The key of that server, from a secret.",
        default: "",
    },
    "provider-wire-api": {
        description: "The API that the server speaks: `completions` or `responses`.",
        default: "completions",
        values: wireApiValues,
    },
    "runtime-path": {
        description: "The Copilot runtime to use, also outside of the workspace. Default: the environment variable `COPILOT_CLI_PATH`, an installed package, the tool cache, or else it is installed. Risk: it is a program that we start.",
        default: "",
    },
    rehearse: {
        description: "A rehearsal file whose script plays the model: no token, no network, no cost. The tools that it calls are real.",
        default: "",
    },
    record: {
        description: "Where to write a rehearsal of this run. Risk: it holds what the agent read; secrets that are known are removed.",
        default: "",
    },
    journal: {
        description: "Where to write the journal: every event, as lines of JSON. Default: none is written. Risk: it holds what the agent read; secrets that are known are removed.",
        default: "",
    },
    summary: {
        description: "The job summary: `full`, `compact` or `off`.",
        default: "full",
        values: summaryValues,
    },
    annotations: {
        description: "Which annotations are made: `all`, `errors` or `off`.",
        default: "all",
        values: annotationValues,
    },
    "fail-on": {
        description: "Whether the step fails when the job does: `failure` or `never`. Wrong inputs, an invalid entry and an event that is refused always fail it.",
        default: "failure",
        values: failOnValues,
    },
    "allowed-bots": {
        description: "Bots that may start an agent, one login a line, such as `dependabot[bot]`; no wildcard. Risk: whoever makes such a bot act starts the agent.",
        default: "",
    },
    "allow-untrusted": {
        description: "Whether people without write access, forks and bots that are not listed may start an agent: `false` or `true`. Risk: strangers then spend your tokens and steer an agent that runs in your job; the entry comes from the base branch, all else from whatever was checked out.",
        default: "false",
        values: allowUntrustedValues,
    },
    "timeout-minutes": {
        description: "The limit of the whole job, over the entry's `limits.jobMinutes` (60).",
        default: "",
    },
};
const inputNames = Object.keys(inputTable).filter(isInputName);
function isInputName(name) {
    return Object.hasOwn(inputTable, name);
}
/** The name of the environment variable in which the runner hands an input over: hyphens stay. */
function inputVariable(name) {
    return `INPUT_${name.replaceAll(" ", "_").toUpperCase()}`;
}

;// CONCATENATED MODULE: ./src/action/inputs.js

function readEnvironment() {
    return process.env;
}
function readInputs(environment) {
    const problems = [];
    const reader = new Reader(environment, problems);
    const entry = reader.text("entry");
    if (entry === undefined)
        problems.push("`entry` is missing: name the entry file.");
    const userInput = reader.text("user-input");
    const userInputFile = reader.text("user-input-file");
    if (userInput !== undefined && userInputFile !== undefined) {
        problems.push("`user-input` and `user-input-file` exclude each other.");
    }
    const inputs = {
        entry: entry ?? "",
        job: reader.text("job"),
        userInput,
        userInputFile,
        workingDirectory: reader.text("working-directory"),
        models: reader.models(),
        permissions: reader.optional("permissions", permissionValues),
        maxParallel: reader.number("max-parallel", "a whole number over 0", Number.isSafeInteger),
        gitHubToken: gitHubToken(environment),
        provider: reader.provider(),
        runtimePath: reader.text("runtime-path"),
        rehearse: reader.text("rehearse"),
        record: reader.text("record"),
        journal: reader.text("journal"),
        summary: reader.choice("summary", summaryValues),
        annotations: reader.choice("annotations", annotationValues),
        failOn: reader.choice("fail-on", failOnValues),
        allowedBots: reader.bots(),
        allowUntrusted: reader.choice("allow-untrusted", allowUntrustedValues) === "true",
        timeoutMinutes: reader.number("timeout-minutes", "a number over 0", Number.isFinite),
    };
    return { inputs, problems };
}
/** The input, else the environment variable that steps set by themselves: our default without the runner's. */
function gitHubToken(environment) {
    return (inputs_present(environment[inputVariable("github-token")]) ?? inputs_present(environment["GITHUB_TOKEN"]));
}
/** Every value among the inputs and beside them that the runner has to mask, whether it is used or not. */
function secretInputs(environment) {
    return [inputVariable("github-token"), inputVariable("provider-api-key"), "GITHUB_TOKEN"]
        .map((name) => inputs_present(environment[name]))
        .filter((value) => value !== undefined);
}
function inputs_present(value) {
    const trimmed = value?.trim() ?? "";
    return trimmed === "" ? undefined : trimmed;
}
class Reader {
    #environment;
    #problems;
    constructor(environment, problems) {
        this.#environment = environment;
        this.#problems = problems;
    }
    /** What was given, else the default; undefined for an empty default. */
    text(name) {
        return inputs_present(this.#environment[inputVariable(name)]) ?? inputs_present(inputTable[name].default);
    }
    lines(name) {
        return (this.text(name) ?? "")
            .split(/\r?\n/)
            .map((line) => line.trim())
            .filter((line) => line !== "");
    }
    /** One of the values, of which the first one is the default. */
    choice(name, values) {
        return this.optional(name, values) ?? values[0];
    }
    optional(name, values) {
        const text = this.text(name);
        if (text === undefined)
            return undefined;
        const found = values.find((value) => value === text);
        if (found === undefined) {
            this.#problems.push(`\`${name}\` can't be ${JSON.stringify(text)}; it can be: ${values.join(", ")}.`);
        }
        return found;
    }
    number(name, meaning, accepts) {
        const text = this.text(name);
        if (text === undefined)
            return undefined;
        // Decimal digits only: "1e3", "0x10" and "Infinity" are slips, not wishes.
        const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
        if (accepts(value) && value > 0)
            return value;
        this.#problems.push(`\`${name}\` must be ${meaning}, not ${JSON.stringify(text)}.`);
        return undefined;
    }
    models() {
        const models = new Map();
        for (const line of this.lines("models")) {
            const [, category = "", id = ""] = /^([^=]+)=(.+)$/.exec(line) ?? [];
            if (category.trim() === "" || id.trim() === "") {
                this.#problems.push(`\`models\` has the line ${JSON.stringify(line)}; a line must have the form category=id, such as driving=gpt-5-mini.`);
            }
            else if (models.has(category.trim())) {
                this.#problems.push(`\`models\` names the category ${JSON.stringify(category)} twice.`);
            }
            models.set(category.trim(), id.trim());
        }
        return Object.fromEntries(models);
    }
    bots() {
        const logins = this.lines("allowed-bots");
        for (const login of logins) {
            if (!/^[A-Za-z0-9][A-Za-z0-9_-]*(\[bot\])?$/.test(login)) {
                this.#problems.push(`\`allowed-bots\` has the line ${JSON.stringify(login)}; a line must be one login, such as dependabot[bot], without wildcards.`);
            }
        }
        return logins;
    }
    provider() {
        const baseUrl = this.text("provider-base-url");
        const apiKey = this.text("provider-api-key");
        const type = this.choice("provider-type", providerTypeValues);
        const wireApi = this.choice("provider-wire-api", wireApiValues);
        if (baseUrl === undefined) {
            const given = [
                apiKey === undefined ? undefined : "provider-api-key",
                type === providerTypeValues[0] ? undefined : "provider-type",
                wireApi === wireApiValues[0] ? undefined : "provider-wire-api",
            ].filter((name) => name !== undefined);
            for (const name of given)
                this.#problems.push(`\`${name}\` needs \`provider-base-url\`.`);
            return undefined;
        }
        const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
        if (url === undefined || !/^https?:$/.test(url.protocol)) {
            this.#problems.push("`provider-base-url` must be an http or https address.");
        }
        else if (url.username !== "" || url.password !== "") {
            this.#problems.push("`provider-base-url` holds a name or a password: give the key as `provider-api-key`.");
        }
        return { baseUrl, type, wireApi, ...(apiKey === undefined ? {} : { apiKey }) };
    }
}

;// CONCATENATED MODULE: ./src/action/mark.js
/** The name under which the main step leaves the run's mark (`RUN_MARK`) to the post step. */
const MARK_STATE = "run";
function isMark(value) {
    return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);
}

;// CONCATENATED MODULE: ./src/action/event.js
/** What an event says about who caused it and what it is about. Everything is read with suspicion: it is JSON. */

function readEvent({ name, payload, actor }) {
    const pullRequest = event_at(payload, "pull_request");
    const upstream = event_at(payload, "workflow_run");
    const repository = event_at(payload, "repository");
    return {
        name,
        readable: guards_isRecord(payload),
        actors: name === "workflow_run"
            ? distinct([accountOf(event_at(upstream, "actor"))])
            : distinct([accountOf(event_at(payload, "sender")), actorOf(actor)]),
        pullRequest: guards_isRecord(pullRequest)
            ? {
                fork: !sameRepository(event_at(pullRequest, "head", "repo"), event_at(pullRequest, "base", "repo")),
                baseSha: sha(event_at(pullRequest, "base", "sha")),
            }
            : undefined,
        commentedPullRequest: commentedPullRequest(event_at(payload, "issue")),
        upstreamFork: !sameRepository(event_at(upstream, "head_repository"), repository),
    };
}
function commentedPullRequest(issue) {
    if ((event_at(issue, "pull_request") ?? undefined) === undefined)
        return undefined;
    const number = event_at(issue, "number");
    return typeof number === "number" && Number.isSafeInteger(number) ? number : "unknown";
}
function event_at(value, ...keys) {
    let found = value;
    for (const key of keys) {
        if (!guards_isRecord(found) || !Object.hasOwn(found, key))
            return undefined;
        found = found[key];
    }
    return found;
}
/** A repository that was deleted is null, and no repository is the same as that one. */
function sameRepository(one, other) {
    const [a, b] = [event_at(one, "id"), event_at(other, "id")];
    return typeof a === "number" && a === b;
}
function accountOf(account) {
    const login = event_at(account, "login");
    if (typeof login !== "string" || login === "")
        return undefined;
    return { login, bot: event_at(account, "type") === "Bot" || isBotName(login) };
}
function actorOf(login) {
    return login === undefined || login === "" ? undefined : { login, bot: isBotName(login) };
}
/** No person's login can end like this. It says that it is a bot, not that it is to be trusted. */
function isBotName(login) {
    return login.endsWith("[bot]");
}
function distinct(actors) {
    const known = new Map();
    for (const actor of actors) {
        if (actor === undefined)
            continue;
        const key = actor.login.toLowerCase();
        known.set(key, { ...actor, bot: actor.bot || known.get(key)?.bot === true });
    }
    return [...known.values()];
}
/** A commit, and nothing that git or an address could take for something else. */
function sha(value) {
    return typeof value === "string" && /^[0-9a-f]{40}([0-9a-f]{24})?$/.test(value)
        ? value
        : undefined;
}

;// CONCATENATED MODULE: ./src/action/checkout.js
/** What is checked out. Git is asked in a way in which nothing that is checked out can make it run a program. */


/** The commit that a folder is at; undefined if it is in no checkout or git is not there. */
async function checkedOutCommit(folder, environment) {
    const settings = [
        // Containers run as another user than the one who checked out.
        `safe.directory=*`,
        // A folder of the checkout that looks like a repository without being one.
        "safe.bareRepository=explicit",
        "core.fsmonitor=false",
        "core.hooksPath=/dev/null",
    ].flatMap((setting) => ["-c", setting]);
    const names = ["PATH", "HOME", "SYSTEMROOT"];
    const env = Object.fromEntries(names.map((name) => [name, environment[name]]));
    try {
        const args = [...settings, "rev-parse", "--verify", "HEAD"];
        return sha((await runProgram("git", args, { cwd: folder, env })).trim());
    }
    catch {
        return undefined;
    }
}

;// CONCATENATED MODULE: ./src/action/event-text.js
/**
 * Text of an event (titles, bodies, comments) is data from strangers. What a person who reads it on GitHub
 * can't see must not reach a model either.
 */
const MAX_EVENT_TEXT = 100_000;
function cleanEventText(raw) {
    const visible = raw
        .replace(/\r\n?|[\u2028\u2029]/g, "\n")
        .replace(/\p{Cs}/gu, "\uFFFD")
        .replace(/\p{Cc}/gu, (control) => (control === "\n" || control === "\t" ? control : ""))
        // Zero-width, bidirectional, tag and filler characters, variation selectors, annotation anchors.
        .replace(/[\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB]/gu, "");
    // After the invisible ones, which could have split the markers.
    const text = withoutComments(visible);
    if (text.length <= MAX_EVENT_TEXT)
        return { text, cut: 0 };
    // Not through the middle of a character.
    const end = /[\uD800-\uDBFF]/.test(text.charAt(MAX_EVENT_TEXT - 1))
        ? MAX_EVENT_TEXT - 1
        : MAX_EVENT_TEXT;
    return { text: text.slice(0, end), cut: text.length - end };
}
/**
 * Linear, and in one pass: a marker that the removal of a comment puts together is found as well. One that
 * is never closed goes to the end, as on GitHub.
 */
function withoutComments(text) {
    const kept = [];
    let next = 0;
    while (next < text.length) {
        kept.push(text.charAt(next));
        next += 1;
        if (kept.slice(-4).join("") !== "<!--")
            continue;
        kept.splice(-4);
        next = endOfComment(text, next);
    }
    return kept.join("");
}
/** `start` is behind the opening marker; `<!-->` and `<!--->` are whole comments. */
function endOfComment(text, start) {
    for (const short of [">", "->"])
        if (text.startsWith(short, start))
            return start + short.length;
    const end = text.indexOf("-->", start);
    return end < 0 ? text.length : end + 3;
}

;// CONCATENATED MODULE: ./src/action/github-api.js
/**
 * The few questions that we ask GitHub. `@actions/github` takes a while to load, and most runs ask
 * nothing: it is loaded with the first question. It finds `GITHUB_API_URL` and proxies by itself.
 */

const LIMIT_MS = 10_000;
const MAX_BYTES = 1_000_000;
/** Every method rejects with an Error for people. */
function createGithubApi(options) {
    let client;
    const ask = async (route, values) => {
        client ??= createClient(options);
        const { request, owner, repo } = await client;
        const signals = [AbortSignal.timeout(LIMIT_MS), options.signal];
        const signal = AbortSignal.any(signals.filter((one) => one !== undefined));
        try {
            return (await request(route, { owner, repo, ...values, request: { signal } })).data;
        }
        catch (error) {
            throw new Error(explanation(error, signal), { cause: error });
        }
    };
    return {
        async permissionOf(username) {
            const data = await ask("GET /repos/{owner}/{repo}/collaborators/{username}/permission", {
                username,
            });
            const permission = guards_isRecord(data) ? data["permission"] : undefined;
            if (typeof permission !== "string")
                throw new Error("GitHub did not say which it is");
            return permission;
        },
        async isForkPullRequest(number) {
            const data = await ask("GET /repos/{owner}/{repo}/pulls/{pull_number}", {
                pull_number: String(number),
            });
            const [head, base] = ["head", "base"].map((side) => repositoryId(data, side));
            return head === undefined || head !== base;
        },
        async readFile(path, ref) {
            // `{+path}` would leave `..` and `?` alone; the caller gives names that have none, this makes sure.
            const encoded = path.split("/").map(encodeURIComponent).join("/");
            const data = await ask(`GET /repos/{owner}/{repo}/contents/${encoded}`, { ref });
            if (!guards_isRecord(data) || data["type"] !== "file")
                throw new Error("it is not a regular file");
            const { content, encoding } = data;
            if (encoding !== "base64" || typeof content !== "string") {
                throw new Error(`it is larger than ${MAX_BYTES} bytes`);
            }
            return Buffer.from(content, "base64");
        },
    };
}
async function createClient({ token, repository }) {
    const [, owner, repo] = /^([\w.-]+)\/([\w.-]+)$/.exec(repository ?? "") ?? [];
    if (owner === undefined || repo === undefined) {
        throw new Error("GITHUB_REPOSITORY does not name a repository");
    }
    if (token === undefined)
        throw new Error("there is no GitHub token to ask with");
    const { getOctokit } = await __webpack_require__.e(/* import() */ 329).then(__webpack_require__.bind(__webpack_require__, 1329));
    const octokit = getOctokit(token);
    return { owner, repo, request: (route, values) => octokit.request(route, values) };
}
function repositoryId(data, side) {
    const branch = guards_isRecord(data) ? data[side] : undefined;
    const repository = guards_isRecord(branch) ? branch["repo"] : undefined;
    const id = guards_isRecord(repository) ? repository["id"] : undefined;
    return typeof id === "number" ? id : undefined;
}
function explanation(error, signal) {
    if (signal.aborted)
        return `GitHub did not answer within ${LIMIT_MS / 1000} s`;
    if (!(error instanceof Error))
        return String(error);
    const status = "status" in error && typeof error.status === "number" ? error.status : undefined;
    return status === undefined
        ? `GitHub can't be reached (${error.message})`
        : `GitHub answered ${status} (${error.message.split("\n")[0] ?? ""})`;
}

;// CONCATENATED MODULE: ./src/action/paths.js
/** Paths of the inputs: relative to the workspace, and never out of it, links resolved. */


/**
 * @param workspace absolute
 * @param name of the input, for the message
 */
async function insideWorkspace(workspace, name, value) {
    const outside = (how) => ({
        kind: "outside",
        problem: `\`${name}\` is ${JSON.stringify(value)}, which ${how}. Paths are relative to the workspace and may not leave it.`,
    });
    if (value.includes("\0"))
        return outside("is no path");
    const absolute = (0,external_node_path_.resolve)(workspace, value);
    const path = (0,external_node_path_.relative)(workspace, absolute);
    if (leaves(path))
        return outside("leads out of the workspace");
    const real = await realTarget(absolute);
    if (real === undefined)
        return outside("is or passes a link that leads nowhere");
    if (leaves((0,external_node_path_.relative)(await (0,promises_.realpath)(workspace), real))) {
        return outside("leads out of the workspace through a link");
    }
    return { kind: "inside", path: path === "" ? "." : path.replaceAll(external_node_path_.sep, "/") };
}
/** True if an absolute path is in the folder, links resolved; a path that isn't there counts by its name. */
async function paths_isInside(folder, path) {
    const real = (await realTarget(path)) ?? path;
    return !leaves((0,external_node_path_.relative)(await (0,promises_.realpath)(folder), real));
}
function leaves(path) {
    return path === ".." || path.startsWith(`..${external_node_path_.sep}`) || (0,external_node_path_.isAbsolute)(path);
}
/** Where a path ends up, also if its last parts are yet to be made; undefined behind a dangling link. */
async function realTarget(path) {
    try {
        return await (0,promises_.realpath)(path);
    }
    catch {
        // A link that exists but leads nowhere: whoever writes to it writes to its target.
        if ((await (0,promises_.lstat)(path).catch(() => undefined)) !== undefined)
            return undefined;
    }
    const parent = (0,external_node_path_.dirname)(path);
    if (parent === path)
        return path;
    const real = await realTarget(parent);
    return real === undefined ? undefined : (0,external_node_path_.join)(real, (0,external_node_path_.relative)(parent, path));
}

;// CONCATENATED MODULE: ./src/action/stop.js
/** Why there is no run, said by whoever finds out; `action.ts` makes the end of the step of it. */
class Stop extends Error {
    name = "Stop";
    result;
    /** All of them; the message is the first. */
    reasons;
    constructor(result, reasons) {
        super(reasons[0] ?? result);
        this.result = result;
        this.reasons = reasons;
    }
}

;// CONCATENATED MODULE: ./src/action/trust.js
/**
 * Who may start an agent. Decides alone, over what the event says and what the ports answer; whatever
 * can't be found out counts against the event.
 *
 * - Nobody is asked about a fork's pull request: it is skipped before anything else happens.
 * - A bot is trusted if its very login is listed, and never because of what GitHub says of its permission.
 * - `allow-untrusted` turns every other answer into `allowed`.
 * - With a `baseRef`, a fork's files may lie anywhere in the workspace: what decides about the run (the entry,
 *   the rehearsal) comes from that commit, never from the work tree, of which no commit says what it holds.
 */

/** Only people with write access, or the repository itself, cause these. */
const unchecked = new Set([
    "schedule",
    "workflow_dispatch",
    "repository_dispatch",
    "push",
    "merge_group",
]);
/** On these a fork's run gets no secrets. */
const trust_withoutSecrets = new Set([
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
]);
const enough = new Set(["admin", "maintain", "write"]);
const howToAllow = "Whoever wants such events to start an agent sets `allow-untrusted: true` (docs/security.md says what that means).";
async function decideTrust(event, options, ports) {
    const verdict = await judge();
    if (verdict.kind === "trusted" || !options.allowUntrusted)
        return verdict;
    const baseRef = baseRefOf(event, options);
    return baseRef === undefined
        ? { kind: "refused", reason: `${verdict.reason} Nor does the event say what its base is.` }
        : { kind: "allowed", reason: verdict.reason, baseRef };
    async function judge() {
        if (unchecked.has(event.name)) {
            const reason = `\`${event.name}\` needs write access to cause`;
            return { kind: "trusted", reason, baseRef: undefined };
        }
        if (isForkEvent(event))
            return skip;
        if (isIncomplete(event)) {
            return {
                kind: "refused",
                reason: `The event \`${event.name}\` does not say what it is about.`,
            };
        }
        const actors = await judgeActors(event, options, ports);
        return actors.kind === "trusted" ? judgeHead(event, options, ports, actors.reason) : actors;
    }
}
const skip = {
    kind: "skipped",
    reason: `The pull request comes from a fork: it gets no secrets, and people without write access decide what it holds. ${howToAllow}`,
};
function isForkEvent(event) {
    return trust_withoutSecrets.has(event.name) && event.pullRequest?.fork === true;
}
function isIncomplete({ name, readable, pullRequest }) {
    return name === "" || !readable || (/^pull_request(_|$)/.test(name) && pullRequest === undefined);
}
async function judgeActors(event, options, ports) {
    const reasons = [];
    for (const actor of event.actors) {
        const problem = await problemOf(actor, options, ports);
        if (problem !== undefined)
            return { kind: "refused", reason: `${problem} ${howToAllow}` };
        reasons.push(`${actor.login} ${actor.bot ? "is in `allowed-bots`" : "may write to the repository"}`);
    }
    return reasons.length === 0
        ? { kind: "refused", reason: `The event \`${event.name}\` does not say who caused it.` }
        : { kind: "trusted", reason: reasons.join(" and "), baseRef: undefined };
}
async function problemOf(actor, { allowedBots }, ports) {
    const { login } = actor;
    if (actor.bot) {
        return allowedBots.some((allowed) => allowed.toLowerCase() === login.toLowerCase())
            ? undefined
            : `The event was caused by the bot ${login}, which is not in \`allowed-bots\`.`;
    }
    try {
        const permission = await ports.permissionOf(login);
        return enough.has(permission)
            ? undefined
            : `The event was caused by ${login}, who may not write to the repository (permission: ${permission}).`;
    }
    catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        return `The event was caused by ${login}, whose permission can't be found out: ${why}.`;
    }
}
/** What runs with secrets on the base must not work where a fork is checked out, nor do what its files say. */
async function judgeHead(event, { eventSha }, ports, reason) {
    const fork = await forkOf(event, ports);
    if (fork === undefined)
        return { kind: "trusted", reason, baseRef: undefined };
    const baseRef = sha(eventSha);
    const heads = await ports.checkedOut();
    if (baseRef !== undefined && heads.length > 0 && heads.every((head) => head === baseRef)) {
        return { kind: "trusted", reason: `${reason}; ${fork}`, baseRef };
    }
    return {
        kind: "refused",
        reason: `\`${event.name}\` runs with secrets, ${fork}, and what is checked out is not the commit of the event itself: it may be the fork's. ${howToAllow}`,
    };
}
/** Why the head may be a fork's; undefined if it is not. */
async function forkOf(event, ports) {
    const { name, pullRequest, commentedPullRequest } = event;
    if (name === "workflow_run") {
        return event.upstreamFork ? "the run before it was for a fork" : undefined;
    }
    if (pullRequest !== undefined) {
        return pullRequest.fork ? "the pull request comes from a fork" : undefined;
    }
    if (commentedPullRequest === undefined)
        return undefined;
    const unknown = "it can't be found out whether the pull request comes from a fork";
    if (commentedPullRequest === "unknown")
        return unknown;
    try {
        return (await ports.isForkPullRequest(commentedPullRequest))
            ? "the pull request comes from a fork"
            : undefined;
    }
    catch {
        return unknown;
    }
}
/** A commit that the event's cause had no say in. On `pull_request`, `GITHUB_SHA` holds the head merged in. */
function baseRefOf(event, { eventSha }) {
    return trust_withoutSecrets.has(event.name) ? event.pullRequest?.baseSha : sha(eventSha);
}

;// CONCATENATED MODULE: ./src/action/preparation.js
/** From typed inputs to the options of a run: trust, paths, the entry's true text, the user input. */











async function checkPaths({ inputs, workspace }) {
    const problems = [];
    const check = async (name, value) => {
        const checked = await insideWorkspace(workspace, name, value);
        if (checked.kind === "inside")
            return checked.path;
        problems.push(checked.problem);
        return "";
    };
    const optional = async (name, value) => value === undefined ? undefined : check(name, value);
    const paths = {
        entry: await check("entry", inputs.entry),
        userInputFile: await optional("user-input-file", inputs.userInputFile),
        workingDirectory: await optional("working-directory", inputs.workingDirectory),
        rehearse: await optional("rehearse", inputs.rehearse),
        record: await optional("record", inputs.record),
        journal: await optional("journal", inputs.journal),
    };
    if (problems.length > 0)
        throw new Stop("failure", problems);
    return paths;
}
/** Throws a `Stop` unless whoever caused the event may start an agent. */
async function trustedSources(setting, paths) {
    const { inputs, environment, core } = setting;
    const event = readEvent({
        name: environment["GITHUB_EVENT_NAME"] ?? "",
        payload: await payloadOf(environment["GITHUB_EVENT_PATH"]),
        actor: environment["GITHUB_ACTOR"],
    });
    const api = createGithubApi({
        // A token that pays for models may not be allowed to ask about people.
        token: environment["GITHUB_TOKEN"] || inputs.gitHubToken,
        repository: environment["GITHUB_REPOSITORY"],
        signal: setting.signal,
    });
    const decision = await decideTrust(event, {
        allowUntrusted: inputs.allowUntrusted,
        allowedBots: inputs.allowedBots,
        eventSha: environment["GITHUB_SHA"],
    }, {
        permissionOf: (login) => api.permissionOf(login),
        isForkPullRequest: (number) => api.isForkPullRequest(number),
        checkedOut: () => checkedOutCommits(setting, paths),
    });
    switch (decision.kind) {
        case "trusted":
            sayLine(core, `Event: trusted, ${decision.reason}.`);
            break;
        case "skipped":
            throw new Stop("skipped", [decision.reason]);
        case "refused":
            throw new Stop("failure", [decision.reason]);
        case "allowed":
            sayLine(core, `Event: not trusted, but \`allow-untrusted\` is set. ${decision.reason}`);
            break;
    }
    const { baseRef } = decision;
    if (baseRef === undefined) {
        return { entryFile: paths.entry, rehearse: paths.rehearse, baseFolder: undefined };
    }
    await refuseRuntimeOfCheckout(setting);
    return fromBase(setting, paths, api, baseRef);
}
/** Where the agent works and where its input is. A rehearsal's own folder is not used beside a base. */
async function checkedOutCommits({ workspace, environment }, { workingDirectory = ".", userInputFile }) {
    // A link may lead into another checkout than the one that it is in.
    const real = async (path) => {
        const absolute = (0,external_node_path_.resolve)(workspace, path);
        return (0,promises_.realpath)(absolute).catch(() => absolute);
    };
    const folders = [
        await real(workingDirectory),
        ...(userInputFile === undefined ? [] : [(0,external_node_path_.dirname)(await real(userInputFile))]),
    ];
    return Promise.all(folders.map((folder) => checkedOutCommit(folder, environment)));
}
async function payloadOf(path) {
    try {
        return path === undefined ? undefined : JSON.parse(await (0,promises_.readFile)(path, "utf8"));
    }
    catch {
        // What can't be read says nothing; trust knows what to make of that.
        return undefined;
    }
}
/** A program that a stranger wrote is not made better by a sandbox inside of it. */
async function refuseRuntimeOfCheckout({ inputs, environment, workspace }) {
    for (const [name, path] of [
        ["runtime-path", inputs.runtimePath],
        ["COPILOT_CLI_PATH", environment["COPILOT_CLI_PATH"]],
    ]) {
        if (path === undefined || path === "")
            continue;
        if (await paths_isInside(workspace, (0,external_node_path_.resolve)(workspace, path))) {
            throw new Stop("failure", [
                `\`${name}\` leads into the workspace, which may hold what an untrusted person wrote: it is not started.`,
            ]);
        }
    }
}
/** The entry and the rehearsal as they are at the base, in a folder of their own. */
async function fromBase({ environment, core }, { entry, rehearse }, api, ref) {
    const temporary = environment["RUNNER_TEMP"] || (0,external_node_os_.tmpdir)();
    const baseFolder = await (0,promises_.realpath)(await (0,promises_.mkdtemp)((0,external_node_path_.join)(temporary, "agent-jobs-base-")));
    const copy = async (path) => {
        const target = (0,external_node_path_.join)(baseFolder, path);
        try {
            const content = await api.readFile(path, ref);
            await (0,promises_.mkdir)((0,external_node_path_.dirname)(target), { recursive: true });
            await (0,promises_.writeFile)(target, content);
        }
        catch (error) {
            const why = error instanceof Error ? error.message : String(error);
            throw new Stop("failure", [`${path} can't be read from the base (${ref}): ${why}.`]);
        }
        return target;
    };
    sayLine(core, `Read from the base, ${ref}: ${[entry, rehearse].filter(Boolean).join(", ")}.`);
    return {
        entryFile: await copy(entry),
        rehearse: rehearse === undefined ? undefined : await copy(rehearse),
        baseFolder,
    };
}
async function userInputOf({ inputs, core }, { userInputFile }) {
    const raw = userInputFile === undefined ? inputs.userInput : await readUserInputFile(userInputFile);
    if (raw === undefined)
        return undefined;
    const { text, cut } = cleanEventText(raw);
    if (cut > 0) {
        core.warning(`The user input is too long: its last ${cut} characters were cut off.`, {
            title: "agent-jobs",
        });
    }
    return text;
}
const MAX_INPUT_FILE = 10 * 1024 * 1024;
async function readUserInputFile(path) {
    try {
        const found = await (0,promises_.stat)(path);
        if (!found.isFile())
            throw new Error("it is not a regular file");
        if (found.size > MAX_INPUT_FILE)
            throw new Error(`it has ${found.size} bytes`);
        return await (0,promises_.readFile)(path, "utf8");
    }
    catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        throw new Stop("failure", [`\`user-input-file\` can't be read: ${why}.`]);
    }
}
function runOptions({ inputs, environment, workspace }, paths, sources, userInput) {
    const { job, permissions, provider, gitHubToken, maxParallel, timeoutMinutes } = inputs;
    const { rehearse } = sources;
    // A rehearsal may name a folder of its own; that of a base copy would be beside the copy.
    const workingDirectory = paths.workingDirectory ??
        (rehearse === undefined || sources.baseFolder !== undefined ? workspace : undefined);
    return {
        entryFile: sources.entryFile,
        environment,
        models: inputs.models,
        limits: {
            ...(maxParallel === undefined ? {} : { parallel: maxParallel }),
            ...(timeoutMinutes === undefined ? {} : { jobMinutes: timeoutMinutes }),
        },
        ...(job === undefined ? {} : { jobName: job }),
        ...(userInput === undefined ? {} : { userInput }),
        ...(workingDirectory === undefined ? {} : { workingDirectory }),
        ...(permissions === undefined ? {} : { permissions }),
        ...(rehearse === undefined ? {} : { rehearse }),
        ...(paths.record === undefined ? {} : { record: paths.record }),
        ...(paths.journal === undefined ? {} : { journal: paths.journal }),
        ...(provider === undefined ? (gitHubToken === undefined ? {} : { gitHubToken }) : { provider }),
    };
}

// EXTERNAL MODULE: ./node_modules/@actions/core/lib/core.js + 3 modules
var core = __webpack_require__(1604);
// EXTERNAL MODULE: ./node_modules/@actions/core/lib/summary.js
var summary = __webpack_require__(7971);
;// CONCATENATED MODULE: ./src/action/runner-core.js
/** The toolkit behind the narrow port that the reporter and the action need. */

const runnerCore = {
    info: (message) => core/* info */.pq(message),
    startGroup: (name) => core/* startGroup */.Oh(name),
    endGroup: () => core/* endGroup */.N4(),
    error: (message, properties) => core/* error */.z3(message, properties),
    warning: (message, properties) => core/* warning */.$e(message, properties),
    notice: (message, properties) => core/* notice */.lm(message, properties),
    async writeSummary(markdown) {
        await summary/* summary */.z.emptyBuffer().addRaw(markdown).write({ overwrite: true });
    },
    setOutput: (name, value) => core/* setOutput */.uH(name, value),
    setSecret: (value) => core/* setSecret */.Pq(value),
    saveState: (name, value) => core/* saveState */.LZ(name, value),
    getState: (name) => core/* getState */.Gu(name),
};

;// CONCATENATED MODULE: ./src/action/runtime-hashes.js
// Written by scripts/write-runtime-hashes.mjs from package-lock.json. Don't edit.
/** The version of the packages `@github/copilot-sdk-<platform>`. */
const runtimeVersion = "1.0.14";
/** Platform → the integrity of its package, as npm writes it: `sha512-` and base64. */
const runtimeHashes = {
    "linux-x64": "sha512-1wlAVTK1z7ovAez0tixr+f77TnjB3fqKobamu1pG7FYyCTwQuyU4p1aWNXF9j/u1d7rxSY1n9cAxrtEAUkizbg==",
    "linuxmusl-x64": "sha512-tNNeJl53hXEkqeGudNAsHQk9OrSUbt2EdPhtugcQxscabaEFutd7KwQH6jmvvYW7Sifgl59ySWTd4ok/9I94kg==",
};
/** Platforms that the SDK names and package-lock.json has no hash of: nothing is installed there. */
const runtimesWithoutHash = [
    "darwin-arm64",
    "darwin-x64",
    "linux-arm64",
    "linuxmusl-arm64",
    "win32-arm64",
    "win32-x64",
];

;// CONCATENATED MODULE: ./src/platform/programs.js
/** Running a program to its end, within a bound: it is ended, with all it started, when a signal says so. */

/** As much of the standard error as is kept, from its end. */
const keptCharacters = 16_384;
/** A killed process may take a moment to be gone; nobody waits longer for it. */
const graceMilliseconds = 2000;
/** Without a shell, without standard input; the standard output is read and dropped. Never rejects. */
function runToEnd(command, args, { cwd, env, signal }) {
    if (signal.aborted)
        return Promise.resolve({ kind: "aborted" });
    // A group of its own, so that what the program has started can be ended with it.
    const grouped = process.platform !== "win32";
    const child = (0,external_node_child_process_.spawn)(command, args, {
        cwd,
        env,
        detached: grouped,
        windowsHide: true,
        stdio: ["ignore", "pipe", "pipe"],
    });
    let stderr = "";
    child.stdout.resume();
    child.stderr.setEncoding("utf8").on("data", (text) => {
        stderr = (stderr + text).slice(-keptCharacters);
    });
    return new Promise((resolve) => {
        let grace;
        const finish = (outcome) => {
            clearTimeout(grace);
            signal.removeEventListener("abort", abort);
            child.stdout.destroy();
            child.stderr.destroy();
            resolve(signal.aborted ? { kind: "aborted" } : outcome);
        };
        const abort = () => {
            try {
                if (child.pid !== undefined && grouped)
                    process.kill(-child.pid, "SIGKILL");
                else
                    child.kill("SIGKILL");
            }
            catch {
                // Gone already.
            }
            grace = setTimeout(() => finish({ kind: "aborted" }), graceMilliseconds);
        };
        signal.addEventListener("abort", abort, { once: true });
        child.once("error", (error) => finish({ kind: "not-started", reason: error.message }));
        child.once("exit", (code, by) => {
            const outcome = code === null
                ? { kind: "killed", signal: by ?? undefined }
                : { kind: "exited", code, stderr: "" };
            // The last of its output is read after `exit`; a child that holds the pipe open is not waited for.
            const ended = () => finish(outcome.kind === "exited" ? { ...outcome, stderr } : outcome);
            child.once("close", ended);
            grace ??= setTimeout(ended, 500);
        });
    });
}

;// CONCATENATED MODULE: ./src/platform/time-limit.js
/**
 * A bound on something, from now. `AbortSignal.any` with `AbortSignal.timeout` would be shorter, but on
 * Node 20 the timeout may be collected before it fires.
 */
function startTimeLimit(milliseconds, outer) {
    const controller = new AbortController();
    let isOver = false;
    const forward = () => controller.abort(outer.reason);
    const timer = setTimeout(() => {
        isOver = !controller.signal.aborted;
        controller.abort();
    }, milliseconds);
    if (outer.aborted)
        forward();
    else
        outer.addEventListener("abort", forward, { once: true });
    return {
        signal: controller.signal,
        get isOver() {
            return isOver;
        },
        end() {
            clearTimeout(timer);
            outer.removeEventListener("abort", forward);
        },
    };
}

// EXTERNAL MODULE: external "node:stream/promises"
var external_node_stream_promises_ = __webpack_require__(6466);
// EXTERNAL MODULE: external "node:zlib"
var external_node_zlib_ = __webpack_require__(8522);
;// CONCATENATED MODULE: ./src/action/npm.js
/** Finds the npm to download with. Only looks; `installRuntime` runs it. */


/**
 * The npm in `PATH` (it is the one that the workflow has set up, with its registry), else the one next to
 * the node that runs us. Relative folders of `PATH` are passed over: they may be in the checkout.
 */
function findNpm(search) {
    const { environment, node, system, exists = external_node_fs_.existsSync } = search;
    const script = (path) => ({ command: node, args: [path] });
    const inPackage = (0,external_node_path_.join)("node_modules", "npm", "bin", "npm-cli.js");
    const path = variable(environment, "PATH") ?? "";
    for (const folder of path.split(external_node_path_.delimiter).filter((part) => (0,external_node_path_.isAbsolute)(part))) {
        if (system === "win32") {
            // npm.cmd can't be started without a shell; it stands next to this.
            if (exists((0,external_node_path_.join)(folder, inPackage)))
                return script((0,external_node_path_.join)(folder, inPackage));
        }
        else if (exists((0,external_node_path_.join)(folder, "npm")))
            return { command: (0,external_node_path_.join)(folder, "npm"), args: [] };
    }
    const home = (0,external_node_path_.dirname)(node);
    return [(0,external_node_path_.join)(home, "..", "lib", inPackage), (0,external_node_path_.join)(home, inPackage)]
        .filter((candidate) => exists(candidate))
        .map(script)[0];
}
/** What belongs to the action and the runner is not npm's business. */
const npm_hidden = /^(?:INPUT|ACTIONS|AGENT_JOBS|COPILOT)_|^(?:STATE_|GITHUB_(?:ENV|OUTPUT|PATH|STATE))/i;
/**
 * npm's own settings, proxies and whatever an `.npmrc` may name stay; inputs, the runner's tokens and model
 * keys don't. The folder of our node comes last in `PATH`, for an npm that starts with `env node`.
 */
function npmEnvironment(environment, node) {
    const kept = {};
    for (const [name, value] of Object.entries(environment)) {
        if (value !== undefined && !npm_hidden.test(name) && name.toUpperCase() !== "PATH")
            kept[name] = value;
    }
    const path = [variable(environment, "PATH"), (0,external_node_path_.dirname)(node)];
    return { ...kept, PATH: path.filter((part) => part !== undefined).join(external_node_path_.delimiter) };
}
/** On Windows names differ in case only (`Path`), and a copy of the environment is an ordinary object. */
function variable(environment, name) {
    const key = Object.keys(environment).find((key) => key.toUpperCase() === name);
    return key === undefined ? undefined : environment[key];
}

;// CONCATENATED MODULE: ./src/action/runtime-download.js
/**
 * Downloads the package of the runtime with npm, from whatever registry npm is configured for, into a
 * folder of its own, and checks it. Nothing of a package is run or unpacked here, and a file that is not
 * what the action's commit says does not stay on the disk.
 */







const hopelessCodes = new Set([
    ..."E401 E403 E404 ENEEDAUTH ETARGET EUSAGE EINVALIDPACKAGENAME".split(" "),
    ..."EACCES EROFS ENOSPC".split(" "),
]);
async function downloadPackage(request) {
    const { directory, environment, signal } = request;
    const npm = findNpm({ environment, node: process.execPath, system: process.platform });
    if (npm === undefined) {
        return {
            kind: "hopeless",
            reason: "there is no npm in PATH or next to node; put actions/setup-node before this step",
        };
    }
    // Keeps npm from looking further up for a project: an .npmrc of the checkout has no say here.
    await external_node_fs_.promises.writeFile((0,external_node_path_.join)(directory, "package.json"), "{}\n");
    const args = [
        ...npm.args,
        "pack",
        request.package,
        `--pack-destination=${directory}`,
        "--ignore-scripts",
        // One loop of retries is enough: ours.
        "--fetch-retries=0",
        "--no-update-notifier",
        "--loglevel=error",
    ];
    const env = npmEnvironment(environment, process.execPath);
    const outcome = await runToEnd(npm.command, args, { cwd: directory, env, signal });
    switch (outcome.kind) {
        case "aborted":
            return { kind: "failed", reason: "npm did not end in time" };
        case "killed":
            return { kind: "failed", reason: `npm was ended by ${outcome.signal ?? "a signal"}` };
        case "not-started":
            return { kind: "hopeless", reason: `npm can't be started: ${outcome.reason}` };
        case "exited":
            return outcome.code === 0
                ? verified(directory, request.integrity)
                : runtime_download_failure(outcome.code, outcome.stderr);
    }
}
function runtime_download_failure(exitCode, stderr) {
    const code = /^npm (?:error|ERR!) code (\w+)/m.exec(stderr)?.[1];
    const reason = `npm ended with exit code ${exitCode}: ${quoted(stderr)}`;
    return code !== undefined && hopelessCodes.has(code)
        ? { kind: "hopeless", reason }
        : { kind: "failed", reason };
}
/** The first words of what npm said, on one line: no credentials of a URL, no workflow command. */
function quoted(stderr) {
    const lines = stderr
        .split("\n")
        .map((line) => line.replace(/^npm (?:error|ERR!)\s*/, "").trim())
        .filter((line) => line !== "" && !/^npm warn|A complete log of this run/i.test(line));
    return lines
        .slice(0, 4)
        .join("; ")
        .replaceAll(/\/\/[^/@\s]+@/g, "//")
        .replaceAll("::", ": :")
        .replaceAll("##[", "# #[")
        .slice(0, 400);
}
async function verified(directory, integrity) {
    const name = (await external_node_fs_.promises.readdir(directory)).find((name) => name.endsWith(".tgz"));
    if (name === undefined)
        return { kind: "failed", reason: "npm succeeded but left no package" };
    const file = (0,external_node_path_.join)(directory, name);
    const hash = (0,external_node_crypto_.createHash)("sha512");
    await (0,external_node_stream_promises_.pipeline)((0,external_node_fs_.createReadStream)(file), hash);
    const actual = `sha512-${hash.digest("base64")}`;
    if (actual === integrity)
        return { kind: "downloaded", file };
    const { size } = await external_node_fs_.promises.stat(file);
    const whole = await isWholeArchive(file);
    await external_node_fs_.promises.rm(file, { force: true });
    if (!whole) {
        return { kind: "failed", reason: `the download is cut or damaged (${size} bytes)` };
    }
    return {
        kind: "hopeless",
        reason: `the package has the wrong SHA-512: expected ${integrity}, got ${actual}. ` +
            "The file is deleted, nothing of it was run. The registry that npm is configured for does not serve " +
            "the package that this version of the action was made with",
    };
}
async function isWholeArchive(file) {
    try {
        await (0,external_node_stream_promises_.pipeline)((0,external_node_fs_.createReadStream)(file), (0,external_node_zlib_.createGunzip)(), async (chunks) => {
            for await (const chunk of chunks)
                void chunk;
        });
        return true;
    }
    catch {
        return false;
    }
}

;// CONCATENATED MODULE: ./src/action/runtime-install.js
/**
 * Installs the runtime's package into a tool cache. Owns the order of steps and every bound on them:
 * download (tries, waits, time limits), check, unpack aside, and one rename into place. So what stands in
 * place is always complete, however many installs run at once and whenever they are killed.
 */







/** @throws RuntimeNotFoundError */
async function installRuntime(request) {
    const { limits, log, target, temporaryDirectory } = request;
    const started = clock_systemClock.now();
    const limit = startTimeLimit(limits.totalMilliseconds, request.signal);
    const install = {
        ...request,
        signal: limit.signal,
        failed: (reason) => {
            if (limit.isOver)
                return notInstalled(request, `it took longer than ${limits.totalMilliseconds / 1000} s`);
            return notInstalled(request, limit.signal.aborted ? "it was cancelled" : reason);
        },
    };
    try {
        await external_node_fs_.promises.mkdir(temporaryDirectory, { recursive: true });
        const scratch = await external_node_fs_.promises.mkdtemp((0,external_node_path_.join)(temporaryDirectory, "agent-jobs-download-"));
        try {
            const file = await download(install, scratch);
            const { size } = await external_node_fs_.promises.stat(file);
            log(`Downloaded ${megabytes(size)} in ${runtime_install_seconds(started)}; the SHA-512 is as expected.`);
            await unpack(install, file);
            log(`Unpacked into ${target}; ready after ${runtime_install_seconds(started)}.`);
        }
        finally {
            await external_node_fs_.promises.rm(scratch, { recursive: true, force: true, maxRetries: 3 });
        }
    }
    finally {
        limit.end();
    }
}
async function download(install, scratch) {
    const { limits, log, signal } = install;
    const tries = limits.waits.length + 1;
    for (let number = 1;; number += 1) {
        const directory = (0,external_node_path_.join)(scratch, `${number}`);
        await external_node_fs_.promises.mkdir(directory);
        log(`Downloading ${install.package} with npm, try ${number} of ${tries}…`);
        const limit = startTimeLimit(limits.tryMilliseconds, signal);
        const outcome = await downloadPackage({ ...install, directory, signal: limit.signal });
        limit.end();
        if (outcome.kind === "downloaded")
            return outcome.file;
        const wait = limits.waits[number - 1];
        if (signal.aborted || outcome.kind === "hopeless" || wait === undefined)
            throw install.failed(outcome.reason);
        log(`That failed: ${outcome.reason}. Again in ${wait / 1000} s.`);
        await clock_systemClock.sleep(wait, signal);
        if (signal.aborted)
            throw install.failed(outcome.reason);
    }
}
function notInstalled(request, reason) {
    return new RuntimeNotFoundError(`The Copilot runtime (${request.package}) can't be installed: ${reason}. ${waysToHaveIt}`);
}
const waysToHaveIt = "Other ways to have it: npm with access to a registry that holds the package, the input `runtime-path`, " +
    "or the environment variable COPILOT_CLI_PATH (docs/action.md, the runtime).";
async function unpack(install, file) {
    const { environment, platform, signal, target } = install;
    const parent = (0,external_node_path_.dirname)(target);
    await removeLeftovers(parent);
    // In the same folder, so on the same file system: the rename is one step.
    const aside = await external_node_fs_.promises.mkdtemp((0,external_node_path_.join)(parent, asidePrefix));
    try {
        // `o`: the files belong to us, also when we are root.
        const outcome = await runToEnd(tarOf(environment), ["-xzof", file], {
            cwd: aside,
            env: { PATH: environment["PATH"] },
            signal,
        });
        if (outcome.kind !== "exited" || outcome.code !== 0) {
            const reason = outcome.kind === "exited" ? outcome.stderr.trim().slice(-300) : outcome.kind;
            throw install.failed(`tar can't unpack it: ${reason}`);
        }
        const unpacked = (0,external_node_path_.join)(aside, "package");
        const problem = runtimeProblem(runtimeInPackage(unpacked, platform));
        if (problem !== undefined)
            throw install.failed(`the package is unpacked, ${problem}`);
        await moveIntoPlace(unpacked, target, platform, (0,external_node_path_.join)(aside, "old"));
    }
    finally {
        await external_node_fs_.promises.rm(aside, { recursive: true, force: true, maxRetries: 3 });
    }
}
/** Somebody else may have been faster: then theirs stays, unless it is broken. */
async function moveIntoPlace(from, target, platform, old) {
    const isThere = () => runtimeProblem(runtimeInPackage(target, platform)) === undefined;
    for (let round = 1;; round += 1) {
        try {
            await external_node_fs_.promises.rename(from, target);
            return;
        }
        catch (error) {
            if (isThere())
                return;
            if (round === 3)
                throw error;
            // A folder that holds something can't be renamed over.
            await external_node_fs_.promises.rename(target, `${old}-${round}`).catch(ignoreMissing);
        }
    }
}
function ignoreMissing(error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT"))
        throw error;
}
const asidePrefix = ".unpacking-";
const leftoverMilliseconds = 3_600_000;
/** What a killed install has left, an hour ago or more. */
async function removeLeftovers(parent) {
    for (const name of await external_node_fs_.promises.readdir(parent).catch(() => [])) {
        if (!name.startsWith(asidePrefix))
            continue;
        const path = (0,external_node_path_.join)(parent, name);
        const stat = await external_node_fs_.promises.stat(path).catch(() => undefined);
        if (stat !== undefined && clock_systemClock.now() - stat.mtimeMs > leftoverMilliseconds)
            await external_node_fs_.promises.rm(path, { recursive: true, force: true }).catch(() => { });
    }
}
/** On Windows the system's own: the one of git takes the colon of a drive for a host's. */
function tarOf(environment) {
    const root = process.platform === "win32" ? environment["SystemRoot"] : undefined;
    return root === undefined ? "tar" : (0,external_node_path_.join)(root, "System32", "tar.exe");
}
function megabytes(bytes) {
    return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
function runtime_install_seconds(since) {
    return `${((clock_systemClock.now() - since) / 1000).toFixed(1)} s`;
}

;// CONCATENATED MODULE: ./src/action/runtime.js
/**
 * The native Copilot runtime for the action, which can't be in the bundle: found, or else installed. Never
 * looked for in the checkout: what stands there may be somebody else's program.
 */






const installLimits = {
    tryMilliseconds: 150_000,
    totalMilliseconds: 300_000,
    waits: [2000, 8000],
};
/**
 * The absolute path of the runtime's executable. In this order: the input, `COPILOT_CLI_PATH`, the package
 * of our own version next to us, the tool cache; else it is installed there.
 * @throws RuntimeNotFoundError with what to do
 */
async function ensureRuntime(request) {
    const platform = request.platform ?? platformName();
    const { log, hashes = runtimeHashes } = request;
    const found = findRuntimeOfAction({ ...request, platform });
    if (found !== undefined) {
        log(`Copilot runtime: ${found.path} (${sourceNames[found.source]}).`);
        return found.path;
    }
    const name = `@github/copilot-sdk-${platform}@${runtimeVersion}`;
    const integrity = hashes[platform];
    if (integrity === undefined) {
        const known = Object.keys(hashes).join(", ");
        const why = runtimesWithoutHash.includes(platform)
            ? `this version of the action holds no SHA-512 of ${name}, so it installs none`
            : `there is no package of it for ${platform}`;
        throw new RuntimeNotFoundError(`No Copilot runtime: ${why}. Installed by the action on: ${known}. ${waysToHaveIt}`);
    }
    const target = await writableTarget(request, platform);
    log(`Copilot runtime: installing ${name} into ${target}.`);
    await installRuntime({
        package: name,
        integrity,
        platform,
        target,
        temporaryDirectory: request.temporaryDirectory,
        environment: request.environment,
        limits: request.limits ?? installLimits,
        signal: request.signal ?? new AbortController().signal,
        log,
    });
    return runtimeInPackage(target, platform);
}
const sourceNames = {
    input: "the input runtime-path",
    COPILOT_CLI_PATH: "COPILOT_CLI_PATH",
    package: "the package next to the action",
    "tool cache": `version ${runtimeVersion} in the tool cache`,
};
/**
 * Looks, installs nothing.
 * @throws RuntimeNotFoundError if a path that was named is wrong: no other is taken in its place
 */
function findRuntimeOfAction(request) {
    const platform = request.platform ?? platformName();
    const named = [
        ["input", request.runtimePath, "The input `runtime-path`"],
        ["COPILOT_CLI_PATH", request.environment["COPILOT_CLI_PATH"], "COPILOT_CLI_PATH"],
    ];
    for (const [source, path, label] of named) {
        if (path === undefined || path === "")
            continue;
        const absolute = (0,external_node_path_.isAbsolute)(path) ? path : (0,external_node_path_.resolve)(path);
        const problem = runtimeProblem(absolute);
        if (problem === undefined)
            return { path: absolute, source };
        throw new RuntimeNotFoundError(`${label} leads to ${absolute}, ${problem}. Correct it, or leave it out and the action installs the runtime.`);
    }
    const inPackage = packagesAbove(request.searchFrom ?? ownDirectory(), platform);
    for (const [root, source] of [
        ...inPackage.map((root) => [root, "package"]),
        ...cacheTargets(request, platform).map((root) => [root, "tool cache"]),
    ]) {
        const path = runtimeInPackage(root, platform);
        if (runtimeProblem(path) === undefined)
            return { path, source };
    }
    return undefined;
}
function ownDirectory() {
    return (0,external_node_path_.dirname)((0,external_node_url_.fileURLToPath)(import.meta.url));
}
/** Packages of our version in any `node_modules` above; one of another version is not ours. */
function packagesAbove(from, platform) {
    const roots = [];
    for (let folder = (0,external_node_path_.resolve)(from);; folder = (0,external_node_path_.dirname)(folder)) {
        const root = (0,external_node_path_.join)(folder, "node_modules", "@github", `copilot-sdk-${platform}`);
        if (versionOf(root) === runtimeVersion)
            roots.push(root);
        if (folder === (0,external_node_path_.dirname)(folder))
            return roots;
    }
}
function versionOf(root) {
    try {
        const content = JSON.parse((0,external_node_fs_.readFileSync)((0,external_node_path_.join)(root, "package.json"), "utf8"));
        return typeof content === "object" && content !== null && "version" in content
            ? content.version
            : undefined;
    }
    catch {
        return undefined;
    }
}
/** `<tool cache>/agent-jobs-runtime/<version>/<platform>`, in the order in which they are tried. */
function cacheTargets(request, platform) {
    return [request.toolCacheDirectory, request.temporaryDirectory].flatMap((directory) => directory === undefined || directory === ""
        ? []
        : [(0,external_node_path_.join)(directory, "agent-jobs-runtime", runtimeVersion, platform)]);
}
/** The first place that can be written to. */
async function writableTarget(request, platform) {
    const problems = [];
    for (const target of cacheTargets(request, platform)) {
        const parent = (0,external_node_path_.dirname)(target);
        try {
            await external_node_fs_.promises.mkdir(parent, { recursive: true });
            await external_node_fs_.promises.rm(await external_node_fs_.promises.mkdtemp((0,external_node_path_.join)(parent, ".probe-")), { recursive: true });
            return target;
        }
        catch (error) {
            const reason = error instanceof Error ? error.message : String(error);
            request.log(`The Copilot runtime can't be kept in ${parent}: ${reason}`);
            problems.push(reason);
        }
    }
    throw new RuntimeNotFoundError(`There is no place for the Copilot runtime: ${problems.join("; ")}. ${waysToHaveIt}`);
}

;// CONCATENATED MODULE: ./src/action/tokens.js
function modelKey({ rehearse, provider, gitHubToken }) {
    if (rehearse !== undefined) {
        return { kind: "given", text: "the rehearsal plays them; no token is used" };
    }
    if (provider !== undefined) {
        const key = provider.apiKey === undefined ? "without a key" : "with `provider-api-key`";
        const where = new URL(provider.baseUrl).origin;
        return {
            kind: "given",
            text: `your own server ${where} (${provider.type ?? "openai"}), ${key}; no GitHub token is used for them`,
        };
    }
    if (gitHubToken === undefined) {
        return { kind: "missing", problem: `There is no token for the models. ${tokens_waysToFixIt}` };
    }
    if (gitHubToken.startsWith("ghp_")) {
        return {
            kind: "missing",
            problem: `\`github-token\` is a classic personal token (ghp_…), which can't pay for models. ${tokens_waysToFixIt}`,
        };
    }
    return { kind: "given", text: `GitHub Copilot, with ${tokenName(gitHubToken)}` };
}
/** By its prefix, which says what a token is and nothing more. */
function tokenName(token) {
    if (token.startsWith("ghs_")) {
        return "an installation token (ghs_…), as the built-in GITHUB_TOKEN is one; the job needs `permissions: copilot-requests: write`";
    }
    if (token.startsWith("github_pat_"))
        return "a fine-grained personal token (github_pat_…)";
    if (token.startsWith("gho_") || token.startsWith("ghu_"))
        return "a user's token of an app";
    return "a token of a kind unknown to us";
}
const tokens_waysToFixIt = [
    "Three ways to give one:",
    "1. The built-in token: add `permissions: { contents: read, copilot-requests: write }` to the job, and leave `github-token` out.",
    "2. A fine-grained personal token with the permission “Copilot Requests”, as a secret: `github-token: ${{ secrets.COPILOT_TOKEN }}`.",
    "3. A model server of your own: `provider-base-url` and, from a secret, `provider-api-key`.",
].join("\n");

;// CONCATENATED MODULE: ./src/action/action.js
/**
 * The step from its start to its end. Owns the order (inputs, paths, key, trust, entry, runtime, run) and that
 * every end, whichever it is, has outputs, a summary and a reason.
 */





















/** Disposes of the cancellation, which may have happened already. */
async function runAction(cancellation) {
    const environment = readEnvironment();
    const core = runnerCore;
    for (const secret of secretInputs(environment))
        core.setSecret(secret);
    const redactor = redact_createRedactor([...knownSecrets({ environment }), ...secretInputs(environment)]);
    const step = new Step(environment, core, redactor, cancellation);
    cancellation.onLastCall = () => step.saveWhatIsKnown();
    try {
        return await step.run();
    }
    finally {
        cancellation.dispose();
    }
}
class Step {
    #environment;
    #core;
    #redactor;
    #cancellation;
    #inputs;
    #entryFile = "";
    #baseFolder;
    #githubRun;
    constructor(environment, core, redactor, cancellation) {
        this.#environment = environment;
        this.#core = core;
        this.#redactor = redactor;
        this.#cancellation = cancellation;
    }
    async run() {
        try {
            return await this.#run();
        }
        catch (error) {
            return await this.#endWithoutRun(error);
        }
        finally {
            if (this.#baseFolder !== undefined) {
                await (0,promises_.rm)(this.#baseFolder, { recursive: true, force: true }).catch(() => undefined);
            }
        }
    }
    /** When there is no time left to end in an orderly way. */
    async saveWhatIsKnown() {
        const run = this.#githubRun;
        if (run === undefined) {
            await this.#endWithoutRun(undefined);
            return;
        }
        this.#setOutputs({ ...run.outputs(), result: "cancelled" });
        await run.finish().catch(() => undefined);
    }
    async #run() {
        const core = this.#core;
        const { signal } = this.#cancellation;
        core.info(`agent-jobs ${version}, Node ${process.versions.node}`);
        const { inputs, problems } = readInputs(this.#environment);
        this.#inputs = inputs;
        if (problems.length > 0)
            throw new Stop("failure", problems);
        signal.throwIfAborted();
        const mark = (0,external_node_crypto_.randomUUID)();
        this.#tell("state", () => core.saveState(MARK_STATE, mark));
        const workspace = (0,external_node_path_.resolve)(this.#environment["GITHUB_WORKSPACE"] || ".");
        enter(workspace);
        const setting = {
            inputs,
            environment: this.#environment,
            workspace,
            core,
            signal,
        };
        const paths = await checkPaths(setting);
        this.#entryFile = paths.entry;
        // Before the key: a fork's pull request has none, and is to be told why nothing runs.
        const sources = await trustedSources(setting, paths);
        this.#baseFolder = sources.baseFolder;
        const key = modelKey(inputs);
        if (key.kind === "missing")
            throw new Stop("failure", [key.problem]);
        core.info(`Models: ${key.text}.`);
        const userInput = await userInputOf(setting, paths);
        const options = { ...runOptions(setting, paths, sources, userInput), mark };
        const prepared = await prepareRun(options);
        try {
            await this.#checkWorkingDirectory(prepared, workspace);
            const runtimePath = await ensureRuntime({
                runtimePath: inputs.runtimePath,
                environment: this.#environment,
                toolCacheDirectory: this.#environment["RUNNER_TOOL_CACHE"],
                temporaryDirectory: this.#environment["RUNNER_TEMP"] || (0,external_node_os_.tmpdir)(),
                // It quotes npm, which may quote its settings.
                log: (line) => sayLine(core, this.#redactor.text(line)),
                signal,
            });
            this.#githubRun = createGithubRun(prepared, {
                summary: inputs.summary,
                annotations: inputs.annotations,
                entryFile: paths.entry,
                core,
                randomToken: () => (0,external_node_crypto_.randomUUID)().replaceAll("-", ""),
                ...(paths.journal === undefined ? {} : { journal: paths.journal }),
            });
            const { reporters } = this.#githubRun;
            const ready = { ...options, runtimePath, reporters };
            const { lastCall } = this.#cancellation;
            const report = await executeRun(prepared, ready, { signal, lastCall });
            for (const { reporter, message } of report.reporterFailures) {
                this.#warn(`The ${reporter} is not complete: ${message}`);
            }
            this.#setOutputs(this.#githubRun.outputs());
            switch (report.outcome.kind) {
                case "succeeded":
                    return "passed";
                case "failed":
                    return inputs.failOn === "never" ? "passed" : "failed";
                case "canceled":
                    return "failed";
            }
        }
        finally {
            await prepared.cleanUp();
        }
    }
    /** A rehearsal may name the folder itself. */
    async #checkWorkingDirectory(prepared, workspace) {
        const { workingDirectory, script } = prepared;
        if (script?.workspace !== undefined)
            return;
        if (await paths_isInside(workspace, workingDirectory))
            return;
        throw new Stop("failure", [
            `The working directory ${workingDirectory} that the rehearsal names is not in the workspace.`,
        ]);
    }
    /** There was no run, for a reason that is known (or a defect of ours). */
    async #endWithoutRun(error) {
        const canceled = this.#cancellation.signal.aborted;
        const result = canceled ? "cancelled" : error instanceof Stop ? error.result : "failure";
        const reasons = canceled
            ? [String(this.#cancellation.signal.reason)]
            : this.#say(error).map((reason) => this.#redactor.text(reason));
        this.#setOutputs(outputsWithoutRun(result, reasons.join("\n")));
        if (this.#inputs?.summary !== "off")
            await this.#summarize(summaryWithoutRun(result, reasons));
        return result === "skipped" ? "passed" : "failed";
    }
    async #summarize(markdown) {
        try {
            await this.#core.writeSummary(markdown);
        }
        catch (error) {
            this.#warn(`The summary is not written: ${error instanceof Error ? error.message : ""}`);
        }
    }
    /** Tells the person what is wrong, and returns the sentences. */
    #say(error) {
        if (error instanceof diagnostic_DiagnosticsError) {
            const diagnostics = error.diagnostics.map((diagnostic) => this.#shown(diagnostic));
            reportDiagnostics(this.#core, diagnostics, {
                annotations: this.#inputs?.annotations ?? "all",
                entryFile: this.#entryFile,
            });
            const [first] = diagnostics;
            const more = diagnostics.length > 1 ? ` (and ${diagnostics.length - 1} more)` : "";
            return [`The entry is not valid: ${first?.reason ?? error.message}${more}`];
        }
        const reasons = reasonsOf(error);
        const level = error instanceof Stop && error.result === "skipped" ? "notice" : "error";
        const texts = reasons.map((reason) => this.#redactor.text(reason));
        reportReasons(this.#core, level, texts, this.#inputs?.annotations ?? "all");
        return reasons;
    }
    /** With a file that is relative to the workspace, wherever it was read. */
    #shown(diagnostic) {
        const { file, reason, hint } = diagnostic;
        const base = this.#baseFolder;
        const clean = {
            ...diagnostic,
            reason: this.#redactor.text(reason),
            ...(hint === undefined ? {} : { hint: this.#redactor.text(hint) }),
        };
        if (file === undefined || base === undefined)
            return clean;
        return { ...clean, file: (0,external_node_path_.relative)(base, (0,external_node_path_.resolve)(file)).replaceAll("\\", "/") };
    }
    #setOutputs(outputs) {
        this.#tell("outputs", () => {
            for (const [name, value] of Object.entries(outputs))
                this.#core.setOutput(name, value);
        });
    }
    /** The runner's files may be full or gone: what the run came to is not changed by that. */
    #tell(what, write) {
        try {
            write();
        }
        catch (error) {
            this.#warn(`The ${what} can't be written: ${error instanceof Error ? error.message : ""}`);
        }
    }
    #warn(text) {
        this.#core.warning(annotationText(this.#redactor.text(text)), { title: "agent-jobs" });
    }
}
function enter(workspace) {
    try {
        process.chdir(workspace);
    }
    catch {
        throw new Stop("failure", [`The workspace ${workspace} is not there: check out first.`]);
    }
}
function reasonsOf(error) {
    if (error instanceof Stop)
        return error.reasons;
    if (error instanceof UsageError) {
        // The inputs have the names of the command line's options.
        const named = (text, name) => (isInputName(name) ? name : text);
        return [error.message.replace(/--([a-z][a-z-]*)/g, named)];
    }
    if (error instanceof RuntimeNotFoundError)
        return [error.message];
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return [`This is a defect of agent-jobs, please report it. ${text}`];
}


/***/ })

};
