/*
 * A gateway's non-blocking queries: who calls, where a log ends, what is new, and what was before.
 */
#include "store/conversation/async_store.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "model/event/event.h"
#include "store/db/db.h"
#include "store/db/db_async.h"
#include "store/store_fixture.h"
#include "store/user/user_store.h"
#include "support/pg.h"
#include "support/sql.h"

enum { DEADLINE_MS = 60000, LOOK_MS = 100, EVENTS_MAX = 64, BYTES_MAX = 1 << 18 };

/* --- asking --- */

/* The last answer. */
struct heard {
    bool is_over;
    struct error err;
    struct strbuf text; /* "watch:seq," of each event, or the ids that ended */
};

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): queries carry no owner */
static struct heard heard = {.text = STRBUF_INIT};

static void end(const struct error *err)
{
    heard.is_over = true;
    heard.err = err != NULL ? *err : (struct error)ERROR_INIT;
}

static struct db_async *open_async(void)
{
    const struct db_options options = {.url = test_database_url(), .application = "deft-test"};
    struct db_async *async = NULL;
    struct error err = ERROR_INIT;

    assert_done(db_async_open(&options, &async, &err), &err);
    heard.is_over = false;
    return async;
}

/* Waits for the answer, whose error is `answer`. */
static void finish(struct db_async *async)
{
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;

    while (!heard.is_over && clock_monotonic_ms() < deadline_ms) {
        struct pollfd wait = {.fd = db_async_fd(async), .events = POLLIN};

        db_async_pump(async);
        if (!heard.is_over)
            (void)poll(&wait, 1, LOOK_MS);
    }
    assert_true(heard.is_over);
    db_async_free(async);
}

/* --- events --- */

/* Adds n events, and a last one of so many bytes; 0: none. */
static void add_events(const struct store_fixture *fixture, struct conversation *conversation,
                       size_t n, size_t n_bytes)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const struct conversation_write write = {.guard = GUARD_NONE};
    struct error err = ERROR_INIT;

    for (size_t i = 0; i < n; i++)
        event_add_pause(&events);
    for (size_t i = 0; i < n_bytes; i++)
        strbuf_append_char(&text, 'x');
    if (n_bytes > 0)
        event_add_conversation_error(&events, "Large", text.text);
    assert_done(conversation_store_write(fixture->db, conversation, &events, &write, &err), &err);
}

static void set_row(const struct conversation *conversation, const char *assignments)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "UPDATE conversations SET %s WHERE id = '%s'", assignments,
                   conversation->id.text);
    test_sql(sql.text);
}

/* --- where a socket begins --- */

static void on_position(struct position_query *query, const struct error *err)
{
    (void)query;
    end(err);
}

static struct position_query find_position(const struct uuid *id, const struct uuid *user_id,
                                           const char *session, const char *since)
{
    struct position_query query = {.conversation_id = *id,
                                   .user_id = *user_id,
                                   .runtime_session = session,
                                   .since = since,
                                   .silent_ms = 77,
                                   .done = on_position};
    struct db_async *async = open_async();

    async_store_find_position(async, &query);
    finish(async);
    return query;
}

static void position_is_the_logs_end(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    struct position_query query;

    query = find_position(&made.id, &fixture->user_id, NULL, NULL);
    assert_int_equal(heard.err.code, ERROR_NONE);
    assert_int_equal(query.last_seq, 0);
    assert_int_equal(query.since_seq, 0);
    assert_int_equal(query.silent_ms, 0);
    add_events(fixture, &made, 3, 0);
    set_row(&made, "snapshot_version = 9");
    query = find_position(&made.id, &fixture->user_id, "u-test", NULL);
    assert_int_equal(heard.err.code, ERROR_NONE);
    assert_int_equal(query.last_seq, 3);
    assert_int_equal(query.since_seq, 3);
    assert_int_equal(query.snapshot_version, 9);
    assert_int_equal(query.silent_ms, 0);
}

