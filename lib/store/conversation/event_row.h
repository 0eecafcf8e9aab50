/*
 * Reads an event of a history from a row. Only lib/store includes this.
 */
#ifndef DEFT_STORE_CONVERSATION_EVENT_ROW_H
#define DEFT_STORE_CONVERSATION_EVENT_ROW_H

#include <libpq-fe.h>

#include "base/attr.h"

struct error;
struct history;

/* The columns that event_row_read() expects, for a row of events named e. */
#define EVENT_ROW_COLUMNS "e.seq, e.id, e.kind, e.result_of, e.body, e.fence IS NOT NULL"

/* Adds the event of a row. */
int event_row_read(const PGresult *rows, int row, struct history *history,
                   struct error *err) NONNULL MUST_CHECK;

#endif
