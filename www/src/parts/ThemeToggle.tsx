import type { Theme } from "../state/storage";
import { useStore } from "../state/store";
import { chooseTheme, theme } from "../state/theme";
import { text } from "../text";
import { Icon, type IconName } from "./Icon";

const NEXT: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" };
const ICONS: Readonly<Record<Theme, IconName>> = { system: "screen", light: "sun", dark: "moon" };

export function ThemeToggle() {
    const current = useStore(theme);
    const label = text.theme.label(text.theme[current]);
    return (
        <button
            type="button"
            className="icon-button"
            title={label}
            aria-label={label}
            onClick={() => { chooseTheme(NEXT[current]); }}
        >
            <Icon name={ICONS[current]} />
        </button>
    );
}
