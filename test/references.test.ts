/** Documents and comments refer only to existing files of the repository. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (file: string): string => readFileSync(join(root, file), "utf8");
const gitFiles = execFileSync(
  "git",
  ["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
  {
    cwd: root,
    encoding: "utf8",
  },
)
  .split("\0")
  .filter((file) => file !== "" && !file.startsWith("dist/") && existsSync(join(root, file)));
const names = new Set(gitFiles.map((file) => basename(file)));

const pages = gitFiles.filter((file) => file.endsWith(".md") && !file.startsWith("test/fixtures/"));
/** Pages for people who use agent-jobs speak of files of theirs. */
const ourPages = pages.filter((file) =>
  /^(?:CONTRIBUTING\.md|docs\/(?:(?:decisions|internals)\/.*|security)\.md)$/.test(file),
);

/** File → what is written for people in it, without what is code or an example. */
const texts = new Map(
  gitFiles
    .filter(
      (file) =>
        /\.(?:tsx?|mjs|js|yml|md)$|^\.ci\/run$/.test(file) && !file.startsWith("test/fixtures/"),
    )
    .map((file) => [file, proseOf(file)]),
);
const code = [...texts.keys()].filter((file) =>
  /^(?:src|web|test|scripts|bench)\/.*\.(?:tsx?|mjs|js)$/.test(file),
);

function proseOf(file: string): string {
  const text = read(file);
  if (file.endsWith(".md")) return text.replaceAll(/^ *(```+)[\s\S]*?^ *\1$/gm, "");
  if (/\.(?:ts|mjs|js)$/.test(file))
    return [...text.matchAll(/^\s*\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/ .*$/gm)]
      .map(([comment]) => comment.replaceAll(/\s*\n\s*(?:\*|\/\/) ?/g, " "))
      .join("\n");
  return [...text.matchAll(/(?:^|\s)# .*$/gm)].map(([comment]) => comment).join("\n");
}

/** Every match in the prose of the files that is not `right`, with its file. */
function wrong(
  files: Iterable<string>,
  pattern: RegExp,
  right: (match: string, file: string) => boolean,
): string[] {
  return [...files].flatMap((file) =>
    [...(texts.get(file) ?? "").matchAll(pattern)]
      .map(([whole, match = whole]) => match)
      .filter((match) => !right(match, file))
      .map((match) => `${file}: ${match}`),
  );
}

/** The anchors that GitHub makes of headings. */
function anchorsOf(file: string): string[] {
  return [
    ...read(file)
      .replaceAll(/^(```+)[\s\S]*?^\1$/gm, "")
      .matchAll(/^#+ (.*)$/gm),
  ].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/\]\([^)]*\)/g, "")
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

