// Prometheus' text format 0.0.4, read as strictly as `promtool check metrics` reads it.
// https://prometheus.io/docs/instrumenting/exposition_formats/
import assert from 'node:assert/strict';

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const TYPES = ['counter', 'gauge', 'histogram'];
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/y;

function readLabels(text) {
  const labels = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < text.length) {
    const at = LABEL.lastIndex;
    const found = LABEL.exec(text);
    assert.ok(found, `labels at ${at}: ${text}`);
    const [, name, value] = found;
    assert.ok(!(name in labels), `${name} twice: ${text}`);
    labels[name] = value.replace(/\\(.)/g, (_, c) => (c === 'n' ? '\n' : c));
  }
  return labels;
}

/** Families by name: {type, help, samples: [{name, labels, value}]}. Fails on what the format does not allow. */
export function readMetrics(text) {
  assert.ok(text.endsWith('\n'), 'the last line ends');
  const families = new Map();
  let current;
  for (const line of text.slice(0, -1).split('\n')) {
    const head = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line);
    if (head) {
      const [, kind, name, rest] = head;
      assert.match(name, NAME);
      if (kind === 'HELP') {
        assert.ok(!families.has(name), `${name} is there twice`);
        current = { name, help: rest, samples: [] };
        families.set(name, current);
      } else {
        assert.equal(current?.name, name, 'the type follows its help');
        assert.equal(current.type, undefined);
        assert.ok(TYPES.includes(rest), rest);
        current.type = rest;
      }
      continue;
    }
    const sample = /^([^\s{]+)(?:\{(.*)\})? (\S+)$/.exec(line);
    assert.ok(sample, `no sample: ${line}`);
    const [, name, labels = '', value] = sample;
    const family = current?.type === 'histogram' ? name.replace(/_(bucket|sum|count)$/, '') : name;
    assert.equal(family, current?.name, `${name} stands with its family`);
    assert.ok(Number.isFinite(Number(value)), line);
    current.samples.push({ name, labels: readLabels(labels), value: Number(value) });
  }
  for (const family of families.values()) checkFamily(family);
  return families;
}

const others = (labels) => JSON.stringify(Object.entries(labels).filter(([name]) => name !== 'le').sort());

function checkFamily({ name, type, samples }) {
  const seen = new Set(samples.map((one) => `${one.name}${JSON.stringify(Object.entries(one.labels).sort())}`));
  assert.equal(seen.size, samples.length, `${name}: a series twice`);
  if (type === 'counter') assert.ok(name.endsWith('_total') && samples.every(({ value }) => value >= 0), name);
  else assert.ok(!name.endsWith('_total'), name);
  if (type === 'histogram') checkHistogram(name, samples);
}

function checkHistogram(name, samples) {
  for (const series of new Set(samples.map(({ labels }) => others(labels)))) {
    const mine = samples.filter(({ labels }) => others(labels) === series);
    const buckets = mine.filter((one) => one.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels }) => (labels.le === '+Inf' ? Infinity : Number(labels.le)));
    assert.deepEqual(bounds, [...bounds].sort((a, b) => a - b), name);
    assert.equal(bounds.at(-1), Infinity);
    for (let i = 1; i < buckets.length; i++) assert.ok(buckets[i].value >= buckets[i - 1].value, `${name}: buckets are cumulative`);
    assert.equal(mine.find((one) => one.name === `${name}_count`)?.value, buckets.at(-1).value);
    assert.ok(mine.find((one) => one.name === `${name}_sum`)?.value >= 0);
  }
}
