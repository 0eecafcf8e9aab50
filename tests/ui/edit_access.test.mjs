// Editing a message on the page with the keyboard alone, and on a phone.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { waitForStatus } from './browser.mjs';
import { Bench, TIMEOUT, box, choice, editor, nLines, rowOf, shows } from './edit_bench.mjs';

const bench = new Bench();

before(() => bench.open());
after(() => bench.close());

test('a message is edited and sent with the keyboard alone', TIMEOUT, async (t) => {
  const conversation = await bench.withTurns(t, ['one', 'two'], 'keyed');
  const page = await bench.page(t, conversation);
  const focused = () => page.evaluate(() => {
    const { activeElement: element } = document;
    return `${element?.closest('.row')?.querySelector('[data-testid="user-message"]')?.innerText ?? ''}|${element?.getAttribute('aria-label') ?? element?.labels?.[0]?.innerText ?? element?.textContent}`;
  });
  const tabTo = async (name) => {
    for (let i = 0; i < 80; i++) {
      if (name.test(await focused())) return;
      await page.keyboard.press('Tab');
    }
    assert.fail(`the focus never reaches ${name}; it is on ${await focused()}`);
  };
  await tabTo(/two\|Edit this message$/);
  assert.equal(await page.locator(':focus').evaluate((element) => getComputedStyle(element.parentElement).opacity), '1');
  await page.keyboard.press('Enter');
  await box(page).and(page.locator(':focus')).waitFor();
  await editor(page).locator('[data-state="stored"]').waitFor();
  await page.keyboard.press('Escape');
  await page.getByLabel('Edit this message').and(page.locator(':focus')).waitFor();
  await page.keyboard.press('Enter');
  await box(page).and(page.locator(':focus')).waitFor();
  await editor(page).locator('[data-state="stored"]').waitFor();
  await page.keyboard.type(' and more');
  await tabTo(/Restore the files of that time/);
  await page.keyboard.press('Space');
  assert.ok(!(await choice(page).isChecked()));
  await tabTo(/Send$/);
  await page.keyboard.press('Enter');
  await shows(page, ['one', 'two and more']);
  await waitForStatus(page, ['finished']);
  await conversation.rest(['finished']);
  assert.equal(await nLines(conversation), 3);
});

test('on a phone the actions are shown without a pointer, and nothing is cut off', TIMEOUT, async (t) => {
  const conversation = await bench.withTurns(t, ['one']);
  const page = await bench.page(t, conversation, { viewport: { width: 375, height: 700 }, isMobile: true, hasTouch: true });
  const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  const button = rowOf(page, 'one').getByRole('button', { name: 'Edit this message' });
  assert.equal(await button.evaluate((element) => getComputedStyle(element.parentElement).opacity), '1');
  await button.tap();
  await editor(page).locator('[data-state="stored"]').waitFor();
  assert.ok((await overflow()) <= 0);
  await editor(page).getByRole('button', { name: 'Cancel' }).tap();
  await rowOf(page, 'one').getByRole('button', { name: 'Branch from here' }).tap();
  await page.getByRole('dialog').locator('[data-state="stored"]').waitFor();
  assert.ok((await overflow()) <= 0);
});