describe("documents and comments", () => {
  it("name files and folders that exist", () => {
    const path =
      /(?<![\w./@<-])(?:\.\.\/)*((?:src|test|scripts|bench|docs|entries|examples|schema)\/[\w./-]*[\w/])(?![\w*{<…])/g;
    assert.deepEqual(
      wrong(
        [...code, ...ourPages],
        path,
        (match) => match.includes("..") || match.includes("NNNN") || existsSync(join(root, match)),
      ),
      [],
    );
  });

  it("name source files of their own room, or with the room", () => {
    const exists = (match: string, file: string): boolean => {
      if (match.includes("/"))
        return (
          existsSync(join(root, match)) || gitFiles.some((one) => `/${one}`.endsWith(`/${match}`))
        );
      const [top, room = ""] = file.split("/");
      return top === "src"
        ? gitFiles.some((one) => one.startsWith(`src/${room}/`) && basename(one) === match)
        : names.has(match);
    };
    assert.deepEqual(wrong([...code, ...ourPages], /`([\w/-]+\.(?:ts|mjs))`/g, exists), []);
  });

  it("refer to statements that docs/internals/engine.md has", () => {
    const known = [...read("docs/internals/engine.md").matchAll(/^\*\*(\d+)\.\*\*/gm)].map(
      ([, number]) => number,
    );
    assert.ok(known.length >= 19);
    assert.deepEqual(
      wrong(texts.keys(), /\bstatements? (\d+)/gi, (match) => known.includes(match)),
      [],
    );
  });

  it("refer to headings that pages have", () => {
    assert.deepEqual(
      wrong(code, /\b(docs\/(?:[\w-]+\/)*[\w-]+\.md#[\w-]+)/g, (match) => {
        const [page = "", anchor = ""] = match.split("#");
        return anchorsOf(page).includes(anchor);
      }),
      [],
    );
  });

  it("refer to no list outside of the repository, nor do names of tests", () => {
    const outside =
      /\b(?:[Rr]ules?|[Tt]raps?) \d+|\bseeds\/|\bSeed:|\b(?:[Tt]he|of|in|by|as) (?:the )?seeds?\b(?! of the generator)|\b(?:JobsData|API(?:_\w+)?)\.md|\b(?:api|jobs)-\w+\.md|\bshared\/(?:facts|seeds)|\/work\/(?:shared|wt)/g;
    const found = [...texts.keys()]
      .filter((file) => file !== "test/references.test.ts")
      .flatMap((file) => [...read(file).matchAll(outside)].map(([match]) => `${file}: ${match}`));
    assert.deepEqual(found, []);
  });
});

it("every file names the repository and the package that package.json has", () => {
  const [, slug] = /github\.com\/(.+)\.git"/.exec(read("package.json")) ?? [];
  const [, name] = /"name": "(.+)"/.exec(read("package.json")) ?? [];
  const found = gitFiles.flatMap((file) => {
    const matches = (pattern: RegExp): string[] =>
      [...read(file).matchAll(pattern)].map(([, one = ""]) => one);
    const repositories = matches(
      /(?:uses: |github\.com[/:]|githubusercontent\.com\/)([\w.-]+\/agent-jobs)\b/g,
    );
    const packages = matches(
      /(?:from "|import\("|npm (?:install|i|add)(?: -\S+)* |npx --yes )((?:@[\w-]+\/)?agent-jobs)(?![\w-])/g,
    );
    const others = [
      ...repositories.filter((one) => one !== slug),
      ...packages.filter((one) => one !== name),
    ];
    return others.map((other) => `${file}: ${other}`);
  });
  assert.deepEqual(found, []);
});

describe("source files", () => {
  it("export no value that nothing imports", () => {
    const source = new Map(code.map((file) => [file, read(file)]));
    /** `file.ts name`, of everything that is imported by its name, or as a part of a whole module. */
    const imported = new Set<string>();
    const through = new Map<string, string>();
    const note = (from: string, name: string): void => {
      imported.add(
        `${from} ${name
          .trim()
          .replace(/^type /, "")
          .split(/ as |:/)[0]
          ?.trim()}`,
      );
    };
    for (const [file, text] of source) {
      for (const [, list = "", from = ""] of text.matchAll(
        /\{([^{}"]*)\}\s*(?:from|=\s*(?:[^;"]*:\s*)?await import\()\s*"[^"]*\/([\w.-]+)"/g,
      ))
        for (const name of list.split(",")) note(from, name);
      for (const [, as = "", from = ""] of text.matchAll(
        /import \* as (\w+) from "[^"]*\/([\w.-]+)"/g,
      ))
        for (const [, name = ""] of text.matchAll(new RegExp(`\\b${as}\\.(\\w+)`, "g")))
          note(from, name);
      for (const [, from = "", name = ""] of text.matchAll(
        /import\("[^"]*\/([\w.-]+)"\)\)\.(\w+)/g,
      ))
        note(from, name);
      for (const [, from = ""] of text.matchAll(/export \* from "\.\/([\w.-]+)"/g))
        through.set(join(dirname(file), from), basename(file));
    }
    const exported = [...source]
      // `agent-jobs/testing` has users outside of this repository.
      .filter(([file]) => file.startsWith("src/") && file !== "src/run/testing.ts")
      .flatMap(([file, text]) =>
        [...text.matchAll(/^export (?:async )?(?:const|let|function\*?|class) (\w+)/gm)].map(
          ([, name = ""]) => ({ file, name }),
        ),
      );
    assert.ok(exported.length > 300);
    const unused = exported.filter(
      ({ file, name }) =>
        ![basename(file), through.get(file)].some((from) => imported.has(`${from} ${name}`)),
    );
    assert.deepEqual(unused, []);
  });
});

describe("pages", () => {
  it("link to files and headings that exist", () => {
    assert.ok(pages.length > 20);
    assert.deepEqual(
      wrong(pages, /\]\((?!\w+:)([^)\s]+)/g, (target, page) => {
        const [path = "", anchor] = target.split("#");
        const file = path === "" ? page : join(dirname(page), path);
        if (!existsSync(join(root, file))) return false;
        return anchor === undefined || !file.endsWith(".md") || anchorsOf(file).includes(anchor);
      }),
      [],
    );
  });
});
