import * as core from "@actions/core";
import type { GithubCore } from "../github/step-log.ts";

export const MARK_STATE = "run";
export const LIVE_STATE = "live";

/** An older step may have left something else. */
export function isMark(value: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);
}

export interface RunnerCore extends GithubCore {
  setOutput(name: string, value: string): void;
  setSecret(value: string): void;
  saveState(name: string, value: string): void;
  getState(name: string): string;
}

export const runnerCore: RunnerCore = {
  info: (message) => core.info(message),
  startGroup: (name) => core.startGroup(name),
  endGroup: () => core.endGroup(),
  error: (message, properties) => core.error(message, properties),
  warning: (message, properties) => core.warning(message, properties),
  notice: (message, properties) => core.notice(message, properties),
  async writeSummary(markdown) {
    await core.summary.emptyBuffer().addRaw(markdown).write({ overwrite: true });
  },
  setOutput: (name, value) => core.setOutput(name, value),
  setSecret: (value) => core.setSecret(value),
  saveState: (name, value) => core.saveState(name, value),
  getState: (name) => core.getState(name),
};
