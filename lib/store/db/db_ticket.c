#include "store/db/db_ticket.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/db/db_query.h"

struct db_ticket *ticket_new(const struct db_question *question)
{
    struct db_ticket *ticket = NEW(struct db_ticket);

    assert(question->params.n <= TICKET_MAX_VALUES);
    ticket->question = *question;
    ticket->values = (struct strbuf)STRBUF_INIT;
    for (size_t i = 0; i < question->params.n; i++) {
        const char *value = question->params.values[i];

        ticket->starts[i] = ticket->values.len;
        ticket->is_null[i] = value == NULL;
        if (value != NULL)
            strbuf_append_bytes(&ticket->values, value, strlen(value) + 1);
    }
    ticket->question.params.values = NULL;
    ticket->slot = question->ticket;
    if (ticket->slot != NULL)
        *ticket->slot = ticket;
    return ticket;
}

static void ticket_free(struct db_ticket *ticket)
{
    PQclear(ticket->rows);
    strbuf_done(&ticket->values);
    mem_free(ticket);
}

void ticket_settle(struct db_ticket *ticket, const PGresult *rows, const struct error *err)
{
    if (ticket->slot != NULL)
        *ticket->slot = NULL;
    if (ticket->question.done != NULL)
        ticket->question.done(ticket->question.owner, rows, err);
    ticket_free(ticket);
}

void ticket_line_add(struct ticket_line *line, struct db_ticket *ticket)
{
    if (line->last != NULL)
        line->last->next = ticket;
    else
        line->first = ticket;
    line->last = ticket;
    if (line->unsent == NULL)
        line->unsent = ticket;
}

struct db_ticket *ticket_line_take_first(struct ticket_line *line)
{
    struct db_ticket *ticket = line->first;

    line->first = ticket->next;
    if (line->first == NULL)
        line->last = NULL;
    if (line->unsent == ticket)
        line->unsent = ticket->next;
    return ticket;
}

void ticket_line_put_in_front(struct ticket_line *line, struct ticket_line *front)
{
    if (front->first == NULL)
        return;
    front->last->next = line->first;
    line->first = front->first;
    line->unsent = front->unsent;
    if (line->last == NULL)
        line->last = front->last;
    *front = (struct ticket_line){NULL, NULL, NULL};
}

void ticket_line_fail(struct ticket_line *line, const struct error *why)
{
    struct db_ticket *ticket = line->first;

    *line = (struct ticket_line){NULL, NULL, NULL};
    while (ticket != NULL) {
        struct db_ticket *next = ticket->next;

        ticket_settle(ticket, NULL, why);
        ticket = next;
    }
}

/* A read-only question is sent again on the next connection, once. */
static bool may_ask_again(const struct db_ticket *ticket)
{
    return !ticket->was_asked && ticket->question.effect == DB_PIPE_READS;
}

void ticket_line_sort_out(struct ticket_line *line, const struct error *why)
{
    const struct db_ticket *first_unsent = line->unsent;
    struct db_ticket *ticket = line->first;
    bool is_sent = true;

    *line = (struct ticket_line){NULL, NULL, NULL};
    while (ticket != NULL) {
        struct db_ticket *next = ticket->next;

        is_sent = is_sent && ticket != first_unsent;
        ticket->next = NULL;
        PQclear(TAKE_PTR(ticket->rows));
        if (is_sent && !may_ask_again(ticket)) {
            ticket_settle(ticket, NULL, why);
        } else {
            ticket->was_asked = is_sent;
            ticket_line_add(line, ticket);
        }
        ticket = next;
    }
    line->unsent = line->first;
}

void ticket_line_drop(struct ticket_line *line)
{
    while (line->first != NULL) {
        struct db_ticket *ticket = ticket_line_take_first(line);

        if (ticket->slot != NULL)
            *ticket->slot = NULL;
        ticket_free(ticket);
    }
}
