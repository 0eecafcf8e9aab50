/*
 * Random bytes, hashes, and sealing: secrets at rest are encrypted with AES-256-GCM under a key
 * derived from the instance's root key; tokens that we only need to recognize are kept as keyed
 * hashes.
 *
 * Threading: a keyring is read-only after keyring_init().
 */
#ifndef DEFT_BASE_CRYPTO_H
#define DEFT_BASE_CRYPTO_H

#include <stddef.h>

#include "base/attr.h"

struct error;
struct secret;
struct strbuf;

#define CRYPTO_KEY_BYTES 32
#define CRYPTO_HASH_BYTES 32
#define CRYPTO_HASH_HEX_BYTES 65
/* A fresh token has 32 random bytes: 43 characters of base64url. */
#define CRYPTO_TOKEN_BYTES 44

/* The keys of one instance, each derived from the root by HKDF-SHA256 (RFC 5869) and a label. */
struct keyring {
    unsigned char seal[CRYPTO_KEY_BYTES];
    unsigned char hash[CRYPTO_KEY_BYTES];
    unsigned char fernet[CRYPTO_KEY_BYTES]; /* for tokens that clients keep, base/fernet.h */
};

/* Fills buffer; ends the process when the system has no randomness. */
void crypto_random(void *buffer, size_t len) NONNULL;
/* A random token in base64url. */
void crypto_random_token(char token[CRYPTO_TOKEN_BYTES]) NONNULL;
/* PBKDF2 with HMAC-SHA-256, 32 bytes as lower-case hex (RFC 8018, section 5.2). */
void crypto_password_hex(const struct secret *password, const char *salt, int iterations,
                         char hex[CRYPTO_HASH_HEX_BYTES]) NONNULL;
/* SHA-256 of bytes as lower-case hex (FIPS 180-4). */
void crypto_sha256_hex(const void *bytes, size_t len, char hex[CRYPTO_HASH_HEX_BYTES]) NONNULL;

/* HMAC-SHA-256 of a text, without its NUL (RFC 2104). */
void crypto_hmac(const void *key, size_t key_len, const char *text,
                 unsigned char digest[CRYPTO_HASH_BYTES]) NONNULL;
/* As above with a text as key; lower-case hex. */
void crypto_hmac_hex(const char *key, const char *text, char hex[CRYPTO_HASH_HEX_BYTES]) NONNULL;

/* root: 64 hex digits. ERROR_INVALID otherwise. */
int keyring_init(struct keyring *keyring, const struct secret *root,
                 struct error *err) NONNULL MUST_CHECK;
/*
 * A keyring that only hashes tokens, for a process that only recognizes them: it neither seals nor
 * opens. hash_key: 64 hex digits, from keyring_hash_key(). ERROR_INVALID otherwise.
 */
int keyring_init_hash(struct keyring *keyring, const struct secret *hash_key,
                      struct error *err) NONNULL MUST_CHECK;
/* The hash key as hex. */
void keyring_hash_key(const struct keyring *keyring, char hex[CRYPTO_HASH_HEX_BYTES]) NONNULL;
/* HMAC-SHA256 of a token under the hash key, as hex: the form that tables store. */
void keyring_hash_token(const struct keyring *keyring, const char *token,
                        char hex[CRYPTO_HASH_HEX_BYTES]) NONNULL;
/*
 * Appends "v1." and base64url(nonce || ciphertext || tag) to *sealed_out. `context` (table, column,
 * row) is authenticated, so that a sealed value cannot be moved to another place.
 */
void keyring_seal(const struct keyring *keyring, const char *context, const struct secret *plain,
                  struct strbuf *sealed_out) NONNULL;
/*
 * Opens a value that keyring_seal() made with the same context. ERROR_INTERNAL otherwise: sealed
 * values come from our own store.
 */
int keyring_open(const struct keyring *keyring, const char *context, const char *sealed,
                 struct secret *plain_out, struct error *err) NONNULL MUST_CHECK;

#endif
