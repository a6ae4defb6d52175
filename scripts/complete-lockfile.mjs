// Adds to package-lock.json the platform packages that the registry in use does not hold. npm leaves
// them out of the lock file, and `npm ci` then refuses it everywhere (docs/decisions, "lock file").
// They are pinned by version; where a registry has them, npm takes them from there.
import fs from "node:fs";

const file = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(fs.readFileSync(file, "utf8"));
const systems = ["darwin", "win32", "android", "freebsd", "openharmony", "linux"];
const processors = ["arm64", "x64", "ia32", "ppc64", "riscv64", "s390x", "arm"];

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
const sorted = Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, "en"));
fs.writeFileSync(
  file,
  `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`,
);
console.log(added.length === 0 ? "Nothing was missing." : `Added: ${added.join(", ")}`);
