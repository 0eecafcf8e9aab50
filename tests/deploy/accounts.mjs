// Users of the host.
import { execFileSync } from 'node:child_process';

export const uidOfUser = (name) => Number(execFileSync('id', ['-u', name], { encoding: 'utf8' }));
