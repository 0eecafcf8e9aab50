// One call of every operation of the contract, in an order in which each finds the objects that it needs. A call has
// the route, the path's parameters, and the body; `also` lists allowed statuses in addition to 2xx.
import { WORKING_DIR } from './instance.mjs';

const UUID = '00000000-0000-4000-8000-000000000000';
const REPOSITORY = `${WORKING_DIR}/contract`;

const upload = () => {
  const body = new FormData();
  body.append('file', new Blob(['contract\n']), 'file.txt');
  return body;
};

/** Commands that create the repository for the git routes. */
export const PREPARE = `rm -rf ${REPOSITORY} && mkdir -p ${REPOSITORY} && cd ${REPOSITORY} && git init -q . && echo one > one.txt && git add . &&
  git -c user.name=t -c user.email=t@example.test commit -qm one && echo two > two.txt && git rev-parse HEAD`;

const server = () => [
  { route: 'GET /alive' },
  { route: 'GET /health' },
  { route: 'GET /ready' },
  { route: 'GET /server_info' },
  { route: 'GET /' },
  // Deferred start is off.
  { route: 'GET /api/init', also: [404] },
  { route: 'POST /api/init', json: {}, also: [404] },
];

const conversations = (world) => [
  { route: 'POST /api/conversations', json: world.startRequest },
  { route: 'GET /api/conversations', query: { ids: [world.conversation_id, UUID] } },
  { route: 'GET /api/conversations/search' },
  { route: 'GET /api/conversations/count' },
  { route: 'GET /api/conversations/{conversation_id}' },
  { route: 'PATCH /api/conversations/{conversation_id}', json: { title: 'Contract', tags: { a: 'b' } } },
  { route: 'GET /api/conversations/{conversation_id}/runtime' },
  { route: 'POST /api/conversations/{conversation_id}/runtime/reprovision' },
  { route: 'GET /api/conversations/{conversation_id}/agent_final_response' },
  { route: 'GET /api/conversations/{conversation_id}/events/search' },
  { route: 'GET /api/conversations/{conversation_id}/events/count' },
  { route: 'GET /api/conversations/{conversation_id}/events/{event_id}' },
  { route: 'GET /api/conversations/{conversation_id}/events', getBody: [world.event_id, UUID], json: [world.event_id, UUID] },
  { route: 'POST /api/conversations/{conversation_id}/events', json: { role: 'user', content: [{ type: 'text', text: 'hi' }], run: false } },
  { route: 'POST /api/conversations/{conversation_id}/run' },
  { route: 'POST /api/conversations/{conversation_id}/pause' },
  { route: 'POST /api/conversations/{conversation_id}/interrupt' },
  { route: 'POST /api/conversations/{conversation_id}/events/respond_to_confirmation', json: { accept: false, reason: 'no' } },
  { route: 'POST /api/conversations/{conversation_id}/secrets', json: { secrets: { A: { kind: 'StaticSecret', value: 'secret' } } } },
  { route: 'POST /api/conversations/{conversation_id}/confirmation_policy', json: { policy: { kind: 'NeverConfirm' } } },
  { route: 'POST /api/conversations/{conversation_id}/security_analyzer', json: { security_analyzer: null } },
  { route: 'POST /api/conversations/{conversation_id}/switch_llm', json: { llm: world.llm } },
  { route: 'POST /api/conversations/{conversation_id}/ask_agent', json: { question: 'how?' } },
  { route: 'POST /api/conversations/{conversation_id}/condense', also: [409] },
  { route: 'POST /api/conversations/{conversation_id}/fork', json: { title: 'Fork' } },
  { route: 'POST /api/conversations/{conversation_id}/navigate', json: { event_id: world.event_id } },
  { route: 'POST /api/conversations/{conversation_id}/children', json: { task: 'say hi', isolation: 'shared' } },
  { route: 'POST /api/conversations/{conversation_id}/goal', json: { objective: 'be done', max_iterations: 1 } },
  { route: 'POST /api/conversations/{conversation_id}/goal/stop' },
  { route: 'POST /api/conversations/{conversation_id}/goal/resume', also: [400, 409] },
  { route: 'POST /api/conversations/{conversation_id}/load_plugin', json: { plugin_ref: 'nowhere@none' }, also: [400, 404] },
  { route: 'POST /api/conversations/{conversation_id}/switch_acp_model', json: { model: 'x' }, also: [400] },
  { route: 'GET /api/conversations/{conversation_id}/workspace', also: [404] },
  { route: 'GET /api/conversations/{conversation_id}/workspace/{file_path}', params: { file_path: 'contract/one.txt' } },
];

