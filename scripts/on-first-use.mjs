// Packages that few runs call are in files of their own beside a bundle, each loaded when something of it is first
// used. What stands in a module is parsed at every start, and `import()` can't be used where a function isn't async.
import { build } from "esbuild";

/** What is imported → which of its names, and the file. */
const seldom = new Map([
  ["ajv/dist/2020.js", { names: ["Ajv2020"], file: "ajv.cjs" }],
  ["markdown-it", { names: ["default"], file: "markdown-it.cjs" }],
  ["mdast-util-gfm-table", { names: ["gfmTableToMarkdown"], file: "mdast-gfm-table.cjs" }],
  ["mdast-util-to-markdown", { names: ["toMarkdown"], file: "mdast-to-markdown.cjs" }],
  ["re2js", { names: ["RE2JS"], file: "re2js.cjs" }],
]);
const namespace = "on-first-use";

export const onFirstUse = {
  name: namespace,
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /./, namespace }, ({ path }) => ({ path, external: true }));
    onResolve({ filter: /./ }, ({ path }) => (seldom.has(path) ? { path, namespace } : undefined));
    onLoad({ filter: /./, namespace }, ({ path }) => {
      const { names, file } = seldom.get(path);
      return { contents: standIn(names, file) };
    });
  },
};

/** A module that has the names, for functions and classes that are called, not compared. */
function standIn(names, file) {
  return `
    const use = (name) => {
      const loaded = () => require("./${file}")[name];
      return new Proxy(function () {}, {
        get: (_, key) => loaded()[key],
        apply: (_, self, args) => loaded()(...args),
        construct: (_, args) => new (loaded())(...args),
      });
    };
    ${names.map((name) => `const ${name}_ = use("${name}");`).join("\n")}
    export { ${names.map((name) => `${name}_ as ${name}`).join(", ")} };
  `;
}

/** The files of the packages; `options` are those of the bundle. */
export function seldomFiles(options) {
  return build({
    ...options,
    entryPoints: [...seldom].map(([name, { file }]) => ({ in: name, out: file.slice(0, -4) })),
    format: "cjs",
    outExtension: { ".js": ".cjs" },
  });
}
