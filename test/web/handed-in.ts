/** Events of a task that hands in one of everything, and some findings. */
import type { RunEventBody, WorkRef } from "../../src/events/event.ts";

export function handedIn(work: WorkRef, findings = 3): readonly RunEventBody[] {
  const severity = ["error", "warning", "notice"] as const;
  return [
    ...Array.from({ length: findings }, (_, index): RunEventBody => ({
      type: "finding.reported",
      work,
      finding: {
        path: "src/cart.ts",
        line: index + 3,
        ...(index === 0 ? { endLine: 4, title: "An error is lost" } : {}),
        severity: severity[Math.min(index, 2)] ?? "notice",
        rule: "review",
        message: `The ${index === 1 ? "cache is never emptied" : "promise isn't awaited"}, so a failure is invisible.`,
        ...(index === 0 ? { suggestion: "await save(cart);" } : {}),
        task: work.taskId,
        fingerprint: String(index),
      },
    })),
    {
      type: "verdict.given",
      work,
      verdict: { verdict: "needs-work", reason: "A failed save is never noticed." },
    },
    {
      type: "report.given",
      work,
      title: "Review of the cart",
      markdown: "## Summary\n\nThe change **loses errors**.\n\n- `save` isn't awaited\n",
    },
    { type: "result.given", work, result: { risk: "high", files: ["src/cart.ts"] } },
    { type: "proposal.made", work, proposal: { kind: "label", labels: ["bug"], reason: "It is." } },
    {
      type: "proposal.made",
      work,
      proposal: {
        kind: "pull_request",
        title: "Await the save",
        body: "It **is** awaited now.",
        branch: "await",
        base: "b".repeat(40),
        files: [{ path: "src/cart.ts", mode: "100644", content: "", encoding: "utf-8" }],
      },
    },
  ];
}
