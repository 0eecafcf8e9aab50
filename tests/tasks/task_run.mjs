// One task: a conversation in a sandbox of its own, which finds the workspace there, is given the task as a user's
// message, and runs to its end. The task's check comes into the sandbox only then.
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Box } from '../e2e/support/box.mjs';
import { Conversation, startRequest, text } from '../e2e/support/conversation.mjs';
import { WORKING_DIR } from '../e2e/support/instance.mjs';
import { isSnapshot, restingSnapshot } from '../e2e/support/socket.mjs';

const run = promisify(execFile);
const TOOLS = ['terminal', 'file_editor', 'task_tracker'];
const CHECK = '/tmp/deft-task-check';
const UNPACKED = '/tmp/deft-task';
/** Uploads end in the workspace; they are taken away at once. */
const UPLOADED = `${WORKING_DIR}/.deft-task`;
const CHECK_MAX_S = 300;
const ENDS = ['finished', 'error', 'paused', 'stuck', 'idle', 'waiting_for_confirmation'];

const has = (task, part) => existsSync(join(task.folder, part));

/** The workspace and the program that completes it, as a tar archive. */
async function pack(task) {
  const parts = ['workspace', 'setup'].filter((part) => has(task, part));
  const { stdout } = await run('tar', ['-C', task.folder, '--owner=0', '--group=0', '-cf', '-', ...parts], { encoding: 'buffer', maxBuffer: 1 << 26 });
  return stdout;
}

async function upload(box, bytes) {
  const { status, text: said } = await box.upload(UPLOADED, bytes);
  if (status !== 200) throw new Error(`uploading ${UPLOADED}: ${status} ${said}`);
}

/** Makes the workspace; nothing that is not the user's is left there. */
async function prepare(box, task) {
  await upload(box, await pack(task));
  const steps = [
    `mkdir ${UNPACKED}`,
    `tar -xf ${UPLOADED} -C ${UNPACKED}`,
    `rm ${UPLOADED}`,
    ...(has(task, 'workspace') ? [`cp -R ${UNPACKED}/workspace/. ${WORKING_DIR}/`] : []),
    `cd ${WORKING_DIR}`,
    ...(has(task, 'setup') ? [`${UNPACKED}/setup`] : []),
    `rm -rf ${UNPACKED}`,
  ];
  await box.run(steps.join(' && '), { timeout: CHECK_MAX_S });
}

async function missing(box, task) {
  for (const program of task.needs) {
    const answer = await box.must(200, 'POST', '/bash/execute_bash_command', { json: { command: `command -v ${program}` } });
    if (answer.exit_code !== 0) return program;
  }
  return undefined;
}

/** Sends the task and waits for the run's end; resolves with its status, or undefined if it takes too long. */
async function perform(conversation, task, maxSeconds) {
  const socket = await conversation.socket();
  try {
    await socket.frame(isSnapshot, 'the first snapshot');
    const from = socket.frames.length;
    await conversation.must(200, 'POST', '/events', { json: { ...text(task.text), run: true } });
    const end = await socket.frame(restingSnapshot(ENDS), 'the run ends', { from, deadlineMs: maxSeconds * 1000 });
    return end.value.execution_status;
  } catch (error) {
    if (!/^not there after/.test(error.message)) throw error;
    await conversation.call('POST', '/interrupt');
    await conversation.rest(ENDS);
    return undefined;
  } finally {
    await socket.close();
  }
}

/** {isSolved, why}: what the check says; its last line is the reason. */
async function check(box, task) {
  await upload(box, readFileSync(join(task.folder, 'check')));
  const command = `mv ${UPLOADED} ${CHECK} && chmod +x ${CHECK} && cd ${WORKING_DIR} && ${CHECK}`;
  const { exit_code: code, stdout } = await box.must(200, 'POST', '/bash/execute_bash_command', { json: { command, timeout: CHECK_MAX_S } });
  const why = (stdout ?? '').trim().split('\n').at(-1);
  return { isSolved: code === 0, why: code === 0 ? '' : why || `the check ends with ${code}` };
}

/** What the run took: answers of the model, tokens, dollars. */
async function countUp(conversation) {
  const events = await conversation.events();
  const { stats } = await conversation.info();
  const usages = Object.values(stats.usage_to_metrics);
  const sum = (valueOf) => usages.reduce((total, usage) => total + (valueOf(usage) ?? 0), 0);
  const answers = new Set(events.map((event) => event.llm_response_id).filter(Boolean));
  return {
    steps: answers.size,
    tokens: sum((usage) => (usage.accumulated_token_usage?.prompt_tokens ?? 0) + (usage.accumulated_token_usage?.completion_tokens ?? 0)),
    cost: sum((usage) => usage.accumulated_cost),
    error: events.findLast((event) => event.kind === 'ConversationErrorEvent'),
  };
}

function reasonOf(status, error, maxSeconds) {
  if (status === undefined) return `the run took longer than ${maxSeconds} seconds`;
  if (status === 'finished') return '';
  return error === undefined ? `the run ended as ${status}` : `the run ended as ${status}: ${error.detail ?? error.code}`;
}

async function runIn(conversation, task, { seconds: maxSeconds }) {
  const box = new Box(conversation.path);
  const lacks = await missing(box, task);
  if (lacks !== undefined) return { state: 'skipped', why: `the sandbox has no ${lacks}` };
  await prepare(box, task);
  const began = performance.now();
  const status = await perform(conversation, task, maxSeconds);
  const seconds = (performance.now() - began) / 1000;
  const { error, ...counts } = await countUp(conversation);
  const { isSolved, why } = await check(box, task);
  const how = [reasonOf(status, error, maxSeconds), why].filter(Boolean).join('; ');
  return { state: isSolved ? 'solved' : 'failed', why: how, status: status ?? 'running', seconds, ...counts };
}

/** {task, state: solved, failed, skipped or broken, why, status, steps, tokens, cost, seconds}. Never rejects. */
export async function runTask(task, settings) {
  const nothing = { task: task.name, status: null, steps: 0, tokens: 0, cost: 0, seconds: 0 };
  let conversation;
  try {
    conversation = await Conversation.create(startRequest(settings.llm, {
      tools: settings.hasBrowser ? [...TOOLS, 'browser_tool_set'] : TOOLS,
      conversation_runtime: 'docker',
      max_iterations: settings.steps,
    }));
    return { ...nothing, ...(await runIn(conversation, task, settings)) };
  } catch (error) {
    return { ...nothing, state: 'broken', why: error.message };
  } finally {
    if (!process.env.DEFT_KEEP) await conversation?.delete();
  }
}
