/** bash itself is the judge of where a value is one word, and of what is run. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { placesIn, quotedAt } from "../../src/workflow/shell-quoting.ts";

/** With `{{X}}` filled; undefined if it can't be. */
function filled(command: string, value: string): string | undefined {
  const places = placesIn(command);
  let isRefused = false;
  const text = command.replaceAll("{{X}}", (_found, offset: number) => {
    const quoted = quotedAt(places.get(offset) ?? "plain", value);
    if (quoted === undefined) isRefused = true;
    return quoted ?? "";
  });
  return isRefused ? undefined : text;
}

function printed(command: string): string {
  const { stdout } = spawnSync("bash", ["-c", command], { encoding: "utf8" });
  return stdout;
}

const values = [
  "it's",
  '$(echo RUN) `echo RUN` "; echo RUN; "',
  "'; echo RUN; '",
  "a\necho RUN\n",
  "\\",
  "*",
  "!x ${PATH} ~ {a,b}",
  "-n",
  "",
];

describe("a value in a command", () => {
  it("is one word, whatever it contains", () => {
    const commands = [
      ["printf '<%s>' {{X}}", "<X>"],
      ["printf '<%s>' a{{X}}b {{X}}", "<aXb><X>"],
      ['printf \'<%s>\' "{{X}}" "a \'{{X}}"', "<X><a 'X>"],
      ["printf '<%s>' 'a \"{{X}} b'", '<a "X b>'],
      ["printf '<%s>' $'a\\'{{X}}\\n'", "<a'X\n>"],
      ['printf \'<%s>\' "$(printf "%s." "({{X}})")"', "<(X).>"],
      ["printf '<%s>' \"a $(printf '%s.' {{X}}) {{X}}\"", "<a X. X>"],
      ["(printf '<%s>' {{X}}) # it's\nprintf '<%s>' {{X}}", "<X><X>"],
      ["printf '<%s>' \"${NONE}$((1 + 1))`:`{{X}}\"", "<2X>"],
      ["printf '<%s>' a\\'{{X}} a#{{X}} \\\"{{X}}", `<a'X><a#X><"X>`],
      ["case a in a) printf '<%s>' {{X}};; esac", "<X>"],
      ["printf '<%s>' $'{{X}}' <<<{{X}}", "<X>"],
    ] as const;
    for (const [command, expected] of commands) {
      for (const value of values) {
        const text = filled(command, value);
        assert.ok(text !== undefined, command);
        assert.equal(
          printed(text),
          expected.replaceAll("X", () => value),
          text,
        );
      }
    }
  });

  it("is inserted only if it is a plain word where quotes are not certain to hold", () => {
    const commands = [
      "cat <<EOF\n{{X}}\nEOF",
      "echo `printf %s '{{X}}'`",
      "echo $(( {{X}} ))",
      "echo $[ {{X}} ]",
      "(( {{X}} ))",
      'echo "${A:-{{X}}}"',
      "echo \"${A:-it's}\" '{{X}}'",
      "true # {{X}}",
      "echo $(case a in a) echo {{X}};; esac)",
      "echo \\{{X}}",
    ];
    for (const command of commands) {
      assert.ok(filled(command, "main-1.0")?.includes("main-1.0") === true, command);
      assert.equal(filled(command, "$(echo RUN)"), undefined, command);
      assert.equal(filled(command, "a\nb"), undefined, command);
    }
  });
});
