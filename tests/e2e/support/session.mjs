// A browser's session on the app origin.
import { execFileSync } from 'node:child_process';
import { APP_URL, DEFT } from './instance.mjs';

/** Signs in by a fresh link; resolves with the Cookie header's value. */
export async function signIn() {
  const link = execFileSync(DEFT, ['link'], { encoding: 'utf8' }).trim().split(/\s+/).pop();
  const answer = await fetch(new URL('/api/v1/sign-in', APP_URL), {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: APP_URL },
    body: JSON.stringify({ token: new URL(link).hash.slice(1) }),
  });
  if (answer.status !== 200) throw new Error(`sign-in: ${answer.status} ${await answer.text()}`);
  return answer.headers.get('set-cookie').split(';')[0];
}
