// The programs in README.md, unchanged except for the server's address, with the published clients.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { must } from './support/api.mjs';
import { AGENT_URL, API_KEY } from './support/instance.mjs';
import { within } from './support/wait.mjs';

const TESTS = fileURLToPath(new URL('..', import.meta.url));
const PYTHON = fileURLToPath(new URL('sdk/python.sh', import.meta.url));
/** The first start on a machine creates a virtual environment and installs the SDK. */
const DEADLINE_MS = 600_000;
const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8');

/** The README's program in that language. */
function programOf(language) {
  const found = readme.match(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'm'));
  assert.ok(found, `README.md shows a program in ${language}`);
  assert.ok(found[1].includes('http://localhost:8000'), 'the program names the server');
  return found[1].replaceAll('http://localhost:8000', AGENT_URL);
}

/** Runs the program on standard input; resolves with its output when it has ended successfully. */
async function run(command, args, program) {
  const child = spawn(command, args, {
    cwd: TESTS,
    env: { ...process.env, DEFT_KEY: API_KEY, OPENHANDS_SUPPRESS_BANNER: '1', PYTHONDONTWRITEBYTECODE: '', LITELLM_LOCAL_MODEL_COST_MAP: 'True' },
  });
  child.stdin.end(program);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
  const ended = new Promise((resolve) => child.once('close', resolve));
  try {
    assert.equal(await within(ended, 'the program ends by itself', DEADLINE_MS), 0, said);
  } finally {
    child.kill('SIGKILL');
  }
  return said;
}

test('the program for the TypeScript client prints live events, then the history, and ends', async () => {
  const said = await run(process.execPath, ['--input-type=module', '-'], programOf('js'));
  const [newest] = (await must(200, 'GET', '/api/conversations/search', { query: { sort_order: 'CREATED_AT_DESC', limit: 1 } })).items;
  const { items } = await must(200, 'GET', `/api/conversations/${newest.id}/events/search`, { query: { limit: 100 } });
  const history = said.split('\n').filter((line) => line.startsWith('history: '));
  assert.deepEqual(history, items.map(({ timestamp, source, kind }) => `history: ${timestamp} ${source} ${kind}`));
  for (const kind of ['ActionEvent', 'ObservationEvent']) assert.match(said, new RegExp(`^live: ${kind}$`, 'm'));
  assert.equal(newest.execution_status, 'finished');
  assert.equal(items[0].kind, 'SystemPromptEvent');
  await must(200, 'DELETE', `/api/conversations/${newest.id}`);
});

test('the program for the Python SDK succeeds also after earlier runs in the same workspace', async () => {
  const ask = `
import json
print('ENDED', json.dumps({
    'status': conversation.state.execution_status.value,
    'failed': [event.model_dump(mode='json') for event in conversation.state.events
               if event.kind == 'AgentErrorEvent' or getattr(getattr(event, 'observation', None), 'is_error', False)],
    'edits': sum(getattr(event, 'tool_name', '') == 'file_editor' for event in conversation.state.events),
}))
`;
  const said = await run(PYTHON, ['given.py', '2'], programOf('python') + ask);
  const ends = [...said.matchAll(/^ENDED (.*)$/gm)].map(([, end]) => JSON.parse(end));
  // Two calls of the editor, each with its result.
  assert.deepEqual(ends, Array(2).fill({ status: 'finished', failed: [], edits: 4 }));
  assert.doesNotMatch(said, /already exists/);
});
