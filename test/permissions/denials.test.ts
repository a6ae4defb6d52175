/** Whatever a denial names stays closed, however it is written or reached. */
import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Permissions } from "../../src/entry/model.ts";
import { realFiles } from "../../src/sessions/permission-handler.ts";
import { decidePermission } from "../../src/permissions/policy.ts";
import { makeWorkspace } from "../rig/workspace.ts";

describe("a denied address", () => {
  const fetches = (url: string, ...patterns: string[]): boolean =>
    decidePermission(
      { preset: "all", url: patterns },
      { kind: "url", url },
      { workingDirectory: "/", ...realFiles },
    ).kind === "allowed";

  for (const url of [
    ..."https://evil.com/ http://evil.com/ https://u@evil.com/".split(" "),
    ..."https://u:p@evil.com/ https://evil.com./ https://evil.com:8443/".split(" "),
    ..."https://EVIL.com/x?y#z ftp://evil.com/ https://%65vil.com/".split(" "),
    "not an address",
  ]) {
    it(`is denied as ${url}`, () => {
      for (const pattern of [
        ..."!evil.com !https://evil.com !Evil.com. !evil.com:443".split(" "),
        ..."!https://u@evil.com/ !*vil.com !evil.com/*".split(" "),
      ])
        assert.equal(fetches(url, pattern), false, pattern);
    });
  }
  it("with a path: also what is below it, with any query, however it is written", () => {
    for (const url of "/a/b /a/b?x /a/b/ /a/b/c /A/B /%61/b /x/../a/b /a/b?%".split(" "))
      assert.equal(fetches(`https://evil.com${url}`, "!evil.com/a/b"), false, url);
    for (const url of ["/", "/a", "/a/bc", "/c/a/b"])
      assert.equal(fetches(`https://evil.com${url}`, "!evil.com/a/b"), true, url);
    assert.equal(fetches("https://evil.com/b%C3%BCcher", "!evil.com/bücher"), false);
    assert.equal(fetches("https://bücher.example/", "!bücher.example"), false);
  });
  it("leaves the others alone", () => {
    for (const url of [
      "https://evil.com.example/",
      "https://example.com/evil.com",
      "https://x.evil.com/",
    ])
      assert.equal(fetches(url, "!evil.com"), true, url);
  });
  it("is everything if the pattern can't be read", () => {
    assert.equal(fetches("https://example.com/", "!?"), false);
  });
  it("wins over what is allowed", () => {
    assert.equal(fetches("https://a.example.com/x", "*.example.com", "!a.example.com/x"), false);
    assert.equal(fetches("https://a.example.com/y", "*.example.com", "!a.example.com/x"), true);
  });
});

describe("a denied file", () => {
  it("is denied by whatever way the pattern takes, and nothing more is allowed than before", async (t) => {
    const { path } = await makeWorkspace(t);
    const at = (...parts: string[]): string => join(path, ...parts);
    for (const folder of ["work/secrets", "real/secrets", "home/.ssh", "secrets", "real/b[1]"])
      mkdirSync(at(folder), { recursive: true });
    symlinkSync("real", at("lnk"));
    const context = { workingDirectory: at("work"), home: at("home"), ...realFiles };
    const reads = (permissions: Permissions, file: string, deep = false): boolean =>
      decidePermission(permissions, { kind: "read", paths: [at(file)], deep }, context).kind ===
      "allowed";
    const cases: readonly (readonly [string, ...string[]])[] = [
      [at("lnk/secrets/**"), "real/secrets/a", "lnk/secrets/a", "real/secrets"],
      [at("lnk/secrets"), "real/secrets/a", "lnk/secrets/b/c"],
      [at("lnk/**/.key"), "real/x/.key/a"],
      ["../secrets/**", "secrets/a", "secrets", "SECRETS/a"],
      ["../lnk/*", "real/a"],
      ["~/.ssh/**", "home/.ssh/id"],
      ["~/.ssh", "home/.ssh/id", "home/.SSH/id"],
      ["~", "home/a"],
      ["secrets", "work/secrets", "work/secrets/a", "work/secrets/b/c"],
      ["./secrets/", "work/secrets/a"],
      ["**/secrets", "work/secrets/a", "work/x/secrets/b/c"],
      [at("real/b\\[1\\]"), "real/b[1]/a"],
    ];
    for (const [glob, ...denied] of cases) {
      for (const file of denied) {
        assert.equal(reads({ preset: "all", read: [`!${glob}`] }, file), false, `${glob} ${file}`);
        assert.equal(reads({ preset: "all", read: [`!${glob}`] }, ".", true), false, glob);
      }
      assert.equal(reads({ preset: "all", read: [`!${glob}`] }, "other/a"), true, glob);
      assert.equal(reads({ preset: "all", read: [`!${glob}`] }, "work/secretsx"), true, glob);
    }
    assert.equal(reads({ preset: "all", read: ["!secrets/*"] }, "work/secrets/b/c"), true);
    assert.equal(reads({ preset: "all", read: ["!*.lock"] }, "work/a.lock/b"), true);
    for (const glob of [at("lnk/**"), "../secrets/**", "~/.ssh/**", at("real")])
      assert.equal(reads({ read: [glob] }, "real/secrets/a"), false, `allowed by ${glob}`);
    assert.equal(reads({ read: ["../secrets/**"] }, "secrets/a"), false);
    assert.equal(reads({ read: ["~/.ssh/**"] }, "home/.ssh/id"), false);
  });
});
