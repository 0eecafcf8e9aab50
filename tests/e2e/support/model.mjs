// A model for all tests of a file. At their end it fails if a strict provider would have refused a request.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { start } from '../../fakes/openai.mjs';

export async function strictModel(options) {
  const fake = await start(options);
  after(async () => {
    assert.deepEqual(fake.violations, [], 'every request to the model was one that a strict provider takes');
    await fake.close();
  });
  return fake;
}
