/*
 * Reads an event of a history from a row. Only lib/store includes this.
 */
#ifndef DEFT_STORE_CONVERSATION_EVENT_ROW_H
#define DEFT_STORE_CONVERSATION_EVENT_ROW_H

#include <libpq-fe.h>

#include "base/attr.h"

struct error;
struct history;

/* Adds the event of a row with the columns seq, id, kind, result_of and body. */
int event_row_read(const PGresult *rows, int row, struct history *history,
                   struct error *err) NONNULL MUST_CHECK;

#endif
