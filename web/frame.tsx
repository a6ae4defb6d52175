/** The frame of every page: header, navigation, theme, messages. It moves the focus when the page changes. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Announcer } from "./parts/announcer.tsx";
import { IconButton, type IconName } from "./parts/icon.tsx";
import { Navigated } from "./parts/notes.tsx";

export interface NavigationItem {
  readonly href: string;
  readonly text: string;
  readonly current: boolean;
}

export function Frame({
  navigation,
  actions,
  place,
  children,
}: {
  navigation: readonly NavigationItem[];
  /** Buttons of the header. */
  actions?: ComponentChildren;
  /** Identifies the page: see `placeOf`. */
  place: string;
  children: ComponentChildren;
}) {
  const main = useRef<HTMLElement>(null);
  const navigated = useFocusOnNavigation(main, place);
  return (
    <Announcer>
      <div>
        <a
          class="skip-link button button-primary"
          href="#main"
          onClick={(event) => {
            // The hash is the route.
            event.preventDefault();
            main.current?.focus();
          }}
        >
          Skip to content
        </a>
        <header class="frame-header">
          <div class="frame-bar row">
            <a class="brand row" href="#/">
              <Logo />
              <span class="brand-name">agent-jobs</span>
            </a>
            <nav class="frame-nav" aria-label="Pages">
              {navigation.map(({ href, text, current }) => (
                <a key={href} href={href} aria-current={current ? "page" : undefined}>
                  {text}
                </a>
              ))}
            </nav>
            <div class="row tight">
              {actions}
              <ThemeSwitch />
            </div>
          </div>
        </header>
        <main ref={main} id="main" class="frame-main" tabIndex={-1}>
          <Navigated.Provider value={navigated}>{children}</Navigated.Provider>
        </main>
      </div>
    </Announcer>
  );
}

/** Not for the page that is loaded first: the browser starts at its beginning anyway. */
function useFocusOnNavigation(main: { current: HTMLElement | null }, place: string) {
  const loaded = useRef(place);
  const navigated = useRef(false);
  useEffect(() => {
    if (!navigated.current && place === loaded.current) return;
    navigated.current = true;
    scrollTo(0, 0);
    (main.current?.querySelector<HTMLElement>("h1") ?? main.current)?.focus();
  }, [place]);
  return navigated;
}

function Logo() {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="20" height="20" aria-hidden="true">
      <path d="M5.5 3.5H9a3 3 0 0 1 3 3v.8M5.5 12.5h1.2" />
      <circle cx="3.5" cy="3.5" r="1.75" />
      <circle cx="3.5" cy="12.5" r="1.75" />
      <path d="M3.5 5.5v5" />
      <path d="M9 12.2l1.8 1.8L14.5 10" stroke-width="2" />
    </svg>
  );
}

const themes: Readonly<Record<Theme, { next: Theme; icon: IconName }>> = {
  system: { next: "light", icon: "auto" },
  light: { next: "dark", icon: "sun" },
  dark: { next: "system", icon: "moon" },
};

function ThemeSwitch() {
  const [theme, setTheme] = useState(storedTheme);
  const { next, icon } = themes[theme];
  const change = () => {
    applyTheme(next);
    setTheme(next);
  };
  return (
    <IconButton
      icon={icon}
      label={`Theme: ${theme}. Change to ${next}`}
      title={`Theme: ${theme}`}
      onClick={change}
    />
  );
}

/** The system's, unless the reader chose one. The browser keeps the choice, where it allows that. */
type Theme = "system" | "light" | "dark";

const key = "agent-jobs-theme";

export function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(key);
    return stored === "light" || stored === "dark" ? stored : "system";
  } catch {
    return "system";
  }
}

export function applyTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
  try {
    if (theme === "system") localStorage.removeItem(key);
    else localStorage.setItem(key, theme);
  } catch {
    // Not kept.
  }
}
