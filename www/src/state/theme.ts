import { Store } from "./store";
import { type Theme, loadTheme, saveTheme } from "./storage";

export const theme = new Store<Theme>(loadTheme());

export function chooseTheme(next: Theme): void {
    if (next === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    saveTheme(next);
    theme.set(next);
}
