// What a sandbox may do and use: system calls, memory, processors.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { engine, House, waitUntil } from './runtime_house.mjs';

describe('confined sandboxes', () => {
  let house;

  before(async () => { house = await House.open({ DEFT_SANDBOX_NANO_CPUS: '500000000', DEFT_SANDBOX_MAX_NANO_CPUS: '4000000000' }); });
  after(async () => { await house?.close(); });

  it('confines the sandbox', async () => {
    const { json: runtime } = await house.sandbox(house.session());
    const { json: seen } = await engine('GET', `/containers/${house.instance}-${runtime.runtime_id}/json`);
    assert.equal(seen.Config.User, '0:0', 'the server gives up root before anything else');
    assert.equal(seen.HostConfig.PidsLimit, 512);
    const status = await house.look(runtime.runtime_id, ['cat', '/proc/1/status']);
    assert.match(status.text, /CapBnd:\s+0000000000000000/);
    assert.match(status.text, /NoNewPrivs:\s+1/);
    assert.match(status.text, /Seccomp:\s+2/);
    const written = await house.look(runtime.runtime_id, ['sh', '-c', 'touch /workspace/a /workspace/project/b /tmp/c && ! touch /.deft/d && ! touch /.deft/deft-action']);
    assert.equal(written.code, 0, written.text);
    await house.forget(runtime);
  });

  it('refuses system calls that a sandbox does not need', async () => {
    const { json: runtime } = await house.sandbox(house.session());
    const probe = `
import ctypes, errno, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    return 'ok' if libc.syscall(number, *args) >= 0 else errno.errorcode[ctypes.get_errno()]
def family(number, kind, protocol=0):
    try:
        socket.socket(number, kind, protocol).close()
        return 'ok'
    except OSError as error:
        return errno.errorcode[error.errno]
print('vsock', family(40, 1), 'packet', family(17, 3), 'netfilter', family(16, 3, 12))
print('unix', family(1, 1), 'inet', family(2, 1), 'route', family(16, 3, 0))
print('io_uring', call(425, 1, 0), 'unshare', call(272, 0x10000000), 'keyctl', call(250, 0, 0), 'bpf', call(321, 0, 0, 0), 'clone3', call(435, 0, 0))
`;
    const seen = await house.look(runtime.runtime_id, ['python3', '-c', probe]);
    assert.match(seen.text, /vsock EPERM packet EPERM netfilter EPERM/);
    assert.match(seen.text, /unix ok inet ok route ok/);
    assert.match(seen.text, /io_uring EPERM unshare EPERM keyctl EPERM bpf EPERM clone3 ENOSYS/);
    await house.forget(runtime);
  });

  it('runtime 14: resource_factor multiplies memory and processors, up to what the host allows', async () => {
    const limits = async (more) => {
      const { json: runtime } = await house.sandbox(house.session(), { wait_ms: 120000, ...more });
      assert.equal(runtime.status, 'running', runtime.status_detail);
      const { json: { HostConfig: host } } = await engine('GET', `/containers/${house.instance}-${runtime.runtime_id}/json`);
      await house.forget(runtime);
      return [host.Memory, host.NanoCpus];
    };
    const [memory, cpus] = await limits({});
    assert.deepEqual(await limits({ resource_factor: 2 }), [2 * memory, 2 * cpus]);
    const refused = await house.sandbox(house.session(), { resource_factor: 64 });
    assert.equal(refused.status, 400);
    assert.match(refused.json.detail, /resource_factor/);
  });

  it('records that a program ran out of memory', async () => {
    const id = house.session();
    const { json: runtime } = await house.sandbox(id, { memory_bytes: 64 << 20 });
    await house.look(runtime.runtime_id, ['python3', '-c', 'x = bytearray(300 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1']);
    const { json: seen } = await waitUntil(async () => {
      const answer = await house.get(`/sessions/${id}`);
      return answer.json.status_detail && answer;
    }, 120000, 'words about memory');
    assert.match(seen.status_detail, /ran out of memory/);
    assert.deepEqual(seen.restart_reasons, ['OOMKilled']);
    await house.forget(runtime);
  });
});
