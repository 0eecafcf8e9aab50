// A sandbox with web servers, and its user's browser.
import { readFile } from 'node:fs/promises';
import { Box } from './box.mjs';
import { Conversation, llmOf, startRequest } from './conversation.mjs';
import { query } from './database.mjs';
import { APP_URL, WORKING_DIR } from './instance.mjs';
import { signIn } from './session.mjs';
import { originOf, Visitor } from './visitor.mjs';

export const PORT = 5173;
export const OTHER_PORT = 3001;
export const WORKER_PORT = 12000;

/** The sandbox of a conversation, with a site (site.py) on three ports. */
export async function startSite(fake) {
  const conversation = await Conversation.create(startRequest(llmOf(fake, 'hello'), { conversation_runtime: 'docker' }));
  const box = new Box(conversation.path);
  await box.run('true');
  const [{ id }] = await query(`SELECT r.id FROM runtimes r JOIN conversations c ON c.runtime_session = r.session_id
    WHERE c.id = :'id'::uuid AND r.status = 'running'`, { id: conversation.id });
  const site = { conversation, box, id, url: originOf(id, PORT), serve: () => box.run(`for port in ${PORT} ${OTHER_PORT} ${WORKER_PORT}; do python3 site.py $port || exit; done`) };
  await box.upload(`${WORKING_DIR}/site.py`, await readFile(new URL('site.py', import.meta.url)));
  await site.serve();
  return site;
}

/** A browser that is signed in at the page. */
export async function signedIn(cookie) {
  const visitor = new Visitor();
  visitor.keep(APP_URL, cookie ?? await signIn());
  return visitor;
}
