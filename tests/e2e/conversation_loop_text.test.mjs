// Models that have no calls of their own, or cannot see images.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { observed, ofKind } from './support/conversation.mjs';
import { assertSound } from './support/database.mjs';
import { kindsOf, play, requestsOf, textOf } from './support/loop.mjs';
import { waitUntil } from './support/wait.mjs';

const done = { text: 'done' };
const TEXT_CALLS = { native_tool_calling: false };
const call = (parameters) => ({ text: `I look.\n<function=terminal>\n${parameters}` });
const PIXEL = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

function inTurn(steps) {
  let n = 0;
  return () => steps[Math.min(n++, steps.length - 1)];
}

for (const stream of [false, true]) {
  test(`agent-loop 47: calls are written as text for a model without tool calling${stream ? ', also streamed' : ''}`, async (t) => {
    const command = '<parameter=command>\necho o""ne\n</parameter>\n<parameter=is_input>false</parameter>\n';
    const conversation = await play(t, inTurn([call(command), done]), { llm: { ...TEXT_CALLS, stream } });
    assert.equal(await conversation.ask('go'), 'finished');
    const events = await conversation.events();
    assert.deepEqual(kindsOf(events).slice(3), ['ActionEvent terminal', 'ObservationEvent terminal', 'MessageEvent agent', 'S(finished)']);
    const action = events.find(ofKind('ActionEvent'));
    assert.equal(action.tool_call_id, 'toolu_01');
    assert.deepEqual(action.thought.map(({ text }) => text), ['I look.']);
    assert.deepEqual([action.action.command, action.action.is_input], ['echo o""ne', false]);
    assert.match(observed(events.find(ofKind('ObservationEvent'))), /one/);
    const [first, second] = requestsOf(conversation);
    assert.equal(first.tools, undefined);
    assert.deepEqual(first.stop, ['</function']);
    assert.match(textOf(first.messages[0]), /FUNCTION 1: terminal[^]*Parameter 1: /);
    assert.match(textOf(first.messages[1]), /<function=terminal>[^]*go/);
    const [answer, result] = second.messages.slice(-2);
    assert.equal(answer.tool_calls, undefined);
    assert.match(textOf(answer), /I look\.[^]*<function=terminal>\n<parameter=command>echo o""ne<\/parameter>\n[^]*<\/function>$/);
    assert.equal(result.role, 'user');
    assert.match(textOf(result), /^EXECUTION RESULT of \[terminal\]:\n.*one/);
    await assertSound(conversation);
  });
}

test('agent-loop 48: a call in text without a required parameter is answered with its error', async (t) => {
  const conversation = await play(t, inTurn([call('<parameter=is_input>false</parameter>\n'), done]), { llm: TEXT_CALLS });
  assert.equal(await conversation.ask('go'), 'finished');
  const events = await conversation.events();
  assert.deepEqual(kindsOf(events).slice(3), ['MessageEvent user', 'MessageEvent agent', 'S(finished)']);
  const told = events.filter((event) => event.kind === 'MessageEvent' && event.source === 'user').at(-1);
  assert.match(told.llm_message.content[0].text, /lacks the required parameter 'command'/);
  assert.equal(requestsOf(conversation).length, 2);
  assert.ok(requestsOf(conversation)[1].messages.some((message) => textOf(message).includes(told.llm_message.content[0].text)));
});

test('a model that never writes a call in the right form ends the run with the error', async (t) => {
  const conversation = await play(t, () => call('<parameter=cmd>ls</parameter>\n'), { llm: TEXT_CALLS });
  assert.equal(await conversation.ask('go'), 'error');
  const events = await conversation.events();
  assert.deepEqual(kindsOf(events).slice(3), [...Array(4).fill('MessageEvent user'), 'S(error)', 'ConversationErrorEvent']);
  assert.equal(events.at(-1).code, 'FunctionCallValidationError');
  assert.match(events.at(-1).detail, /has no parameter 'cmd'/);
});

const picture = { role: 'user', content: [{ type: 'text', text: 'What is this?' }, { type: 'image', image_urls: [PIXEL] }] };

for (const [what, llm] of [
  ['by the table of models', { model_canonical_name: 'openai/gpt-3.5-turbo' }],
  ['by an override', { capability_overrides: { supports_vision: false } }],
  ['by a switch', { disable_vision: true }],
]) {
  test(`agent-loop 42: an image for a model without vision, ${what}, is answered without a model call`, async (t) => {
    const conversation = await play(t, [done], { llm });
    await conversation.must(200, 'POST', '/events', { json: { ...picture, run: true } });
    assert.equal(await conversation.rest(['finished', 'error']), 'finished');
    const events = await conversation.events();
    assert.deepEqual(kindsOf(events).slice(1), ['MessageEvent user', 'S(running)', 'MessageEvent agent', 'S(finished)']);
    assert.match(events.findLast(ofKind('MessageEvent')).llm_message.content[0].text, /cannot see images/);
    assert.equal(requestsOf(conversation).length, 0);
    await conversation.say('It is a pixel.', true);
    await waitUntil(() => requestsOf(conversation).length === 1, 'words are answered');
    assert.equal(await conversation.rest(['finished', 'error']), 'finished');
    assert.ok(!JSON.stringify(requestsOf(conversation)[0].messages).includes('image_url'), 'the image is left out');
    await assertSound(conversation);
  });
}

test('an image for a model that is not known is sent', async (t) => {
  const conversation = await play(t, [done]);
  await conversation.must(200, 'POST', '/events', { json: { ...picture, run: true } });
  assert.equal(await conversation.rest(['finished', 'error']), 'finished');
  assert.ok(JSON.stringify(requestsOf(conversation)[0].messages).includes(PIXEL));
});
