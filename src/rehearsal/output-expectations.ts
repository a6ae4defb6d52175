/** What agents have handed in, against what was expected: verdict, findings, proposals, reports and results. */
import { isDeepStrictEqual } from "node:util";
import { cut } from "../events/cut.ts";
import type { RunEvent } from "../events/event.ts";
import type { Finding, Proposal } from "../events/output-shapes.ts";
import { applyEvent, createRunView } from "../events/view.ts";
import { collectOutputs, resultsOf } from "../outputs/collect.ts";
import type { ExpectedFinding, ExpectedProposal, OutputFields } from "./format/output-fields.ts";
import type { ExpectedOutput, ExpectedOutputs, Place } from "./format/script.ts";
import { describeCondition, mismatch, quote } from "./format/text-condition.ts";

type Fill = (template: string) => string;

export class OutputExpectations {
  readonly #expected: ExpectedOutputs;
  readonly #seen = new SeenOutputs();

  constructor(expected: ExpectedOutputs) {
    this.#expected = expected;
  }

  see(event: RunEvent): void {
    this.#seen.see(event);
  }

  failures(fill: Fill): string[] {
    const { verdict, findings, proposals, reports, results } = this.#expected;
    const seen = this.#seen;
    const texts = seen.reports;
    return [
      ...(verdict === undefined || verdict.value === seen.verdict
        ? []
        : [`${verdict.place}: the verdict should be ${verdict.value}, but it is ${seen.verdict}.`]),
      ...listFailures("finding", findings, seen.findings, fill),
      ...listFailures("proposal", proposals, seen.proposals, fill),
      ...reports.flatMap(({ place, task, value }) => {
        const text = texts.get(task);
        if (text === undefined) return [`${place}: task "${task}" has handed in no report.`];
        const why = mismatch(value, text, fill);
        return why === undefined
          ? []
          : [`${place}: the report of task "${task}" ${why}; it is ${quote(text)}.`];
      }),
      ...results.flatMap(({ place, task, value }) => {
        const result = seen.results?.[task];
        if (isDeepStrictEqual(plain(result), plain(value))) return [];
        const is = result === undefined ? "there is none" : `it is ${shown(result)}`;
        return [`${place}: the result of task "${task}" should be ${shown(value)}, but ${is}.`];
      }),
    ];
  }
}

/** What a run hands in, in the words of an expectation. */
export class SeenOutputs {
  readonly #view = createRunView();

  see(event: RunEvent): void {
    applyEvent(this.#view, event);
  }

  get verdict(): OutputFields["verdict"] & string {
    return collectOutputs(this.#view).verdict?.verdict ?? "none";
  }

  get findings(): readonly ExpectedFinding[] {
    return collectOutputs(this.#view).findings.map(findingFields);
  }

  get proposals(): readonly ExpectedProposal[] {
    const { proposals } = collectOutputs(this.#view);
    return proposals.map(({ task, proposal }) => proposalFields(task, proposal));
  }

  get results(): Readonly<Record<string, unknown>> | null {
    return resultsOf(this.#view);
  }

  /** Of an Each those of all items. */
  get reports(): ReadonlyMap<string, string> {
    const texts = new Map<string, string>();
    for (const { taskId, report } of this.#view.given.values()) {
      if (report === undefined) continue;
      const before = texts.get(taskId);
      texts.set(taskId, before === undefined ? report.markdown : `${before}\n\n${report.markdown}`);
    }
    return texts;
  }

  /** Those of `expect`, without what nobody has handed in, and without reports, which are prose. */
  fields(): OutputFields {
    const { verdict, findings, proposals, results } = this;
    return {
      ...(verdict !== "none" && { verdict }),
      ...(findings.length > 0 && { findings }),
      ...(proposals.length > 0 && { proposals }),
      ...(results !== null && { results }),
    };
  }
}

function findingFields(finding: Finding): ExpectedFinding {
  const { headLine: _, fingerprint: _of, ...fields } = finding;
  return fields;
}

function proposalFields(task: string, proposal: Proposal): ExpectedProposal {
  switch (proposal.kind) {
    case "pull_request": {
      const { base: _, files, ...fields } = proposal;
      return { task, ...fields, files: files.map(({ path }) => path) };
    }
    case "comment":
    case "label":
    case "reviewers":
    case "close": {
      const { number: _, ...fields } = proposal;
      return { task, ...fields };
    }
    case "issue":
      return { task, ...proposal };
  }
}

function listFailures(
  noun: string,
  expected: { readonly place: Place; readonly items: readonly ExpectedOutput[] } | undefined,
  seen: readonly object[],
  fill: Fill,
): string[] {
  if (expected === undefined) return [];
  const free = new Set(seen);
  const failures: string[] = [];
  // The most specific first, so that another one doesn't take what only it fits.
  const ordered = [...expected.items].sort((a, b) => particularity(b) - particularity(a));
  for (const item of ordered) {
    const found = [...free].find((one) => fits(item, one, fill));
    if (found !== undefined) free.delete(found);
    else failures.push(`${item.place}: there is no ${noun} with ${describe(item)}.`);
  }
  for (const one of free) failures.push(`${expected.place}: unexpected ${noun} ${shown(one)}.`);
  return failures;
}

function particularity({ equal, texts }: ExpectedOutput): number {
  return Object.keys(equal).length + texts.length;
}

function fits({ equal, texts }: ExpectedOutput, seen: object, fill: Fill): boolean {
  return (
    Object.entries(equal).every(([name, value]) =>
      isDeepStrictEqual(Reflect.get(seen, name), value),
    ) &&
    texts.every(({ name, condition }) => {
      const text: unknown = Reflect.get(seen, name);
      return mismatch(condition, typeof text === "string" ? text : "", fill) === undefined;
    })
  );
}

function describe({ equal, texts }: ExpectedOutput): string {
  return [
    ...Object.entries(equal).map(([name, value]) => `${name} ${JSON.stringify(value)}`),
    ...texts.map(({ name, condition }) => `a ${name} that ${describeCondition(condition)}`),
  ].join(", ");
}

function shown(value: unknown): string {
  return cut(JSON.stringify(value), 300);
}

/** Without prototypes, which JSON doesn't have. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
