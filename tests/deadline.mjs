// Ends a test file that hangs, and reports which tests ran and what they waited for: node's runner would wait
// without limit, and the suite's own limit would end all later files, too. Each wait should have a deadline of its own
// (e2e/support/wait.mjs); this is for those without one. tests/run loads it into each file's process.
import fs from 'node:fs';
import { afterEach, beforeEach } from 'node:test';

const FILE_MAX_MS = Number(process.env.DEFT_TEST_FILE_MAX_MS ?? 900_000);

function watch() {
  const running = new Set();
  beforeEach((t) => { running.add(t.name); });
  afterEach((t) => { running.delete(t.name); });
  setTimeout(() => {
    const what = running.size > 0 ? [...running].join('; ') : 'none, but a hook';
    fs.writeSync(2, `The file takes longer than ${FILE_MAX_MS} ms. Tests that run: ${what}. What the process waits for: ${process.getActiveResourcesInfo().join(', ')}.\n`);
    process.exit(1);
  }, FILE_MAX_MS).unref();
}

// The runner itself loads this, too; it has no tests.
if (process.env.NODE_TEST_CONTEXT) watch();
