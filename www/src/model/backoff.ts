/** How long to wait before the next connection: doubling from half a second to 30 s, with up to a fifth taken off
 *  so that many pages do not come back at the same moment. `random` is in [0, 1). */
export function backoffMs(attempt: number, random: number): number {
    const full = Math.min(30_000, 500 * 2 ** Math.min(attempt, 10));
    return Math.round(full * (1 - random * 0.2));
}
