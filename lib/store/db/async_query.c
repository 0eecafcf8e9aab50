#include "store/db/async_query.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/db/db_query.h"

struct async_query *async_query_new(const struct async_statement *statement)
{
    struct async_query *query = NEW(struct async_query);

    assert(statement->params.n <= ASYNC_MAX_VALUES);
    query->statement = *statement;
    query->values = (struct strbuf)STRBUF_INIT;
    for (size_t i = 0; i < statement->params.n; i++) {
        const char *value = statement->params.values[i];

        query->starts[i] = query->values.len;
        query->is_null[i] = value == NULL;
        if (value != NULL)
            strbuf_append_bytes(&query->values, value, strlen(value) + 1);
    }
    query->statement.params.values = NULL;
    query->slot = statement->pending;
    if (query->slot != NULL)
        *query->slot = query;
    return query;
}

static void async_query_free(struct async_query *query)
{
    PQclear(query->rows);
    strbuf_done(&query->values);
    mem_free(query);
}

void async_query_finish(struct async_query *query, const PGresult *rows, const struct error *err)
{
    if (query->slot != NULL)
        *query->slot = NULL;
    if (query->statement.done != NULL)
        query->statement.done(query->statement.owner, rows, err);
    async_query_free(query);
}

void async_queue_add(struct async_queue *queue, struct async_query *query)
{
    if (queue->last != NULL)
        queue->last->next = query;
    else
        queue->first = query;
    queue->last = query;
    if (queue->unsent == NULL)
        queue->unsent = query;
}

struct async_query *async_queue_take_first(struct async_queue *queue)
{
    struct async_query *query = queue->first;

    queue->first = query->next;
    if (queue->first == NULL)
        queue->last = NULL;
    if (queue->unsent == query)
        queue->unsent = query->next;
    return query;
}

void async_queue_prepend(struct async_queue *queue, struct async_queue *front)
{
    if (front->first == NULL)
        return;
    front->last->next = queue->first;
    queue->first = front->first;
    queue->unsent = front->unsent;
    if (queue->last == NULL)
        queue->last = front->last;
    *front = (struct async_queue){NULL, NULL, NULL};
}

void async_queue_fail(struct async_queue *queue, const struct error *why)
{
    struct async_query *query = queue->first;

    *queue = (struct async_queue){NULL, NULL, NULL};
    while (query != NULL) {
        struct async_query *next = query->next;

        async_query_finish(query, NULL, why);
        query = next;
    }
}

/* A read-only statement is sent again on the next connection, once. */
static bool may_ask_again(const struct async_query *query)
{
    return !query->was_asked && query->statement.effect == ASYNC_READS;
}

void async_queue_requeue(struct async_queue *queue, const struct error *why)
{
    const struct async_query *first_unsent = queue->unsent;
    struct async_query *query = queue->first;
    bool is_sent = true;

    *queue = (struct async_queue){NULL, NULL, NULL};
    while (query != NULL) {
        struct async_query *next = query->next;

        is_sent = is_sent && query != first_unsent;
        query->next = NULL;
        PQclear(TAKE_PTR(query->rows));
        if (is_sent && !may_ask_again(query)) {
            async_query_finish(query, NULL, why);
        } else {
            query->was_asked = is_sent;
            async_queue_add(queue, query);
        }
        query = next;
    }
    queue->unsent = queue->first;
}

void async_queue_drop(struct async_queue *queue)
{
    while (queue->first != NULL) {
        struct async_query *query = async_queue_take_first(queue);

        if (query->slot != NULL)
            *query->slot = NULL;
        async_query_free(query);
    }
}
