/*
 * What is asked through a pipe, in line: what went out and is yet to be answered, and behind that
 * what did not go out. Only db_pipe.c includes this.
 *
 * Ownership: a line owns its tickets; one that is settled is freed.
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
    struct db_ticket **slot; /* where its owner holds it; NULL when nobody does */
    struct db_question question;
    struct strbuf values; /* the parameters, each with its NUL */
    size_t starts[TICKET_MAX_VALUES];
    bool is_null[TICKET_MAX_VALUES];
    bool was_asked; /* on a connection that broke */
    bool prepares;  /* the first of its statement on this connection */
    PGresult *rows; /* the newest that is no sync */
};

struct ticket_line {
    struct db_ticket *first;  /* in the order of asking */
    struct db_ticket *last;   /* NULL when first is */
    struct db_ticket *unsent; /* the first that did not go out yet */
};

/* Copies the question's parameters. */
struct db_ticket *ticket_new(const struct db_question *question) NONNULL MUST_CHECK;
/* Ends it: its owner hears, unless nobody cares any more. rows NULL: it failed. */
void ticket_settle(struct db_ticket *ticket, const PGresult *rows, const struct error *err)
    __attribute__((nonnull(1)));

void ticket_line_add(struct ticket_line *line, struct db_ticket *ticket) NONNULL;
struct db_ticket *ticket_line_take_first(struct ticket_line *line) NONNULL MUST_CHECK;
/* Puts the other line in front; it is empty afterwards. */
void ticket_line_put_in_front(struct ticket_line *line, struct ticket_line *front) NONNULL;
/* Settles all; owners may ask again, and stand in the line afterwards. */
void ticket_line_fail(struct ticket_line *line, const struct error *why) NONNULL;
/* After a break: what did not go out, or may go out again, stays in line; the rest fails. */
void ticket_line_sort_out(struct ticket_line *line, const struct error *why) NONNULL;
/* Frees all, and tells nobody. */
void ticket_line_drop(struct ticket_line *line) NONNULL;

#endif
