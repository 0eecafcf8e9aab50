// The instance under test: its addresses and paths.

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

/** The working directory of these tests' conversations, the one in the images and recordings. */
export const WORKING_DIR = '/workspace/project';

/** The deadline of a wait on a busy machine. */
export const DEADLINE_MS = 120_000;
