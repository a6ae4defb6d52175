import type { SessionFactory } from "../engine/ports.ts";

/** Sessions whose ids are told before their first prompt. */
export function announced(
  factory: SessionFactory,
  onSession: ((sessionId: string) => void) | undefined,
): SessionFactory {
  if (onSession === undefined) return factory;
  return {
    async open(request, signal) {
      const opened = await factory.open(request, signal);
      if (opened.kind === "opened") onSession(opened.session.id);
      return opened;
    },
  };
}
