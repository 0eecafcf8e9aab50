/*
 * Hints for a process that must not block: as hints.h, but through a db_async instead of
 * connections of its own.
 */
#ifndef DEFT_STORE_DB_ASYNC_LISTEN_H
#define DEFT_STORE_DB_ASYNC_LISTEN_H

#include "base/attr.h"
#include "store/db/hints.h"

struct db_async;
struct async_listener;

struct async_listener {
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

/* Takes effect with the next connection; the listener must outlive the connection. */
void async_listen(struct db_async *async, const struct async_listener *listener) NONNULL;

#endif
