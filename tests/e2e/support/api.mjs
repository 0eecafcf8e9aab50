// Requests to the agent API, as any client would send them.
import http from 'node:http';
import { AGENT_URL, API_KEY, DEADLINE_MS } from './instance.mjs';

function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * One request; resolves with {status, headers, text, json, bytes} whatever the status is.
 * options: key (null: none), headers, json (a value to send), body (text or bytes to send as they are), query, url.
 */
export async function call(method, path, options = {}) {
  const { key = API_KEY, json, query, url = AGENT_URL, timeoutMs = DEADLINE_MS } = options;
  const headers = { ...options.headers };
  if (key !== null) headers['x-session-api-key'] = key;
  if (json !== undefined) headers['content-type'] = 'application/json';
  const target = new URL(path, url);
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const one of [value].flat()) target.searchParams.append(name, String(one));
  }
  const answer = await fetch(target, {
    method,
    headers,
    body: json === undefined ? options.body : JSON.stringify(json),
    redirect: 'manual',
    signal: AbortSignal.timeout(timeoutMs),
  });
  const bytes = Buffer.from(await answer.arrayBuffer());
  const text = bytes.toString();
  return { status: answer.status, headers: answer.headers, bytes, text, json: parseJson(text) };
}

/** As call(), but fails unless the status is the one expected; resolves with the parsed body. */
export async function must(status, method, path, options = {}) {
  const answer = await call(method, path, options);
  if (answer.status !== status) throw new Error(`${method} ${path}: ${answer.status}, not ${status}: ${answer.text.slice(0, 2000)}`);
  return answer.json;
}

/** A GET with a body, which fetch does not allow. */
export const getWithBody = (path, body, key = API_KEY) => exchange('GET', path, { body, key });

/** A request from one of this host's addresses (127.x.y.z), which fetch cannot select: wrong keys are counted per address. */
export const callFrom = (address, method, path, { key, json }) => exchange(method, path, { address, key, body: json === undefined ? '' : JSON.stringify(json) });

function exchange(method, path, { address, body, key }) {
  const target = new URL(path, AGENT_URL);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  if (key !== null) headers['x-session-api-key'] = key;
  return new Promise((resolve, reject) => {
    const request = http.request(target, { method, headers, localAddress: address, family: address === undefined ? 0 : 4, timeout: DEADLINE_MS }, (answer) => {
      const chunks = [];
      answer.on('data', (chunk) => chunks.push(chunk));
      answer.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ status: answer.statusCode, text, json: parseJson(text) });
      });
    });
    request.on('timeout', () => request.destroy(new Error(`${method} ${path}: silence for ${DEADLINE_MS} ms`)));
    request.on('error', reject);
    request.end(body);
  });
}
