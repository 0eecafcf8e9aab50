const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

test('tasks settle with their values', async () => {
  const queue = new TaskQueue(2);
  equal(await Promise.all([1, 2, 3].map((n) => queue.add(async () => n * 10))), [10, 20, 30]);
});

test('no more than the limit run at once, in order', async () => {
  const queue = new TaskQueue(2);
  const begun = [];
  let nRunning = 0;
  let most = 0;
  const task = (n) => async () => {
    begun.push(n);
    most = Math.max(most, ++nRunning);
    await pause(10);
    nRunning--;
  };
  await Promise.all([1, 2, 3, 4, 5].map((n) => queue.add(task(n))));
  equal(most, 2);
  equal(begun, [1, 2, 3, 4, 5]);
});

test('a task that fails fails its promise only', async () => {
  const queue = new TaskQueue(1);
  const failed = queue.add(() => Promise.reject(new Error('no'))).catch((error) => error.message);
  equal(await queue.add(async () => 'next'), 'next');
  equal(await failed, 'no');
});
