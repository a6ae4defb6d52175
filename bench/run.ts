/** `npm run bench NAME`: engine, sessions, report or action. `npm run bench:check` measures the goals. */
const [, , name = "", ...args] = process.argv;
const benches: Readonly<
  Record<string, () => Promise<{ main(args: readonly string[]): Promise<void> }>>
> = {
  engine: () => import("./engine.ts"),
  sessions: () => import("./sessions.ts"),
  report: () => import("./report.ts"),
  action: () => import("./action.ts"),
};
const bench = await benches[name]?.();
if (bench === undefined) {
  console.error(`Usage: npm run bench ${Object.keys(benches).join("|")}`);
  process.exitCode = 2;
} else await bench.main(args);
