/*
 * Messages that are stored without blocking: what they store, and which hints they send.
 */
#include <poll.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "model/conversation/conversation.h"
#include "store/conversation/async_post.h"
#include "store/conversation/conversation_post.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/log_fixture.h"
#include "store/db/async_listen.h"
#include "store/db/db.h"
#include "store/db/db_async.h"
#include "store/hint_fixture.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"
#include "support/test_catalogue.h"

struct post_end {
    bool is_over;
    struct error err;
};

static void on_posted(struct async_post *post, const struct error *err)
{
    struct post_end *end = post->owner;

    end->is_over = true;
    end->err = err != NULL ? *err : (struct error)ERROR_INIT;
}

static void pump(struct db_async *first, struct db_async *second)
{
    struct pollfd waits[2] = {{.fd = db_async_fd(first), .events = POLLIN},
                              {.fd = db_async_fd(second), .events = POLLIN}};

    (void)poll(waits, 2, 1000);
    db_async_pump(first);
    db_async_pump(second);
}

static void note_reset(void *owner)
{
    *(bool *)owner = true;
}

static void ignore_id(void *owner, const char *id)
{
    (void)owner;
    (void)id;
}

/* A message that says which calls were seen; NULL: it does not. */
static json_t *new_message(const char *seen_calls)
{
    struct error err = ERROR_INIT;
    json_t *message = json_build(&err, "{s:[{s:s, s:s}], s:s}", "content", "type", "text", "text",
                                 "hello", "sender", "bob");

    assert_non_null(message);
    if (seen_calls != NULL)
        json_put(message, "action_ids", json_loads(seen_calls, 0, NULL));
    return message;
}

/* Posts a message within those limits; the hints that were sent for the conversation. */
static unsigned post_message(const struct hint_fixture *fixture, const struct uuid *id,
                             json_t *message, const struct run_limits *limits, struct post_end *end)
{
    const struct db_options options = {.url = test_database_url(), .application = "deft-test"};
    struct error err = ERROR_INIT;
    struct db_async *writer = NULL;
    struct db_async *hints = NULL;
    struct async_post *post = NULL;
    bool is_listening = false;
    const struct async_listener listener = {.changed = ignore_id,
                                            .ended = ignore_id,
                                            .progressed = ignore_id,
                                            .reset = note_reset,
                                            .owner = &is_listening};
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;
    unsigned kinds = 0;

    assert_done(db_async_open(&options, &writer, &err), &err);
    assert_done(db_async_open(&options, &hints, &err), &err);
    async_listen(hints, &listener);
    db_async_set_hints(writer, hints);
    post = async_post_new(writer, &fixture->plain->scope, id, message, limits);
    post->catalogue = test_catalogue();
    post->owner = end;
    post->done = on_posted;
    async_post_start(post);
    db_async_pump(hints);
    while (!end->is_over || !is_listening)
        pump(writer, hints);
    async_post_free(post);
    db_async_free(writer);
    do {
        pump(hints, hints);
        kinds |= hint_fixture_heard(fixture, id);
    } while (end->err.code == ERROR_NONE && kinds != (EVENTS | WORK) &&
             clock_monotonic_ms() < deadline_ms);
    db_async_free(hints);
    return kinds;
}

static unsigned post_within(const struct hint_fixture *fixture, const struct uuid *id,
                            const struct run_limits *limits, struct post_end *end)
{
    json_auto_t *message = new_message(NULL);

    return post_message(fixture, id, message, limits, end);
}

static unsigned post_async(const struct hint_fixture *fixture, const struct uuid *id,
                           struct post_end *end)
{
    const struct run_limits limits = {.n_slots = 1000, .n_queued = 1000};

    return post_within(fixture, id, &limits, end);
}

static void non_blocking_message_without_room_is_stored_without_a_run(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture->plain);
    const struct run_limits none = {.n_slots = 0, .n_queued = 0};
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct post_end end = {.is_over = false};

    (void)post_within(fixture, &made.id, &none, &end);
    assert_int_equal(end.err.code, ERROR_RATE_LIMITED);
    strbuf_appendf(&sql,
                   "SELECT count(*) FROM conversations c WHERE id = '%s' AND wanted_at IS NULL"
                   " AND EXISTS (SELECT 1 FROM events WHERE conversation_id = c.id"
                   "  AND kind = 'MessageEvent')",
                   made.id.text);
    assert_int_equal(test_sql_count(sql.text), 1);
}

