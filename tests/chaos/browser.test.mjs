// The browser tools through a whole run: the model has them, a page of the sandbox is opened, and a worker's death in the
// middle of a call neither loses nor repeats it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { copyChromium } from '../e2e/support/chromium_copy.mjs';
import { isAction, isResult, observed, ofKind } from '../e2e/support/conversation.mjs';
import { query } from '../e2e/support/database.mjs';
import { answers, killAndAwait, restartWith, signal } from '../e2e/support/processes.mjs';
import { start as startModel } from '../fakes/openai.mjs';
import { RUN_MS, assertWhole, finish, heldLease, letGo, linesOf, startAlone, takenOver, terminal } from './support.mjs';

const PORT = 8090;
// Each request is a line of `hits`; /held is answered only after letGo().
const SITE = `
import http.server, os, time
class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with open('hits', 'a') as hits:
            hits.write(self.path + '\\n')
        if self.path == '/held':
            while not os.path.exists('go'):
                time.sleep(0.1)
        self.send_response(200)
        self.send_header('Content-Type', 'text/html')
        self.end_headers()
        self.wfile.write(b'<title>Site</title><button>Press</button>' + self.path.encode())
site = http.server.ThreadingHTTPServer(('127.0.0.1', ${PORT}), Site)
open('up', 'w').close()
site.serve_forever()
`;
const url = (path) => `http://localhost:${PORT}${path}`;
const browse = (tool, args) => ({ name: `browser_${tool}`, arguments: { ...args, summary: 'a step' } });

let fake;

before(async () => {
  fake = await startModel();
  await restartWith('fcgi', { DEFT_SANDBOX_BROWSER: '1' });
  await answers('fcgi');
});

after(async () => {
  await killAndAwait('fcgi');
  await fake.close();
});

test('an agent uses its sandbox\'s browser, and a call survives the worker that started it', async (t) => {
  fake.setScenario('surfs', [
    { calls: [terminal(`echo ${Buffer.from(SITE).toString('base64')} | base64 -d > site.py && (python3 site.py > site.log 2>&1 &); until [ -e up ]; do sleep 0.1; done`)] },
    { calls: [finish('ready')] },
  ]);
  const conversation = await startAlone(t, fake, 'surfs', { conversation_runtime: 'docker', tools: ['terminal', 'browser_tool_set'] });
  await conversation.say('Make a site.', true);
  assert.equal(await conversation.rest(undefined, RUN_MS), 'finished');
  const [{ container_id: container }] = await query(`SELECT container_id FROM runtimes WHERE status = 'running'
    AND session_id = (SELECT runtime_session FROM conversations WHERE id = :'id')`, conversation);
  await copyChromium(container);

  fake.setScenario('surfs', [
    { calls: [browse('navigate', { url: 'localhost:8090/page', security_risk: 'LOW' })] },
    { calls: [browse('get_state', { include_screenshot: true })] },
    { calls: [browse('navigate', { url: 'file:///etc/passwd', security_risk: 'LOW' })] },
    { calls: [browse('navigate', { url: url('/held'), security_risk: 'LOW' })] },
    { calls: [finish('done')] },
  ]);
  await conversation.say('Look at it.', true);
  await conversation.event((event) => isAction('browser_navigate')(event) && event.action?.url === url('/held'), 'the last page is asked for', RUN_MS);
  const lease = await heldLease(conversation);
  signal('worker', 'SIGKILL');
  await takenOver(conversation, lease);
  await letGo(conversation);
  assert.equal(await conversation.rest(undefined, RUN_MS), 'finished');
  await assertWhole(conversation);
  assert.deepEqual((await linesOf(conversation, 'hits')).filter((line) => line !== '/favicon.ico'), ['/page', '/held']);

  const events = await conversation.events();
  assert.deepEqual(events.filter(ofKind('AgentErrorEvent')), []);
  assert.ok(events.find(ofKind('SystemPromptEvent')).tools.some(({ title }) => title === 'browser_navigate'));
  const opened = events.filter(isResult('browser_navigate'));
  assert.deepEqual(opened.map(observed), [
    `Navigated to: ${url('/page')}`, 'The browser opens http and https addresses only, not file: ones.', `Navigated to: ${url('/held')}`,
  ]);
  assert.deepEqual(opened.map(({ observation }) => observation.is_error), [false, true, false]);
  const { observation } = events.find(isResult('browser_get_state'));
  assert.equal(observation.kind, 'BrowserObservation');
  assert.equal(JSON.parse(observed({ observation })).interactive_elements[0].text, 'Press');
  assert.equal(Buffer.from(observation.screenshot_data, 'base64').subarray(1, 4).toString(), 'PNG');
  const pictures = fake.requests.at(-1).body.messages.flatMap(({ content }) => (Array.isArray(content) ? content : [])).filter(({ type }) => type === 'image_url');
  assert.equal(pictures.length, 1, 'the model is shown the screenshot');
});
