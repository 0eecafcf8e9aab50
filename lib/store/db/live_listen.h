/*
 * Hints for a process that must not wait: what hints.h does from a connection of its own, through a
 * pipe.
 */
#ifndef DEFT_STORE_DB_LIVE_LISTEN_H
#define DEFT_STORE_DB_LIVE_LISTEN_H

#include "base/attr.h"
#include "store/db/hints.h"

struct db_pipe;
struct live_listener;

struct live_listener {
    /* A conversation has news. */
    void (*changed)(void *owner, const char *conversation_id);
    /* A key or a session has ended. */
    void (*ended)(void *owner, const char *key_id);
    /* Lines of progress (model/event/progress.h). */
    void (*progressed)(void *owner, const char *lines);
    /* The connection is new: hints may have been missed, of any conversation. */
    void (*reset)(void *owner);
    void *owner;
};

/* From the next connection on; the listener must live as long as the pipe. */
void live_listen(struct db_pipe *pipe, const struct live_listener *listener) NONNULL;
/* Sends a hint; lost when PostgreSQL is out of reach. */
void live_hint(struct db_pipe *pipe, enum hint_kind kind, const char *id) NONNULL;

#endif
