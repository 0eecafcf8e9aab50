// Waits for conditions, never for a time.
import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import { DEADLINE_MS } from './instance.mjs';

const LOOK_AGAIN_MS = 25;

const SEEN_MAX_CHARS = 1000;

/**
 * Resolves with the result of check() once that is truthy; fails after the deadline with what was awaited and what was
 * seen last: the argument of the last call to check's first parameter, else check's last result.
 */
export async function waitUntil(check, what, deadlineMs = DEADLINE_MS) {
  const end = Date.now() + deadlineMs;
  for (;;) {
    let seen;
    const value = await check((found) => {
      seen = found;
      return found;
    });
    if (value) return value;
    if (Date.now() > end) {
      const last = inspect(seen ?? value, { depth: 4, breakLength: Infinity }).slice(0, SEEN_MAX_CHARS);
      throw new Error(`not so after ${deadlineMs} ms: ${what}; last seen: ${last}`);
    }
    await pause(LOOK_AGAIN_MS);
  }
}

/** The promise, or an error that names what did not happen in time. */
export function within(promise, what, deadlineMs = DEADLINE_MS) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not there after ${deadlineMs} ms: ${what}`)), deadlineMs);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
