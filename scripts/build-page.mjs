// Bundles web/ into build/web/: page.js and page.css, which the server serves and a report embeds, and the
// licenses of the packages in them.
import fs from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { licensesOf, packagesIn } from "./licenses.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const out = join(root, "build", "web");

/** Mermaid loads its diagrams when they are needed; the page draws flowcharts, laid out by dagre, only. */
const flowchartsOnly = {
  name: "flowcharts-only",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /./ }, ({ kind, importer, path }) => {
      const isPart =
        kind === "dynamic-import" && /[\\/]node_modules[\\/]mermaid[\\/]/.test(importer);
      if (!isPart || /\/(flowDiagram|dagre)-\w+\.mjs$/.test(path)) return undefined;
      return { path, namespace: "left-out" };
    });
    onLoad({ filter: /./, namespace: "left-out" }, () => ({
      contents: "export const diagram = undefined; export default undefined;",
    }));
  },
};

const { metafile, outputFiles } = await build({
  absWorkingDir: root,
  entryPoints: { page: "web/page.tsx" },
  bundle: true,
  minify: true,
  format: "iife",
  platform: "browser",
  target: ["chrome123", "firefox121", "safari17.5"],
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
  metafile: true,
  write: false,
  outdir: out,
  plugins: [flowchartsOnly],
});

fs.mkdirSync(out, { recursive: true });
for (const { path, text } of outputFiles)
  // A report has the script inline: `<!--` would change how a browser finds its end.
  write(path, path.endsWith(".js") ? text.replaceAll("<!--", "\\x3C!--") : text);
write(join(out, "licenses.txt"), licensesOf(packagesIn(metafile)));

/** In one step: a server may be reading the file. */
function write(file, text) {
  const draft = `${file}.${process.pid}`;
  fs.writeFileSync(draft, text);
  fs.renameSync(draft, file);
}
