/** In which forms a known secret may turn up in a text. */

/** Shorter values are ignored: masking `1` or `yes` would destroy every text and tell the value. */
const MIN_SECRET = 4;
/** An encoded form or a single line that is shorter would hit ordinary text by chance. */
const MIN_DERIVED = 8;

/** How long GitHub's tokens with a short prefix were before they got parts and dots. */
const OLD_TOKEN = 40;

/**
 * The value itself, trimmed; its JSON-escaped form (once and twice: JSON inside JSON); URL-encoded, also as
 * form data; base64 and base64url at each of the three alignments inside a longer text; and the same for
 * each line of a secret with several lines, and for the rest of a long token of GitHub's.
 */
export function secretForms(secret: string): string[] {
  const value = secret.trim();
  if (value.length < MIN_SECRET || /^\*+$/.test(value)) return [];
  const forms = new Set<string>([value]);
  const pieces = [value];
  for (const line of value.split(/[\r\n]+/)) {
    if (line.trim().length >= MIN_DERIVED && line.trim() !== value) pieces.push(line.trim());
  }
  // The runtime masks these by itself, but knows only their old length and shows the rest.
  if (/^gh[pousr]_/.test(value)) pieces.push(value.slice(OLD_TOKEN));
  for (const piece of pieces) {
    for (const form of [piece, ...encodedForms(piece)]) {
      if (form.length >= MIN_DERIVED) forms.add(form);
    }
  }
  return [...forms];
}

function encodedForms(value: string): string[] {
  const once = JSON.stringify(value).slice(1, -1);
  const twice = JSON.stringify(once).slice(1, -1);
  // A lone surrogate cannot be encoded; UTF-8 turns it into U+FFFD, as every encoder would.
  const bytes = new TextEncoder().encode(value);
  const percent = encodeURIComponent(new TextDecoder().decode(bytes));
  const strict = percent.replace(
    /[!'()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const base64 = base64Forms(bytes);
  return [
    once,
    twice,
    percent,
    strict,
    lowerEscapes(percent),
    lowerEscapes(strict),
    new URLSearchParams([["", value]]).toString().slice(1),
    ...base64,
    ...base64.map((form) => form.replaceAll("+", "-").replaceAll("/", "_")),
  ];
}

function lowerEscapes(text: string): string {
  return text.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase());
}

/** The characters that only depend on the secret, when 0, 1 or 2 other bytes come before it. */
function base64Forms(bytes: Uint8Array): string[] {
  const whole = toBase64(bytes);
  const forms = [whole, whole.replace(/=+$/, "")];
  for (const before of [0, 1, 2]) {
    const shifted = new Uint8Array(before + bytes.length);
    shifted.set(bytes, before);
    const from = Math.ceil((before * 8) / 6);
    const to = Math.floor(((before + bytes.length) * 8) / 6);
    forms.push(toBase64(shifted).slice(from, to));
  }
  return forms;
}

function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}
