#include "worker/subscriber.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/uuid.h"
#include "store/db/db.h"
#include "store/db/db_async.h"
#include "store/db/hints.h"
#include "support/pg.h"
#include "worker/delta_outbox.h"
#include "worker/run_fixture.h"

enum { DEADLINE_MS = 30000, LOOK_MS = 100 };

static void on_id(void *owner, const char *id)
{
    (void)owner;
    (void)id;
}

static void on_reset(void *owner)
{
    ((struct subscriber *)owner)->is_connected = true;
}

static void on_progressed(void *owner, const char *lines)
{
    struct subscriber *subscriber = owner;

    strbuf_appendf(&subscriber->heard, "%s\n", lines);
}

void subscriber_serve(struct subscriber *subscriber)
{
    struct pollfd waits[3] = {{.fd = db_async_fd(subscriber->async), .events = POLLIN}};
    int fds[2];

    hints_fds(subscriber->hints, fds);
    waits[1] = (struct pollfd){.fd = fds[0], .events = POLLIN};
    waits[2] = (struct pollfd){.fd = delta_outbox_fd(subscriber->outbox), .events = POLLIN};
    (void)poll(waits, 3, LOOK_MS);
    delta_outbox_pump(subscriber->outbox);
    hints_pump(subscriber->hints);
    db_async_pump(subscriber->async);
}

void subscriber_begin(struct subscriber *subscriber, struct run_fixture *fixture)
{
    const struct db_options options = {
        .url = test_database_url(), .application = "deft-test", .n_connections = 1};
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;
    struct error err = ERROR_INIT;

    *subscriber = (struct subscriber){
        .hints = fixture->context.hints, .outbox = fixture->context.outbox, .heard = STRBUF_INIT};
    subscriber->listener =
        (struct async_listener){on_id, on_id, on_progressed, on_reset, subscriber};
    assert_int_equal(db_async_open(&options, &subscriber->async, &err), 0);
    async_listen(subscriber->async, &subscriber->listener);
    while (!subscriber->is_connected && clock_monotonic_ms() < deadline_ms)
        subscriber_serve(subscriber);
    assert_true(subscriber->is_connected);
}

void subscriber_end(struct subscriber *subscriber)
{
    db_async_free(subscriber->async);
    strbuf_done(&subscriber->heard);
}

void subscriber_hear(struct subscriber *subscriber)
{
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;
    char *at = NULL;

    while (strstr(subscriber->heard.text, "\"end\"") == NULL && clock_monotonic_ms() < deadline_ms)
        subscriber_serve(subscriber);
    subscriber->n = 0;
    for (char *line = strtok_r(subscriber->heard.text, "\n", &at); line != NULL;
         line = strtok_r(NULL, "\n", &at)) {
        assert_true(subscriber->n < LINES_MAX);
        assert_int_equal(line[UUID_TEXT_BYTES - 1], ' ');
        subscriber->lines[subscriber->n++] = line + UUID_TEXT_BYTES;
    }
    assert_true(subscriber->n > 0);
}
