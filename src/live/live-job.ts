/** A job that was started through `LiveRuns`, and how it stands. */
import type { Feed } from "./feed.ts";
import type { HostRun } from "../run/host-run.ts";
import type { Params } from "../run/options.ts";
import type { Questions } from "./questions.ts";
import type { JobFeeds, JobState } from "./run-feeds.ts";

export interface LiveJob {
  readonly jobName: string;
  readonly startTime: number;
  readonly workingDirectory: string;
  readonly userInput: string;
  readonly params: Params;
  readonly run: HostRun;
  readonly feed: Feed;
  readonly journal: Feed;
  readonly feeds: JobFeeds;
  readonly questions: Questions;
}

export function stateOf(job: LiveJob): JobState {
  const { run, feeds, questions, jobName, startTime, workingDirectory, userInput, params } = job;
  const { status, works: tasks, endTime } = feeds;
  const asked = { jobId: run.runId, jobName, startTime, workingDirectory, userInput, params };
  return { ...asked, endTime, status, tasks, questions: questions.open };
}
