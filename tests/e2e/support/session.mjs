// A browser's session on the app origin.
import { execFileSync } from 'node:child_process';
import { execute } from './database.mjs';
import { APP_URL, DEFT } from './instance.mjs';

/** A fresh link's token; with a user's id, one of that user. */
export async function newLink(userId) {
  const link = execFileSync(DEFT, ['link'], { encoding: 'utf8' }).trim().split(/\s+/).pop();
  if (userId) await execute("UPDATE sign_in_links SET user_id = :'userId' WHERE used_at IS NULL AND created_at = (SELECT max(created_at) FROM sign_in_links)", { userId });
  return new URL(link).hash.slice(1);
}

/** Signs in with a fresh link, as the owner or as another user; resolves with the Cookie header's value. */
export async function signIn(userId) {
  const token = await newLink(userId);
  const answer = await fetch(new URL('/api/v1/sign-in', APP_URL), {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: APP_URL },
    body: JSON.stringify({ token }),
  });
  if (answer.status !== 200) throw new Error(`sign-in: ${answer.status} ${await answer.text()}`);
  return answer.headers.get('set-cookie').split(';')[0];
}
