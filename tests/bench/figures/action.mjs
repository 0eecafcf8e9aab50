// deft-action in a sandbox: a command that does nothing, one that prints fifty megabytes, and the memory that is left.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { closeRuntimeApi, forget } from '../runtime_api.mjs';
import { containerOf, startSandbox } from '../sandboxes.mjs';
import { engine, median } from '../support.mjs';

const COMMANDS = 300;
const OUTPUTS = 5;
const OUTPUT_MB = 50;
const KEPT_CHARACTERS = 30000;

/** One conversation's terminal in the sandbox; gives the observation and how long it took. */
function terminal({ url, call_key }) {
  const agent = new http.Agent({ keepAlive: true });
  const conversation = randomUUID();
  const { hostname, port } = new URL(url);
  const run = (command) => {
    const bytes = JSON.stringify({ tool: 'terminal', args: { command } });
    const began = performance.now();
    return new Promise((resolve, reject) => {
      const request = http.request({
        agent, host: hostname, port, method: 'PUT', path: `/actions/${randomUUID()}`,
        headers: { 'X-Session-API-Key': call_key, 'X-Deft-Conversation': conversation, 'X-Deft-Fence': '1', 'Content-Length': bytes.length },
      }, (response) => {
        const chunks = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('end', () => {
          const ms = performance.now() - began;
          const { observation } = JSON.parse(Buffer.concat(chunks).toString());
          if (observation?.exit_code !== 0) reject(new Error(`${command}: ${JSON.stringify(observation).slice(0, 300)}`));
          else resolve({ ms, text: observation.content[0].text });
        });
      });
      request.on('error', reject);
      request.end(bytes);
    });
  };
  return { run, close: () => agent.destroy() };
}

/** Resident memory of the sandbox's deft-action, in MB. */
async function residentMb(runtimeId) {
  const { Id } = await containerOf(runtimeId);
  const { Titles, Processes } = await engine('GET', `/containers/${Id}/top?ps_args=-eo%20pid,args`);
  const server = Processes.find((columns) => columns[Titles.indexOf('COMMAND')].split(' ')[0].endsWith('deft-action'));
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${server[Titles.indexOf('PID')]}/status`, 'utf8'))[1]) / 1024;
}

async function measure(runtime) {
  const { run, close } = terminal(runtime);
  const commands = [];
  const outputs = [];
  for (let i = -10; i < COMMANDS; i++) {
    const { ms } = await run('true');
    if (i >= 0) commands.push(ms);
  }
  for (let i = -1; i < OUTPUTS; i++) {
    const { ms, text } = await run(`yes ${'x'.repeat(99)} | head -c ${OUTPUT_MB}000000`);
    if ([...text].length > KEPT_CHARACTERS) throw new Error(`${text.length} characters are kept`);
    if (i >= 0) outputs.push(ms);
  }
  close();
  return { command: median(commands), output: OUTPUT_MB / (median(outputs) / 1000), memory: await residentMb(runtime.runtime_id) };
}

export async function action() {
  const { runtime } = await startSandbox(`bench-${randomUUID()}`);
  try {
    const { command, output, memory } = await measure(runtime);
    return [
      { figure: 'command_round_trip_p50', value: command, unit: 'ms', baseline: null, goal: '<= 2', ok: command <= 2 },
      { figure: 'output_of_50_mb', value: output, unit: 'MB/s', baseline: null, goal: '>= 50', ok: output >= 50 },
      { figure: 'action_memory', value: memory, unit: 'MB', baseline: null, goal: '<= 4', ok: memory <= 4 },
    ];
  } finally {
    await forget(runtime.runtime_id);
    closeRuntimeApi();
  }
}
