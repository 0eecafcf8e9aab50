// A reporter of node's test runner: one line of JSON for each test whose title names an item of a document,
// such as `agent-server 17: …` or `runtime 6, 7: …`. tests/conformance/report.mjs reads the lines.
const ITEM = /^([a-z]+(?:-[a-z]+)*) (\d+(?:, \d+)*): /;

/** A test's result for an item: skipped and todo tests have none. */
function resultOf(type, { skip, todo }) {
  if (skip !== undefined && skip !== false) return 'skipped';
  if (todo !== undefined && todo !== false) return 'skipped';
  return type === 'test:pass' ? 'passed' : 'failed';
}

export default async function* reporter(events) {
  for await (const { type, data } of events) {
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const [, document, numbers] = ITEM.exec(data.name) ?? [];
    for (const number of numbers?.split(', ') ?? []) {
      yield `${JSON.stringify({ document, number: Number(number), result: resultOf(type, data), title: data.name })}\n`;
    }
  }
}
