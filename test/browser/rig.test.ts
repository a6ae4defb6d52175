/** The rig of the browser tests finds what it has to find: each guard is provoked once. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, describe, it, type TestContext } from "node:test";
import type { Browser } from "playwright-core";
import {
  browserTests,
  expectAccessible,
  expectAccessibleInBoth,
  expectNoSidewaysScroll,
  findChromium,
  launchChromium,
  openTab,
  phone,
  type OpenTab,
  type TabOptions,
} from "../rig/browser.ts";
import { listen } from "../rig/listen.ts";
import { nightly, onlyNightly } from "../rig/nightly.ts";
import { makeWorkspace } from "../rig/workspace.ts";

let browser: Browser | undefined;

/** One that nothing counts the problems of. */
async function tabOf(t: TestContext, options: TabOptions = {}): Promise<OpenTab> {
  browser ??= await launchChromium();
  const tab = await openTab(browser, options);
  t.after(() => tab.close());
  return tab;
}

after(() => browser?.close());

const policy =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:";

async function serve(t: TestContext, body: string): Promise<string> {
  const server = createServer((_, response) => {
    response.setHeader("content-type", "text/html; charset=utf-8");
    response.setHeader("content-security-policy", policy);
    response.end(
      `<!doctype html><html lang="en"><title>A page</title>` +
        `<link rel="icon" href="data:,"><main><h1>A page</h1>${body}</main></html>`,
    );
  });
  return listen(t, server);
}

/** What the guard of a tab has to say about a page. */
async function problemsOf(t: TestContext, body: string, tolerated?: RegExp): Promise<string> {
  const address = await serve(t, body);
  const tab = await tabOf(t);
  if (tolerated !== undefined) tab.tolerate(tolerated);
  await tab.page.goto(address);
  await tab.page.getByText("loaded").waitFor();
  return (await tab.close()).join("\n");
}

describe("the browser of the tests", nightly ? browserTests : onlyNightly, () => {
  const loaded = "<p>loaded</p>";

  it("has nothing to say about a quiet page", async (t) => {
    assert.equal(await problemsOf(t, loaded), "");
  });

  const provoked: readonly (readonly [string, string, RegExp])[] = [
    [
      "a request to a foreign host",
      `<a href="//example.com/" ping>x</a>${loaded}<img src="http://example.com/a.png">`,
      /request: GET http:\/\/example\.com\/a\.png/,
    ],
    [
      "a violation of the policy",
      `${loaded}<script src="/a.js"></script>`,
      /Content Security Policy/,
    ],
    [
      "an uncaught error",
      `<script>setTimeout(() => { throw new Error("thrown"); })</script>${loaded}`,
      /uncaught: Error: thrown/,
    ],
    ["an error on the console", `<script>console.error("bad")</script>${loaded}`, /console: bad/],
    ["a dialog", `<script>alert("hello")</script>${loaded}`, /dialog: hello/],
    ["another window", `<script>open("about:blank")</script>${loaded}`, /window: about:blank/],
  ];
  for (const [what, body, expected] of provoked) {
    it(`fails a test for ${what}`, async (t) => {
      assert.match(await problemsOf(t, body), expected);
    });
  }

  it("lets a test name what it provokes", async (t) => {
    assert.equal(await problemsOf(t, `<script>console.error("bad")</script>${loaded}`, /bad/), "");
  });

  it("finds what is not accessible, under the policy of the page", async (t) => {
    const { page } = await tabOf(t);
    await page.goto(await serve(t, "<p>loaded</p>"));
    await expectAccessible(page, "a good page");
    await page.goto(await serve(t, "<button></button>"));
    await assert.rejects(expectAccessible(page, "a bad page"), /button-name/);
    const pale = "@media (prefers-color-scheme: dark) { p { color: #ddd; } }";
    await page.goto(await serve(t, `<style>${pale}</style><p>loaded</p>`));
    await assert.rejects(expectAccessibleInBoth(page, "a pale page"), /axe on dark a pale/);
  });

  it("finds a page that is wider than a phone", async (t) => {
    const { page } = await tabOf(t, { viewport: phone });
    await page.goto(await serve(t, "<p>loaded</p>"));
    await expectNoSidewaysScroll(page, "a narrow page");
    await page.goto(await serve(t, `<div style="width: 500px">wide</div>`));
    await assert.rejects(expectNoSidewaysScroll(page, "a wide page"), /DIV/);
  });

  it("finds a browser on PATH, and says when there is none", async (t) => {
    const { path } = await makeWorkspace(t);
    assert.equal(findChromium(path), undefined);
    await mkdir(join(path, "bin"));
    await writeFile(join(path, "bin", "google-chrome"), "", { mode: 0o755 });
    assert.equal(findChromium(join(path, "bin")), join(path, "bin", "google-chrome"));
  });
});
