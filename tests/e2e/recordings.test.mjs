// The recorded conversations of the original server, replayed; those that are ended midway, and those about sockets,
// have files of their own (recordings_ended, recordings_streamed).
import { test } from 'node:test';
import { playRecording } from './support/recordings.mjs';

const PLAYED = [
  'hello', 'hello-all-client-calls', 'hello-confirmation', 'llm-error', 'llm-error-500', 'unknown-tool', 'parallel-tool-calls',
  'security-analyzer', 'secrets-masking', 'conversation-runtime', 'conversation-runtime-docker',
];

for (const name of PLAYED) {
  test(`recording ${name}`, (t) => playRecording(t, name, { isEnd: name === 'hello-all-client-calls' }));
}
