/**
 * `import { loadEntry } from "agent-jobs/entry"`: entries as data. Reads, checks and draws them, and loads neither
 * the Copilot SDK nor a compiler of schemas. Re-exports only.
 */
export {
  availableTools,
  permissionPresets,
  runtimeVariables,
  type Entry,
  type Job,
  type Limits,
  type McpServer,
  type Model,
  type MonumentDeclaration,
  type Permissions,
  type PermissionPreset,
  type PreparedEntry,
  type Prompt,
  type RelicDeclaration,
  type Task,
  type ToolDeclaration,
  type Work,
} from "./model.ts";
export { DiagnosticsError, diagnosticLine, type Diagnostic } from "../document/diagnostic.ts";
export { expandPromptDynamic, expandPromptStatic } from "./prompt.ts";
export { validateEntry } from "./prepare.ts";
export { assignWorkId, simplifyWork } from "./work.ts";
export { generateChartNodes, type ChartGraph } from "./chart.ts";
export { renderMermaid } from "./mermaid.ts";
export { loadEntry, type LoadedEntry } from "./prepare.ts";
