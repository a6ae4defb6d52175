import {
  endGroup,
  error,
  getState,
  info,
  notice,
  saveState,
  setOutput,
  setSecret,
  startGroup,
  summary,
  warning,
} from "@actions/core";
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
  info,
  startGroup,
  endGroup,
  error,
  warning,
  notice,
  setOutput,
  setSecret,
  saveState,
  getState,
  async writeSummary(markdown) {
    await summary.emptyBuffer().addRaw(markdown).write({ overwrite: true });
  },
};
