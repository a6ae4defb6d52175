import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import * as fc from "fast-check";
import { eventCheck } from "../../../src/events/event.ts";
import type { RunEvent } from "../../../src/events/event.ts";
import type { ReportBoot } from "../../../src/reports/html/boot.ts";
import { EventArchive } from "../../../src/reports/from-journals.ts";
import { reportHtml } from "../../../src/run/html-report.ts";
import { viewsOf } from "../../../src/events/view.ts";
import { summaryOf } from "../../../src/reports/run-summary.ts";
import { everyEvent } from "../../events/every-event.ts";
import { anyCharacter } from "../../rig/any-character.ts";
import { holds } from "../../rig/fuzz.ts";
import { readReport } from "../rig.ts";

const page = { script: "start();", style: "body{}" };

async function htmlOf(
  events: readonly RunEvent[],
  given: Partial<ReportBoot> = {},
  files = page,
): Promise<string> {
  const archive = new EventArchive();
  for (const event of events) archive.add(event);
  const boot = {
    kind: "report",
    version: "1",
    createdAt: "2026-01-02T03:04:05.000Z",
    journals: [],
    runs: [...viewsOf(events).values()].map((view) => ({ ...summaryOf(view), journals: [] })),
    ...given,
  } as const;
  // As it is in the file: lone surrogates have no place in UTF-8.
  const bytes = [...reportHtml(boot, await archive.finish(), files)].map((part) =>
    Buffer.from(part),
  );
  return Buffer.concat(bytes).toString();
}

const every = everyEvent.map((body, at): RunEvent => ({ at, runId: "run", ...body }));

test("a report contains every event in order, and a summary of every run", async () => {
  const other = every.map((event) => ({ ...event, runId: "other" }));
  const { events, boot } = readReport(await htmlOf([...every, ...other]));
  assert.deepEqual(events, [...every, ...other]);
  assert.deepEqual(
    boot.runs.map(({ runId }) => runId),
    ["run", "other"],
  );
});

test("a report of no events, and one of many, can be read back", async () => {
  assert.deepEqual(readReport(await htmlOf([])).events, []);
  const many = Array.from({ length: 80 }, (_, at) => every.map((event) => ({ ...event, at })));
  assert.deepEqual(readReport(await htmlOf(many.flat())).events, many.flat());
});

test("the policy allows the script of the page alone, and nothing from elsewhere", async () => {
  for (const script of ["start();", 'x = "<!--<script>";\r\ny();\rz();', "é\u2028𝄞"]) {
    const report = readReport(await htmlOf(every, {}, { ...page, script }));
    const hash = createHash("sha256").update(report.script).digest("base64");
    assert.equal(
      report.policy,
      `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'`,
    );
    assert.doesNotMatch(report.script, /<!--|\r/);
    assert.doesNotMatch(report.markup, /\bsrc=|https?:|@import|url\(/);
  }
});

test("page files that would end their element early are refused", async () => {
  await assert.rejects(htmlOf(every, {}, { ...page, script: 'x="</ScRiPt >"' }));
  await assert.rejects(htmlOf(every, {}, { ...page, style: "</style>" }));
});

const attacks = [
  "</script><script>alert(1)</script>",
  "<script>",
  "</noscript><img src=x onerror=alert(1)>",
  "</title><svg onload=alert(1)>",
  "<!--",
  "-->",
  "]]>",
  `"><b>`,
  "'><b>",
  "&lt;script&gt;",
  "\u2028\u2029",
  "\ud800",
  "\udfff\ud800",
  "\0\u001b[31m",
  "{{constructor}}",
];
const attack = fc
  .array(fc.oneof(fc.constantFrom(...attacks), fc.string({ unit: anyCharacter, maxLength: 8 })), {
    minLength: 1,
    maxLength: 4,
  })
  .map((parts) => parts.join(""));

/** Every text of the event, and every name in a dictionary, replaced where the event stays one. */
function attacked(event: RunEvent, next: () => string): RunEvent {
  let result: unknown = structuredClone(event);
  const walk = (value: unknown, path: readonly (string | number)[]): void => {
    if (typeof value === "string") {
      const changed = replaced(result, path, next());
      if (eventCheck.accepts(changed)) result = changed;
    } else if (typeof value === "object" && value !== null) {
      for (const [name, item] of Object.entries(value)) walk(item, [...path, name]);
    }
  };
  walk(event, []);
  assert.ok(eventCheck.accepts(result));
  return result;
}

function replaced(
  value: unknown,
  [name, ...rest]: readonly (string | number)[],
  by: string,
): unknown {
  if (name === undefined) return by;
  const copy: Record<string, unknown> = Object.assign(Array.isArray(value) ? [] : {}, value);
  copy[name] = replaced(copy[name], rest, by);
  return copy;
}

/** All that the file itself consists of. */
const ownTags =
  /<(!doctype html|html lang="en"|meta [^<>]*|link rel="icon" href="data:[^"<>]*"|div id="app"|script type="(application\/json" id="boot|application\/octet-stream" id="events|module)"|\/?(html|head|body|title|style|div|noscript|script|p|ul|li))>/g;

function assertHarmless(html: string): void {
  const { markup, bootText } = readReport(html);
  assert.doesNotMatch(markup.replace(ownTags, ""), /[<>]/);
  assert.doesNotMatch(bootText, /[<>\u2028\u2029]|\p{Cs}/u);
  assert.equal(html.split(/<script/i).length, 4);
  assert.equal(html.split(/<\/script/i).length, 4);
  assert.doesNotMatch(html, /<!--|alert\(1\)<\/script|\p{Cs}/u);
}

test("hostile text in every field of every event is in the file as text only", async (t) => {
  await holds(
    t,
    fc.asyncProperty(fc.infiniteStream(attack), async (texts) => {
      const next = (): string => texts.next().value ?? "";
      const hostile = every.map((event) => attacked(event, next));
      const reasons = [...attacks, next()];
      const html = await htmlOf(hostile, {
        journals: [
          {
            name: next(),
            problems: reasons.map((reason, line) => ({ line, reason, kind: "damaged" })),
            moreProblems: 3,
          },
        ],
      });
      assertHarmless(html);
      const { events, boot } = readReport(html);
      assert.deepEqual(events, JSON.parse(JSON.stringify(hostile)));
      assert.deepEqual(
        boot.journals[0]?.problems.map(({ reason }) => reason),
        JSON.parse(JSON.stringify(reasons)),
      );
    }),
    40,
  );
});

test("without scripts, a report lists its runs", async () => {
  const [, plain = ""] = /<noscript>(.*)<\/noscript>/s.exec(await htmlOf(every)) ?? [];
  assert.match(plain, /<li>\S+ skipped /);
});
