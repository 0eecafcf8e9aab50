/*
 * Lists of streams: a stream has one link per list kind.
 */
#ifndef DEFT_GATEWAY_STREAM_LIST_H
#define DEFT_GATEWAY_STREAM_LIST_H

#include "base/attr.h"
#include "gateway/stream.h"
#include "gateway/streams.h"

/* Does nothing if it is already listed. */
void stream_list_append(struct stream_list *list, struct stream *stream,
                        enum stream_link link) NONNULL;
/* Does nothing if it is not listed. */
void stream_list_remove(struct stream_list *list, struct stream *stream,
                        enum stream_link link) NONNULL;

#endif
