/*
 * One conversation's news on its way to one receiver: how it is, then its events in their order, a
 * call at a time, until the receiver has all or fails.
 *
 * Ownership: delivery_done() ends a call that still runs, and releases everything.
 * Threading: the sender's thread.
 */
#ifndef DEFT_WORKER_WEBHOOKS_DELIVERY_H
#define DEFT_WORKER_WEBHOOKS_DELIVERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "client/guard.h"
#include "store/conversation/webhook_store.h"

struct db;
struct http;
struct http_call;
struct secret;

/* What all deliveries share. */
struct delivery_means {
    struct db *db;
    struct http *http;
    const struct secret *session_key; /* unset: no X-Session-API-Key */
    enum address_owner address_of;    /* of the receivers */
    int done_fd;                      /* hears when a call is over */
};

enum parcel { PARCEL_INFO, PARCEL_EVENTS, PARCEL_FAREWELL };

struct delivery {
    const struct delivery_means *means;
    struct webhook_claim claim;
    enum parcel parcel;     /* what is under way */
    struct http_call *call; /* NULL: nothing */
    size_t n_bytes;         /* of its body */
    int64_t last_seq;       /* of PARCEL_EVENTS */
};

enum delivery_end {
    DELIVERY_GOES_ON, /* a call is under way */
    DELIVERY_DONE,    /* the receiver has all there is */
    DELIVERY_FAILED,  /* it did not take something */
    DELIVERY_LEFT,    /* our own trouble: the lease will run out, and somebody takes it up */
};

/* means: borrowed. claim: taken over. Starts the first call. */
enum delivery_end delivery_begin(struct delivery *delivery, const struct delivery_means *means,
                                 struct webhook_claim *claim) NONNULL MUST_CHECK;
/* Looks how the call ended, and starts the next one. DELIVERY_GOES_ON while it still runs. */
enum delivery_end delivery_go_on(struct delivery *delivery) NONNULL MUST_CHECK;
void delivery_done(struct delivery *delivery);

#endif
