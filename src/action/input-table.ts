/**
 * The names of the inputs, their defaults and the values that they may have. Names and defaults come from
 * `action.yml`, which also has the descriptions. They are needed here because the action can be started without a runner,
 * and because an empty input also means its default.
 */
import { providerTypes, wireApis } from "../run/options-provider.ts";
import { permissionPresets, sandboxModes } from "../entry/model.ts";
import { inputDefaults } from "../generated/action-manifest.ts";

export { inputDefaults };
export type InputName = keyof typeof inputDefaults;

/** Inputs that allow just these values; where the default isn't empty, it is the first one. */
export const inputValues = {
  permissions: permissionPresets,
  sandbox: sandboxModes,
  "provider-type": providerTypes,
  "provider-wire-api": wireApis,
  rerun: ["false", "true"],
  "in-place": ["false", "true"],
  summary: ["full", "compact", "off"],
  annotations: ["all", "errors", "off"],
  "fail-on": ["failure", "never"],
  "on-refused": ["fail", "skip"],
  "allow-untrusted": ["false", "true"],
} as const satisfies {
  readonly [Name in InputName]?: (typeof inputDefaults)[Name] extends ""
    ? readonly string[]
    : readonly [(typeof inputDefaults)[Name], ...string[]];
};

/** The name of the environment variable in which the runner hands an input over: hyphens stay. */
export function inputVariable(name: InputName): string {
  return `INPUT_${name.replaceAll(" ", "_").toUpperCase()}`;
}
