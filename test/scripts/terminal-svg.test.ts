import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { terminalSvg } from "../../scripts/terminal-svg.ts";

const draw = (output: string, columns = 40): string =>
  terminalSvg(output, { title: "a & b", columns });

/** The text of each line of output, without the title. */
const lines = (svg: string): string[] =>
  [...svg.matchAll(/<text y="\d+">(.*)<\/text>/g)].map(([, line = ""]) =>
    line.replaceAll(/<[^>]*>/g, ""),
  );

describe("a terminal window", () => {
  it("shows every line, and escapes what XML would read", () => {
    const svg = draw("one\n\n<two> & three\n");
    assert.deepEqual(lines(svg), ["one", "&#60;two&#62; &#38; three"]);
    assert.match(svg, />a &#38; b<\/text>/);
  });

  it("gives what follows a gap a position of its own, so that columns stay aligned", () => {
    const positions = ["a     bc", "aaa   bc", "\u001b[2m      bc\u001b[22m"].map(
      (line) => / x="([\d.]+)"[^>]*>bc</.exec(draw(line))?.[1],
    );
    assert.deepEqual(new Set(positions), new Set(["65.0"]));
  });

  it("shows colors, bold and dim text", () => {
    const svg = draw(
      "\u001b[32mgreen\u001b[39m plain \u001b[1mbold\u001b[22m \u001b[2mdim\u001b[0m",
    );
    assert.match(svg, /style="fill: #56d364">green</);
    assert.match(svg, /font-weight="bold">bold</);
    assert.match(svg, /style="fill: #8b949e">dim</);
    assert.match(svg, /textLength="[\d.]+">plain</);
  });

  it("cuts a line that is longer than the window", () => {
    assert.deepEqual(lines(draw("1234567890\n12345678901", 10)), ["1234567890", "123456789…"]);
  });

  it("refuses an escape sequence that it can't draw", () => {
    assert.throws(() => draw("\u001b[48mx"), /Unknown escape sequence: ESC\[48m/);
  });
});
