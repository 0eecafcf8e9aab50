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
 * The seq that the snapshot of the stream's present round speaks of, or -1 while there is none, or
 * none of min_seq or later: then one is asked for, and all subscribers get a turn when it is there.
 */
int64_t snapshot_seq(struct stream *stream, int64_t min_seq) NONNULL MUST_CHECK;
/* Its frame, a hold of the caller's; only behind a snapshot_seq() that is not -1. */
struct frame *snapshot_frame(struct stream *stream, enum frame_form form) NONNULL MUST_CHECK;

#endif
