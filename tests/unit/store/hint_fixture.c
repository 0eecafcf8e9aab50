#include "store/hint_fixture.h"

#include <poll.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/uuid.h"
#include "store/db/db.h"
#include "store/store_fixture.h"
#include "support/pg.h"

int hint_fixture_set_up(void **state)
{
    struct hint_fixture *fixture = NEW(struct hint_fixture);
    struct db_options options = {
        .url = test_database_url(), .application = "deft-test", .n_connections = 4};
    struct error err = ERROR_INIT;
    void *plain = NULL;

    assert_int_equal(store_set_up(&plain), 0);
    fixture->plain = plain;
    assert_done(hints_open(options.url, "deft-test", 0, &fixture->sender, &err), &err);
    assert_done(hints_open(options.url, "deft-test", ALL_KINDS, &fixture->listener, &err), &err);
    hints_pump(fixture->sender);
    hints_pump(fixture->listener);
    options.hints = fixture->sender;
    assert_done(db_open(&options, &fixture->db, &err), &err);
    *state = fixture;
    return 0;
}

int hint_fixture_tear_down(void **state)
{
    struct hint_fixture *fixture = *state;
    void *plain = fixture->plain;

    db_free(fixture->db);
    hints_free(fixture->sender);
    hints_free(fixture->listener);
    assert_int_equal(store_tear_down(&plain), 0);
    mem_free(fixture);
    return 0;
}

static void wait_for_hints(const struct hint_fixture *fixture)
{
    int fds[4];
    struct pollfd waits[4];

    hints_fds(fixture->sender, fds);
    hints_fds(fixture->listener, fds + 2);
    for (size_t i = 0; i < 4; i++)
        waits[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    (void)poll(waits, 4, 1000); /* as main threads do */
    hints_pump(fixture->sender);
    hints_pump(fixture->listener);
}

unsigned hint_fixture_heard(const struct hint_fixture *fixture, const struct uuid *id)
{
    struct uuid end = uuid_random();
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;
    enum hint_kind kind = HINT_N_KINDS;
    unsigned kinds = 0;
    char got[64] = "";

    hints_send(fixture->sender, HINT_CALLERS, end.text);
    while (clock_monotonic_ms() < deadline_ms) {
        while (hints_next(fixture->listener, &kind, got)) {
            if (text_equal(got, id->text))
                kinds |= 1U << kind;
            if (text_equal(got, end.text))
                return kinds;
        }
        wait_for_hints(fixture);
    }
    fail_msg("hints do not arrive");
    return 0;
}