const sandbox = (world, prefix) => [
  { route: `POST ${prefix}/bash/start_bash_command`, json: { command: 'true', cwd: null, timeout: 30 } },
  { route: `POST ${prefix}/bash/execute_bash_command`, json: { command: 'true' } },
  { route: `GET ${prefix}/bash/bash_events/search`, query: { limit: 5 } },
  { route: `GET ${prefix}/bash/bash_events/{event_id}`, params: { event_id: world.bashId[prefix] } },
  { route: `GET ${prefix}/bash/bash_events/`, getBody: [world.bashId[prefix], UUID], json: [world.bashId[prefix], UUID] },
  { route: `POST ${prefix}/bash/bash_commands/{command_id}/stop`, params: { command_id: world.bashId[prefix] } },
  { route: `DELETE ${prefix}/bash/bash_events` },
  { route: `POST ${prefix}/file/create_directory`, query: { path: `${REPOSITORY}/folder` } },
  { route: `POST ${prefix}/file/upload`, query: { path: `${REPOSITORY}/folder/file.txt` }, body: upload },
  { route: `GET ${prefix}/file/download`, query: { path: `${REPOSITORY}/folder/file.txt` } },
  { route: `GET ${prefix}/file/download-trajectory/{conversation_id}` },
  { route: `GET ${prefix}/file/archive`, query: { path: REPOSITORY, format: 'tar.gz' } },
  { route: `GET ${prefix}/git/changes`, query: { path: REPOSITORY } },
  { route: `GET ${prefix}/git/diff`, query: { path: `${REPOSITORY}/two.txt` } },
  { route: `GET ${prefix}/git/commits`, query: { path: REPOSITORY, limit: 2 } },
  { route: `GET ${prefix}/git/commits/{sha}/changes`, params: { sha: world.sha }, query: { path: REPOSITORY } },
  // No editor runs in the image of the tests.
  { route: `GET ${prefix}/vscode/url`, also: [503] },
  { route: `GET ${prefix}/vscode/status` },
];

const catalogues = () => [
  { route: 'GET /api/file/home' },
  { route: 'GET /api/file/search_subdirs', query: { path: WORKING_DIR } },
  { route: 'GET /api/git/repositories/search', query: { provider: 'github' } },
  { route: 'GET /api/tools/' },
  { route: 'GET /api/tools/catalog' },
  { route: 'POST /api/skills', json: { load_public: false, load_user: false, load_project: false, load_org: false } },
  { route: 'GET /api/skills/catalog' },
  { route: 'POST /api/skills/sync' },
  ...installable('skills', 'skill_name'),
  { route: 'POST /api/sub-agents', json: { load_user: false, load_project: false } },
  { route: 'POST /api/plugins', json: { load_user: false, load_project: false } },
  { route: 'POST /api/plugins/fetch', json: { source: '/nowhere/at/all', timeout: 5 }, also: [422, 502] },
  ...installable('plugins', 'plugin_name'),
  { route: 'POST /api/hooks', json: { project_dir: WORKING_DIR } },
  { route: 'GET /api/llm/providers' },
  { route: 'GET /api/llm/models', query: { provider: 'openai' } },
  { route: 'GET /api/llm/models/verified' },
  { route: 'GET /api/llm/subscription/openai/models' },
  { route: 'GET /api/llm/subscription/openai/status' },
  { route: 'POST /api/llm/subscription/openai/device/start' },
  { route: 'POST /api/llm/subscription/openai/device/poll', json: { device_code: 'none' }, also: [400, 404] },
  { route: 'POST /api/llm/subscription/openai/logout' },
  { route: 'POST /api/acp/models', json: { agent_settings: { agent_kind: 'acp', acp_server: 'custom', acp_command: ['/nowhere'] } } },
  { route: 'POST /api/mcp/test', json: { name: 'none', server: { type: 'stdio', command: '/nowhere/at/all' }, timeout: 5 } },
  { route: 'POST /api/mcp/oauth/start', json: { name: 'none', server: { type: 'http', url: 'http://127.0.0.1:9/' }, timeout: 5 } },
  { route: 'GET /api/mcp/oauth/status/{job_id}', params: { job_id: UUID }, also: [404] },
  { route: 'POST /api/mcp/oauth/callback/{job_id}', params: { job_id: UUID }, json: { callback_url: 'http://localhost/?code=x' }, also: [404] },
];

