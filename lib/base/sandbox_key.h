/*
 * The keys between deft and the server in a sandbox, and how that server proves its identity. Both
 * are derived from the sandbox's session key, which never enters the sandbox: its server gets a
 * call key, which requests to it carry, and a proof key, which is never sent. Neither gives access
 * to anything else.
 *
 *     call key  = HMAC-SHA256(session key, "deft sandbox call 1")
 *     proof key = HMAC-SHA256(session key, "deft sandbox proof 1")
 *     proof     = HMAC-SHA256(proof key, "deft proof 1:" nonce ":" address)
 *
 * all as lower-case hex. For a server that waits for its keys, an init key replaces the session
 * key.
 * Source: docs/decisions/0046-sandbox-proofs.md
 */
#ifndef DEFT_BASE_SANDBOX_KEY_H
#define DEFT_BASE_SANDBOX_KEY_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/crypto.h"

struct secret;

/* Request for the proof: GET, with a fresh nonce for each connection. */
#define SANDBOX_PROOF_PATH "/prove"
#define SANDBOX_NONCE_HEADER "X-Deft-Nonce"
/* 32 random bytes as hex. */
#define SANDBOX_NONCE_CHARS 64
#define SANDBOX_NONCE_BYTES (SANDBOX_NONCE_CHARS + 1)

enum sandbox_key_use { SANDBOX_KEY_CALL, SANDBOX_KEY_PROOF };

/* base: the session key, or the init key until there is one. */
void sandbox_key_derive(const char *base, enum sandbox_key_use use, struct secret *key_out) NONNULL;
/* A fresh nonce. */
void sandbox_nonce_make(char nonce[SANDBOX_NONCE_BYTES]) NONNULL;
/* True for the format of sandbox_nonce_make(). */
bool sandbox_nonce_is_valid(const char *nonce) NONNULL MUST_CHECK;
/*
 * address: the server's end of the connection, "10.1.2.3:8000". Prevents a server at another
 * address from relaying the genuine server's proof.
 */
void sandbox_proof_make(const struct secret *proof_key, const char *nonce, const char *address,
                        char proof[CRYPTO_HASH_HEX_BYTES]) NONNULL;

#endif
