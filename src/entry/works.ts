/** What a job does, and in which order: the kinds of work. Source of the rules: `docs/entry-format.md`. */
import type { Model, Prompt } from "./terms.ts";

/**
 * `Work<never>` is a tree as an author writes it, `Work<number>` one whose leaves carry a
 * `workIdInJob` (see `assignWorkId`). `Leaf` is what is known of each leaf of the tree.
 */
export type Work<Id extends number = never, Leaf extends LeafWork<Id> = LeafWork<Id>> =
  Leaf | SequentialWork<Id, Leaf> | ParallelWork<Id, Leaf> | LoopWork<Id, Leaf> | AltWork<Id, Leaf>;

/** What runs: everything else only says when. */
export type LeafWork<Id extends number = never> = TaskWork<Id> | FlowWork<Id>;

export type TaskWork<Id extends number = never> = {
  readonly kind: "Ref";
  readonly taskId: string;
  readonly modelOverride?: Model;
} & Numbered<Id>;

/** Runs a Markdown workflow. */
export type FlowWork<Id extends number = never> = {
  readonly kind: "Flow";
  /** Its file, relative to the entry. */
  readonly file: string;
  /** By name; with the variables of a prompt. */
  readonly params?: Readonly<Record<string, Prompt>>;
} & Numbered<Id>;

type Numbered<Id extends number> = [Id] extends [never]
  ? { readonly workIdInJob?: number }
  : { readonly workIdInJob: Id };

export interface SequentialWork<
  Id extends number = never,
  Leaf extends LeafWork<Id> = LeafWork<Id>,
> {
  readonly kind: "Seq";
  readonly works: readonly Work<Id, Leaf>[];
}

export interface ParallelWork<Id extends number = never, Leaf extends LeafWork<Id> = LeafWork<Id>> {
  readonly kind: "Par";
  readonly works: readonly Work<Id, Leaf>[];
}

export interface LoopWork<Id extends number = never, Leaf extends LeafWork<Id> = LeafWork<Id>> {
  readonly kind: "Loop";
  /** The body runs while the work's outcome equals the boolean. */
  readonly preCondition?: readonly [boolean, Work<Id, Leaf>];
  readonly body: Work<Id, Leaf>;
  /** The loop repeats while the work's outcome equals the boolean. Without it, only `atMost` repeats the loop. */
  readonly postCondition?: readonly [boolean, Work<Id, Leaf>];
  /** The maximum number of passes. With it, an absent condition means to continue. */
  readonly atMost?: number;
  /** The outcome if a condition asks for another iteration after `atMost` iterations. Default: `fail`. */
  readonly atMostReached?: "fail" | "succeed";
}

export interface AltWork<Id extends number = never, Leaf extends LeafWork<Id> = LeafWork<Id>> {
  readonly kind: "Alt";
  readonly condition: Work<Id, Leaf>;
  readonly trueWork?: Work<Id, Leaf>;
  readonly falseWork?: Work<Id, Leaf>;
}
