/*
 * How far each receiver of news was served, conversation by conversation. Nobody who writes to a
 * conversation has a part in this: a look each second compares what is written with what was taken,
 * and notes what is due.
 *
 * A cursor is worked on under a lease; whoever lost it changes nothing any more.
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

/* A cursor that this worker works on. */
struct webhook_claim {
    const struct webhook *webhook; /* borrowed */
    struct uuid owner;
    struct uuid conversation_id;
    int64_t seq;        /* events up to this one were taken */
    char *state;        /* fingerprint of what is to be told */
    bool has_news;      /* the receiver knows another one */
    char *farewell;     /* ConversationInfo of a deleted one, to be told last; NULL: it lives */
    int64_t n_failures; /* in a row, before this claim */
};

void webhook_claim_done(struct webhook_claim *claim);

/* Forgets the receivers that no worker has looked after for a week, and what waits for them. */
int webhook_store_forget(struct db *db, struct error *err) NONNULL MUST_CHECK;
/* Makes the receiver known: it is served from now on, or, if it was known, from where it was. */
int webhook_store_ensure(struct db *db, const struct webhook *webhook,
                         struct error *err) NONNULL MUST_CHECK;
/* Notes what is due of conversations that were written to. Nothing, while another worker does it.
 */
int webhook_store_look(struct db *db, const struct webhook *webhook,
                       struct error *err) NONNULL MUST_CHECK;

/* Claims the cursor that is due the longest; *claimed_out = false when none is. */
int webhook_store_claim(struct db *db, const struct webhook *webhook, const struct uuid *owner,
                        bool *claimed_out, struct webhook_claim *claim_out,
                        struct error *err) NONNULL MUST_CHECK;
/* Renews this owner's leases of those conversations; for each second. */
int webhook_store_renew(struct db *db, const struct uuid *owner, const struct uuid *conversations,
                        size_t n, struct error *err) NONNULL MUST_CHECK;
/* Gives all leases of this owner back: its cursors are due to others at once. */
int webhook_store_let_go(struct db *db, const struct uuid *owner,
                         struct error *err) NONNULL MUST_CHECK;

/* The next events for the receiver, oldest first; none when it has all. */
int webhook_store_read(struct db *db, const struct webhook_claim *claim,
                       struct event_batch *batch_out, struct error *err) NONNULL MUST_CHECK;

/* The receiver has taken claim->state. ERROR_STALE when the lease is lost; so with the following.
 */
int webhook_store_set_told(struct db *db, struct webhook_claim *claim,
                           struct error *err) NONNULL MUST_CHECK;
/* The receiver has taken the events up to seq. */
int webhook_store_set_taken(struct db *db, struct webhook_claim *claim, int64_t seq,
                            struct error *err) NONNULL MUST_CHECK;
/* Nothing more to do for now: lets the cursor go, which is due again as soon as something is new.
 */
int webhook_store_release(struct db *db, const struct webhook_claim *claim,
                          struct error *err) NONNULL MUST_CHECK;
/*
 * The receiver did not take it: the cursor is due again after the webhook's time for that. When it
 * has failed too often, events beyond the webhook's bounds are given up, the oldest first.
 */
int webhook_store_fail(struct db *db, const struct webhook_claim *claim, int64_t *n_dropped_out,
                       struct error *err) NONNULL MUST_CHECK;
/* The conversation is gone, and the receiver knows: forgets the cursor. */
int webhook_store_end(struct db *db, const struct webhook_claim *claim,
                      struct error *err) NONNULL MUST_CHECK;

#endif
