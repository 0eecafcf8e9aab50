// How deft's replays of the recordings differ from the original, with reasons; `at` is the place.
import assert from 'node:assert/strict';

const SERVER_INFO = [
  { at: /^GET \/server_info\.usable_tools\[/, why: 'deft lists the tools that it has' },
  { at: /^GET \/server_info\.capabilities\[/, why: 'deft lists the capabilities whose routes it has' },
];

const BOTH_RUNTIMES = { at: /^GET \/server_info\.available_conversation_runtimes\[/, why: 'deft offers both runtimes' };

const NO_COMMIT = { at: /^POST \/api\/conversations\/{id}\/children: expected 500 .*seen 201 /, why: 'in a repository without a commit the child shares the folder' };

const FORKS = [
  ['security_analyzer', 'a copy judges its actions as its source does'],
  ['secret_registry', 'a copy can do what its source could'],
  ['agent(?:\\.condenser)?\\.llm\\.api_key', 'a copy can run: its model\'s key comes along'],
].map(([member, why]) => ({ at: new RegExp(`^(?:POST /api/conversations/{id}/fork|GET /api/conversations/{id}|events [23]  snapshot of idle\\.value)\\.${member}`), why }));

const DEFTS_WAY = {
  'hello-all-client-calls': [
    ...SERVER_INFO,
    BOTH_RUNTIMES,
    ...FORKS,
    { at: /\/load_plugin\.detail: /, why: 'texts of deft are its own' },
    { at: /^model request 0\.tools\[\d\]\..*\.security_risk: expected nothing/, why: 'a side question lists the same tools as a step, so that the model has the beginning in its cache' },
    { at: /^GET \/api\/settings\.agent_settings\.llm\.model: /, why: 'the model of an instance is set by who runs it' },
    { at: /^GET \/api\/settings\.agent_settings\.agent_context\.current_datetime: /, why: 'a date is filled in where a conversation starts, not when settings are read' },
  ],
  'parallel-tool-calls': [
    { at: /\.leaf_event_id: /, why: 'the result of the call behind the finish is the last event' },
    { at: /^model request 2\.messages\[[5-9]\]/, why: 'the original splits the batch behind an error; here it is one message, and the results follow in call order' },
  ],
  'slow-llm-interrupt': [
    { at: /snapshot of paused\.value\.stats\.usage_to_metrics\.agent\.(?:costs|response_latencies|token_usages)\[0\]: expected nothing/, why: 'the recorded title came after the interrupt' },
    { at: /expected 0 stats updates, seen 1$/, why: 'the recorded title came after the interrupt' },
  ],
  'conversation-runtime': [
    ...SERVER_INFO,
    BOTH_RUNTIMES,
    NO_COMMIT,
    { at: /\.sub_conversation_ids\[1\]: expected nothing/, why: 'that child exists here' },
    { at: /^GET \/api\/bash\/bash_events\/search\.items\[[0-3]\]: .* seen nothing$/, why: 'commands of another recording on the same server' },
    { at: /\/vscode\/(?:url\.exception|status\.message): /, why: 'texts of deft are its own' },
    { at: /\/file\/archive\?.* content-disposition: .*\\"ws\.tar\.gz.*\\"project\.tar\.gz/, why: 'the folder that was recorded was called ws' },
    { at: /\/file\/(?:archive|download-trajectory).* accept-ranges: /, why: 'archives are made while they are sent: they have no parts to ask for' },
    { at: /^POST \/api\/conversations: expected 422 .*only runs local.* seen 201 /, why: 'deft offers both runtimes' },
  ],
  'conversation-runtime-docker': [
    ...SERVER_INFO,
    { at: /\/runtime\.detail: expected "Conversation not found", seen "Not Found"$/, why: 'the local runtime of the original says so, too' },
    { at: /^GET \/api\/conversations\/(?:search\.items\[0\]|\{id\})\.secret_registry/, why: 'the secrets of a start are listed from the start' },
    { at: /ObservationEvent file_editor\.observation|\[5\]\.observation/, why: 'the folder was missing in the original\'s container' },
    { at: /\/git\/changes\?path=%2Fworkspace\[0\]: expected nothing/, why: 'the file that could not be written there' },
    { at: /\.items\[0\]\.(?:stdout|stderr|exit_code): /, why: 'the container, its user and the files in it are others' },
    { at: /\/fork: expected 501 .* seen 201 /, why: 'deft\'s loop is outside the sandbox, so this works' },
    { at: /\/switch_profile: expected 501 .* seen 404 .*Profile 'x' not found/, why: 'deft\'s loop is outside the sandbox, so this works' },
    { at: /\/secrets: expected 422 .* seen 200 /, why: 'no secret leaves through a sandbox here' },
    NO_COMMIT,
    { at: /^POST \/api\/conversations\.detail/, why: 'texts of deft are its own' },
    { at: /^DELETE \/api\/conversations\/\{id\} content-type: /, why: 'a delete answers as with the local runtime' },
  ],
  'restart-mid-conversation': [
    { at: /\.stats\.usage_to_metrics\.agent\.(?:costs|response_latencies|token_usages)\[[23]\]: expected nothing|expected 3 stats updates, seen 4$/, why: 'the original lost count when it was killed' },
  ],
  'session-socket': [
    { at: /error\.detail: /, why: 'texts of deft are its own' },
  ],
};

/** The differences of a replay are exactly the listed ones, and each of them still exists. */
export function assertAlike(name, replay) {
  const ways = DEFTS_WAY[name] ?? [];
  assert.deepEqual(replay.differences.filter((line) => !ways.some(({ at }) => at.test(line))), []);
  assert.deepEqual(ways.filter(({ at }) => !replay.differences.some((line) => at.test(line))), [], 'these are alike by now');
}
