/* The key that sends a text. */
import type { KeyboardEvent } from "react";

export function isTouchOnly(): boolean {
    return window.matchMedia("(hover: none) and (pointer: coarse)").matches;
}

/** Enter sends; on devices with only an on-screen keyboard it inserts a new line. */
export function wantsSend(event: KeyboardEvent): boolean {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return false;
    return event.ctrlKey || event.metaKey || !isTouchOnly();
}
