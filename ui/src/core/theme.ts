/** Light, dark, or as the system has it. */
import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
const KEY = "holdfast.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(dark.matches);
dark.addEventListener("change", () => (systemDark.value = dark.matches));

function kept(): Theme {
  try {
    const found = localStorage.getItem(KEY);
    return found === "light" || found === "dark" ? found : "system";
  } catch {
    return "system";
  }
}

export const theme = signal<Theme>(kept());

effect(() => {
  const shown = theme.value === "system" ? (systemDark.value ? "dark" : "light") : theme.value;
  document.documentElement.dataset.theme = shown;
  try {
    localStorage.setItem(KEY, theme.value);
  } catch {
    // a browser that keeps nothing still has a theme
  }
});

export function nextTheme(): void {
  const isDark = document.documentElement.dataset.theme === "dark";
  theme.value = isDark ? "light" : "dark";
}
