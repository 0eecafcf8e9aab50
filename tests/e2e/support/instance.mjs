// The instance of deft under test: where it listens and where its parts are.

function need(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run this by ./deft test`);
  return value;
}

export const AGENT_URL = need('DEFT_AGENT_URL');
export const APP_URL = need('DEFT_APP_URL');
export const API_KEY = need('DEFT_API_KEY');
export const DATABASE_URL = need('DEFT_DATABASE_URL');
export const SERVICES = need('DEFT_SERVICES');
export const INSTANCE = need('DEFT_INSTANCE');
export const BIN = need('DEFT_BIN');
export const DEFT = need('DEFT');

/** Where conversations of these tests work; the folder that the images and golden recordings name. */
export const WORKING_DIR = '/workspace/project';

/** How long anything may take on a busy machine before a test gives up. */
export const DEADLINE_MS = 120_000;
