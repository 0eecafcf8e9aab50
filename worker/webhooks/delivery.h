/*
 * Delivery of one conversation's changes to one receiver: its info, then its events in order, one
 * call at a time, until the receiver has everything or fails.
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
#include "client/address_filter.h"
#include "store/conversation/webhook_store.h"

struct db;
struct http;
struct http_call;
struct secret;

/* Shared by all deliveries. */
struct delivery_means {
    struct db *db;
    struct http *http;
    const struct secret *session_key; /* unset: no X-Session-API-Key */
    enum address_owner address_of;    /* of the receivers */
    int64_t timeout_ms;               /* of a call */
    int done_fd;                      /* eventfd signaled when a call is over */
};

enum delivery_part { DELIVERY_PART_INFO, DELIVERY_PART_EVENTS, DELIVERY_PART_DELETED };

struct delivery {
    const struct delivery_means *means;
    struct webhook_claim claim;
    enum delivery_part part; /* the part being sent */
    struct http_call *call;  /* NULL: none */
    size_t n_bytes;          /* size of its body */
    int64_t last_seq;        /* of DELIVERY_PART_EVENTS */
};

enum delivery_end {
    DELIVERY_GOES_ON, /* a call is in progress */
    DELIVERY_DONE,    /* the receiver has everything */
    DELIVERY_FAILED,  /* the receiver refused or did not answer */
    DELIVERY_LEFT,    /* our own failure: the lease expires, then a worker takes it up */
};

/* means: borrowed. claim: taken over. Starts the first call. */
enum delivery_end delivery_begin(struct delivery *delivery, const struct delivery_means *means,
                                 struct webhook_claim *claim) NONNULL MUST_CHECK;
/* Checks how the call ended, and starts the next one. DELIVERY_GOES_ON while it still runs. */
enum delivery_end delivery_go_on(struct delivery *delivery) NONNULL MUST_CHECK;
void delivery_done(struct delivery *delivery);

#endif
