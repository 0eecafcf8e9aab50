// Tools that find, read and change files: an agent has them if its specification names them.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { Conversation, observed, ofKind } from './support/conversation.mjs';
import { strictModel } from './support/model.mjs';
import { finish, terminal } from './support/model_calls.mjs';

const fake = await strictModel();
const call = (name, more) => ({ name, arguments: { summary: 's', ...more } });

/** Runs the calls one after the other in a folder of its own; gives the results and the folder. */
async function play(t, tools, calls, more = {}) {
  const folder = `/workspace/${randomUUID()}`;
  const scenario = `files-${randomUUID()}`;
  fake.setScenario(scenario, [...calls(folder).map((one) => ({ calls: [one] })), { calls: [finish] }]);
  const conversation = await Conversation.start(fake, scenario, { tools, workspace: { kind: 'LocalWorkspace', working_dir: folder }, ...more });
  t.after(() => conversation.delete());
  assert.equal(await conversation.ask('go'), 'finished');
  const events = await conversation.events();
  const results = events.filter(ofKind('ObservationEvent')).filter(({ tool_name: name }) => name !== 'finish');
  return { folder, conversation, events, results, seen: results.map(({ observation }) => observation), requests: fake.requests.filter(({ body }) => body.model === scenario) };
}

const MAKE = 'mkdir -p src/deep; echo "int main(void)" > src/main.c; echo "# x" > README.md; echo "int mainly;" > src/deep/other.c';

test('a planner finds files by name and by content', async (t) => {
  const { folder, seen, requests } = await play(t, ['terminal', 'glob', 'GrepTool'], () => [
    terminal(MAKE), call('glob', { pattern: 'src/**/*.c' }), call('grep', { pattern: 'int main\\b', include: '*.c' }), call('grep', { pattern: '(' }),
  ]);
  assert.deepEqual([...seen[1].files].sort(), [`${folder}/src/deep/other.c`, `${folder}/src/main.c`]);
  assert.equal(seen[1].kind, 'GlobObservation');
  assert.deepEqual([seen[2].matches, seen[2].include_pattern, seen[2].truncated], [[`${folder}/src/main.c`], '*.c', false]);
  assert.equal(seen[3].is_error, true);
  const { tools } = requests[0].body;
  const glob = tools.find(({ function: { name } }) => name === 'glob').function;
  assert.deepEqual(Object.keys(glob.parameters.properties), ['summary', 'pattern', 'path'], 'a tool that only reads has no risk');
  assert.match(requests.at(-1).body.messages.at(-1).content[0].text, /^\[An error occurred/);
});

test('the tools of the Gemini preset read, write, edit and list', async (t) => {
  const { folder, seen } = await play(t, ['terminal', 'read_file', 'write_file', 'edit', 'list_directory'], () => [
    call('write_file', { file_path: 'a/b.txt', content: 'one\ntwo\n' }),
    call('edit', { file_path: 'a/b.txt', old_string: 'two', new_string: 'zwei' }),
    call('read_file', { file_path: 'a/b.txt' }),
    call('list_directory', { recursive: true }),
    terminal('cat a/b.txt'),
  ]);
  assert.deepEqual([seen[0].is_new_file, seen[0].new_content], [true, 'one\ntwo\n']);
  assert.deepEqual([seen[1].replacements_made, seen[1].old_content], [1, 'one\ntwo\n']);
  assert.deepEqual([seen[2].file_content, seen[2].lines_shown, seen[2].total_lines], ['one\nzwei\n', [1, 2], 2]);
  assert.ok(seen[3].entries.some(({ path, size }) => path === `${folder}/a/b.txt` && size === 9));
  assert.match(seen[4].content[0].text, /one\nzwei/);
});

test('a patch changes several files, or none', async (t) => {
  const { seen } = await play(t, ['terminal', 'apply_patch'], () => [
    terminal(MAKE),
    call('apply_patch', { patch: '*** Begin Patch\n*** Add File: new.txt\n+hi\n*** Update File: src/main.c\n@@\n-int main(void)\n+int main(int argc)\n*** End Patch' }),
    call('apply_patch', { patch: '*** Begin Patch\n*** Delete File: new.txt\n*** Update File: README.md\n@@\n-lost\n+x\n*** End Patch' }),
    terminal('cat new.txt src/main.c'),
  ]);
  assert.deepEqual([seen[1].message, seen[1].fuzz, seen[1].commit.changes['new.txt']], ['Done!', 0, { type: 'add', new_content: 'hi\n' }]);
  assert.equal(seen[2].is_error, true);
  assert.match(seen[2].content[0].text, /not found in README.md/);
  assert.match(seen[3].content[0].text, /hi\nint main\(int argc\)/);
});

test('reads of one answer run at once, and each has its result', async (t) => {
  const scenario = `reads-${randomUUID()}`;
  const folder = `/workspace/${randomUUID()}`;
  fake.setScenario(scenario, [
    { calls: [terminal('echo one > 1; echo two > 2')] },
    { calls: [1, 2, 3].map((n) => call('read_file', { file_path: String(n) })) }, { calls: [finish] },
  ]);
  const conversation = await Conversation.start(fake, scenario, { atOnce: 3, tools: ['terminal', 'read_file'], workspace: { kind: 'LocalWorkspace', working_dir: folder } });
  t.after(() => conversation.delete());
  assert.equal(await conversation.ask('go'), 'finished');
  const results = (await conversation.events()).filter(({ kind, tool_name: name }) => kind === 'ObservationEvent' && name === 'read_file');
  assert.deepEqual(results.map((event) => observed(event)).map((text) => text.match(/one|two|File not found/)[0]).sort(), ['File not found', 'one', 'two']);
});

test('a secret in a file is hidden in all that these tools give', async (t) => {
  const secret = 'a-very-secret-value';
  const { events } = await play(t, ['terminal', 'read_file', 'grep', 'glob', 'write_file', 'edit', 'apply_patch', 'list_directory'], () => [
    terminal('printf %s "$KEY" > f; cp f "$KEY"'),
    call('read_file', { file_path: 'f' }), call('grep', { pattern: '.' }), call('glob', { pattern: '*' }), call('list_directory', {}),
    call('edit', { file_path: 'f', old_string: '-very-', new_string: '-quite-' }),
    call('apply_patch', { patch: `*** Begin Patch\n*** Delete File: f\n*** End Patch` }),
    call('write_file', { file_path: 'g', content: `x ${secret}` }),
  ], { secrets: { KEY: secret } });
  assert.ok(!JSON.stringify(events).includes(secret));
  assert.equal(events.filter(ofKind('ObservationEvent')).filter(({ observation }) => observation.is_error).length, 0);
});
