/*
 * The timer of the service thread: it ticks once a second, and earlier if something is due.
 *
 * Ownership: embedded in its owner.
 */
#ifndef DEFT_GATEWAY_CORE_TICKER_H
#define DEFT_GATEWAY_CORE_TICKER_H

#include <stdint.h>

#include <libwebsockets.h>

#include "base/attr.h"

struct ticker {
    struct lws_context *lws;
    lws_sorted_usec_list_t timer;
    int64_t next_ms; /* monotonic */
    /* Returns the ms until something is due, or -1; ticker_advance() may add to that. */
    int64_t (*tick)(void *owner, int64_t now_ms);
    void *owner;
};

/* Starts ticking; lws, tick and owner are set. */
void ticker_start(struct ticker *ticker) NONNULL;
/* Ticks within that time at the latest. Does nothing before ticker_start(). */
void ticker_advance(struct ticker *ticker, int64_t in_ms) NONNULL;

#endif
