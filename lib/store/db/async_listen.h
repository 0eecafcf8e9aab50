/*
 * Hints for a process that must not block: as hints.h, but through a pipe instead of connections of
 * its own.
 */
#ifndef DEFT_STORE_DB_LIVE_LISTEN_H
#define DEFT_STORE_DB_LIVE_LISTEN_H

#include "base/attr.h"
#include "store/db/hints.h"

struct db_pipe;
struct live_listener;

struct live_listener {
    /* A conversation has new events or state. */
    void (*changed)(void *owner, const char *conversation_id);
    /* A key or session is no longer valid. */
    void (*ended)(void *owner, const char *key_id);
    /* Lines of progress (model/event/progress.h). */
    void (*progressed)(void *owner, const char *lines);
    /* The connection is new: hints of any conversation may have been missed. */
    void (*reset)(void *owner);
    void *owner;
};

/* Takes effect with the next connection; the listener must outlive the pipe. */
void live_listen(struct db_pipe *pipe, const struct live_listener *listener) NONNULL;
/* Sends a hint; lost when PostgreSQL is out of reach. */
void live_hint(struct db_pipe *pipe, enum hint_kind kind, const char *id) NONNULL;

#endif
