function recorder() {
  const calls = [];
  const listener = (name) => (...values) => calls.push([name, ...values].join(' '));
  return { calls, listener };
}

test('listeners are called in order, with the values', () => {
  const { calls, listener } = recorder();
  const emitter = new Emitter().on('a', listener('first')).on('a', listener('second'));
  equal(emitter.emit('a', 1, 2), true);
  equal(calls, ['first 1 2', 'second 1 2']);
  equal(emitter.emit('b'), false);
});

test('a listener of once is called once', () => {
  const { calls, listener } = recorder();
  const emitter = new Emitter().once('a', listener('once')).on('a', listener('on'));
  emitter.emit('a');
  emitter.emit('a');
  equal(calls, ['once', 'on', 'on']);
});

test('removing an unknown listener changes nothing', () => {
  const { calls, listener } = recorder();
  const emitter = new Emitter().on('a', listener('a'));
  emitter.off('a', () => {}).emit('a');
  equal(calls, ['a']);
});
