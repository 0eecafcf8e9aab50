/*
 * Events older than a stream keeps, read for a single subscriber.
 *
 * Ownership: a subscriber owns its replay.
 */
#ifndef DEFT_GATEWAY_REPLAY_H
#define DEFT_GATEWAY_REPLAY_H

#include <stdint.h>

#include "base/attr.h"

struct replay;
struct subscriber;

/*
 * Returns the body of the event with that seq, borrowed until the next call. NULL if it is not
 * loaded: it is then requested, and the subscriber is woken when it has arrived.
 */
const char *replay_body(struct subscriber *subscriber, int64_t seq) NONNULL MUST_CHECK;
void replay_free(struct replay *replay);

#endif