static void non_blocking_message_tells_readers_and_workers(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture->plain);
    struct uuid unknown = uuid_random();
    struct post_end end = {.is_over = false};
    struct post_end refused = {.is_over = false};

    assert_int_equal(post_async(fixture, &made.id, &end), EVENTS | WORK);
    assert_int_equal(end.err.code, ERROR_NONE);
    assert_int_equal(post_async(fixture, &unknown, &refused), 0);
    assert_int_equal(refused.err.code, ERROR_NOT_FOUND);
}

static int64_t count_messages(const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "SELECT count(*) FROM events WHERE conversation_id = '%s'"
                   " AND kind = 'MessageEvent' AND body::jsonb ->> 'sender' = 'bob'"
                   " AND body::jsonb #>> '{llm_message,content,0,text}' = 'hello'",
                   id->text);
    return test_sql_count(sql.text);
}

/* The message starts a run, which would execute the call. */
static void message_is_refused_while_a_call_waits_that_it_has_not_seen(void **state)
{
    struct hint_fixture *fixture = *state;
    const struct run_limits limits = {.n_slots = 1000, .n_queued = 1000};
    const struct run_limits none = {.n_slots = 0, .n_queued = 0};
    CLEANUP(test_log_done) struct test_log log = test_log_new(fixture->plain);
    CLEANUP(strbuf_done) struct strbuf ids = STRBUF_INIT;
    json_auto_t *blind = new_message("[]");
    json_auto_t *seeing = NULL;
    struct post_end end = {.is_over = false};

    test_log_add(&log, "uc");
    (void)post_message(fixture, &log.conversation.id, blind, &limits, &end);
    assert_int_equal(end.err.code, ERROR_CONFLICT);
    assert_int_equal(count_messages(&log.conversation.id), 0);
    /* Without room nothing is executed. */
    end.is_over = false;
    (void)post_message(fixture, &log.conversation.id, blind, &none, &end);
    assert_int_equal(end.err.code, ERROR_RATE_LIMITED);
    assert_string_equal(end.err.message, "Conversation run limit reached. The message is stored;"
                                         " request the run again later.");
    assert_int_equal(count_messages(&log.conversation.id), 1);
    strbuf_appendf(&ids, "[\"%s\"]", log.ids[2].text);
    seeing = new_message(ids.text);
    end.is_over = false;
    assert_int_equal(post_message(fixture, &log.conversation.id, seeing, &limits, &end),
                     EVENTS | WORK);
    assert_int_equal(end.err.code, ERROR_NONE);
    assert_int_equal(count_messages(&log.conversation.id), 2);
}

static void change_is_written_with_all_that_it_changes(void **state)
{
    const struct conversation_change plain = {.status = STATUS_PAUSED};
    struct conversation_change whole = {.status = STATUS_RUNNING,
                                        .wants_run = true,
                                        .wants_title = true,
                                        .last_user_message_id = uuid_random()};
    struct conversation_write write = {.guard = GUARD_NONE};
    char title[] = "title";
    char stats[] = "{}";

    (void)state;
    conversation_write_change(&plain, &write);
    assert_string_equal(write.status, "paused");
    assert_false(write.want_run);
    assert_null(write.job.kind);
    assert_null(write.first_title);
    assert_null(write.stats);
    assert_false(uuid_is_set(&write.last_user_message_id));
    whole.first_title = title;
    whole.stats = stats;
    conversation_write_change(&whole, &write);
    assert_string_equal(write.status, "running");
    assert_true(write.want_run);
    assert_string_equal(write.job.kind, "title");
    assert_string_equal(write.first_title, title);
    assert_string_equal(write.stats, stats);
    assert_string_equal(write.last_user_message_id.text, whole.last_user_message_id.text);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(non_blocking_message_tells_readers_and_workers),
        cmocka_unit_test(non_blocking_message_without_room_is_stored_without_a_run),
        cmocka_unit_test(message_is_refused_while_a_call_waits_that_it_has_not_seen),
        cmocka_unit_test(change_is_written_with_all_that_it_changes),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, hint_fixture_set_up, hint_fixture_tear_down);
}
