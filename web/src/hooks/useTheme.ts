/** Light or dark theme: the system preference until the user chooses one. */

import { useEffect, useState } from "preact/hooks";

export type Theme = "light" | "dark";

const STORAGE_KEY = "fitcarl-theme";
const systemDark = matchMedia("(prefers-color-scheme: dark)");

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [chosen, setChosen] = useState<Theme | null>(storedTheme);
  const [dark, setDark] = useState(systemDark.matches);

  useEffect(() => {
    const onChange = (): void => setDark(systemDark.matches);
    systemDark.addEventListener("change", onChange);
    return () => systemDark.removeEventListener("change", onChange);
  }, []);

  const theme = chosen ?? (dark ? "dark" : "light");
  document.documentElement.dataset["theme"] = theme;

  const choose = (next: Theme): void => {
    localStorage.setItem(STORAGE_KEY, next);
    setChosen(next);
  };
  return [theme, choose];
}

function storedTheme(): Theme | null {
  const value = localStorage.getItem(STORAGE_KEY);
  return value === "light" || value === "dark" ? value : null;
}
