/*
 * Inside of lib/client: has the server at the other end of a new connection prove that it holds a
 * key, before anything else is sent there. One short request and its answer; the connection is good
 * for the next request afterwards.
 *
 * Ownership: proof_free(). The connection stays the caller's.
 * Threading: none of its own; proof_step() never waits.
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
    PROOF_LOST,  /* the connection could not be made, or ended before an answer */
    PROOF_FAILS, /* something answered that does not have the key */
};

/* address: where the connection was asked for. */
struct proof *proof_new(const struct secret *key,
                        const struct sockaddr_in *address) NONNULL MUST_CHECK;
void proof_free(struct proof *proof);
/* Does what can be done at once; *why is set when the proof is lost or fails. */
enum proof_state proof_step(struct proof *proof, int fd, struct error *why) NONNULL MUST_CHECK;
/* While it is pending: true when the connection must be writable for the next step, else readable.
 */
bool proof_is_sending(const struct proof *proof) NONNULL MUST_CHECK;
/* By when the next thing must have happened, on the monotonic clock. */
int64_t proof_until_ms(const struct proof *proof) NONNULL MUST_CHECK;

#endif