static void position_is_before_the_first_event_since(void **state)
{
    static const struct {
        const char *since;
        int64_t seq;
    } cases[] = {{"2020-01-01T00:00:00", 0},
                 {"2026-01-01T00:00:01.000000", 0},
                 {"2026-01-01T00:00:01.000001", 1},
                 {"2026-01-01T00:00:03.000000", 2},
                 {"2030-01-01T00:00:00", 3}};
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    add_events(fixture, &made, 3, 0);
    strbuf_appendf(&sql,
                   "UPDATE events SET timestamp = '2026-01-01T00:00:0' || seq || '.000000'"
                   " WHERE conversation_id = '%s'",
                   made.id.text);
    test_sql(sql.text);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(find_position(&made.id, &fixture->user_id, NULL, cases[i].since).since_seq,
                         cases[i].seq);
}

static void run_is_silent_since_its_newest_event(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct position_query query;

    set_row(&made, "execution_status = 'running'");
    assert_int_equal(find_position(&made.id, &fixture->user_id, NULL, NULL).silent_ms, 0);
    add_events(fixture, &made, 1, 0);
    strbuf_appendf(&sql,
                   "UPDATE events SET timestamp = to_char((now() - interval '90 s') AT TIME ZONE"
                   " 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US') WHERE conversation_id = '%s'",
                   made.id.text);
    test_sql(sql.text);
    query = find_position(&made.id, &fixture->user_id, NULL, NULL);
    assert_in_range(query.silent_ms, 90000, 90000 + DEADLINE_MS);
    set_row(&made, "execution_status = 'idle'");
    assert_int_equal(find_position(&made.id, &fixture->user_id, NULL, NULL).silent_ms, 0);
}

static void conversation_of_others_has_no_position(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    struct uuid other = uuid_random();

    (void)find_position(&made.id, &other, NULL, NULL);
    assert_int_equal(heard.err.code, ERROR_NOT_FOUND);
    (void)find_position(&made.id, &fixture->user_id, "u-other", NULL);
    assert_int_equal(heard.err.code, ERROR_NOT_FOUND);
    assert_non_null(strstr(heard.err.message, made.id.text));
}

/* --- new events --- */

static void on_event(struct new_events_query *query, const struct fresh_event *event)
{
    assert_int_equal(strlen(event->body), event->body_len);
    assert_non_null(strstr(event->body, event->id.text));
    assert_int_equal(query->watches[event->watch].last_seq, event->seq);
    strbuf_appendf(&heard.text, "%zu:%d,", event->watch, (int)event->seq);
}

static void on_news(struct new_events_query *query, const struct error *err)
{
    (void)query;
    end(err);
}

static void read_new(struct watched *watches, size_t n)
{
    struct new_events_query query = {
        .watches = watches, .n = n, .event = on_event, .done = on_news};
    struct db_async *async = open_async();

    strbuf_reset(&heard.text);
    strbuf_append(&heard.text, "");
    async_store_read_new(async, &query);
    finish(async);
    assert_int_equal(heard.err.code, ERROR_NONE);
}

static void news_of_each_watch_come_in_order(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation first = store_create(fixture);
    CLEANUP(conversation_done) struct conversation second = store_create(fixture);
    CLEANUP(conversation_done) struct conversation quiet = store_create(fixture);
    struct watched watches[4] = {{.conversation_id = first.id},
                                 {.conversation_id = uuid_random()},
                                 {.conversation_id = quiet.id, .is_gone = true},
                                 {.conversation_id = second.id, .last_seq = 1}};

    add_events(fixture, &first, 2, 0);
    add_events(fixture, &second, 2, 0);
    set_row(&second, "snapshot_version = 5");
    read_new(watches, 4);
    assert_string_equal(heard.text.text, "0:1,0:2,3:2,");
    assert_false(watches[0].is_gone);
    assert_true(watches[1].is_gone);
    assert_true(watches[2].is_gone); /* left as it was: nothing is known of it */
    assert_int_equal(watches[3].snapshot_version, 5);
    for (size_t i = 0; i < 4; i++)
        assert_false(watches[i].has_more);
    watches[2].is_gone = false;
    read_new(watches, 4);
    assert_string_equal(heard.text.text, "");
    assert_false(watches[2].is_gone);
    set_row(&first, "snapshot_version = 6");
    read_new(watches, 4);
    assert_string_equal(heard.text.text, "");
    assert_int_equal(watches[0].snapshot_version, 6);
    strbuf_done(&heard.text);
}

