/** The address when it may be followed from text that others wrote; null otherwise. */
export function safeLink(href: string): string | null {
    try {
        const url = new URL(href);
        return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
    } catch {
        return null;
    }
}
