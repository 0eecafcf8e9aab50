/*
 * Lists of streams: each stream has one link per kind of list.
 */
#ifndef DEFT_GATEWAY_STREAM_LIST_H
#define DEFT_GATEWAY_STREAM_LIST_H

#include "base/attr.h"
#include "gateway/stream.h"
#include "gateway/streams.h"

/* Does nothing when it is listed already. */
void stream_list_append(struct stream_list *list, struct stream *stream,
                        enum stream_link link) NONNULL;
/* Does nothing when it is not listed. */
void stream_list_remove(struct stream_list *list, struct stream *stream,
                        enum stream_link link) NONNULL;

#endif
