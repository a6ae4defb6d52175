// `npm run test:file FILE…` runs test files without a build: it compiles what has changed since the last one, without
// checking types. With --watch it does so again after each change.
import { spawn } from "node:child_process";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const folders = ["src", "web", "test", "scripts", "bench", "examples"];
const watches = process.argv.includes("--watch");
const isFile = (name) => /\.test\.[jt]s$/.test(name);
const options = process.argv.slice(2).filter((name) => !isFile(name));
const tests = process.argv
  .filter(isFile)
  .map((name) => name.replace(/^(?:\.\/)?(?:build\/)?/, "build/").replace(/\.ts$/, ".js"));
if (tests.length === 0) {
  console.error("Usage: npm run test:file test/engine/run-task.test.ts");
  process.exit(2);
}
if (!fs.existsSync("build/src")) {
  console.error("Run `npm run build` once first.");
  process.exit(2);
}

for (const folder of folders)
  for (const name of fs.readdirSync(folder, { recursive: true })) compile(join(folder, name));
if (watches)
  for (const folder of folders)
    fs.watch(folder, { recursive: true }, (_, name) => compile(join(folder, name)));
const args = ["--test", "--test-reporter=spec", ...options, ...tests];
spawn(process.execPath, args, { stdio: "inherit" }).on("exit", (code) => {
  process.exitCode ||= code ?? 1;
});

/** Writes one file of JavaScript for each of TypeScript, with imports that end with `.js`, as `tsc` does. */
function compile(file) {
  if (!/(?<!\.d)\.ts$/.test(file)) return;
  const output = join("build", file.replace(/\.ts$/, ".js"));
  const changed = fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (changed <= (fs.statSync(output, { throwIfNoEntry: false })?.mtimeMs ?? -1)) return;
  try {
    const { code } = transformSync(fs.readFileSync(file, "utf8"), {
      loader: "ts",
      sourcefile: file,
      target: "es2023",
      tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
    });
    fs.mkdirSync(dirname(output), { recursive: true });
    fs.writeFileSync(
      output,
      code.replaceAll(/(\b(?:from|import)\s*\(?\s*"\.[^"]*)\.ts"/g, '$1.js"'),
    );
  } catch {
    // esbuild has printed where the syntax is wrong.
    process.exitCode = 1;
  }
}
