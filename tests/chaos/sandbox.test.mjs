// A sandbox dies, hangs, or does not start: the conversation reports it, and continues.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { engine } from '../e2e/runtime_house.mjs';
import { ofKind } from '../e2e/support/conversation.mjs';
import { query } from '../e2e/support/database.mjs';
import { INSTANCE } from '../e2e/support/instance.mjs';
import { Worker, start, stop } from '../e2e/support/processes.mjs';
import { start as startModel } from '../fakes/openai.mjs';
import {
  RUN_MS, appeared, assertRunsAgain, assertWhole, failureOf, finish, linesOf, startAlone, terminal,
} from './support.mjs';

/** The interval of health checks of these tests' workers, and the time in which each is to be answered. */
const CHECK_MS = '2000';

let fake;

before(async () => {
  fake = await startModel();
  fake.setScenario('cut-off', [
    { calls: [terminal('echo begun >> f; sleep 60; echo never >> f')] },
    { calls: [terminal('echo again >> f')] },
    { calls: [finish('went on')] },
  ]);
});

after(async () => {
  await start('worker');
  await fake.close();
});

/** The container in which a conversation runs. */
async function containerOf(conversation) {
  const [row] = await query(`SELECT container_id FROM runtimes WHERE status = 'running'
    AND session_id = (SELECT runtime_session FROM conversations WHERE id = :'id')`, conversation);
  return row.container_id;
}

async function must(method, url, body) {
  const answer = await engine(method, url, body === undefined ? {} : { body });
  assert.ok(answer.status < 300, answer.text);
  return answer.json;
}

/** The pid, on this host, of the server in a container. */
async function serverOf(container) {
  const { Titles: titles, Processes: processes } = await must('GET', `/containers/${container}/top?ps_args=-eo%20pid,args`);
  const server = processes.find((columns) => columns[titles.indexOf('COMMAND')].split(' ')[0].endsWith('deft-action'));
  return Number(server[titles.indexOf('PID')]);
}

/** Fails unless the interrupted call is reported once, and later calls found the same files. */
async function assertWentOn(conversation) {
  assert.equal(await conversation.rest(undefined, RUN_MS), 'finished');
  const failures = (await conversation.events()).filter(ofKind('AgentErrorEvent'));
  assert.equal(failures.length, 1);
  assert.match(failures[0].error, /\w+ \w+ \w+/);
  assert.deepEqual(await linesOf(conversation, 'f'), ['begun', 'again'], 'the files are kept, and the command did not run again');
}

const WAYS_TO_DIE = {
  killed: (container) => must('POST', `/containers/${container}/kill`),
  removed: (container) => must('DELETE', `/containers/${container}?force=1`),
};

for (const [how, die] of Object.entries(WAYS_TO_DIE)) {
  test(`a sandbox ${how} during a command: the call fails with a message, and the run continues`, async (t) => {
    const conversation = await startAlone(t, fake, 'cut-off', { conversation_runtime: 'docker' });
    await conversation.say('Do it.', true);
    await appeared(conversation, 'f');
    await die(await containerOf(conversation));
    await assertWentOn(conversation);
    await assertWhole(conversation);
  });
}

test('all conversations of a killed sandbox continue in a new one', async (t) => {
  const both = await Promise.all([1, 2].map(() => startAlone(t, fake, 'cut-off')));
  for (const one of both) await one.say('Do it.', true);
  for (const one of both) await appeared(one, 'f');
  await WAYS_TO_DIE.killed(await containerOf(both[0]));
  for (const one of both) await assertWentOn(one);
  await assertWhole(...both);
});

const WAYS_TO_HANG = {
  'whose server sleeps': async (container) => process.kill(await serverOf(container), 'SIGSTOP'),
  'that no packet reaches': async (container) => {
    const { NetworkSettings: { Networks: networks } } = await must('GET', `/containers/${container}/json`);
    for (const name of Object.keys(networks)) await must('POST', `/networks/${name}/disconnect`, { Container: container, Force: true });
  },
};

for (const [how, hang] of Object.entries(WAYS_TO_HANG)) {
  test(`a sandbox ${how} during a command is detected and restarted`, async (t) => {
    stop('worker');
    const worker = await Worker.start({ DEFT_SANDBOX_CHECK_MS: CHECK_MS });
    t.after(() => worker.stop('SIGKILL'));
    const conversation = await startAlone(t, fake, 'cut-off', { conversation_runtime: 'docker' });
    await conversation.say('Do it.', true);
    await appeared(conversation, 'f');
    const hung = await containerOf(conversation);
    await hang(hung);
    await assertWentOn(conversation);
    assert.notEqual(await containerOf(conversation), hung);
    await assertWhole(conversation);
  });
}

test('a silent command is not interrupted while its sandbox lives', async (t) => {
  fake.setScenario('silent', [{ calls: [terminal('sleep 6; echo done >> f')] }, { calls: [finish('done')] }]);
  stop('worker');
  const worker = await Worker.start({ DEFT_SANDBOX_CHECK_MS: CHECK_MS });
  t.after(() => worker.stop('SIGKILL'));
  const conversation = await startAlone(t, fake, 'silent');
  await conversation.say('Do it.', true);
  assert.equal(await conversation.rest(undefined, RUN_MS), 'finished');
  assert.deepEqual((await conversation.events()).filter(ofKind('AgentErrorEvent')), []);
  assert.deepEqual(await linesOf(conversation, 'f'), ['done']);
});

test('a missing image is named, and the next start with an existing one works', async (t) => {
  const image = `deft-test-${INSTANCE}:gone`;
  fake.setScenario('one', [{ calls: [terminal('echo done >> f')] }, { calls: [finish('done')] }]);
  stop('worker');
  const worker = await Worker.start({ DEFT_SANDBOX_IMAGE: image });
  t.after(() => worker.stop('SIGKILL'));
  const conversation = await startAlone(t, fake, 'one', { conversation_runtime: 'docker' });
  await conversation.say('Do it.', true);
  assert.match((await failureOf(conversation)).detail, new RegExp(`image ${image} is not on this host`));
  await worker.stop();
  await start('worker');
  await assertRunsAgain(conversation);
  assert.deepEqual(await linesOf(conversation, 'f'), ['done']);
});
