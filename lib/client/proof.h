/*
 * Internal to lib/client: has the server at the other end of a new connection prove that it holds a
 * key before anything else is sent. One short request and its reply; the connection can then be
 * used for the next request.
 *
 * Ownership: proof_free(). The connection stays the caller's.
 * Threading: none of its own; proof_step() never blocks.
 * Source: base/sandbox_key.h
 */
#ifndef DEFT_CLIENT_PROOF_H
#define DEFT_CLIENT_PROOF_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct error;
struct proof;
struct secret;

enum proof_state {
    PROOF_PENDING,
    PROOF_HOLDS,
    PROOF_LOST,  /* no connection, or closed before a reply */
    PROOF_FAILS, /* the server that replied does not have the key */
};

/* address: the one being connected to. */
struct proof *proof_new(const struct secret *key,
                        const struct sockaddr_in *address) NONNULL MUST_CHECK;
void proof_free(struct proof *proof);
/* Advances as far as possible without blocking; sets *why if the proof is lost or fails. */
enum proof_state proof_step(struct proof *proof, int fd, struct error *why) NONNULL MUST_CHECK;
/* While pending: true if the next step needs the connection writable, false if readable. */
bool proof_is_sending(const struct proof *proof) NONNULL MUST_CHECK;
/* Deadline of the current step, on the monotonic clock. */
int64_t proof_until_ms(const struct proof *proof) NONNULL MUST_CHECK;

#endif
