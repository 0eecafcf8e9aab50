// A few lines that run tests one after the other and write their results into the page.
const tests = [];
const test = (name, run) => tests.push([name, run]);

function equal(found, expected) {
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${a} is not ${b}`);
}

const TEST_MAX_MS = 2000;
const late = () => new Promise((_, reject) => setTimeout(() => reject(new Error('does not end')), TEST_MAX_MS));

addEventListener('load', async () => {
  const results = document.getElementById('results');
  let nFailed = 0;
  for (const [name, run] of tests) {
    let line = `ok   ${name}`;
    try {
      await Promise.race([run(), late()]);
    } catch (error) {
      nFailed++;
      line = `FAIL ${name}: ${error.message}`;
    }
    results.textContent += `${line}\n`;
  }
  results.textContent += nFailed === 0 ? `all ${tests.length} passed\n` : `${nFailed} of ${tests.length} failed\n`;
});
