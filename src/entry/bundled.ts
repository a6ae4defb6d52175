// Packages in CommonJS ask for Node's modules by `require`, which a bundle that is an ES module doesn't have.
import { createRequire } from "node:module";

const isBundled = !/\/entry\/bundled\.[jt]s$/.test(import.meta.url);

if (isBundled && !("require" in globalThis)) {
  Object.defineProperty(globalThis, "require", {
    value: createRequire(import.meta.url),
    configurable: true,
    writable: true,
  });
}
