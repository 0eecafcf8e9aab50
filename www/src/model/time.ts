/* Parses the server's times and formats them for the reader. */

const DAY_MS = 86_400_000;

/** Milliseconds since the epoch. Times of events have no zone: they are UTC. */
export function parseServerTime(timestamp: string): number {
    return Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(timestamp) ? timestamp : `${timestamp}Z`);
}

function startOfDay(ms: number): number {
    const date = new Date(ms);
    return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
}

const MINUTE_MS = 60_000;
/* Made once: to make one takes as long as to use it a thousand times. */
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

/** The clock time in the reader's zone, as 14:05. */
export function clockTime(timestamp: string): string {
    const date = new Date(parseServerTime(timestamp));
    return Number.isNaN(date.getTime()) ? "" : CLOCK.format(date);
}

/** True when both show as the same clock time of a day. */
export function isSameMinute(a: string, b: string): boolean {
    return Math.floor(parseServerTime(a) / MINUTE_MS) === Math.floor(parseServerTime(b) / MINUTE_MS);
}

/** The same with its seconds, of a moment by this browser's clock. */
export function clockTimeOf(ms: number): string {
    return new Date(ms).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
}

export function fullTime(timestamp: string): string {
    const date = new Date(parseServerTime(timestamp));
    return Number.isNaN(date.getTime()) ? "" : date.toLocaleString();
}

export type Age = "today" | "yesterday" | "week" | "older";

/** The heading of the list under which a conversation is shown. */
export function ageOf(timestamp: string, nowMs: number): Age {
    const days = Math.round((startOfDay(nowMs) - startOfDay(parseServerTime(timestamp))) / DAY_MS);
    if (Number.isNaN(days) || days > 6) return "older";
    if (days <= 0) return "today";
    return days === 1 ? "yesterday" : "week";
}

/** Short, for the list: the time today, otherwise the day. */
export function listTime(timestamp: string, nowMs: number): string {
    const age = ageOf(timestamp, nowMs);
    if (age === "today") return clockTime(timestamp);
    const date = new Date(parseServerTime(timestamp));
    if (Number.isNaN(date.getTime())) return "";
    if (age !== "older") return date.toLocaleDateString(undefined, { weekday: "short" });
    return date.toLocaleDateString(undefined, { day: "numeric", month: "short" });
}
