import { useEffect, useState } from "preact/hooks";

/** The theme that is shown: the switch's, else the system's. Renders again when it changes. */
export function useShownTheme(): "light" | "dark" {
  const [theme, setTheme] = useState(shownTheme);
  useEffect(() => {
    const update = () => setTheme(shownTheme());
    const system = matchMedia("(prefers-color-scheme: dark)");
    const own = new MutationObserver(update);
    system.addEventListener("change", update);
    own.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => {
      system.removeEventListener("change", update);
      own.disconnect();
    };
  }, []);
  return theme;
}

function shownTheme(): "light" | "dark" {
  const { theme } = document.documentElement.dataset;
  if (theme === "light" || theme === "dark") return theme;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}
