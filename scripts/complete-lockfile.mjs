// A registry mirror may lack the packages of some platforms: npm then leaves them out of package-lock.json, and `npm ci`
// refuses it everywhere, so this script adds them by version (docs/decisions/0009-lock-file.md). With --hashes it asks the
// registry for each SHA-512 that is missing, and fails if it can't get one.
import { execFile } from "node:child_process";
import fs from "node:fs";
import { promisify } from "node:util";

const file = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(fs.readFileSync(file, "utf8"));
const systems = "darwin win32 android aix freebsd netbsd openbsd openharmony sunos linux".split(
  " ",
);
const processors = "arm64 x64 ia32 loong64 mips64el ppc64 riscv64 s390x arm".split(" ");

const added = [];
for (const { optionalDependencies = {}, dev, license } of Object.values({ ...lock.packages })) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    const path = `node_modules/${name}`;
    const os = systems.find((system) => name.includes(system));
    if (lock.packages[path] !== undefined || os === undefined) continue;
    const cpu = processors.find((processor) => name.includes(processor));
    const libc = os !== "linux" ? undefined : name.includes("musl") ? "musl" : "glibc";
    lock.packages[path] = {
      version,
      ...(cpu === undefined ? {} : { cpu: [cpu] }),
      ...(dev === true ? { dev } : {}),
      ...(libc === undefined ? {} : { libc: [libc] }),
      ...(license === undefined ? {} : { license }),
      optional: true,
      os: [os],
    };
    added.push(name);
  }
}

const unknown = [];
if (process.argv.includes("--hashes")) {
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (path === "" || entry.link === true || entry.integrity !== undefined) continue;
    const spec = `${path.replace(/^.*node_modules\//, "")}@${entry.version}`;
    const integrity = await integrityOf(spec);
    if (integrity === undefined) unknown.push(spec);
    // In the place where npm puts it.
    else lock.packages[path] = { version: entry.version, integrity, ...entry };
  }
}

const sorted = Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, "en"));
fs.writeFileSync(
  file,
  `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`,
);
console.log(added.length === 0 ? "Nothing was missing." : `Added: ${added.join(", ")}`);
if (unknown.length > 0) {
  console.error(`The registry has no SHA-512 of:\n  ${unknown.join("\n  ")}`);
  process.exitCode = 1;
}

/** The entry of this version, as npm would write it into the lock file. */
async function integrityOf(spec) {
  try {
    const { stdout } = await promisify(execFile)("npm", ["view", spec, "dist.integrity", "--json"]);
    const integrity = stdout.trim() === "" ? undefined : JSON.parse(stdout);
    return /^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity) ? integrity : undefined;
  } catch (error) {
    console.error(String(error.stderr ?? error.message).trim());
    return undefined;
  }
}
