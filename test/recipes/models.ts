/** Models that do what a prompt says, word by word: what they see is what the recipe made visible. */
import type { Reply, ScriptedCall, Script } from "../rig/model-server.ts";

export type Model = (folder: string) => Script;

function shell(command: string): ScriptedCall {
  return { name: "bash", arguments: { command, description: "Look" } };
}

function reported(document: string): ScriptedCall {
  return { name: "job_prepare_document", arguments: { argument: document } };
}

function yes(reason: string): Reply {
  return { toolCalls: [{ name: "job_boolean_true", arguments: { argument: reason } }] };
}

/** For examples/recipes/correct-docs.yml: there is always one more sentence to correct. */
export const tireless: Model = (folder) => {
  let corrected = 0;
  return ({ prompt, toolResults }) => {
    if (toolResults.length > 0) return { text: "Done." };
    if (prompt.includes("Find one sentence")) return yes("there is another one");
    if (prompt.includes("Look at the uncommitted changes")) return yes("it is true now");
    if (!prompt.includes("Find it and correct it")) return { text: "What I did." };
    corrected += 1;
    const change = { old_str: `Sentence ${corrected}`, new_str: `Truth ${corrected}` };
    const path = `${folder}/README.md`;
    return { toolCalls: [{ name: "edit", arguments: { path, ...change } }] };
  };
};

const tooEarly = {
  path: "src/price.mjs",
  line: 1,
  severity: "error",
  message: "It rounds too early, @everyone.",
  suggestion: "export const price = (net) => net * 1.19;",
};
const found: Readonly<Record<string, readonly object[]>> = {
  "claude-sonnet-4.5": [tooEarly],
  "gpt-5": [
    { ...tooEarly, message: "Half a cent is lost.", suggestion: undefined },
    { path: "docs/price.md", line: 1, severity: "warning", message: "Rounded how?" },
  ],
};

/**
 * For the template `review`. The reviewers read the diff that the prompt names, and report what their model finds. The
 * merger hands in the first finding of each line that its prompt has, and what the reviewers have reported.
 */
export const reviewers: Model =
  () =>
  ({ prompt, model, toolResults }) => {
    if (prompt.includes("Did you read the diff"))
      return toolResults.length > 0 ? { text: "I did." } : yes("every file");
    const isMerger = prompt.includes("Two reviewers have looked");
    if (toolResults.length > (isMerger ? 0 : 1)) return { text: "Done." };
    const annotate = (finding: object): ScriptedCall => ({
      name: "job_annotate",
      arguments: { ...finding },
    });
    const report = (markdown: string): ScriptedCall => ({
      name: "job_report",
      arguments: { markdown },
    });
    if (isMerger) {
      const lists = [...prompt.matchAll(/^\[\{.*\}\]$/gm)].map(([list]): unknown =>
        JSON.parse(list),
      );
      const all = lists.flat().map((finding) => Object(finding));
      const first = new Map(all.toReversed().map((one) => [`${one.path}:${one.line}`, one]));
      const [, text = ""] = /^(```diff\n[^]*?^```)$/m.exec(prompt) ?? [];
      const verdict = { verdict: "needs-work", reason: "It is wrong." };
      return {
        toolCalls: [
          ...all.filter((one) => first.get(`${one.path}:${one.line}`) === one).map(annotate),
          { name: "job_verdict", arguments: verdict },
          report(text),
        ],
      };
    }
    const [diff] = toolResults;
    if (diff !== undefined)
      return {
        toolCalls: [...(found[model] ?? []).map(annotate), report(`\`\`\`diff\n${diff}\n\`\`\``)],
      };
    const [, path = ""] = /diff is in the file (\S+)\. /.exec(prompt) ?? [];
    return { toolCalls: [{ name: "view", arguments: { path } }] };
  };

/** For the template `nightly`: runs the tests, and writes what they ask for. */
export const fixer: Model =
  (folder) =>
  ({ toolResults }) => {
    const [printed, edited, proposed] = toolResults;
    if (printed === undefined) return { toolCalls: [shell("bash .github/agent-jobs/test.sh")] };
    if (proposed !== undefined) return { text: "Corrected." };
    if (edited !== undefined) {
      const proposal = {
        kind: "pull_request",
        title: "Tell the truth",
        body: "x",
        branch: "truth",
      };
      return { toolCalls: [{ name: "job_propose", arguments: proposal }] };
    }
    const [, wanted = ""] = /wanted: (.*)/.exec(printed) ?? [];
    const change = { old_str: "Sentence 1", new_str: wanted };
    return {
      toolCalls: [{ name: "edit", arguments: { path: `${folder}/README.md`, ...change } }],
    };
  };

/** For the template `fix-ci`: writes what the log in its prompt asks for, or says why not. */
export const mender =
  (knowsHow: boolean): Model =>
  (folder) =>
  ({ prompt, toolResults }) => {
    if (toolResults.length > (knowsHow ? 1 : 0)) return { text: "Done." };
    const [, wanted = ""] = /wanted: (.*)/.exec(prompt) ?? [];
    const change = { old_str: "Sentence 1", new_str: wanted };
    const edit = { name: "edit", arguments: { path: `${folder}/README.md`, ...change } };
    const proposal = { kind: "push", title: "Tell the truth", body: "It was no truth." };
    const propose = { name: "job_propose", arguments: proposal };
    const markdown = knowsHow ? "The README was wrong." : "I don't know how.";
    const report = { name: "job_report", arguments: { markdown } };
    return knowsHow && toolResults.length === 0
      ? { toolCalls: [edit] }
      : { toolCalls: [...(knowsHow ? [propose] : []), report] };
  };

/** For the template `triage`. */
export const triager: Model =
  () =>
  ({ toolResults }) =>
    toolResults.length > 0
      ? { text: "It is a bug." }
      : {
          toolCalls: [
            reported("bug: the total"),
            { name: "job_propose", arguments: { kind: "label", labels: ["bug"] } },
          ],
        };

/** For the template `release-notes`: the subjects of the commits that the prompt has. */
export const writer: Model =
  (folder) =>
  ({ prompt, toolResults }) => {
    if (toolResults.length > 0) return { text: "The notes are written." };
    const [, release = ""] = /^Release (\S+)$/m.exec(prompt) ?? [];
    const subjects = [...prompt.matchAll(/^[0-9a-f]{7,} (.+)$/gm)].map(
      ([, text = ""]) => `- ${text}`,
    );
    const notes = `## ${release}\n\n${subjects.join("\n")}\n`;
    const proposal = { title: `Notes of ${release}`, body: notes, branch: `notes-${release}` };
    const path = `${folder}/CHANGELOG.md`;
    return {
      toolCalls: [
        { name: "create", arguments: { path, file_text: `# Changes\n\n${notes}` } },
        { name: "job_report", arguments: { markdown: notes } },
        { name: "job_propose", arguments: { kind: "pull_request", ...proposal } },
      ],
    };
  };
