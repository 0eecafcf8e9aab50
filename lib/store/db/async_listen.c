#include "store/db/async_listen.h"

#include <stdint.h>
#include <string.h>

#include <libpq-fe.h>

#include "base/error.h"
#include "base/text.h"
#include "store/db/async_statement.h"

enum { ID_BYTES = 64 };

/* A notification lost in a server crash is replaced by polling. */
static const char SQL_HASTY[] = "SET synchronous_commit = off";
static const char SQL_LISTEN_EVENTS[] = "LISTEN deft_events";
static const char SQL_LISTEN_PROGRESS[] = "LISTEN deft_progress";

static const char SQL_LISTEN_CALLERS[] = "LISTEN deft_callers";

static const char *const statements[] = {SQL_HASTY, SQL_LISTEN_EVENTS, SQL_LISTEN_PROGRESS,
                                         SQL_LISTEN_CALLERS, NULL};

static void on_connected(void *owner)
{
    const struct async_listener *listener = owner;

    listener->reset(listener->owner);
}

static void tell_changed(const struct async_listener *listener, const char *ids)
{
    while (*ids != '\0') {
        size_t len = strcspn(ids, ",");
        char id[ID_BYTES] = "";

        if (len < sizeof(id)) {
            memcpy(id, ids, len);
            listener->changed(listener->owner, id);
        }
        ids += len + (ids[len] == ',' ? 1 : 0);
    }
}

static void on_notified(void *owner, const PGnotify *notify)
{
    const struct async_listener *listener = owner;

    if (text_equal(notify->relname, hint_channel(HINT_EVENTS)))
        tell_changed(listener, notify->extra);
    else if (text_equal(notify->relname, hint_channel(HINT_CALLERS)))
        listener->ended(listener->owner, notify->extra);
    else
        listener->progressed(listener->owner, notify->extra);
}

void async_listen(struct db_async *async, const struct async_listener *listener)
{
    struct db_async_listener listens = {.listens = statements,
                                        .connected = on_connected,
                                        .notified = on_notified,
                                        .owner = (void *)(uintptr_t)listener};

    db_async_listen(async, &listens);
}
