// How long the disk below the database takes for a small write while something else is measured: every acknowledgement
// waits for one, and a figure cannot be quicker than that.
import { open, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { env } from './support.mjs';

const EVERY_MS = 20;
const BYTES = Buffer.alloc(8192, 'x');

/** Begins to write; stop() gives the times of all writes, in ms. */
export function watchDisk() {
  const path = `${env('DEFT_VAR')}/bench.write`;
  const times = [];
  let isOver = false;
  const writer = (async () => {
    const file = await open(path, 'w');
    while (!isOver) {
      const began = performance.now();
      await file.write(BYTES, 0, BYTES.length, 0);
      await file.datasync();
      times.push(performance.now() - began);
      await sleep(EVERY_MS);
    }
    await file.close();
    await rm(path);
  })();
  return {
    async stop() {
      isOver = true;
      await writer;
      return times;
    },
  };
}
