/*
 * Follows a run from another process: what its model is saying, and what is stored.
 *
 *     if (run_watch_new(db, &id, after_seq, &watch, err) < 0) …
 *     do {
 *         if (run_watch_next(watch, &limits, &update, err) < 0) …
 *     } while (!update.is_over);
 *
 * Ownership: a watch holds a connection until run_watch_free().
 * Threading: belongs to one thread.
 */
#ifndef DEFT_STORE_CONVERSATION_RUN_WATCH_H
#define DEFT_STORE_CONVERSATION_RUN_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "store/conversation/event_store.h"

struct db;
struct error;
struct uuid;

struct run_watch;

/* What is new. Events were committed before the lines of a later answer were sent. */
struct run_update {
    struct event_batch events;
    struct strbuf lines; /* model/event/progress.h, without the id; each ends with a newline */
    bool is_over;        /* no run is requested any more, and these are the last events */
};

/* clang-format off */
#define RUN_UPDATE_INIT {.lines = STRBUF_INIT}
/* clang-format on */

void run_update_done(struct run_update *update);

/* What ends a wait. */
struct run_watch_limits {
    int64_t deadline_ms; /* clock_monotonic_ms() */
    int closed_fd;       /* a socket: its other side closes it; 0: none */
};

/* Begins after that event of the conversation. */
int run_watch_new(struct db *db, const struct uuid *id, int64_t after_seq,
                  struct run_watch **watch_out, struct error *err) NONNULL MUST_CHECK;
void run_watch_free(struct run_watch *watch);
void run_watch_freep(struct run_watch **watch) NONNULL;
/*
 * Waits until there is something new, and replaces *update. ERROR_TIMEOUT after the deadline,
 * ERROR_CANCELLED when closed_fd was closed, ERROR_NOT_FOUND when the conversation is gone. Lines
 * may be lost, events never.
 */
int run_watch_next(struct run_watch *watch, const struct run_watch_limits *limits,
                   struct run_update *update, struct error *err) NONNULL MUST_CHECK;

#endif
