import { useState } from "preact/hooks";
import { useAnnounce } from "./announcer.tsx";
import { Icon } from "./icon.tsx";

/** Text as it is, in the fixed-width font, with a button to copy it. `label` names it. */
export function CodeBlock({ text, label }: { text: string; label: string }) {
  return (
    <div class="code-block">
      <pre tabIndex={0} role="region" aria-label={label}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} what={label} />
    </div>
  );
}

export function CopyButton({ text, what }: { text: string; what: string }) {
  const announce = useAnnounce();
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      announce("Copied.");
      setTimeout(() => setCopied(false), 1_500);
    } catch {
      announce("The browser did not allow to copy.");
    }
  };
  return (
    <button
      type="button"
      class="button button-icon copy-button"
      aria-label={`Copy ${what}`}
      title="Copy"
      onClick={() => void copy()}
    >
      <Icon name={copied ? "check" : "copy"} size={14} />
    </button>
  );
}
