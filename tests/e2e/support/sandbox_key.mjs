// The keys between deft and the server in a sandbox, as lib/base/sandbox_key.h says, by another implementation.
import { createHmac } from 'node:crypto';

const hmac = (key, text) => createHmac('sha256', key).update(text).digest('hex');

/** What calls to a sandbox's server show. base: its session key, or the init key that it waits with. */
export const callKeyOf = (base) => hmac(base, 'deft sandbox call 1');
export const proofKeyOf = (base) => hmac(base, 'deft sandbox proof 1');

/** What the server at an address answers to a nonce. */
export const proofOf = (proofKey, nonce, address) => hmac(proofKey, `deft proof 1:${nonce}:${address}`);
