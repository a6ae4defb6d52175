/**
 * Text of a journal never becomes more than text, wherever the page shows it. The journals here have an attack in
 * every field that is not a word of the format. Each page is opened twice: as it is, and without its
 * Content-Security-Policy, so that neither of the two defenses hides that the other is missing.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import type { RunEvent } from "../../src/events/event.ts";
import { browserTests, until, useBrowser } from "../rig/browser.ts";
import { nightly, onlyNightly, share } from "../rig/nightly.ts";
import { handedIn } from "../web/handed-in.ts";
import { largeRun } from "../web/large-run.ts";
import { writeReport } from "./report.ts";

const open = useBrowser();

const attacks = [
  `<img src=x onerror="window.pwned=1">`,
  `<svg onload="window.pwned=2"><script>window.pwned=3</script></svg>`,
  `</script><script>window.pwned=4</script>`,
  `[a](javascript:window.pwned=5) [b](data:text/html,<script>window.pwned=6</script>) <javascript:window.pwned=7>`,
  `<!--><img src=x onerror=window.pwned=8>--><iframe srcdoc="<script>parent.pwned=9</script>"></iframe>`,
  `![a](http://203.0.113.1/a.png) <img src="http://203.0.113.1/b.png"><link rel=stylesheet href=http://203.0.113.1/c.css>`,
  `<style>@import "http://203.0.113.1/d.css"; body { display: none }</style>`,
  `"] --> evil["<img src=x onerror=window.pwned=10>"]\nclick n1 "javascript:window.pwned=11"\nclick n1 call alert()`,
  `%%{init: {"securityLevel": "loose", "htmlLabels": true}}%%<br>\`\`\``,
  `<meta http-equiv=refresh content="0;url=http://203.0.113.1/"><base href="http://203.0.113.1/">`,
  `<form action="http://203.0.113.1/"><button autofocus onfocus="window.pwned=12">go</button></form>`,
  `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=window.pwned=13&gt;">`,
  `<details open ontoggle="window.pwned=14"><summary id=boot name=boot>x</summary></details>`,
] as const;

/** Words of the format, whose readers would not know others. */
const words = new Set(
  (
    "type kind status role purpose field source format outcome " +
    "severity category preset version code cause verdict mode encoding"
  ).split(" "),
);

let count = 0;
const replaced = new Map<string, string>();

/** Equal texts stay equal, so that ids still match. */
function attacked(text: string): string {
  const known = replaced.get(text);
  if (known !== undefined) return known;
  const attack = `${attacks[count % attacks.length] ?? ""} ${text}`;
  count += 1;
  replaced.set(text, attack);
  return attack;
}

function attackEverything(event: RunEvent): RunEvent {
  const attackedEvent: RunEvent = JSON.parse(JSON.stringify(event), (key, value: unknown) =>
    typeof value === "string" && !words.has(key) ? attacked(value) : value,
  );
  return attackedEvent;
}

const [started, ...rest] = largeRun({ events: 500 });
const stamp = { at: started?.at ?? 0, runId: started?.runId ?? "" };
/** Attacked like everything else, it must not become a link. */
const origin = {
  repository: "octo/shop",
  server: "https://github.com",
  workflowRun: "1",
  attempt: 1,
  event: "pull_request",
  head: "a".repeat(40),
};
const givers = handedIn({ workId: 0, taskId: "review", iteration: 1 });
const run = [
  ...(started === undefined ? [] : [{ ...started, origin }]),
  ...givers.map((body) => ({ ...stamp, ...body })),
  ...rest,
];

function hostileRun(runId?: string): readonly RunEvent[] {
  return run.map((event) =>
    attackEverything({ ...event, ...(runId === undefined ? {} : { runId }) }),
  );
}

/** Opens everything that is closed, some times, since what is opened may contain more. */
async function openAll(page: Page): Promise<void> {
  for (let times = 0; times < 3; times += 1) {
    await page.evaluate(
      `document.querySelectorAll("main [aria-expanded=false]").forEach((one) => one.click())`,
    );
    await page.evaluate(
      `new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))`,
    );
  }
}

async function expectOnlyText(page: Page, what: string): Promise<void> {
  assert.equal(await page.evaluate(`window.pwned`), undefined, `a script ran on ${what}`);
  const found = await page.evaluate<readonly string[]>(`
    [...document.querySelectorAll("body *")].flatMap((element) => {
      const name = element.localName;
      const handlers = element.getAttributeNames().filter((one) => one.startsWith("on"));
      const href = element.getAttribute("href") ?? element.getAttribute("xlink:href") ?? "";
      const isBad =
        ["iframe", "object", "embed", "base", "meta", "link", "math"].includes(name) ||
        (name === "style" && element.closest("svg") === null) ||
        (name === "form" && element.getAttribute("action") !== null) ||
        (name === "img" && !element.src.startsWith("data:")) ||
        (name === "script" && !["boot", "events"].includes(element.id) && element.closest("main") !== null) ||
        (name === "a" && href === "" && element.closest("svg") === null) ||
        handlers.length > 0 ||
        (href !== "" && !/^(#|https?:)/.test(href)) ||
        (/^https?:/.test(href) && !/noopener/.test(element.rel));
      return isBad ? [element.outerHTML.slice(0, 200)] : [];
    })`);
  assert.deepEqual(found, [], `markup of the journal on ${what}`);
}

describe("a hostile journal", () => {
  for (const bypassPolicy of share([true, false], 1)) {
    const how = bypassPolicy ? "without the policy" : "with the policy";

    it(`runs nothing on the page of a run, ${how}`, browserTests, async (t) => {
      const address = await writeReport(t, { "run.jsonl": hostileRun() });
      const { page } = await open({ bypassPolicy });
      await page.goto(address);
      const works = page.getByRole("navigation", { name: "Steps" }).getByRole("link");
      await works.first().waitFor();
      const flowchart = page.getByRole("region", { name: "Flowchart" });
      await flowchart.getByRole("button", { name: /#0/ }).first().waitFor();
      await page.getByRole("list", { name: "Findings" }).getByRole("listitem").first().waitFor();
      await openAll(page);
      await expectOnlyText(page, "the overview");
      const links = Math.min(8, await works.count());
      for (let index = 0; index < links; index += 1) {
        await works.nth(index).click();
        await until(page, `location.hash.includes("/work/")`);
        await openAll(page);
        await expectOnlyText(page, `work ${index}`);
      }
      await page.getByRole("tab", { name: /^Decisions/ }).click();
      await expectOnlyText(page, "the decisions");
      await page.getByRole("tab", { name: "Timeline" }).click();
      await page.getByRole("button", { name: "Table", exact: true }).click();
      await expectOnlyText(page, "the table of the timeline");
      await page.getByRole("searchbox", { name: "Search the run" }).fill("onerror");
      await page
        .getByText(/hits?$/)
        .first()
        .waitFor();
      await expectOnlyText(page, "the hits of a search");
    });

    it(
      `runs nothing in the table of runs, ${how}`,
      nightly ? browserTests : onlyNightly,
      async (t) => {
        const address = await writeReport(t, {
          "a.jsonl": hostileRun(),
          "b.jsonl": hostileRun("second"),
        });
        const { page } = await open({ bypassPolicy });
        await page.goto(address);
        await page.getByRole("checkbox").nth(0).check();
        await page.getByRole("checkbox").nth(1).check();
        await page.getByRole("row", { name: /^From .* to / }).waitFor();
        await expectOnlyText(page, "the table");
      },
    );
  }
});
