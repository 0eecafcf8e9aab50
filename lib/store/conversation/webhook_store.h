/*
 * Delivery cursors: how far each webhook receiver was served, per conversation. Writers to a
 * conversation take no part in this: a scan each second compares what is written with what was
 * delivered, and records what is due.
 *
 * A cursor is worked on under a lease; a worker that lost it can change nothing.
 * Ownership: webhook_claim_done() releases a claim.
 */
#ifndef DEFT_STORE_CONVERSATION_WEBHOOK_STORE_H
#define DEFT_STORE_CONVERSATION_WEBHOOK_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/uuid.h"

struct db;
struct error;
struct event_batch;
struct webhook;

/* A cursor that this worker has claimed. */
struct webhook_claim {
    const struct webhook *webhook; /* borrowed */
    struct uuid owner;
    struct uuid conversation_id;
    int64_t seq;    /* events up to this one were delivered */
    char *state;    /* fingerprint of the state to be delivered */
    bool has_news;  /* the receiver has a different one */
    char *farewell; /* last ConversationInfo of a deleted conversation, to be delivered last; NULL:
                       not deleted */
    int64_t n_failures; /* consecutive, before this claim */
};

void webhook_claim_done(struct webhook_claim *claim);

/* Removes receivers not served by any worker for a week, with their queues. */
int webhook_store_forget(struct db *db, struct error *err) NONNULL MUST_CHECK;
/* Registers a receiver: served from now on, or, if it was known, from where it was. */
int webhook_store_ensure(struct db *db, const struct webhook *webhook,
                         struct error *err) NONNULL MUST_CHECK;
/*
 * Records due deliveries of conversations that were written to. Does nothing while another worker
 * does it.
 */
int webhook_store_look(struct db *db, const struct webhook *webhook,
                       struct error *err) NONNULL MUST_CHECK;

/* Claims the cursor that has been due longest; *claimed_out = false when none is. */
int webhook_store_claim(struct db *db, const struct webhook *webhook, const struct uuid *owner,
                        bool *claimed_out, struct webhook_claim *claim_out,
                        struct error *err) NONNULL MUST_CHECK;
/* Renews this owner's leases of those conversations; called each second. */
int webhook_store_renew(struct db *db, const struct uuid *owner, const struct uuid *conversations,
                        size_t n, struct error *err) NONNULL MUST_CHECK;
/* Releases all leases of this owner: its cursors are due to others at once. */
int webhook_store_let_go(struct db *db, const struct uuid *owner,
                         struct error *err) NONNULL MUST_CHECK;

/* The next events for the receiver, oldest first; none when it is up to date. */
int webhook_store_read(struct db *db, const struct webhook_claim *claim,
                       struct event_batch *batch_out, struct error *err) NONNULL MUST_CHECK;

/*
 * Records that claim->state was delivered. ERROR_STALE when the lease is lost; also in the
 * functions below.
 */
int webhook_store_set_told(struct db *db, struct webhook_claim *claim,
                           struct error *err) NONNULL MUST_CHECK;
/* Records that the events up to seq were delivered. */
int webhook_store_set_taken(struct db *db, struct webhook_claim *claim, int64_t seq,
                            struct error *err) NONNULL MUST_CHECK;
/* Releases a cursor that is up to date; it is due again as soon as something is new. */
int webhook_store_release(struct db *db, const struct webhook_claim *claim,
                          struct error *err) NONNULL MUST_CHECK;
/*
 * Records a failed delivery: the cursor is due again after the webhook's retry delay. After too
 * many failures, events beyond the webhook's bounds are dropped, the oldest first.
 */
int webhook_store_fail(struct db *db, const struct webhook_claim *claim, int64_t *n_dropped_out,
                       struct error *err) NONNULL MUST_CHECK;
/* Removes the cursor of a deleted conversation once the receiver was notified. */
int webhook_store_end(struct db *db, const struct webhook_claim *claim,
                      struct error *err) NONNULL MUST_CHECK;

#endif
