/** What both sides of the comparison do. */
export const modelId = "bench";
export const prompt = "Read README.md and say what it is about.";

/** The arguments of both programs. */
export function workload(): {
  readonly tasks: number;
  readonly order: "Par" | "Seq";
  readonly baseUrl: string;
  readonly folder: string;
  readonly library: string;
} {
  const [, , tasks, order, baseUrl = "", folder = "", library = ""] = process.argv;
  return { tasks: Number(tasks), order: order === "Par" ? "Par" : "Seq", baseUrl, folder, library };
}

export function printOwnCpu(): void {
  process.once("exit", () => {
    const { user, system } = process.cpuUsage();
    console.log(`own CPU ${(user + system) / 1000}`);
  });
}
