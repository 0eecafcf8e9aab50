/** The text with white space squeezed; of a longer one the words that fit, or the characters of a single word. */
export function shortened(text: string, maxChars: number): string {
    const squeezed = text.replace(/\s+/g, " ").trim();
    const characters = Array.from(squeezed);
    if (characters.length <= maxChars) return squeezed;
    const kept = characters.slice(0, maxChars + 1).join("");
    const space = kept.lastIndexOf(" ");
    return `${space > 0 ? kept.slice(0, space) : characters.slice(0, maxChars).join("")}…`;
}
