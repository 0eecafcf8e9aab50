/*
 * The full_state that a stream's subscribers are due: loaded once, shared by all of them.
 *
 * Ownership: a stream owns its snapshot.
 */
#ifndef DEFT_GATEWAY_SNAPSHOT_H
#define DEFT_GATEWAY_SNAPSHOT_H

#include <stdint.h>

#include "base/attr.h"
#include "gateway/recent.h"

struct frame;
struct snapshot;
struct stream;

void snapshot_free(struct snapshot *snapshot);
/*
 * Returns the seq of the snapshot for the stream's current round. -1 if there is none, or none of
 * min_seq or later: one is then requested, and all subscribers are woken when it has arrived.
 */
int64_t snapshot_seq(struct stream *stream, int64_t min_seq) NONNULL MUST_CHECK;
/* Returns its frame; the caller owns a reference. Only after a snapshot_seq() that is not -1. */
struct frame *snapshot_frame(struct stream *stream, enum frame_form form) NONNULL MUST_CHECK;

#endif
