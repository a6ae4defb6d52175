import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { lineAddress } from "../../src/outputs/line-address.ts";

const finding = {
  path: "src/a b.ts",
  line: 3,
  endLine: 4,
  severity: "error",
  rule: "r",
  message: "m",
  task: "t",
  fingerprint: "f",
} as const;
const target = { server: "https://github.com", repository: "octo/shop", head: "a".repeat(40) };

describe("the address of a finding", () => {
  it("is that of its lines", () => {
    const address = `https://github.com/octo/shop/blob/${"a".repeat(40)}/src/a%20b.ts#L3-L4`;
    assert.equal(lineAddress(finding, target), address);
  });

  const wrong = [
    { server: "javascript:alert(1)//" },
    { server: "https://user@github.com" },
    { repository: "octo/shop/../../evil" },
    { head: "main/../x" },
  ];
  for (const part of wrong)
    it(`is none with ${JSON.stringify(part)}`, () =>
      assert.equal(lineAddress(finding, { ...target, ...part }), undefined));

  for (const path of ["../a", "/a"])
    it(`is none of the path ${path}`, () =>
      assert.equal(lineAddress({ ...finding, path }, target), undefined));
});
