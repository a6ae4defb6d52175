import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { entryFingerprint } from "../../src/app/fingerprint.ts";
import { readEntry } from "../../src/app/entry-files.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const entry = `models: { driving: m, small: s }
promptVariables: { who: ["you"] }
tasks:
  a: { prompt: ["Do it,", "$who."], model: { category: driving }, permissions: { read: ["a/**", "b/**"] } }
jobs: { j: { work: { kind: Ref, taskId: a } } }
`;

test("the fingerprint of an entry is that of what it says, not of how it is written", async (t) => {
  const { path } = await makeWorkspace(t, {});
  let count = 0;
  const of = async (text: string, extension = "yml"): Promise<string> => {
    const file = join(path, `${(count += 1)}.${extension}`);
    await writeFile(file, text);
    return entryFingerprint((await readEntry(file)).entry);
  };
  const own = await of(entry);
  assert.match(own, /^[0-9a-f]{64}$/);
  const same = [
    await of(`# A comment.\n\n${entry.replace(", small: s }", ", small: 's' }")}`),
    await of(entry.replace("{ driving: m, small: s }", "{ small: s, driving: m }")),
    await of(entry.replace('["Do it,", "$who."]', '"Do it,\\nyou."')),
    await of(
      JSON.stringify({
        $schema: "https://example.com/schema.json",
        jobs: { j: { work: { taskId: "a", kind: "Ref" } } },
        tasks: {
          a: {
            permissions: { read: ["a/**", "b/**"] },
            model: { category: "driving" },
            prompt: "Do it,\nyou.",
          },
        },
        models: { driving: "m", small: "s" },
      }),
      "json",
    ),
  ];
  assert.deepEqual(
    same,
    same.map(() => own),
  );
  const others = [
    await of(entry.replace("driving: m", "driving: n")),
    await of(entry.replace('["you"]', '["them"]')),
    await of(entry.replace('"a/**", "b/**"', '"b/**", "a/**"')),
    await of(entry.replace(/\bj:/, "k:")),
  ];
  assert.equal(new Set([own, ...others]).size, 5);
});
