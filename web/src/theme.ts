/** Light or dark: as the system has it, until someone says otherwise. */

import { useEffect, useState } from "preact/hooks";

export type Theme = "light" | "dark";

const CHOICE = "fitcarl-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [chosen, setChosen] = useState<Theme | null>(stored);
  const [dark, setDark] = useState(system.matches);

  useEffect(() => {
    const follow = (): void => setDark(system.matches);
    system.addEventListener("change", follow);
    return () => system.removeEventListener("change", follow);
  }, []);

  const theme = chosen ?? (dark ? "dark" : "light");
  document.documentElement.dataset["theme"] = theme;

  const choose = (next: Theme): void => {
    localStorage.setItem(CHOICE, next);
    setChosen(next);
  };
  return [theme, choose];
}

function stored(): Theme | null {
  const value = localStorage.getItem(CHOICE);
  return value === "light" || value === "dark" ? value : null;
}
