/*
 * The queue of a pipe's questions: those sent and not yet answered, then those not sent. Only
 * db_pipe.c includes this.
 *
 * Ownership: a line owns its tickets; a settled ticket is freed.
 */
#ifndef DEFT_STORE_DB_DB_TICKET_H
#define DEFT_STORE_DB_DB_TICKET_H

#include <stdbool.h>
#include <stddef.h>

#include <libpq-fe.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "store/db/db_pipe_query.h"

struct error;

enum { TICKET_MAX_VALUES = 32 };

struct db_ticket {
    struct db_ticket *next;
    struct db_ticket **slot; /* where its owner holds it; NULL without an owner */
    struct db_question question;
    struct strbuf values; /* the parameters, each with its NUL */
    size_t starts[TICKET_MAX_VALUES];
    bool is_null[TICKET_MAX_VALUES];
    bool was_asked; /* already sent on a connection that broke */
    bool prepares;  /* first use of its statement on this connection */
    PGresult *rows; /* the latest result other than a sync */
};

struct ticket_line {
    struct db_ticket *first;  /* in the order of asking */
    struct db_ticket *last;   /* NULL when first is */
    struct db_ticket *unsent; /* the first not yet sent */
};

/* Copies the question's parameters. */
struct db_ticket *ticket_new(const struct db_question *question) NONNULL MUST_CHECK;
/* Ends a ticket: calls its owner's done() unless it was forgotten. rows NULL: it failed. */
void ticket_settle(struct db_ticket *ticket, const PGresult *rows, const struct error *err)
    __attribute__((nonnull(1)));

void ticket_line_add(struct ticket_line *line, struct db_ticket *ticket) NONNULL;
struct db_ticket *ticket_line_take_first(struct ticket_line *line) NONNULL MUST_CHECK;
/* Prepends the other line, which is empty afterwards. */
void ticket_line_put_in_front(struct ticket_line *line, struct ticket_line *front) NONNULL;
/* Fails all tickets; owners may ask again, and then join the same line. */
void ticket_line_fail(struct ticket_line *line, const struct error *why) NONNULL;
/*
 * After a lost connection: tickets that were not sent, or may be sent again, stay; the rest fail.
 */
void ticket_line_sort_out(struct ticket_line *line, const struct error *why) NONNULL;
/* Frees all without calling their owners. */
void ticket_line_drop(struct ticket_line *line) NONNULL;

#endif
