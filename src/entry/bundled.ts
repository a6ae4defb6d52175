/**
 * For applications that are bundled as an ES module: packages in CommonJS ask for Node's own modules by `require`,
 * which doesn't exist in such a bundle unless it is defined (`Dynamic require of "util" is not supported`).
 * So it is defined, globally, where this runs from a file that is not ours. Has to be imported first.
 */
import { createRequire } from "node:module";

const isBundled = !/\/entry\/bundled\.[jt]s$/.test(import.meta.url);

if (isBundled && !("require" in globalThis)) {
  Object.defineProperty(globalThis, "require", {
    value: createRequire(import.meta.url),
    configurable: true,
    writable: true,
  });
}
