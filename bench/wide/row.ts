export type Figures = Readonly<Record<string, number>>;

export interface Row {
  readonly name: string;
  /** Compared with the second. Each gets the bundle of the command line. */
  readonly sides: readonly [Side, Side];
  /** The largest ratio of a figure. */
  readonly most?: Figures;
}

export interface Side {
  readonly name: string;
  readonly run: (commandLine: string) => Promise<Figures>;
}
