/** The files of the page, and the HTML around them. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  findPageFiles,
  jsonInHtml,
  pageHtml,
  portalHtml,
  portalPolicy,
} from "../../../src/reports/html/page.ts";

describe("the files of the page", () => {
  it("are in the build, and small enough to be a part of every report", () => {
    const files = findPageFiles();
    assert.ok(files !== undefined);
    assert.ok(files.script.length < 1_500_000, `${files.script.length} bytes`);
    // In a report the script is inline.
    assert.doesNotMatch(files.script, /<!--|<\/script/i);
    assert.doesNotMatch(files.style, /<\/style|@import|url\((?!["']?data:)/i);
  });

  for (const [from, place] of [
    ["dist/action", "dist/web"],
    ["build/src/reports/html", "build/web"],
  ] as const)
    it(`are found in ${place} from ${from}`, async () => {
      const root = await mkdtemp(join(tmpdir(), "test-agent-jobs-page-"));
      try {
        assert.equal(findPageFiles(join(root, from)), undefined);
        await mkdir(join(root, place), { recursive: true });
        await writeFile(join(root, place, "page.js"), "script");
        assert.equal(findPageFiles(join(root, from)), undefined);
        await writeFile(join(root, place, "page.css"), "style");
        assert.deepEqual(findPageFiles(join(root, from)), { script: "script", style: "style" });
      } finally {
        await rm(root, { recursive: true, force: true });
      }
    });
});

describe("the HTML of the portal", () => {
  const html = portalHtml({ version: "1.2.3", journals: false });

  it("has no inline script, style or handler", () => {
    assert.doesNotMatch(html, /<style|\son\w+=|style=|javascript:/i);
    const scripts = [...html.matchAll(/<script([^>]*)>/g)].map(([, attributes]) => attributes);
    assert.deepEqual(scripts, [
      ' type="module" src="page.js"',
      ' type="application/json" id="boot"',
    ]);
  });

  it("loads nothing from elsewhere", () => {
    const loaded = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address);
    assert.deepEqual(
      loaded.filter((address) => !address?.startsWith("data:")),
      ["page.css", "page.js"],
    );
  });

  it("comes with a policy that allows its own files only", () => {
    assert.match(portalPolicy, /default-src 'none'/);
    assert.match(portalPolicy, /script-src 'self'(;|$)/);
    assert.match(portalPolicy, /frame-ancestors 'none'/);
    assert.doesNotMatch(portalPolicy, /https?:|\*|unsafe-eval/);
  });
});

it("data in the page can't end its element, and is the same after parsing", () => {
  const hostile = "</script><!--<script>alert(1)</script>\u2028&amp;'\"";
  const html = pageHtml({ title: hostile, head: "", boot: { kind: "portal", version: hostile } });
  assert.doesNotMatch(html, /alert\(1\)<|<!--/);
  assert.equal(html.match(/<\/script>/g)?.length, 1);
  assert.equal(JSON.parse(jsonInHtml(hostile)), hostile);
});
