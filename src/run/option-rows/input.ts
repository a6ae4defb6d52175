/** Options for what a run works on: its input, the parameters of workflows, an earlier run. */
import * as named from "../option-assignments.ts";
import * as kind from "../option-kinds.ts";
import type { Rows } from "./row.ts";

export const inputOptions = {
  prompt: {
    kind: kind.filled,
    help: "A prompt, in place of an entry: a job of one task, which only reads.",
    input:
      "A prompt, in place of `entry`: a job of one task, which only reads. `job` names it (default: the id of the workflow's job).",
    risk: "text of an event that an expression inserts becomes an instruction. Insert `$user-input`, and pass such text as `user-input`.",
    group: "Input",
    page: "cli.md#a-prompt",
    flag: "--prompt <text>",
    conflicts: "promptFile",
    on: ["run", "action"],
  },
  promptFile: {
    kind: kind.filled,
    help: "The file of such a prompt.",
    input: "The file of such a prompt. It is read as `entry` is.",
    group: "Input",
    flag: "--prompt-file <path>",
    on: ["run", "action"],
  },
  outputs: {
    kind: kind.filled,
    help: "What a prompt publishes: `outputs` as in an entry, in YAML or JSON.",
    group: "Input",
    page: "outputs.md",
    flag: "--outputs <yaml>",
    on: ["run", "action"],
  },
  userInput: {
    kind: kind.text,
    help: "The text of `$user-input` in the prompts.",
    input:
      "The text of `$user-input` in the prompts. HTML comments and invisible characters are removed, and the text is truncated to 100000 characters.",
    risk: "the text of an issue or a pull request may come from a stranger.",
    group: "Input",
    flag: "--user-input <text>",
    conflicts: "userInputFile",
    on: ["run", "action", "job", "workflow"],
  },
  userInputFile: {
    kind: kind.text,
    help: "A file with the user input (`-` for stdin).",
    input: "A file with the user input, in place of `user-input`.",
    group: "Input",
    flag: "--user-input-file <path>",
    on: ["run", "action"],
  },
  inputs: {
    kind: named.inputs,
    help: "An input of the entry; `name=@FILE` reads a file.",
    input:
      "Inputs of the entry, parameters of a workflow, and answers to its questions (`ASK_NAME=text`; several answers to one question are used in order): one `name=value` per line, or a JSON object. A value of several lines begins with a line `NAME<<END` and ends with a line `END`.",
    risk: "a line break in the text of an event can add inputs, and a parameter `file:PATH` reads a file of the repository. Pass such text as `user-input`.",
    group: "Input",
    page: "entry-format.md#inputs",
    flag: "--input <name=value>",
    on: ["run", "action", "job"],
  },
  workingDirectory: {
    kind: kind.filled,
    help: "The folder in which the agent works.",
    without: {
      cli: "the current directory",
      action: "the workspace",
    },
    group: "Input",
    flag: "--working-directory <dir>",
    on: ["run", "action", "job", "workflow"],
  },
  base: {
    kind: kind.filled,
    help: "The branch, tag or commit that the change is compared with.",
    without: { cli: "HEAD~1", action: "the base of the event, else the parent of the commit" },
    group: "Input",
    page: "entry-format.md#the-change",
    flag: "--base <ref>",
    on: ["run", "serve", "action", "host"],
  },
  uncommitted: {
    kind: kind.flag,
    help: "The change includes uncommitted work and untracked files.",
    group: "Input",
    flag: "--uncommitted",
    on: ["run", "serve", "host"],
  },
  params: {
    kind: named.params,
    help: "A parameter of the workflow that is the entry.",
    group: "Workflows",
    flag: "--param <name=value>",
    on: ["run", "job", "workflow"],
  },
  answers: {
    kind: named.answers,
    help: "The answer to an ASK, by its id. Several answers to one ASK are used in order.",
    group: "Workflows",
    flag: "--answer <id=text>",
    on: ["run", "serve", "host"],
  },
  env: {
    kind: kind.envNames,
    help: "The name of an environment variable that workflows, tools and MCP servers may read.",
    input:
      "Names of environment variables that workflows, tools and MCP servers may read, one per line.",
    risk: "what a workflow reads may reach the model, so name tokens only for MCP servers.",
    group: "Workflows",
    flag: "--env <name>",
    on: ["run", "serve", "action", "host"],
  },
  history: {
    kind: kind.filled,
    help: "The folder for a Markdown file of each step of a workflow.",
    on: ["workflow"],
  },
  resume: {
    kind: kind.filled,
    help: "The journal of the run to continue. Finished steps don't run again.",
    input:
      "The journal of an earlier run to continue, or a folder with it, or `auto`: that of an earlier attempt of this workflow run, uploaded as `journal-artifact`. Interrupted commands run again. With `shard`: the journal of the plan.",
    risk: "the journal decides what counts as done, and the values and the shell environment of a workflow, so it must come from a run that you trust.",
    group: "Continuing and splitting",
    page: "scale.md#resume-a-job",
    flag: "--resume <journal>",
    on: ["run", "action", "workflow"],
  },
  resumeAnyway: {
    kind: kind.flag,
    help: "With `--resume`: tasks that had not started may have changed.",
    group: "Continuing and splitting",
    flag: "--resume-anyway",
    on: ["run"],
  },
  rerun: {
    kind: kind.flag,
    help: "With `--resume`: reruns commands that were interrupted.",
    group: "Continuing and splitting",
    flag: "--rerun",
    on: ["run", "workflow"],
  },
} as const satisfies Rows;
