import type { JSX } from "preact";

/** Icons of 16 × 16, drawn in the color of the text. Decoration: what they mean is also said in words. */

const paths = {
  check: "M3.5 8.5l3 3 6-7",
  cross: "M4.5 4.5l7 7M11.5 4.5l-7 7",
  dot: "M8 8h.01",
  minus: "M4.5 8h7",
  stop: "M5 5h6v6H5z",
  power: "M8 2.5v5M5 4.2a5 5 0 1 0 6 0",
  play: "M5.5 3.8v8.4l6.5-4.2z",
  retry: "M12.8 8a4.8 4.8 0 1 1-1.5-3.5M12.8 2.8v2.4h-2.4",
  bolt: "M8.8 2.5L4.2 9h3.3l-.4 4.5L11.8 7H8.5z",
  clock: "M8 5v3.2l2 1.3M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11z",
  skip: "M4.5 4.5L8 8l-3.5 3.5M8.5 4.5L12 8l-3.5 3.5",
  question: "M6 6.2a2 2 0 1 1 3 1.7c-.7.4-1 .8-1 1.6M8 12h.01",
  chevron: "M6 4l4 4-4 4",
  copy: "M6 6h6.5v6.5H6zM3.5 10V3.5H10",
  close: "M4 4l8 8M12 4l-8 8",
  sun: "M8 5.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5zM8 1.8v1.4M8 12.8v1.4M1.8 8h1.4M12.8 8h1.4M3.6 3.6l1 1M11.4 11.4l1 1M12.4 3.6l-1 1M4.6 11.4l-1 1",
  moon: "M13 9.4A5.2 5.2 0 0 1 6.6 3 5.4 5.4 0 1 0 13 9.4z",
  auto: "M8 2.5a5.5 5.5 0 1 1 0 11zM8 2.5a5.5 5.5 0 0 0 0 11z",
  chat: "M2.8 3.5h10.4v7.3H7.4l-2.8 2.4v-2.4H2.8z",
  list: "M5.8 4.5h7M5.8 8h7M5.8 11.5h7M3 4.5h.01M3 8h.01M3 11.5h.01",
  alert: "M8 2.8l5.8 10.4H2.2zM8 6.6v3M8 11.4h.01",
  link: "M6.8 9.2l2.4-2.4M7.4 4.9l1.2-1.2a2.6 2.6 0 0 1 3.7 3.7l-1.2 1.2M8.6 11.1l-1.2 1.2a2.6 2.6 0 0 1-3.7-3.7l1.2-1.2",
  plus: "M8 4v8M4 8h8",
  fit: "M2.8 6V2.8H6M10 2.8h3.2V6M13.2 10v3.2H10M6 13.2H2.8V10",
  down: "M8 3.5v9M4.5 9L8 12.5 11.5 9",
  up: "M8 12.5v-9M4.5 7L8 3.5 11.5 7",
  search: "M7 3a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM10 10l3.2 3.2",
  tool: "M9.7 3.2a3 3 0 0 0-3.2 4.3L3 11l2 2 3.5-3.5a3 3 0 0 0 4.3-3.2L10.9 8 8.6 7.4 8 5.1z",
  shield: "M8 2.3l4.7 1.8v3.6c0 3-2 5-4.7 6-2.7-1-4.7-3-4.7-6V4.1zM5.8 5.8l4.4 4.4",
  person:
    "M8 8.2a2.6 2.6 0 1 0 0-5.2 2.6 2.6 0 0 0 0 5.2zM3.2 13.2c.5-2.3 2.4-3.4 4.8-3.4s4.3 1.1 4.8 3.4",
  spark: "M8 2.2l1.4 4.4L13.8 8l-4.4 1.4L8 13.8 6.6 9.4 2.2 8l4.4-1.4z",
  thought: "M8 2.8a4.6 4.6 0 0 1 2.6 8.3v1.4H5.4v-1.4A4.6 4.6 0 0 1 8 2.8zM6.3 14h3.4",
  folder: "M2.5 4h4l1.3 1.6h5.7v6.9h-11z",
  gavel: "M4 13.2h6M6.2 9.8L2.8 6.4M10.6 5.4L7.2 2M3.8 6.9l3.9-3.9 3 3-3.9 3.9zM8.6 8l4.2 4.2",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width={size} height={size} aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}

/** A button without text: `label` is its name and, unless there is a `title`, its tooltip. */
export function IconButton({
  icon,
  label,
  title = label,
  small = false,
  class: name = "",
  ...others
}: {
  icon: IconName;
  label: string;
  title?: string;
  small?: boolean;
  class?: string;
} & Pick<JSX.ButtonHTMLAttributes, "onClick" | "disabled" | "aria-pressed">) {
  return (
    <button
      type="button"
      class={`button button-icon ${small ? "button-small" : ""} ${name}`}
      aria-label={label}
      title={title}
      {...others}
    >
      <Icon name={icon} size={small ? 14 : 16} />
    </button>
  );
}

/** Turns while something works; stands still where motion is unwanted. */
export function Spinner({ size = 16 }: { size?: number }) {
  return (
    <svg class="icon spinner" viewBox="0 0 16 16" width={size} height={size} aria-hidden="true">
      <circle cx="8" cy="8" r="5.5" class="spinner-track" />
      <path d="M13.5 8A5.5 5.5 0 0 0 8 2.5" />
    </svg>
  );
}
