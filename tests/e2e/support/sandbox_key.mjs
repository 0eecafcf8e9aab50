// The keys between deft and the server in a sandbox: a second implementation of lib/base/sandbox_key.h.
import { createHmac } from 'node:crypto';

const hmac = (key, text) => createHmac('sha256', key).update(text).digest('hex');

/** The call key of a sandbox's server. base: its session key, or the init key of a dormant one. */
export const callKeyOf = (base) => hmac(base, 'deft sandbox call 1');
export const proofKeyOf = (base) => hmac(base, 'deft sandbox proof 1');

/** The proof of the server at an address for a nonce. */
export const proofOf = (proofKey, nonce, address) => hmac(proofKey, `deft proof 1:${nonce}:${address}`);