// Nothing is installed, and the source to install from is unreachable.
const installable = (what, param) => [
  { route: `GET /api/${what}/installed` },
  { route: `GET /api/${what}/marketplace` },
  { route: `POST /api/${what}/install`, json: { source: '/nowhere/at/all', force: false }, also: [400, 422] },
  { route: `GET /api/${what}/installed/{${param}}`, params: { [param]: 'none' }, also: [404] },
  { route: `PATCH /api/${what}/installed/{${param}}`, params: { [param]: 'none' }, json: { enabled: true }, also: [404] },
  { route: `POST /api/${what}/installed/{${param}}/refresh`, params: { [param]: 'none' }, also: [404] },
  { route: `DELETE /api/${what}/installed/{${param}}`, params: { [param]: 'none' }, also: [404] },
];

const EXTENSION = '/api/canvas-extensions/installed/{extension_name}';
const extensions = () => [
  { route: 'GET /api/canvas-extensions/installed' },
  { route: 'POST /api/canvas-extensions/install', json: { source: '/nowhere/at/all', force: false } },
  { route: `GET ${EXTENSION}` },
  { route: `PATCH ${EXTENSION}`, json: { enabled: true } },
  { route: `DELETE ${EXTENSION}` },
  { route: `GET ${EXTENSION}/backend` },
  { route: `POST ${EXTENSION}/backend/prepare`, json: { revision: 'x' } },
  { route: `POST ${EXTENSION}/backend/start`, json: { revision: 'x' } },
  { route: `POST ${EXTENSION}/backend/stop` },
  { route: `GET ${EXTENSION}/backend/logs` },
  { route: `DELETE ${EXTENSION}/backend/data` },
  { route: `GET ${EXTENSION}/bundle` },
  { route: `GET ${EXTENSION}/icon` },
  { route: 'POST /app-backends/{extension_name}/session' },
  { route: 'DELETE /app-backends/{extension_name}/session' },
].map((call) => ({ ...call, params: { extension_name: 'none' } }));

