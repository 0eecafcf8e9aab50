// Waiting for a condition, never for a time.
import { setTimeout as pause } from 'node:timers/promises';
import { DEADLINE_MS } from './instance.mjs';

const LOOK_AGAIN_MS = 25;

/** Resolves with what check() says once that is truthy; fails after the deadline and says what was awaited. */
export async function waitUntil(check, what, deadlineMs = DEADLINE_MS) {
  const end = Date.now() + deadlineMs;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > end) throw new Error(`not so after ${deadlineMs} ms: ${what}`);
    await pause(LOOK_AGAIN_MS);
  }
}

/** The promise, or a failure that says what did not come in time. */
export function within(promise, what, deadlineMs = DEADLINE_MS) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not there after ${deadlineMs} ms: ${what}`)), deadlineMs);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
