/**
 * Takes the pictures of the pages in examples/. Each shows what a rehearsal of the template makes on GitHub: the summary of
 * the job, and what is delivered. The styles are like GitHub's.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import MarkdownIt from "markdown-it";
import type { Browser } from "playwright-core";
import type { Outputs } from "../src/entry/outputs.ts";
import type { RunEvent } from "../src/events/event.ts";
import { applyEvent, createRunView, type RunView } from "../src/events/view.ts";
import { readJournal } from "../src/journal/read.ts";
import { deliver } from "../src/github/deliver.ts";
import type { GithubPort } from "../src/github/github-port.ts";
import { offlinePort } from "../src/github/github-port.ts";
import { renderSummary } from "../src/github/summary.ts";
import { jobReport } from "../src/reports/run-json.ts";
import { readEntry } from "../src/run/entry-files.ts";
import { templates } from "../test/recipes/pages.ts";
import { launchChromium } from "../test/rig/browser.ts";
import { runCli } from "../test/rig/cli.ts";

const root = join(import.meta.dirname, "..", "..");
const markdown = new MarkdownIt({ html: true });
const styles = `
* { box-sizing: border-box; }
body { margin: 0; padding: 16px; background: #fff; color: #1f2328; font: 13px/1.5 "Noto Sans", "DejaVu Sans", Arial, sans-serif; }
article { border: 1px solid #d1d9e0; border-radius: 6px; margin-bottom: 16px; overflow: hidden; }
header { background: #f6f8fa; border-bottom: 1px solid #d1d9e0; padding: 8px 16px; color: #59636e; }
article > div { padding: 4px 16px; }
h2 { border-bottom: 1px solid #d1d9e0; font-size: 21px; padding-bottom: 4px; }
h3 { font-size: 18px; } h4 { font-size: 15px; } h2, h3, h4 { margin: 14px 0 10px; }
a { color: #0969da; text-decoration: none; }
code { background: #eff1f3; border-radius: 6px; padding: 2px 5px; font: 12px "Noto Sans Mono", "DejaVu Sans Mono", monospace; }
pre { background: #f6f8fa; border-radius: 6px; padding: 10px; } pre code { background: none; padding: 0; }
code.language-suggestion { color: #116329; display: block; }
code.language-suggestion::before { content: "Suggested change"; display: block; color: #59636e; margin-bottom: 6px; }
table { border-collapse: collapse; margin: 10px 0; } th, td { border: 1px solid #d1d9e0; padding: 5px 11px; text-align: left; }
tr:nth-child(2n) td { background: #f6f8fa; }
blockquote { border-left: 4px solid #d1d9e0; color: #59636e; margin: 10px 0; padding: 0 14px; }
details { margin: 8px 0; } sub { color: #59636e; font-size: 12px; vertical-align: baseline; }
mark { background: #d73a4a; border-radius: 12px; color: #fff; padding: 2px 10px; }
`;

const eventOf: Readonly<Record<string, string>> = {
  review: "pull_request",
  "fix-ci": "workflow_run",
  triage: "issue_comment",
};

const browser = await launchChromium();
try {
  for (const name of templates) await take(browser, name);
} finally {
  await browser.close();
}

async function take(browser: Browser, name: string): Promise<void> {
  const folder = join(root, "examples", name);
  const view = await played(folder, name);
  const { entry } = await readEntry(join(folder, `${name}.yml`));
  const summary = renderSummary(view, {
    summary: "full",
    entryFile: `.github/agent-jobs/${name}.yml`,
    chart: () => "",
  });
  const cards = [
    card("Summary of the job", summary),
    ...(await delivered(view, name, entry.outputs ?? {})),
  ];
  const page = await browser.newPage({ viewport: { width: 800, height: 200 } });
  await page.setContent(`<!doctype html><style>${styles}</style>${cards.join("")}`);
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
  await page.close();
  console.log(`wrote examples/${name}/${name}.png`);
}

interface Marks {
  readonly rehearsed?: unknown;
  readonly jobOutcome?: unknown;
}

async function played(folder: string, name: string): Promise<RunView> {
  const work = await mkdtemp(join(tmpdir(), "agent-jobs-pictures-"));
  try {
    const journal = join(work, "run.jsonl");
    const rehearsal = `${name}.rehearsal.yml`;
    const args = ["run", `${name}.yml`, "--rehearse", rehearsal, "--journal", journal];
    const { code, stdout, stderr } = await runCli(args, { cwd: folder });
    if (code !== 0) throw new Error(stdout + stderr);
    const view = createRunView();
    // The pictures show a real run. The events of its rehearsal have only these two marks more.
    for (const event of readJournal(await readFile(journal, "utf8")).events) {
      const { rehearsed: _mark, jobOutcome: _own, ...real }: RunEvent & Marks = event;
      applyEvent(view, real);
    }
    return view;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function delivered(view: RunView, job: string, outputs: Outputs): Promise<string[]> {
  const head = "4f1c2a9d7be3085566c1d20fa9347be18c5d0a62";
  const origin = {
    repository: "octo/shop",
    server: "https://github.com",
    event: eventOf[job] ?? "push",
    number: 7,
    ...(job === "review" || job === "fix-ci" ? { isPullRequest: true as const } : {}),
    head,
    workflowRun: "1",
    attempt: 1,
  };
  const cards: string[] = [];
  const show = (title: string, text: string): Promise<object> => {
    cards.push(card(title, text));
    return Promise.resolve({});
  };
  const github: GithubPort = {
    ...offlinePort(),
    diffOf: () => Promise.resolve([{ path: "src/discount.js", patch: "@@ -0,0 +1,2 @@\n+a\n+b" }]),
    createComment: (_number, body) => show("Comment on the pull request", body),
    createReview: async (_number, { comments = [] }) => {
      for (const { path, line, body } of comments)
        await show(`Comment of the review at <code>${path}</code>, line ${line}`, body);
      return {};
    },
    addLabels: (_number, labels) =>
      show("Label of the issue", labels.map((label) => `<mark>${label}</mark>`).join(" ")),
    commitOnBranch: ({ headline, body }) =>
      show("Commit on the branch of the pull request", `## ${headline}\n\n${body}`),
    commit: () => Promise.resolve({ isNew: true }),
    createPullRequest: ({ title, body, head: branch }) =>
      show(`Draft pull request from <code>${branch}</code>`, `## ${title}\n\n${body}`),
  };
  const about = {
    view,
    outputs,
    origin,
    entry: `.github/agent-jobs/${job}.yml`,
    job,
    report: jobReport(view),
  };
  const clock = { sleep: () => Promise.resolve(), now: () => Date.now() };
  await deliver(about, github, { staged: false, clock });
  return cards;
}

function card(title: string, text: string): string {
  return `<article><header>${title}</header><div>${markdown.render(text)}</div></article>`;
}
