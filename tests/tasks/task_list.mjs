// The tasks: a folder each, as README.md of this folder describes.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const TASKS = dirname(fileURLToPath(import.meta.url));

/** All tasks by name: {name, folder, text, needs}; needs: programs that a sandbox may lack. */
export function readTasks() {
  const names = readdirSync(TASKS).filter((name) => existsSync(join(TASKS, name, 'task.md'))).sort();
  return names.map((name) => {
    const folder = join(TASKS, name);
    const needs = existsSync(join(folder, 'needs')) ? readFileSync(join(folder, 'needs'), 'utf8').split(/\s+/).filter(Boolean) : [];
    return { name, folder, text: readFileSync(join(folder, 'task.md'), 'utf8').trim(), needs };
  });
}