const PROFILE = { name: 'contract' };
const settings = (world) => [
  { route: 'POST /api/profiles/{name}', params: PROFILE, json: { llm: world.llm, include_secrets: true } },
  { route: 'GET /api/profiles' },
  { route: 'GET /api/profiles/{name}', params: PROFILE },
  { route: 'POST /api/profiles/{name}/validate', params: PROFILE, json: { llm: world.llm } },
  { route: 'POST /api/profiles/{name}/activate', params: PROFILE },
  { route: 'POST /api/conversations/{conversation_id}/switch_profile', json: { profile_name: 'contract' } },
  { route: 'GET /api/settings' },
  { route: 'PATCH /api/settings', json: { misc_settings_diff: { contract: 1 } } },
  { route: 'GET /api/settings/agent-schema' },
  { route: 'GET /api/settings/conversation-schema' },
  { route: 'POST /api/settings/mcp/{settings_key}', params: { settings_key: 'contract' }, json: { command: 'true', transport: 'stdio' } },
  { route: 'PATCH /api/settings/mcp/{settings_key}', params: { settings_key: 'contract' }, json: { description: 'x' } },
  { route: 'DELETE /api/settings/mcp/{settings_key}', params: { settings_key: 'contract' } },
  { route: 'PUT /api/settings/secrets', json: { name: 'CONTRACT', value: 'hunter2', description: 'x' } },
  { route: 'GET /api/settings/secrets' },
  { route: 'GET /api/settings/secrets/{name}', params: { name: 'CONTRACT' } },
  { route: 'DELETE /api/settings/secrets/{name}', params: { name: 'CONTRACT' } },
  { route: 'POST /api/workspaces', json: { workspaces: [{ id: 'c', name: 'c', path: '/workspace/contract' }] } },
  { route: 'GET /api/workspaces' },
  { route: 'DELETE /api/workspaces', query: { path: '/workspace/contract' } },
  { route: 'POST /api/workspaces/parents', json: { parents: [{ id: 'p', name: 'p', path: '/workspace' }] } },
  { route: 'DELETE /api/workspaces/parents', query: { path: '/workspace' } },
  { route: 'POST /api/llm/provider-connections', json: { display_name: 'contract', provider: 'openai', api_key: 'sk-contract' }, keep: ['connection_id', 'id'] },
  { route: 'GET /api/llm/provider-connections' },
  { route: 'PATCH /api/llm/provider-connections/{connection_id}', json: { display_name: 'other' } },
  { route: 'DELETE /api/llm/provider-connections/{connection_id}' },
  { route: 'POST /api/agent-profiles/{name}', params: PROFILE, json: { agent_kind: 'openhands', llm_profile_ref: 'contract' } },
  { route: 'GET /api/agent-profiles' },
  { route: 'GET /api/agent-profiles/{name}', params: PROFILE, keep: ['profile_id', 'profile', 'id'] },
  { route: 'POST /api/agent-profiles/{profile_id}/activate' },
  { route: 'POST /api/agent-profiles/{name}/materialize', params: PROFILE },
  { route: 'GET /v1/models' },
  { route: 'POST /v1/chat/completions', json: { model: 'openhands_contract', messages: [{ role: 'user', content: 'hi' }] } },
  { route: 'POST /v1/responses', json: { model: 'openhands_contract', input: 'hi' } },
  { route: 'POST /api/agent-profiles/{name}/rename', params: PROFILE, json: { new_name: 'contract-2' } },
  { route: 'DELETE /api/agent-profiles/{name}', params: { name: 'contract-2' }, also: [409] },
  { route: 'POST /api/meta-profiles/{name}', params: PROFILE, json: { classifier_model: 'contract', classes: [{ description: 'all', model: 'contract' }] } },
  { route: 'GET /api/meta-profiles' },
  { route: 'GET /api/meta-profiles/{name}', params: PROFILE },
  { route: 'POST /api/meta-profiles/{name}/activate', params: PROFILE },
  { route: 'DELETE /api/meta-profiles/{name}', params: PROFILE },
  { route: 'POST /api/profiles/{name}/rename', params: PROFILE, json: { new_name: 'contract-2' } },
  { route: 'DELETE /api/profiles/{name}', params: { name: 'contract-2' } },
  { route: 'POST /api/auth/workspace-session' },
  { route: 'DELETE /api/auth/workspace-session' },
  { route: 'DELETE /api/conversations/{conversation_id}' },
];

/** All calls; the world has conversation_id, event_id, sha, bashId, llm, startRequest. */
export function callsOf(world) {
  return [
    ...server(),
    ...conversations(world),
    ...sandbox(world, '/api'),
    ...sandbox(world, '/api/conversations/{runtime_conversation_id}'),
    ...catalogues(),
    ...extensions(),
    ...settings(world),
  ];
}
