/**
 * The compiler of JSON Schemas, which takes longer to load than all the rest of `agent-jobs/entry`, and is needed
 * only to say what is wrong with an entry, and to check the parameters of its tools. `ajv-compiler.ts` brings it along
 * for those who need it anyway, and for bundlers, which don't see what is loaded on demand.
 */
import { createRequire } from "node:module";
import type { Ajv2020 } from "ajv/dist/2020.js";

let provided: typeof Ajv2020 | undefined;

export function provideAjv(ajv: typeof Ajv2020): void {
  provided = ajv;
}

export function ajvModule(): typeof Ajv2020 {
  provided ??= onDemand();
  return provided;
}

function onDemand(): typeof Ajv2020 {
  const name = "ajv/dist/2020.js";
  try {
    const ajv: { readonly Ajv2020: typeof Ajv2020 } = createRequire(import.meta.url)(name);
    return ajv.Ajv2020;
  } catch (error) {
    throw new Error(
      `The package ajv, which is needed to explain what is wrong with an entry and to check the parameters of tools, can't be loaded. In a bundle, import "agent-jobs" instead of "agent-jobs/entry", or install ajv next to the bundle.`,
      { cause: error },
    );
  }
}
