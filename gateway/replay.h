/*
 * Events that are older than a stream keeps, read for one subscriber alone.
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
 * The body of the event with that seq, borrowed until the next call; NULL while it is not there:
 * then it is asked for, and the subscriber gets a turn when it is.
 */
const char *replay_body(struct subscriber *subscriber, int64_t seq) NONNULL MUST_CHECK;
void replay_free(struct replay *replay);

#endif
