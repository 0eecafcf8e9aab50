// The official Python SDK during failures: sockets that break, and processes that are killed.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { killAndAwait, killEverything } from './support/processes.mjs';
import { sdkWithModel, storedIds } from './support/sdk.mjs';

const { sdk } = await sdkWithModel();

test('agent-server 49: sockets that break during a run miss no event', async () => {
  const answers = { 'break the sockets': () => killAndAwait('gateway'), 'stored ids': storedIds };
  const seen = await sdk.play('talk.reconnects', {}, { answers });
  assert.equal(seen.status, 'finished');
  assert.deepEqual(seen.ids.filter((id) => seen.stored.includes(id)), seen.stored, 'the list of events is what is stored');
  assert.equal(new Set(seen.told).size, seen.told.length, 'no event is told twice');
  const first = seen.stored.indexOf(seen.told[0]);
  assert.deepEqual([...seen.told].sort(), seen.stored.slice(first).sort(), 'each event behind the first is told');
});

test('agent-server 90: all processes but the database are killed, and run() succeeds', async () => {
  const answers = { 'kill everything': killEverything };
  // A poll gets no connection, or nginx' own answer while deft-fcgi starts.
  const expected = [/Error polling status \(will retry\)/, /HTTP request failed \(503 .*deft is temporarily unavailable/];
  const seen = await sdk.play('talk.survives', { folder: `/workspace/${randomUUID()}` }, { answers, expected });
  assert.equal(seen.status, 'finished');
  assert.deepEqual(seen.calls, ['terminal', 'finish']);
  assert.deepEqual(seen.errors, []);
  assert.equal(seen.file, 'done\n', 'the command ran once');
  assert.equal(seen.end, 'finished');
});
