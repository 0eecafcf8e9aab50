/*
 * Histories for tests, from events as the wire shows them.
 */
#ifndef DEFT_TESTS_UNIT_WORKER_EVENTS_H
#define DEFT_TESTS_UNIT_WORKER_EVENTS_H

#include <jansson.h>

#include "base/attr.h"

struct history;

/* Adds an array of events, as if they had been loaded. */
void history_add_json(struct history *history, const json_t *events) NONNULL;
/* The same from JSON text. */
void history_add_text(struct history *history, const char *events) NONNULL;
/* A file of tests/data/worker as JSON; a new reference. */
json_t *worker_data(const char *name) NONNULL;

#endif
