/** What the tests of whole steps share: an entry with a rehearsal, and a model server that nobody may ask. */
import type { TestContext } from "node:test";
import { startModelServer, type ModelServer } from "../rig/model-server.ts";

/** `greet` needs user input, reports a document; the rehearsal answers, and its shell prints its environment. */
export const entry = `models:
  driving: gpt-5-mini
  work: gpt-5
tasks:
  greet:
    model: { category: work }
    requireUserInput: true
    prompt: Greet $user-input.
    criteria:
      toolExecuted: [job_prepare_document]
      failureAction: { retryTimes: 0 }
jobs:
  hello:
    work: { kind: Ref, taskId: greet }
`;

export const rehearsal = `entry: hello.yml
userInput: a newcomer
sessions:
  - task: greet
    turns:
      - prompt: Greet
        replies:
          - tools:
              - name: job_prepare_document
                arguments: { argument: "docs/greeting.md" }
          - text: "Welcome!"
`;

export const failing = `entry: hello.yml
userInput: a newcomer
sessions:
  - task: greet
    turns:
      - prompt: Greet
        text: "I'd rather not."
`;

export const files = {
  "entries/hello.yml": entry,
  "entries/hello.rehearsal.yml": rehearsal,
  "entries/failing.rehearsal.yml": failing,
};

export const inputs = {
  entry: "entries/hello.yml",
  rehearse: "entries/hello.rehearsal.yml",
};

/** Whatever reaches it is a session that should not have been. */
export async function forbiddenModel(test: Pick<TestContext, "after">): Promise<ModelServer> {
  const server = await startModelServer(() => ({ text: "Nobody should have asked." }));
  test.after(() => server.close());
  return server;
}

/** The inputs that would reach that server, with a key of everybody's dreams. */
export function tempting(server: ModelServer): Readonly<Record<string, string>> {
  return {
    entry: "entries/hello.yml",
    "user-input": "you",
    "github-token": "ghs_0123456789abcdef",
    "provider-base-url": server.baseUrl,
    "provider-api-key": "key-0123456789",
  };
}
