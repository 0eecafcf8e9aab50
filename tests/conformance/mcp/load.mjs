// Lets node load the conformance suite. `node --import ./load.mjs`: as a hook for its imports, on a thread of its own.
// The part that tests clients does not use what is replaced, but the suite's one file imports it: `fs.globSync`, which
// node has since 22, and packages that need node 20.
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) register(import.meta.url);

const REPLACED = {
  fs: 'export * from "node:fs"; export const globSync = undefined;',
  undici: 'export const request = undefined;',
  '@octokit/rest': 'export const Octokit = undefined;',
};

export function resolve(specifier, context, next) {
  const text = REPLACED[specifier];
  if (text === undefined || !context.parentURL?.includes('/@modelcontextprotocol/conformance/')) return next(specifier, context);
  return { url: `data:text/javascript,${encodeURIComponent(text)}`, format: 'module', shortCircuit: true };
}
