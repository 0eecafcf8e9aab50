// Another user of the same instance: created in the database, with a key that was created for the first one.
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { execute } from './database.mjs';
import { DEFT } from './instance.mjs';

/** {id, key} of a new user. */
export async function newUser() {
  const id = randomUUID();
  const name = `tests ${id}`;
  const key = execFileSync(DEFT, ['key', name], { encoding: 'utf8' }).trim().split(/\s+/).pop();
  await execute(`INSERT INTO users (id, email, name) VALUES (:'id', :'id' || '@example.test', 'Another');
    UPDATE api_keys SET user_id = :'id' WHERE name = :'name'`, { id, name });
  return { id, key };
}
