// The commands of hooks in a sandbox: what they get and give, once for each action.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ActionServer, Conversation, gone, seen } from './support/action-server.mjs';

describe('a hook', () => {
  let server;
  let talk;
  const file = (name) => path.join(server.workspace, name);
  const read = (name) => fs.readFileSync(file(name), 'utf8');
  const run = (args) => talk.run('hook', { input: '', timeout: 30, ...args });
  before(async () => {
    server = await new ActionServer().start();
    talk = new Conversation(server);
  });
  after(() => server.stop());

  test('runs with its input and its variables in the working directory', async () => {
    const input = JSON.stringify({ event: 'début' });
    const done = await run({ command: 'cat; echo "$WHO in $PWD" >&2; exit 2', input, env: { WHO: 'Ann' } });
    assert.deepEqual(done, {
      kind: 'HookObservation',
      exit_code: 2,
      stdout: input,
      stderr: `Ann in ${server.workspace}\n`,
      error: null,
      is_error: false,
      content: [{ type: 'text', text: '', cache_prompt: false }],
    });
  });

  test('is refused with the name of a wrong argument', async () => {
    const refused = await server.put(talk.id, randomUUID(), { tool: 'hook', args: { command: 'true', input: '', timeout: '30' } });
    assert.deepEqual([refused.status, refused.json], [400, { detail: 'args.timeout must be an integer from 1 to 3600' }]);
  });

  test('runs once for an action, which keeps its result; its id takes no other arguments', async () => {
    const id = randomUUID();
    const put = (command) => server.put(talk.id, id, { tool: 'hook', args: { command, input: '', timeout: 30 } });
    const command = 'echo run >> runs; cat runs';
    const [first, meanwhile] = await Promise.all([put(command), put(command)]);
    assert.equal(first.json.observation.stdout, 'run\n');
    assert.deepEqual(meanwhile.json, first.json);
    assert.deepEqual((await put(command)).json, first.json);
    assert.equal(read('runs'), 'run\n');
    const other = await put('echo other >> runs');
    assert.deepEqual([other.status, other.json], [409, { detail: 'another action already has this id' }]);
    assert.equal(read('runs'), 'run\n');
  });

  test('is killed with its programs after its time', async () => {
    const late = await run({ command: "trap '' TERM; echo so far; sleep 1000 & echo $! > sleeper; wait; wait", timeout: 5 });
    const why = 'The hook took longer than 5 seconds and was ended.';
    assert.deepEqual([late.exit_code, late.error, late.stdout, late.content[0].text], [-1, why, 'so far\n', why]);
    await gone(Number(read('sleeper')));
  });

  test('is killed with its programs by an interrupt', async () => {
    const running = run({ command: 'sleep 1000 & echo $! > napper; touch begun; wait' });
    await seen(file('begun'));
    assert.equal((await talk.interrupt()).status, 200);
    const ended = await running;
    assert.deepEqual([ended.exit_code, ended.error], [-1, 'The work was interrupted']);
    await gone(Number(read('napper')));
  });

  test('that is asynchronous is not waited for, and goes on', async () => {
    execFileSync('mkfifo', [file('go')]);
    const started = await run({ command: 'echo out; read -r x < go; cat > got; touch went', input: 'its input', async: true });
    assert.deepEqual([started.exit_code, started.stdout, started.stderr, started.error], [0, '', '', null]);
    await talk.interrupt();
    fs.writeFileSync(file('go'), '\n');
    await seen(file('went'));
    assert.equal(read('got'), 'its input');
  });
});
