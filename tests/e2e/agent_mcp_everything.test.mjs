// The protocol's own reference server, as an agent's MCP server over both HTTP transports.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isResult } from './support/conversation.mjs';
import { play, requestsOf } from './support/loop.mjs';
import { startEverything } from './support/mcp_everything.mjs';

for (const [transport, path] of [['streamableHttp', '/mcp'], ['sse', '/sse']]) {
  test(`the reference server is used by ${transport}`, async (t) => {
    const origin = await startEverything(t, transport);
    const calls = [
      { name: 'echo', arguments: { message: 'through deft' } },
      { name: 'get-sum', arguments: { a: 2, b: 40 } },
      { name: 'get-tiny-image', arguments: {} },
      { name: 'get-structured-content', arguments: { location: 'Chicago' } },
      { name: 'get-resource-links', arguments: { count: 2 } },
      { name: 'trigger-long-running-operation', arguments: { duration: 1, steps: 2 } },
      { name: 'get-sum', arguments: { a: 'two' } },
    ];
    const conversation = await play(t, [{ calls }, { text: 'done' }], { agent: { mcp_config: { everything: { url: origin + path } } } });
    assert.equal(await conversation.ask('go'), 'finished');
    const events = await conversation.events();
    const partsOf = (name) => events.filter(isResult(name)).map(({ observation }) => observation.content.slice(1));
    assert.match(partsOf('echo')[0][0].text, /through deft/);
    assert.match(partsOf('get-sum')[0][0].text, /42/);
    assert.ok(partsOf('get-tiny-image')[0].some(({ image_urls: urls }) => /^data:image\/png;base64,./.test(urls?.[0])));
    assert.match(partsOf('get-structured-content')[0][0].text, /temperature/);
    assert.ok(partsOf('get-resource-links')[0].some(({ text }) => /^\[A link to a resource: /.test(text)));
    assert.match(partsOf('trigger-long-running-operation')[0][0].text, /completed/);
    const wrong = events.filter(({ tool_name: name, kind }) => name === 'get-sum' && kind !== 'ActionEvent')[1];
    assert.ok(wrong.error ?? wrong.observation.is_error, JSON.stringify(wrong));
    const { parameters } = requestsOf(conversation)[0].tools.map(({ function: tool }) => tool).find(({ name }) => name === 'get-sum');
    assert.deepEqual(parameters.required, ['a', 'b']);
  });
}
