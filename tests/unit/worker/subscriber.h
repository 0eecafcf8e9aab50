/*
 * A subscriber to the pieces of answers that a worker streams, as a gateway is one.
 *
 * Threading: the test's thread, which also does the worker's part in sending.
 */
#ifndef DEFT_TESTS_UNIT_WORKER_SUBSCRIBER_H
#define DEFT_TESTS_UNIT_WORKER_SUBSCRIBER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "store/db/async_listen.h"

struct db_async;
struct delta_outbox;
struct hints;
struct run_fixture;

enum { LINES_MAX = 200 };

struct subscriber {
    struct hints *hints; /* the worker's */
    struct delta_outbox *outbox;
    struct db_async *async;
    struct async_listener listener;
    bool is_connected;
    struct strbuf heard;
    char *lines[LINES_MAX]; /* the JSON of each, in `heard` */
    size_t n;
};

/* Connects to the fixture's database. */
void subscriber_begin(struct subscriber *subscriber, struct run_fixture *fixture) NONNULL;
void subscriber_end(struct subscriber *subscriber) NONNULL;
/* Sends and receives for a moment. */
void subscriber_serve(struct subscriber *subscriber) NONNULL;
/* Hears all lines up to one whose text is "end", which ends them. */
void subscriber_hear(struct subscriber *subscriber) NONNULL;

#endif