static void full_answer_has_more(void **state)
{
    static const struct {
        size_t n_small;
        size_t n_bytes; /* of one after them */
        int64_t last_seq;
        bool has_more;
    } cases[] = {
        {EVENTS_MAX - 1, 0, EVENTS_MAX - 1, false},
        {EVENTS_MAX, 0, EVENTS_MAX, true},
        {EVENTS_MAX + 1, 0, EVENTS_MAX, true},
        {0, BYTES_MAX * 2, 1, true},
        {1, BYTES_MAX, 1, false},
        {1, BYTES_MAX / 2, 2, true},
        {1, BYTES_MAX / 2 - 2000, 2, false},
    };
    const struct store_fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(conversation_done) struct conversation made = store_create(fixture);
        CLEANUP(conversation_done) struct conversation next = store_create(fixture);
        struct watched watches[2] = {{.conversation_id = made.id, .has_more = false},
                                     {.conversation_id = next.id}};

        add_events(fixture, &made, cases[i].n_small, cases[i].n_bytes);
        add_events(fixture, &next, 1, 0);
        read_new(watches, 2);
        assert_int_equal(watches[0].last_seq, cases[i].last_seq);
        assert_int_equal(watches[0].has_more, cases[i].has_more);
        assert_int_equal(watches[1].last_seq, 1);
        assert_false(watches[1].has_more);
    }
    strbuf_done(&heard.text);
}

/* --- older events --- */

static void on_replayed(struct replay_query *query, const struct error *err)
{
    (void)query;
    end(err);
}

static void replay(const struct uuid *id, int64_t after_seq, struct event_batch *batch_out)
{
    struct replay_query query = {
        .conversation_id = *id, .after_seq = after_seq, .done = on_replayed};
    struct db_async *async = open_async();

    async_store_replay(async, &query);
    finish(async);
    *batch_out = query.batch;
}

static void older_events_come_oldest_first(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    CLEANUP(event_batch_done) struct event_batch some = {.n = 0};
    CLEANUP(event_batch_done) struct event_batch none = {.n = 0};
    CLEANUP(event_batch_done) struct event_batch full = {.n = 0};
    struct event_batch gone = {.n = 0};
    struct uuid missing = uuid_random();

    add_events(fixture, &made, EVENTS_MAX + 2, 0);
    set_row(&made, "snapshot_version = 4");
    replay(&made.id, EVENTS_MAX, &some);
    assert_int_equal(heard.err.code, ERROR_NONE);
    assert_int_equal(some.n, 2);
    assert_int_equal(some.snapshot_version, 4);
    assert_int_equal(some.seqs[0], EVENTS_MAX + 1);
    assert_int_equal(some.seqs[1], EVENTS_MAX + 2);
    assert_non_null(strstr(some.bodies[1], "PauseEvent"));
    replay(&made.id, EVENTS_MAX + 2, &none);
    assert_int_equal(none.n, 0);
    assert_int_equal(none.snapshot_version, 4);
    replay(&made.id, 0, &full);
    assert_int_equal(full.n, EVENTS_MAX);
    replay(&missing, 0, &gone);
    assert_int_equal(heard.err.code, ERROR_NOT_FOUND);
    assert_int_equal(gone.n, 0);
}

/* --- how it is --- */

static void on_state(struct state_query *query, const struct error *err)
{
    (void)query;
    end(err);
}

