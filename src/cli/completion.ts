/** Completion of commands, options and names of entries, from the commands themselves. */
import type { Command, Option } from "commander";

interface Described {
  /** `run`, or `tool call`. */
  readonly name: string;
  readonly help: string;
  readonly options: readonly Option[];
  /** The choices for its first argument. */
  readonly words: readonly string[];
  readonly takesEntry: boolean;
}

export function completion(program: Command, shell: string): string {
  const commands = [...describe(program)];
  if (shell === "fish") return fish(commands);
  const script = bash(commands);
  return shell === "bash" ? script : `autoload -U +X bashcompinit && bashcompinit\n${script}`;
}

function* describe(parent: Command, path = ""): Generator<Described> {
  for (const command of parent.commands) {
    const name = `${path}${command.name()}`;
    const help = command.createHelp();
    for (const option of command.options) option.hidden = false;
    const [first] = command.registeredArguments;
    yield {
      name,
      help: command.description(),
      options: help.visibleOptions(command),
      words: first?.argChoices ?? command.commands.map((one) => one.name()),
      takesEntry: first?.name() === "entry",
    };
    yield* describe(command, `${name} `);
  }
}

/** Prints the names of the entries of the repository, in any shell. `compgen` would run a command in a name. */
const names = String.raw`ls "$(git rev-parse --show-toplevel 2>/dev/null)/.github/agent-jobs" 2>/dev/null | sed -n -E '/\.(rehearsal|eval)\./d; s/^([A-Za-z0-9._-]+)\.(ya?ml|json|(wf|prompt)\.md)$/\1/p'`;

const flagsOf = ({ short, long }: Option): string[] =>
  [short, long].filter((flag) => flag !== undefined);

function bash(commands: readonly Described[]): string {
  const top = commands.filter(({ name }) => !name.includes(" "));
  const reply = (words: string): string => `COMPREPLY=($(compgen -W "${words}" -- "$cur"))`;
  const values = commands.flatMap(({ name, options }) => {
    const pattern = (option: Option): string =>
      flagsOf(option)
        .map((flag) => `"${name} ${flag}"`)
        .join("|");
    const taking = options.filter(({ required, optional }) => required || optional);
    const free = taking.filter(({ argChoices }) => argChoices === undefined).map(pattern);
    return [
      ...taking.flatMap((option) =>
        option.argChoices === undefined
          ? []
          : [`    ${pattern(option)}) ${reply(option.argChoices.join(" "))}; return ;;`],
      ),
      // A file, as without completion.
      ...(free.length === 0 ? [] : [`    ${free.join("|")}) return ;;`]),
    ];
  });
  const cases = commands.map(({ name, options, words, takesEntry }) => {
    const flags = options.flatMap(flagsOf).join(" ");
    const first = takesEntry ? `$(${names})` : `"${words.join(" ")}"`;
    return `    "${name}") flags="${flags}"; words=${first} ;;`;
  });
  const nested = top.filter(({ name }) => commands.some((one) => one.name.startsWith(`${name} `)));
  return `_agent_jobs() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" flags words
  local name="\${COMP_WORDS[1]}"
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    ${reply(top.map(({ name }) => name).join(" "))}
    return
  fi
  case "$name" in
    ${nested.map(({ name }) => name).join("|")}) [ "$COMP_CWORD" -gt 2 ] && name="$name \${COMP_WORDS[2]}" ;;
  esac
  case "$name $prev" in
${values.join("\n")}
  esac
  case "$name" in
${cases.join("\n")}
  esac
  case "$cur" in
    -*) ${reply("$flags")} ;;
    *) ${reply("$words")} ;;
  esac
}
complete -o default -F _agent_jobs agent-jobs`;
}

function fish(commands: readonly Described[]): string {
  const line = (condition: string, ...more: readonly string[]): string =>
    `complete -c agent-jobs -n ${quoted(condition)} ${more.join(" ")}`;
  return commands
    .flatMap(({ name, help, options, words, takesEntry }) => {
      const [parent = "", child] = name.split(" ");
      const seen = (one: string): string => `__fish_seen_subcommand_from ${one}`;
      const within = child === undefined ? seen(parent) : `${seen(parent)}; and ${seen(child)}`;
      const start = child === undefined ? "__fish_use_subcommand" : seen(parent);
      const first = takesEntry ? `(${names})` : words.join(" ");
      return [
        line(start, "-f", "-a", child ?? parent, "-d", quoted(help)),
        ...(first === "" || child !== undefined ? [] : [line(within, "-a", quoted(first))]),
        ...options.map((option) => {
          const { argChoices, required, optional, description } = option;
          return line(
            within,
            ...flagsOf(option).map((flag) =>
              flag.replace(/^--/, "-l ").replace(/^-(?=\w$)/, "-s "),
            ),
            ...(required || optional ? ["-r"] : []),
            ...(argChoices === undefined ? [] : ["-f", "-a", quoted(argChoices.join(" "))]),
            "-d",
            quoted(description.replace(/(?<=\.) .*/s, "")),
          );
        }),
      ];
    })
    .join("\n");
}

function quoted(text: string): string {
  return `'${text.replaceAll(/[\\']/g, (sign) => `\\${sign}`)}'`;
}
