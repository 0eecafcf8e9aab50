// POST of a message → the model's request: the first of a conversation, whose workspace is read before, in a sandbox that
// runs already, and those after it. The moment when a message is stored is later than that of the POST, so these are
// upper bounds.
import { DONE, startModelServer } from '../model_server.mjs';
import { api, conversationBody, median, message } from '../support.mjs';

const CONVERSATIONS = 20;
const MESSAGES = 5; // of each, after the first
const FOLDER = '/workspace/project';

const FILES = `mkdir -p ${FOLDER}/.agents/skills/release && cd ${FOLDER} && echo 'Run make check before you finish.' > AGENTS.md &&
printf -- '---\\nname: release\\ndescription: How releases are made\\n---\\nTag, build, upload.\\n' > .agents/skills/release/SKILL.md`;

// Answers each request with text; keeps its moment, and whether it tells what the workspace says.
async function startModel() {
  const asked = [];
  const server = await startModelServer('message', (text, at) => {
    asked.push({ at, knows: text.includes('Run make check before you finish.') });
    return DONE;
  });
  return { ...server, asked };
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Milliseconds until the model was asked. The run is over when this returns.
async function say(model, id) {
  const n = model.asked.length;
  const began = performance.now();
  await api('POST', `/api/conversations/${id}/events`, message('go'));
  for (;;) {
    const { execution_status } = await api('GET', `/api/conversations/${id}`);
    if (execution_status === 'finished' && model.asked.length > n) break;
    if (execution_status === 'error' || performance.now() - began > 60000) throw new Error(`the run of ${id} is ${execution_status}`);
    await pause(50);
  }
  if (!model.asked[n].knows) throw new Error('the model was not told what the workspace says');
  return model.asked[n].at - began;
}

async function talk(model, times) {
  const body = conversationBody({ model: 'openai/message', base_url: model.url, api_key: 'sk-test', stream: false });
  body.agent.agent_context = { load_project_skills: true };
  const { id } = await api('POST', '/api/conversations', body);
  try {
    times.first.push(await say(model, id));
    for (let i = 0; i < MESSAGES; i++) times.next.push(await say(model, id));
  } finally {
    await api('DELETE', `/api/conversations/${id}`);
  }
}

export async function messages() {
  const model = await startModel();
  const times = { first: [], next: [] };
  try {
    await api('POST', '/api/bash/execute_bash_command', { command: FILES });
    for (let i = 0; i < CONVERSATIONS; i++) await talk(model, times);
    const [first, next] = [median(times.first), median(times.next)];
    return [
      { figure: 'first_message_to_request_p50', value: first, unit: 'ms', baseline: null, goal: '<= 40', ok: first <= 40 },
      { figure: 'message_to_request_p50', value: next, unit: 'ms', baseline: null, goal: '<= 10', ok: next <= 10 },
    ];
  } finally {
    await api('POST', '/api/bash/execute_bash_command', { command: `rm -rf ${FOLDER}/AGENTS.md ${FOLDER}/.agents` });
    model.close();
  }
}
