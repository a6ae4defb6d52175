import assert from "node:assert/strict";
import { describe, it } from "node:test";

describe("the library", () => {
  it("exports the names of its documentation, under the package's own name", async () => {
    // Through package.json's exports, as an application resolves it.
    const name: string = "agent-jobs";
    const library: object = await import(name);
    assert.deepEqual(Object.keys(library).sort(), [
      "DiagnosticsError",
      "JobHost",
      "actionDocumentSchema",
      "applyEvent",
      "assignWorkId",
      "availableTools",
      "createActionExecutor",
      "createJournal",
      "createRunView",
      "decisionCategory",
      "decisionOf",
      "decisionText",
      "diagnosticLine",
      "ensureInstalledEntry",
      "errorToDetailedString",
      "expandPromptDynamic",
      "expandPromptStatic",
      "generateChartNodes",
      "hasRunningSessions",
      "helperGetSession",
      "helperPushSessionResponse",
      "helperSessionStart",
      "helperSessionStop",
      "installJobsEntry",
      "loadEntry",
      "loadWorkflow",
      "newsText",
      "parseJournal",
      "permissionPresets",
      "problemsText",
      "readRehearsal",
      "renderMermaid",
      "runJob",
      "runWorkflow",
      "runtimeVariables",
      "simplifyWork",
      "startJob",
      "startSession",
      "startTask",
      "takeSessionResponse",
      "teachingText",
      "validateEntry",
    ]);
  });
});
