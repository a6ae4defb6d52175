/**
 * Text of which GitHub makes nothing: a word in which it would find a mention, a reference, a commit, an address or
 * mathematics becomes code, so that the reader still sees it.
 */
import type { InlineCode, PhrasingContent, Text } from "mdast";

/** All that GitHub looks for consists of these characters. */
const words = /[!-~]+/g;
const found = /@\w|#\d|GH-\d|:\/\/|www\.|(?:mailto|xmpp):|\$|(?<!\w)[0-9a-f]{7,40}(?!\w)/i;
const before = "([{<\"'*";
const after = ")]}>\"'*.,;:!?";

/** Texts that are next to each other are one, and so are code spans, which would run into each other. */
export function plainPhrasing(nodes: readonly PhrasingContent[]): PhrasingContent[] {
  const result: PhrasingContent[] = [];
  for (const node of joined(nodes, "text")) {
    if (node.type === "text") result.push(...plainWords(node.value));
    else result.push(node);
  }
  return joined(result, "inlineCode");
}

/** Each run of one type as one node. */
function joined(nodes: readonly PhrasingContent[], type: "text" | "inlineCode"): PhrasingContent[] {
  const result: PhrasingContent[] = [];
  let run: Text | InlineCode | undefined;
  for (const node of nodes) {
    if (node.type !== type) {
      run = undefined;
      result.push(node);
    } else if (run === undefined) {
      run = { ...node };
      result.push(run);
    } else run.value += node.value;
  }
  return result;
}

function plainWords(text: string): PhrasingContent[] {
  const result: PhrasingContent[] = [];
  let end = 0;
  const plain = (to: number): void => {
    if (to > end) result.push({ type: "text", value: text.slice(end, to) });
    end = to;
  };
  for (const { 0: word, index } of text.matchAll(words)) {
    if (!found.test(word)) continue;
    const [from, to] = withoutEdges(word);
    plain(index + from);
    result.push({ type: "inlineCode", value: word.slice(from, to) });
    end = index + to;
  }
  plain(text.length);
  return result;
}

/** Where the word is without the punctuation around it, as far as that isn't what makes it more than a word. */
function withoutEdges(word: string): readonly [number, number] {
  let from = 0;
  let to = word.length;
  while (from < to && before.includes(word.charAt(from))) from += 1;
  while (from < to && after.includes(word.charAt(to - 1))) to -= 1;
  return found.test(word.slice(from, to)) ? [from, to] : [0, word.length];
}
