// DEFT_APP_URL and DEFT_AGENT_URL, as with a proxy that terminates TLS.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { request } from './http.mjs';

const DEFT = process.env.DEFT;
const APP = process.env.DEFT_APP_URL;
const AGENT = process.env.DEFT_AGENT_URL;
const SERVICES = process.env.DEFT_SERVICES;
const HOST = 'deft.example.test';
const AGENT_HOST = 'agent.example.test';
const FOR_THE_RUNTIME = { OH_SANDBOX_LIFECYCLE_IDLE_SECONDS: '7777', DEFT_RUNTIME_ADMIN_KEY: 'of-an-administrator', DEFT_RUNTIME_ADMIN_PASSWORD: 'of-an-administrator' };

const run = promisify(execFile);
const deft = (settings, ...words) => run(DEFT, words, { env: { ...process.env, ...settings } });

before(() => deft({ DEFT_APP_URL: `https://${HOST}/`, DEFT_AGENT_URL: `https://${AGENT_HOST}/`, DEFT_HOSTNAMES: 'other.example.test', ...FOR_THE_RUNTIME }, 'up'));
after(() => deft({}, 'up'));

test('the page is served under the configured names only', async () => {
  for (const [host, status] of [[HOST, 200], ['other.example.test', 200], ['localhost', 200], ['evil.example.test', 421]]) {
    assert.equal((await request(APP, 'GET', '/', [`Host: ${host}`])).status, status, host);
  }
});

test('a sign-in link uses DEFT_APP_URL, and its cookie is for TLS only', async () => {
  const { stdout } = await deft({}, 'link');
  const link = stdout.trim().split(/\s+/).pop();
  assert.ok(link.startsWith(`https://${HOST}/sign-in#`), link);
  const body = JSON.stringify({ token: new URL(link).hash.slice(1) });
  const lines = [`Host: ${HOST}`, `Origin: https://${HOST}`, 'Content-Type: application/json', `Content-Length: ${body.length}`];
  const reply = await request(APP, 'POST', '/api/v1/sign-in', lines, body);
  assert.equal(reply.status, 200, reply.body);
  assert.match(reply.headers.get('set-cookie'), /; HttpOnly; .*; Secure$/);
});

test('the agent API is served under the host of DEFT_AGENT_URL, which clients are given', async () => {
  for (const [host, status] of [[AGENT_HOST, 200], [HOST, 200], ['localhost', 200], ['evil.example.test', 421]]) {
    assert.equal((await request(AGENT, 'GET', '/health', [`Host: ${host}`])).status, status, host);
  }
  for (const process_ of ['fcgi', 'runtime']) {
    assert.equal(fs.readFileSync(`${SERVICES}/${process_}/env/DEFT_AGENT_URL`, 'utf8').trim(), `https://${AGENT_HOST}`, process_);
  }
});

test('settings of the runtime are given to the runtime only', () => {
  for (const [name, value] of Object.entries(FOR_THE_RUNTIME)) {
    const places = ['fcgi', 'gateway', 'worker', 'runtime'].flatMap((process_) => [`${process_}/env/${name}`, `${process_}/keys/${name}`]);
    // An empty file removes a variable of the caller.
    const told = places.filter((place) => fs.existsSync(`${SERVICES}/${place}`) && fs.statSync(`${SERVICES}/${place}`).size > 0);
    assert.deepEqual(told, [`runtime/${name.startsWith('DEFT_RUNTIME_ADMIN') ? 'keys' : 'env'}/${name}`], name);
    assert.equal(fs.readFileSync(`${SERVICES}/${told[0]}`, 'utf8').trim(), value);
  }
});

test('a DEFT_APP_URL or DEFT_AGENT_URL that is not an origin is refused', async () => {
  for (const url of ['deft.example.test', 'ftp://deft.example.test', 'https://deft.example.test/page', 'https://', 'https://a b']) {
    for (const name of ['DEFT_APP_URL', 'DEFT_AGENT_URL']) await assert.rejects(deft({ [name]: url }, 'up'), /is not a valid origin/, `${name} ${url}`);
  }
});
