// Private addresses that deft calls: the administrator's, and those of users only if the instance is local.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { call, must } from '../e2e/support/api.mjs';
import { Conversation, startRequest } from '../e2e/support/conversation.mjs';

const DEFT = process.env.DEFT;
const SERVICES = process.env.DEFT_SERVICES;
const run = promisify(execFile);
const deft = (settings, ...words) => run(DEFT, words, { env: { ...process.env, ...settings } });
const modeOf = (process_) => fs.readFileSync(`${SERVICES}/${process_}/env/DEFT_MODE`, 'utf8').trim();

const asked = [];
let server;
let url;

/** A listener without a protocol that records connections. */
before(async () => {
  server = http.createServer((request, response) => {
    asked.push(request.url);
    response.statusCode = 401;
    response.end('{"error": {"message": "nobody is let in"}}');
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  url = `http://127.0.0.1:${server.address().port}`;
});

after(async () => {
  server.close();
  // `up` stores the model's settings; an empty value removes one.
  await deft({ LLM_BASE_URL: '', LLM_MODEL: '', LLM_API_KEY: '' }, 'up');
});

const llm = (base_url) => ({ model: 'openai/x', api_key: 'k', base_url, usage_id: 'agent', num_retries: 0 });

async function talk(request) {
  const conversation = await Conversation.create(request);
  await conversation.ask('hello');
  const said = JSON.stringify(await conversation.events());
  await conversation.delete();
  return said;
}

/** Addresses of a user that deft calls; resolves with the requested paths. */
async function calls(base) {
  asked.length = 0;
  const test = await call('POST', '/api/mcp/test', { json: { server: { type: 'http', url: `${base}/mcp` }, timeout: 10 } });
  const said = await talk(startRequest(llm(`${base}/model`)));
  return { paths: asked.map((path) => path.split('/')[1]).filter((name, i, all) => all.indexOf(name) === i).sort(), texts: [test.text, said] };
}

describe('private addresses', () => {
  it('of users are called if only the administrator reaches the instance', async () => {
    assert.deepEqual(['fcgi', 'worker'].map(modeOf), ['local', 'local']);
    assert.deepEqual((await calls(url)).paths, ['mcp', 'model']);
  });

  it('of users are not called if others reach it; the administrator\'s are', async () => {
    await deft({ DEFT_LISTEN: '0.0.0.0', LLM_BASE_URL: `${url}/administrator`, LLM_MODEL: 'openai/x', LLM_API_KEY: 'k' }, 'up');
    assert.deepEqual(['fcgi', 'worker'].map(modeOf), ['shared', 'shared']);
    for (const base of [url, url.replace('127.0.0.1', 'localhost'), url.replace('127.0.0.1', '[::ffff:127.0.0.1]'), url.replace('127.0.0.1', '0.0.0.0')]) {
      const { paths, texts } = await calls(base);
      assert.deepEqual(paths, [], base);
      for (const words of texts) assert.match(words, /private or link-local, which is not allowed/, base);
    }
    await must(200, 'GET', '/health');
    asked.length = 0;
    await talk(startRequest(llm(`${url}/administrator`)));
    assert.ok(asked.length > 0 && asked.every((path) => path.startsWith('/administrator')), asked.join());
  });

  it('of users are not called if the instance has another host name', async () => {
    await deft({ DEFT_HOSTNAMES: 'deft.example.test' }, 'up');
    assert.equal(modeOf('worker'), 'shared');
    await deft({ DEFT_HOSTNAMES: 'deft.example.test', DEFT_MODE: 'local' }, 'up');
    assert.equal(modeOf('worker'), 'local');
  });

  it('contradictory settings stop the start with a message', async () => {
    for (const listen of ['0.0.0.0', '::']) {
      await assert.rejects(deft({ DEFT_LISTEN: listen, DEFT_MODE: 'local' }, 'status'), ({ code, stderr }) => code === 1 && /DEFT_MODE=local, but DEFT_LISTEN=.* is reachable from other hosts/.test(stderr));
    }
    await assert.rejects(deft({ DEFT_MODE: 'team' }, 'status'), ({ code, stderr }) => code === 1 && stderr.includes('DEFT_MODE=team is invalid'));
  });
});
