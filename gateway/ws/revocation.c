#include "gateway/ws/revocation.h"

#include <stddef.h>

#include <libwebsockets.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/core/connection.h"
#include "store/db/db_async.h"

static void query_callers(struct revocation *revocation);

static void on_ended(struct ended_query *query, const char *id)
{
    const struct revocation *revocation = lws_container_of(query, struct revocation, query);
    const struct revocable *socket = NULL;

    LIST_FOREACH (socket, &revocation->sockets, link) {
        if (text_equal(socket->credential_id, id))
            connection_close(socket->connection, CONNECTION_UNAUTHENTICATED);
    }
}

static void doubt_all(const struct revocation *revocation)
{
    struct revocable *socket = NULL;

    LIST_FOREACH (socket, &revocation->sockets, link)
        socket->is_doubted = true;
}

/* PostgreSQL is unavailable: the pipe delays the next query until it has reconnected. */
static void on_done(struct ended_query *query, const struct error *err)
{
    struct revocation *revocation = lws_container_of(query, struct revocation, query);

    mem_free(TAKE_PTR(revocation->asked));
    if (err != NULL) {
        log_warning("revocation.check_failed", LOG_INT("keys", (int64_t)query->n), LOG_ERROR(err));
        doubt_all(revocation);
    }
    query_callers(revocation);
}

/* Skips a repeated id: sockets with the same key usually connect one after the other. */
static void collect(struct revocation *revocation, size_t n_doubted)
{
    struct ended_query *query = &revocation->query;
    struct revocable *socket = NULL;

    revocation->asked = mem_alloc_array(n_doubted, sizeof(*revocation->asked));
    query->ids = revocation->asked;
    query->n = 0;
    LIST_FOREACH (socket, &revocation->sockets, link) {
        const char *id = socket->credential_id;

        if (!socket->is_doubted)
            continue;
        socket->is_doubted = false;
        if (query->n == 0 || !text_equal(revocation->asked[query->n - 1], id))
            revocation->asked[query->n++] = id;
    }
}

static void query_callers(struct revocation *revocation)
{
    const struct revocable *socket = NULL;
    size_t n_doubted = 0;

    if (revocation->asked != NULL)
        return;
    LIST_FOREACH (socket, &revocation->sockets, link)
        n_doubted += socket->is_doubted;
    if (n_doubted == 0)
        return;
    collect(revocation, n_doubted);
    async_store_find_ended(revocation->back, &revocation->query);
}

void revocation_init(struct revocation *revocation, struct db_async *back)
{
    *revocation = (struct revocation){.back = back, .query = {.ended = on_ended, .done = on_done}};
}

void revocation_done(struct revocation *revocation)
{
    async_query_cancel(&revocation->query.pending);
    mem_free(TAKE_PTR(revocation->asked));
}

void revocation_join(struct revocation *revocation, struct revocable *socket, int64_t n_hints)
{
    if (socket->credential_id[0] == '\0')
        return;
    socket->is_listed = true;
    socket->is_doubted = n_hints != revocation->n_hints;
    LIST_INSERT_HEAD(&revocation->sockets, socket, link);
    if (socket->is_doubted)
        query_callers(revocation);
}

void revocation_leave(struct revocable *socket)
{
    if (!socket->is_listed)
        return;
    LIST_REMOVE(socket, link);
    socket->is_listed = false;
}

void revocation_doubt(struct revocation *revocation, const char *credential_id)
{
    struct revocable *socket = NULL;

    revocation->n_hints++;
    LIST_FOREACH (socket, &revocation->sockets, link) {
        if (text_equal(socket->credential_id, credential_id))
            socket->is_doubted = true;
    }
    query_callers(revocation);
}

void revocation_doubt_all(struct revocation *revocation)
{
    revocation->n_hints++;
    doubt_all(revocation);
    query_callers(revocation);
}
