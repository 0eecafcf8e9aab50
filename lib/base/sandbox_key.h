/*
 * The keys between deft and the server in a sandbox, and how that server proves itself. Both come
 * from the sandbox's session key, which never enters the sandbox: its server is told a call key,
 * which requests to it show, and a proof key, which is never shown. Neither opens anything else.
 *
 *     call key  = HMAC-SHA256(session key, "deft sandbox call 1")
 *     proof key = HMAC-SHA256(session key, "deft sandbox proof 1")
 *     proof     = HMAC-SHA256(proof key, "deft proof 1:" nonce ":" address)
 *
 * all as lower-case hex. A server that waits for its keys has an init key in the session key's
 * place. Source: docs/decisions/sandbox-proofs.md
 */
#ifndef DEFT_BASE_SANDBOX_KEY_H
#define DEFT_BASE_SANDBOX_KEY_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/crypto.h"

struct secret;

/* How a caller asks for the proof: GET, with a nonce that it makes up for each connection. */
#define SANDBOX_PROOF_PATH "/prove"
#define SANDBOX_NONCE_HEADER "X-Deft-Nonce"
/* 32 random bytes as hex. */
#define SANDBOX_NONCE_CHARS 64
#define SANDBOX_NONCE_BYTES (SANDBOX_NONCE_CHARS + 1)

enum sandbox_key_use { SANDBOX_KEY_CALL, SANDBOX_KEY_PROOF };

/* base: the session key, or before there is one the init key. */
void sandbox_key_derive(const char *base, enum sandbox_key_use use, struct secret *key_out) NONNULL;
/* A fresh nonce. */
void sandbox_nonce_make(char nonce[SANDBOX_NONCE_BYTES]) NONNULL;
/* True for what sandbox_nonce_make() may have made. */
bool sandbox_nonce_is_valid(const char *nonce) NONNULL MUST_CHECK;
/*
 * address: the server's end of the connection, "10.1.2.3:8000". It keeps another server, which
 * listens elsewhere, from passing on the proof of the genuine one.
 */
void sandbox_proof_make(const struct secret *proof_key, const char *nonce, const char *address,
                        char proof[CRYPTO_HASH_HEX_BYTES]) NONNULL;

#endif
