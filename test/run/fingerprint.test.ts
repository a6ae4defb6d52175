import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { entryFingerprint } from "../../src/run/fingerprint.ts";
import { readEntry } from "../../src/run/entry-files.ts";
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
  const permissions = { read: ["a/**", "b/**"] };
  const jobs = { j: { work: { taskId: "a", kind: "Ref" } } };
  const tasks = { a: { permissions, model: { category: "driving" }, prompt: "Do it,\nyou." } };
  const models = { driving: "m", small: "s" };
  assert.match(own, /^[0-9a-f]{64}$/);
  const same = [
    await of(`# A comment.\n\n${entry.replace(", small: s }", ", small: 's' }")}`),
    await of(entry.replace("{ driving: m, small: s }", "{ small: s, driving: m }")),
    await of(entry.replace('["Do it,", "$who."]', '"Do it,\\nyou."')),
    await of(
      JSON.stringify({ $schema: "https://example.com/schema.json", jobs, tasks, models }),
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

  const tool = "tools: { t: { description: x, parameters: {}, command: [a, b] } }\n";
  const parts = [
    tool,
    tool.replace("[a, b]", "[a, c]"),
    tool.replace("command: [a, b]", "module: a"),
    tool.replace("{},", "{ required: [a] },"),
    "mcpServers: { s: { command: x } }\n",
    "mcpServers: { s: { command: x, env: { A: env:B } } }\n",
    "relics: { r: { description: x, files: [x] } }\n",
    "relics: { r: { description: x, files: [y] } }\n",
    "monuments: { m: {} }\n",
  ];
  const withParts = await Promise.all(parts.map((part) => of(entry + part)));
  const actions = await of(entry.replace('prompt: ["Do', 'protocol: actions, prompt: ["Do'));
  assert.equal(new Set([own, actions, ...withParts]).size, 2 + parts.length);
  const withType = await of(entry + tool.replace("{}", "{ type: object }"));
  assert.equal(withType, withParts[0]);
});
