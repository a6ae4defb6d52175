/** The outputs of the actions, with their descriptions in Markdown: the action.yml files and docs/action.md are made from them. */
export const outputTable = {
  result:
    "`success`, `failure`, `cancelled`, or `skipped` (a refused event, such as a pull request from a fork, or a change without files for the job).",
  reason: "The reason of a failure. Empty after a success. It may quote an agent.",
  verdict: "`pass`, `needs-work` or `reject`: the verdict on the change. Empty if there is none.",
  findings:
    "The findings, most severe first, as a JSON array of objects with `path`, `line`, `severity`, `rule` and `message`, up to 16,000 bytes; `run.json` has all. They quote agents.",
  report:
    "The report of the job: the reports of the tasks that `outputs.report` of the entry selects, the RESULT of the workflow, or the response of the last task with actions. Truncated to 8,000 bytes. It may quote an agent.",
  "report-file": "The path of the file with the whole report. Empty if there is no report.",
  results:
    "The structured results of tasks (`criteria.result`), as a JSON object by task. Empty if they are longer than 16,000 bytes; `run.json` has all. They quote agents.",
  "failed-tasks": "The names of the failed tasks, as a JSON array.",
  "reported-document": "The first line of the agent's last `job_prepare_document` call.",
  deliveries:
    "What was written on GitHub, as a JSON array of objects with `what`, `status` (`done`, `skipped`, `refused`, `staged`), `reason` and `url`.",
  "output-dir":
    "The path of the folder with everything that the run leaves: `run.json`, `report.html`, the journal and others. Also set if the step is killed.",
  journal: "The path of the journal.",
  "journal-digest": "SHA-256 of the journal, in hex, for the action `deliver`.",
  "journal-artifact":
    "The artifact name under which `resume: auto` looks for the journal. Also set if the step is killed.",
  matrix: "The value for `strategy.matrix`, as JSON. Each leg has `matrix.shard`.",
  "journal-pattern":
    "A pattern for the `journal-artifact` names of the plan and its shards, for actions/download-artifact.",
  cost: "The cost in AI credits (0.01 USD each), as Copilot reports it or by the `prices` of the entry. 0 in a rehearsal, empty if it is unknown.",
} as const;

export type OutputName = keyof typeof outputTable;
export type Outputs = Readonly<Record<OutputName, string>>;
