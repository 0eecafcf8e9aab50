// Scenarios of the fake models. A scenario is a list of steps; the next one is determined by the
// request: the number of the assistant's messages since the user's last. A step is
//   { text, reasoning, calls: [{ name, arguments }], delay_ms, drip_ms, hold }   an answer; hold: a stream ends when released
//   { …, id }                                 an answer under an id of its own
//   { …, usage: { prompt_tokens } }           an answer with these members of its usage
//   { …, break_after: n }                     a stream whose connection breaks after n pieces
//   { status, error: { message, type, code }, headers }                     a refusal
//   { park: true }                                                          no answer until released
//   { fault: name }                                                         see openai-faults.mjs
// `arguments` may be an object or raw text. `once: step` answers the first request of a
// conversation only; its repetition gets the step itself.

const call = (name, args) => ({ name, arguments: args });
const terminal = (command, summary) => call('terminal', { command, security_risk: 'LOW', summary });
const greetings = [
  {
    text: 'I will create the file.',
    calls: [call('file_editor', {
      command: 'create',
      path: '/workspace/project/hello.txt',
      file_text: 'Hello, world!\n',
      security_risk: 'LOW',
      summary: 'create hello.txt',
    })],
  },
  {
    calls: [
      terminal('cat hello.txt', 'print hello.txt'),
      call('task_tracker', {
        command: 'plan',
        task_list: [{ title: 'a', notes: 'n', status: 'done' }],
        security_risk: 'LOW',
        summary: 'x',
      }),
    ],
  },
  { calls: [call('think', { thought: 'all good', summary: 'check' })] },
  { calls: [call('finish', { message: 'Created hello.txt', summary: 'report' })] },
];
const sleepy = [
  { text: 'sleeping', calls: [terminal('sleep 5; echo hi', 's')] },
  { text: 'just text' },
];

// The models of the recordings, and some that tests need often.
export const scenarios = {
  hello: greetings,
  confirm: greetings,
  badtool: [
    { calls: [call('nosuch', { x: 1 })] },
    { calls: [call('terminal', { cmd: 'ls' })] },
    { text: 'bye' },
  ],
  err: [{ status: 401, error: { message: 'invalid api key', type: 'invalid_request_error', code: 'invalid_api_key' } }],
  err500: [{ status: 500, error: { message: 'boom', type: 'server_error', code: null } }],
  slow: sleepy,
  slowllm: sleepy.map((step) => ({ ...step, delay_ms: 5000 })),
  crash: [
    { text: 'sleeping', calls: [terminal('sleep 5; echo done >> f', 'append to f')] },
    { calls: [call('finish', { message: 'survived', summary: 'report' })] },
  ],
  restart: [
    { text: 'sleeping', calls: [terminal('sleep 8; echo survived', 's')] },
    { calls: [call('finish', { message: 'went on', summary: 'f' })] },
  ],
  parallel: [
    {
      text: 'two at once',
      calls: [
        terminal('sleep 1; echo one', 'first'),
        call('file_editor', {
          command: 'create',
          path: '/workspace/project/two.txt',
          file_text: 'two\n',
          security_risk: 'LOW',
          summary: 'second',
        }),
      ],
    },
    {
      calls: [
        terminal('cat two.txt', 'third'),
        call('nosuch', { x: 1 }),
        call('think', { thought: 'third of three', summary: 't' }),
      ],
    },
    { text: 'done' },
  ],
  text: [{ text: 'just text' }],
  true: [{ calls: [terminal('true', 'nothing')] }, { text: 'done' }],
  loop: Array.from({ length: 50 }, () => ({ calls: [terminal('true', 'nothing')] })).concat([{ text: 'done' }]),
  reasoning: [{ reasoning: 'I only think.' }, { text: 'now I speak' }],
  empty: [{ once: { text: '' }, text: 'now I speak' }],
  park: [{ park: true, text: 'released' }],
};

// Models whose name is their behaviour: status-503, once-429, retry-after-2, delay-250, drip-5,
// fault-<name> (each time), once-fault-<name>.
const PATTERNS = [
  [/^status-(\d+)$/, (n) => ({ status: Number(n), error: { message: `status ${n}` } })],
  [/^once-(\d+)$/, (n) => ({ once: { status: Number(n), error: { message: `status ${n}` } }, text: 'good' })],
  [/^retry-after-(\d+)$/, (s) => ({
    once: { status: 429, error: { message: 'slow down' }, headers: { 'retry-after': s } },
    text: 'good',
  })],
  [/^delay-(\d+)$/, (ms) => ({ delay_ms: Number(ms), text: 'late' })],
  [/^drip-(\d+)$/, (ms) => ({ drip_ms: Number(ms), text: 'drop by drop' })],
  [/^fault-([\w-]+)$/, (name) => ({ fault: name })],
  [/^once-fault-([\w-]+)$/, (name) => ({ once: { fault: name }, text: 'good' })],
];

// The scenario of a model, or undefined for an unknown model.
export function scenarioOf(model, own) {
  if (own.has(model)) return own.get(model);
  if (Object.hasOwn(scenarios, model)) return scenarios[model];
  for (const [pattern, make] of PATTERNS) {
    const found = pattern.exec(model);
    if (found) return [make(found[1])];
  }
  return undefined;
}
