/*
 * Which events of a long conversation a run still needs: a history can leave out what its newest
 * Condensation made needless, and the next claim loads only the rest. The stored view is derived
 * from the log; without it, the log is loaded whole.
 *
 * Threading: no state; any thread.
 * Decision:  docs/decisions/0082-condensed-views.md
 */
#ifndef DEFT_STORE_CONVERSATION_CONDENSED_VIEW_STORE_H
#define DEFT_STORE_CONVERSATION_CONDENSED_VIEW_STORE_H

#include "base/attr.h"

struct db;
struct error;
struct history;
struct lease;
struct uuid;

/*
 * Fills an empty history with the events of the stored view, up to its Condensation, with their
 * marks and summaries as they were. Without a view that belongs to the log's newest branch, sets
 * only the members branch_seq and parent_seq. event_store_load_after() loads the rest.
 */
int condensed_view_store_load(struct db *db, const struct uuid *conversation_id,
                              struct history *history, struct error *err) NONNULL MUST_CHECK;

/*
 * Replaces the stored view by the history's events up to gap.seq, which is a Condensation's. Does
 * nothing if the lease is lost.
 */
int condensed_view_store_save(struct db *db, const struct lease *lease,
                              const struct history *history, struct error *err) NONNULL MUST_CHECK;

#endif
