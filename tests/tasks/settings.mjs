// Settings of the tasks, from the environment. deploy/lib/trial.sh refuses a run without a model and a key before it
// starts an instance.

const SECONDS_MAX = 86400;

function count(env, name, fallback, most) {
  const value = env[name] ?? '';
  if (value === '') return fallback;
  if (!/^[1-9][0-9]{0,4}$/.test(value) || Number(value) > most) throw new Error(`${name}=${value} is not a number from 1 to ${most}`);
  return Number(value);
}

/** {model, llm, atOnce, seconds, steps, hasBrowser}; throws an Error that says what to set. */
export function readSettings(env) {
  const { DEFT_TASKS_MODEL: model, DEFT_TASKS_API_KEY: key, DEFT_TASKS_BASE_URL: url } = env;
  if (!model) throw new Error('DEFT_TASKS_MODEL is not set: the model that does the tasks, such as anthropic/claude-opus-5');
  if (!key && !url) throw new Error('DEFT_TASKS_API_KEY is not set: the key of the model; a server without keys needs DEFT_TASKS_BASE_URL only');
  return {
    model,
    llm: { model, usage_id: 'agent', ...(key ? { api_key: key } : {}), ...(url ? { base_url: url } : {}) },
    atOnce: count(env, 'DEFT_TASKS_AT_ONCE', 3, 100),
    seconds: count(env, 'DEFT_TASKS_SECONDS', 1800, SECONDS_MAX),
    steps: count(env, 'DEFT_TASKS_STEPS', 100, 500),
    hasBrowser: env.DEFT_SANDBOX_BROWSER === '1',
  };
}
