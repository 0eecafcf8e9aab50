// Images that do not exist, that this machine cannot run, that are empty, and that have settings of their own.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';

import { alive, assertNoLeaks, engine, House, tar } from './runtime_house.mjs';

describe('odd images', () => {
  let house;

  before(async () => { house = await House.open(); });
  after(async () => { await house?.close(); });

  it('reports a missing image, and accepts another one for the session', async () => {
    const id = house.session();
    const { status, json: failed } = await house.sandbox(id, { image: 'no-such-image:1' });
    assert.equal(status, 200);
    assert.equal(failed.status, 'error');
    assert.equal(failed.pod_status, 'failed');
    assert.match(failed.status_detail, /image no-such-image:1 is not on this host/);
    assert.deepEqual(failed.restart_reasons, ['ImageNotFound']);
    const { json: runtime } = await house.sandbox(id);
    assert.equal(runtime.status, 'running', runtime.status_detail);
    await house.forget(runtime);
    await assertNoLeaks(house);
  });

  it('reports that an image is for another processor architecture', async () => {
    const image = `deft-test-${house.instance}:foreign`;
    const foreign = process.arch === 'arm64' ? 'amd64' : 'arm64';
    const layer = tar([]);
    const config = { architecture: foreign, os: 'linux', config: {}, rootfs: { type: 'layers', diff_ids: [`sha256:${createHash('sha256').update(layer).digest('hex')}`] } };
    const archive = tar([
      { name: 'manifest.json', data: JSON.stringify([{ Config: 'config.json', RepoTags: [image], Layers: ['layer.tar'] }]) },
      { name: 'config.json', data: JSON.stringify(config) }, { name: 'layer.tar', data: layer },
    ]);
    assert.equal((await engine('POST', '/images/load', { body: archive, type: 'application/x-tar' })).status, 200);
    try {
      const { json: failed } = await house.sandbox(house.session(), { image });
      assert.equal(failed.status, 'error');
      assert.match(failed.status_detail, new RegExp(`for ${foreign} processors, this host has`));
      assert.deepEqual([failed.pod_status, failed.restart_reasons], ['failed', ['ExecFormatError']]);
      await house.forget(failed);
    } finally {
      await engine('DELETE', `/images/${image}?force=1`);
    }
    await assertNoLeaks(house);
  });

  it('runtime 40: runs in an empty image, and in one with its own user and volumes', async () => {
    const empty = `deft-test-${house.instance}:empty`;
    const odd = `deft-test-${house.instance}:odd`;
    const changes = ['USER nobody-here', 'WORKDIR /nowhere', 'VOLUME /workspace /data', 'ENTRYPOINT ["/missing"]', 'HEALTHCHECK CMD /missing']
      .map((change) => `changes=${encodeURIComponent(change)}`).join('&');
    const files = tar([{ name: 'workspace/', type: '5' }, { name: 'workspace/theirs', data: 'x' }, { name: 'etc/', type: '5' }]);
    await engine('POST', `/images/create?fromSrc=-&repo=${empty.replace(':', '&tag=')}`, { body: tar([]), type: 'application/x-tar' });
    await engine('POST', `/images/create?fromSrc=-&repo=${odd.replace(':', '&tag=')}&${changes}`, { body: files, type: 'application/x-tar' });
    try {
      for (const image of [empty, odd]) {
        const { json: runtime } = await house.sandbox(house.session(), { image });
        assert.equal(runtime.status, 'running', `${image}: ${runtime.status_detail}`);
        assert.equal(await alive(runtime), true);
        await house.forget(runtime);
      }
    } finally {
      for (const image of [empty, odd]) await engine('DELETE', `/images/${image}?force=1`);
    }
    await assertNoLeaks(house);
  });
});
