/** The real time. Everything that waits takes a clock, so that tests can inject one. */
export const systemClock = {
  now(): number {
    return Date.now();
  },

  /** Resolves after `milliseconds`, or at once when `signal` aborts; never rejects. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) {
        resolve();
        return;
      }
      const done = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      // A timer holds at most 2^31-1 ms; a longer one would fire at once.
      const timer = setTimeout(done, Math.min(milliseconds, 2_147_483_647));
      signal?.addEventListener("abort", done, { once: true });
    });
  },
};