static struct conversation read_state(const struct uuid *id, const struct uuid *user_id,
                                      const char *session)
{
    struct state_query query = {
        .conversation_id = *id, .user_id = *user_id, .runtime_session = session, .done = on_state};
    struct db_async *async = open_async();

    async_store_read_state(async, &query);
    finish(async);
    return query.conversation;
}

static void state_is_the_row_within_the_scope(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    CLEANUP(conversation_done) struct conversation read = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation also = CONVERSATION_INIT;
    struct uuid other = uuid_random();

    add_events(fixture, &made, 2, 0);
    set_row(&made, "title = 'Mine'");
    read = read_state(&made.id, &fixture->user_id, NULL);
    assert_int_equal(heard.err.code, ERROR_NONE);
    assert_string_equal(read.id.text, made.id.text);
    assert_string_equal(read.title, "Mine");
    assert_int_equal(read.last_seq, 2);
    also = read_state(&made.id, &fixture->user_id, "u-test");
    assert_int_equal(heard.err.code, ERROR_NONE);
    (void)read_state(&made.id, &fixture->user_id, "u-other");
    assert_int_equal(heard.err.code, ERROR_NOT_FOUND);
    (void)read_state(&made.id, &other, NULL);
    assert_int_equal(heard.err.code, ERROR_NOT_FOUND);
}

/* --- who calls --- */

static void on_caller(struct caller_query *query, const struct error *err)
{
    (void)query;
    end(err);
}

static struct caller_query find_caller(enum caller_kind kind, const char *hash)
{
    struct caller_query query = {.kind = kind, .done = on_caller};
    struct db_async *async = open_async();

    (void)snprintf(query.hash, sizeof(query.hash), "%s", hash);
    async_store_find_caller(async, &query);
    finish(async);
    return query;
}

static void add_key(const struct store_fixture *fixture, const char *hash)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "INSERT INTO api_keys (user_id, name, key_hash) VALUES ('%s', 'k', '%s')",
                   fixture->user_id.text, hash);
    test_sql(sql.text);
}

static void user_key_is_found_until_it_is_revoked(void **state)
{
    static const enum caller_kind kinds[] = {CALLER_USER_KEY, CALLER_SANDBOX_KEY};
    const struct store_fixture *fixture = *state;

    add_key(fixture, "hash-k");
    for (size_t i = 0; i < 2; i++) {
        struct caller_query query = find_caller(kinds[i], "hash-k");

        assert_int_equal(heard.err.code, ERROR_NONE);
        assert_int_equal(query.kind, CALLER_USER_KEY);
        assert_string_equal(query.user_id.text, fixture->user_id.text);
        assert_true(uuid_is_set(&query.key_id));
        assert_string_equal(query.runtime_id, "");
        (void)find_caller(kinds[i], "hash-other");
        assert_int_equal(heard.err.code, ERROR_UNAUTHENTICATED);
    }
    test_sql("UPDATE api_keys SET revoked_at = now() WHERE key_hash = 'hash-k'");
    for (size_t i = 0; i < 2; i++) {
        (void)find_caller(kinds[i], "hash-k");
        assert_int_equal(heard.err.code, ERROR_UNAUTHENTICATED);
    }
}

static void session_is_found_until_it_expires(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct caller_query query;

    strbuf_appendf(&sql,
                   "INSERT INTO sessions (user_id, token_hash, expires_at) VALUES"
                   " ('%s', 'hash-s', now() + interval '1 hour')",
                   fixture->user_id.text);
    test_sql(sql.text);
    query = find_caller(CALLER_SESSION, "hash-s");
    assert_int_equal(heard.err.code, ERROR_NONE);
    assert_string_equal(query.user_id.text, fixture->user_id.text);
    assert_true(uuid_is_set(&query.key_id));
    assert_in_range(query.valid_ms, 3600000 - DEADLINE_MS, 3600000);
    test_sql("UPDATE sessions SET expires_at = now() WHERE token_hash = 'hash-s'");
    (void)find_caller(CALLER_SESSION, "hash-s");
    assert_int_equal(heard.err.code, ERROR_UNAUTHENTICATED);
}

