/** Time, injected wherever something waits, so that tests don't wait. `system-clock.ts` is the real clock. */
export interface Clock {
  /** Milliseconds since the epoch. Only goes forward and never jumps, even if the system's time is changed. */
  now(): number;
  /** Resolves after `milliseconds`, or at once when `signal` aborts. Never rejects. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** Calls the listener after `milliseconds`, unless the returned function is called before. Default: by `sleep`. */
  after?(milliseconds: number, listener: () => void): () => void;
  /** Like `after`, but doesn't keep the process running. */
  background?(milliseconds: number, listener: () => void): () => void;
}
