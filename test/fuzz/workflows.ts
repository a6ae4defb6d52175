/** Random flowcharts: every kind of activity, any edges between them. */
import * as fc from "fast-check";

const nodes = [
  "START",
  "SET_A[A={{RESULT}}{{A}}]",
  "SET_B[RESULT=A]",
  "SET_M[MAX_ACTIVITY_HITS=9]",
  "ASSIGN_A[Assign: User B]",
  "ASSIGN_F[Assign: file:f.txt]",
  "CHECK_A{RESULT == yes}",
  "CHECK_B{A MATCHES '(a+)+$'}",
  "PROMPT_S[Prompt: System]",
  "PROMPT_A[Prompt: User A]",
  "PROMPT_X[Prompt: Assistant X]",
  "ASK_A",
  "EXECUTE_A",
  "EXECUTE_B[Execute: echo {{A}}]",
  "CALL_B[[b.wf.md]]",
  "SUCCESS",
  "FAILED",
  "ON_SUCCESS",
  "ON_FAILED",
];
const edge = fc
  .tuple(fc.constantFrom(...nodes), fc.constantFrom("-->", "-->|no|"), fc.constantFrom(...nodes))
  .map((parts) => parts.join(" "));
export const flowcharts = fc
  .tuple(fc.constantFrom(...nodes.slice(1)), fc.array(edge, { maxLength: 25 }))
  .map(([first, edges]) => {
    // One edge of a kind for each node: others would be errors.
    const seen = new Set<string>(["START -->"]);
    const own = edges.filter((one) => {
      const [id = "", arrow = ""] = one.split(/[[{ ]/, 1).concat(/-->\S*/.exec(one)?.[0] ?? "");
      const key = `${id} ${arrow}`;
      return !seen.has(key) && Boolean(seen.add(key));
    });
    return [`START --> ${first}`, ...own].join("\n");
  });

/** Files that the flowcharts call and read. */
export const called =
  "START --> PROMPT_S[Prompt: System] --> PROMPT_A[Prompt: User A] --> CHECK_A{RESULT == yes}\nON_FAILED --> ASK_B";