static void sandbox_key_names_its_sandbox(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime runtime = store_add_runtime(fixture);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct caller_query query = find_caller(CALLER_SANDBOX_KEY, runtime.session_key_hash);

    assert_int_equal(heard.err.code, ERROR_NONE);
    assert_int_equal(query.kind, CALLER_SANDBOX_KEY);
    assert_string_equal(query.user_id.text, fixture->user_id.text);
    assert_string_equal(query.runtime_id, runtime.id);
    assert_string_equal(query.runtime_session, runtime.session_id);
    assert_false(query.has_tenant);
    assert_false(uuid_is_set(&query.key_id));
    strbuf_appendf(&sql, "UPDATE runtimes SET status = 'stopped' WHERE id = '%s'", runtime.id);
    test_sql(sql.text);
    (void)find_caller(CALLER_SANDBOX_KEY, runtime.session_key_hash);
    assert_int_equal(heard.err.code, ERROR_UNAUTHENTICATED);
}

static void sandbox_of_a_tenant_is_marked(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime runtime = store_add_runtime(fixture);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "WITH k AS (INSERT INTO runtime_keys (user_id, name, key_hash) VALUES"
                   " ('%s', 'k', '%s') RETURNING id)"
                   " UPDATE runtimes SET tenant_id = k.id FROM k WHERE runtimes.id = '%s'",
                   fixture->user_id.text, runtime.id, runtime.id);
    test_sql(sql.text);
    assert_true(find_caller(CALLER_SANDBOX_KEY, runtime.session_key_hash).has_tenant);
}

/* --- who may no longer call --- */

static void on_ended(struct ended_query *query, const char *id)
{
    (void)query;
    strbuf_appendf(&heard.text, "%s,", id);
}

static void on_all_ended(struct ended_query *query, const struct error *err)
{
    (void)query;
    end(err);
}

static void ended_callers_are_reported(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime lives = store_add_runtime(fixture);
    CLEANUP(runtime_done) struct runtime doomed = store_add_runtime(fixture);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    struct uuid missing = uuid_random();
    struct uuid key = UUID_INIT;
    const char *ids[] = {lives.id, missing.text, doomed.id, key.text};
    struct ended_query query = {.ids = ids, .n = 4, .ended = on_ended, .done = on_all_ended};
    struct db_async *async = NULL;

    add_key(fixture, "hash-live");
    key = find_caller(CALLER_USER_KEY, "hash-live").key_id;
    strbuf_appendf(&sql, "UPDATE runtimes SET desired = 'deleted' WHERE id = '%s'", doomed.id);
    test_sql(sql.text);
    strbuf_append(&heard.text, "");
    async = open_async();
    async_store_find_ended(async, &query);
    finish(async);
    assert_int_equal(heard.err.code, ERROR_NONE);
    strbuf_appendf(&expected, "%s,%s,", missing.text, doomed.id);
    assert_string_equal(heard.text.text, expected.text);
    strbuf_done(&heard.text);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(position_is_the_logs_end),
        cmocka_unit_test(position_is_before_the_first_event_since),
        cmocka_unit_test(run_is_silent_since_its_newest_event),
        cmocka_unit_test(conversation_of_others_has_no_position),
        cmocka_unit_test(news_of_each_watch_come_in_order),
        cmocka_unit_test(full_answer_has_more),
        cmocka_unit_test(older_events_come_oldest_first),
        cmocka_unit_test(state_is_the_row_within_the_scope),
        cmocka_unit_test(user_key_is_found_until_it_is_revoked),
        cmocka_unit_test(session_is_found_until_it_expires),
        cmocka_unit_test(sandbox_key_names_its_sandbox),
        cmocka_unit_test(sandbox_of_a_tenant_is_marked),
        cmocka_unit_test(ended_callers_are_reported),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
