/*
 * The store's guarantees for reading events: pages without gaps, filters, batches in order.
 */
#include "store/conversation/event_store.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "store/conversation/branch_store.h"
#include "store/db/db.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

#define SECOND_US 1000000LL
#define NEW_YEAR_2100_US 4102444800000000LL

enum { N_EVENTS = 5 };

/* A conversation with one event per second from 2100-01-01T00:00:01 on. */
struct written {
    struct conversation conversation;
    struct uuid ids[N_EVENTS];
};

static void written_done(struct written *written)
{
    conversation_done(&written->conversation);
}

static void add_user_message(struct event_list *events)
{
    json_auto_t *content = json_array();

    json_push(content, text_content("Say Hello, 100%"));
    event_add_user_message(events, content);
}

static void add_agent_message(struct event_list *events)
{
    event_add_agent_message(events, "Hello there", NULL, "response-1");
}

static void add_status(struct event_list *events)
{
    event_add_status(events, STATUS_RUNNING);
}

static void add_note(struct event_list *events)
{
    event_add_environment_message(events, "hello from the \"framework\"\n\\ of Größe");
}

static struct uuid write_event(const struct store_fixture *fixture,
                               struct conversation *conversation,
                               void (*add)(struct event_list *events))
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct conversation_write write = {.guard = GUARD_NONE};
    struct error err = ERROR_INIT;

    /* Times increase: one that is ahead of the clock is followed by the next microsecond. */
    conversation->last_timestamp_us =
        NEW_YEAR_2100_US + (conversation->last_seq + 1) * SECOND_US - 1;
    add(&events);
    assert_done(conversation_store_write(fixture->db, conversation, &events, &write, &err), &err);
    return events.items[0].id;
}

static struct written write_all(const struct store_fixture *fixture)
{
    static void (*const adders[N_EVENTS])(struct event_list *) = {
        add_user_message, add_agent_message, event_add_pause, add_status, add_note,
    };
    struct written written = {.conversation = store_create(fixture)};

    for (size_t i = 0; i < N_EVENTS; i++)
        written.ids[i] = write_event(fixture, &written.conversation, adders[i]);
    return written;
}

/* `n` events in one write, by a client or under a lease. */
static void write_batch(const struct store_fixture *fixture, struct conversation *conversation,
                        const struct lease *lease, size_t n)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct conversation_write write = {.guard = GUARD_NONE};
    struct error err = ERROR_INIT;

    for (size_t i = 0; i < n; i++)
        event_add_environment_message(&events, "one of several");
    assert_done(lease != NULL
                    ? conversation_store_append(fixture->db, lease, conversation, &events, &err)
                    : conversation_store_write(fixture->db, conversation, &events, &write, &err),
                &err);
}

static void load(const struct store_fixture *fixture, struct conversation *conversation)
{
    const struct uuid id = conversation->id;
    struct error err = ERROR_INIT;

    conversation_done(conversation);
    assert_done(conversation_store_load_any(fixture->db, &id, conversation, &err), &err);
}

/* A writer whose clock is ahead of all others': its time is the conversation's last one. */
static void step_clock_ahead(struct conversation *conversation)
{
    conversation->last_timestamp_us += 3600 * SECOND_US;
}

static void times_grow_strictly_whatever_the_clocks_say(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation client = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = store_claim(fixture, &client);
    struct conversation *worker = &claim.conversation;

    write_batch(fixture, &client, NULL, 7);
    load(fixture, worker);
    step_clock_ahead(worker);
    write_batch(fixture, worker, &claim.lease, 1);
    write_batch(fixture, worker, &claim.lease, 5);
    /* By this clock all of it is yet to come. */
    load(fixture, &client);
    write_batch(fixture, &client, NULL, 1);
    write_batch(fixture, &client, NULL, 3);
    load(fixture, worker);
    write_batch(fixture, worker, &claim.lease, 1);
    store_assert_gapless(fixture, &client.id, 18);
}

static void copy_goes_on_after_its_last_event(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation source = store_create(fixture);
    CLEANUP(conversation_done) struct conversation copy = store_new_conversation(fixture);
    const struct fork fork = {.source_id = source.id};
    struct error err = ERROR_INIT;

    step_clock_ahead(&source);
    source.last_timestamp_us += NEW_YEAR_2100_US;
    write_batch(fixture, &source, NULL, 3);
    assert_done(branch_store_fork(fixture->db, &fork, &copy, &err), &err);
    write_batch(fixture, &copy, NULL, 2);
    store_assert_gapless(fixture, &copy.id, 5);
}

static void new_conversation_begins_with_times_that_differ(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_new_conversation(fixture);
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct conversation_write write = {.guard = GUARD_NONE};
    struct error err = ERROR_INIT;
    bool was_there = false;

    for (int i = 0; i < 4; i++)
        event_add_environment_message(&events, "one of the first");
    assert_done(conversation_store_create(fixture->db, &made, &events, &write, &was_there, &err),
                &err);
    store_assert_gapless(fixture, &made.id, 4);
}

static struct event_filter filter_of(const struct written *written)
{
    return (struct event_filter){.conversation_id = written->conversation.id, .limit = 100};
}

/* The page as JSON; a new reference. */
static json_t *search(const struct store_fixture *fixture, const struct event_filter *filter)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_t *page = NULL;
    struct error err = ERROR_INIT;

    assert_done(event_store_search(fixture->db, &fixture->scope, filter, &text, &err), &err);
    assert_done(json_parse(text.text, text.len, &page, &err), &err);
    return page;
}

static void assert_items(const json_t *page, const struct uuid *const *ids, size_t n)
{
    const json_t *items = json_object_get(page, "items");

    assert_int_equal(json_array_size(items), n);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(json_text_or(json_array_get(items, i), "id", ""), ids[i]->text);
}

static void pages_meet_without_gap(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(written_done) struct written written = write_all(fixture);
    struct event_filter filter = filter_of(&written);
    json_auto_t *first = NULL;
    json_auto_t *second = NULL;
    json_auto_t *third = NULL;

    filter.limit = 2;
    first = search(fixture, &filter);
    assert_items(first, (const struct uuid *[]){&written.ids[0], &written.ids[1]}, 2);
    filter.page_id = json_text_or(first, "next_page_id", NULL);
    second = search(fixture, &filter);
    assert_items(second, (const struct uuid *[]){&written.ids[2], &written.ids[3]}, 2);
    filter.page_id = json_text_or(second, "next_page_id", NULL);
    third = search(fixture, &filter);
    assert_items(third, (const struct uuid *[]){&written.ids[4]}, 1);
    assert_true(json_is_null(json_object_get(third, "next_page_id")));
}

static void pages_run_backwards_too(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(written_done) struct written written = write_all(fixture);
    struct event_filter filter = filter_of(&written);
    json_auto_t *first = NULL;
    json_auto_t *second = NULL;

    filter.limit = 3;
    filter.descending = true;
    first = search(fixture, &filter);
    assert_items(first, (const struct uuid *[]){&written.ids[4], &written.ids[3], &written.ids[2]},
                 3);
    filter.page_id = json_text_or(first, "next_page_id", NULL);
    second = search(fixture, &filter);
    assert_items(second, (const struct uuid *[]){&written.ids[1], &written.ids[0]}, 2);
    assert_true(json_is_null(json_object_get(second, "next_page_id")));
}

static void full_last_page_has_no_next(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(written_done) struct written written = write_all(fixture);
    struct event_filter filter = filter_of(&written);
    json_auto_t *page = NULL;

    filter.limit = N_EVENTS;
    page = search(fixture, &filter);
    assert_int_equal(json_array_size(json_object_get(page, "items")), N_EVENTS);
    assert_true(json_is_null(json_object_get(page, "next_page_id")));
}

static void unknown_page_starts_at_the_beginning(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(written_done) struct written written = write_all(fixture);
    struct event_filter filter = filter_of(&written);
    struct uuid unknown = uuid_random();
    json_auto_t *by_unknown = NULL;
    json_auto_t *by_nonsense = NULL;

    filter.limit = 1;
    filter.page_id = unknown.text;
    by_unknown = search(fixture, &filter);
    assert_items(by_unknown, (const struct uuid *[]){&written.ids[0]}, 1);
    filter.page_id = "'; nonsense";
    by_nonsense = search(fixture, &filter);
    assert_items(by_nonsense, (const struct uuid *[]){&written.ids[0]}, 1);
}

struct filter_case {
    const char *kind;
    const char *source;
    const char *body;
    const char *since;
    const char *before;
    int64_t n;
};

static const struct filter_case filter_cases[] = {
    {.n = 5},
    {.kind = "MessageEvent", .n = 3},
    {.kind = "NoEvent", .n = 0},
    {.source = "agent", .n = 1},
    {.source = "user", .n = 2}, /* a pause is the user's */
    {.source = "environment", .n = 2},
    {.body = "HELLO", .n = 3},
    {.body = "0%", .n = 1}, /* no pattern, just text */
    {.body = "%", .n = 1},
    {.body = "MessageEvent", .n = 0}, /* the texts alone are searched */
    {.body = "hello", .source = "agent", .n = 1},
    {.body = "THE \"frame", .n = 1}, /* what JSON writes in another way */
    {.body = "work\"\n\\ of", .n = 1},
    {.body = "\\n", .n = 0},
    {.body = "GRÖ", .n = 1},
    {.since = "2100-01-01T00:00:02.000000", .n = 4},
    {.before = "2100-01-01T00:00:02.000000", .n = 1},
    {.since = "2100-01-01T00:00:02.000000", .before = "2100-01-01T00:00:04.000000", .n = 2},
    {.since = "2100-01-01T00:00:06", .n = 0},
    {.since = "2100-01-01T00:00:02.000000", .kind = "MessageEvent", .n = 2},
};

static void filters_apply_to_pages_and_counts_alike(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(written_done) struct written written = write_all(fixture);

    for (size_t i = 0; i < ARRAY_SIZE(filter_cases); i++) {
        const struct filter_case *one = &filter_cases[i];
        struct event_filter filter = filter_of(&written);
        json_auto_t *page = NULL;
        struct error err = ERROR_INIT;
        int64_t n = -1;

        filter.kind = one->kind;
        filter.source = one->source;
        filter.body = one->body;
        filter.since = one->since;
        filter.before = one->before;
        page = search(fixture, &filter);
        assert_done(event_store_count(fixture->db, &filter, &n, &err), &err);
        if (n != one->n || json_array_size(json_object_get(page, "items")) != (size_t)one->n)
            fail_msg("case %zu: %lld counted, %zu found, %lld expected", i, (long long)n,
                     json_array_size(json_object_get(page, "items")), (long long)one->n);
    }
}

static void stranger_and_other_sandbox_find_nothing(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(written_done) struct written written = write_all(fixture);
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct event_filter filter = filter_of(&written);
    struct conversation_scope stranger = {.user_id = test_user(fixture->db)};
    struct conversation_scope other = {.user_id = fixture->user_id, .runtime_session = "c-other"};
    struct conversation_scope own = {.user_id = fixture->user_id, .runtime_session = "u-test"};
    struct error err = ERROR_INIT;

    assert_int_equal(event_store_search(fixture->db, &stranger, &filter, &text, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(event_store_search(fixture->db, &other, &filter, &text, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(text.len, 0);
    assert_done(event_store_search(fixture->db, &own, &filter, &text, &err), &err);
}

static void conversation_without_events_has_an_empty_page(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    struct event_filter filter = {.conversation_id = made.id, .limit = 10};
    json_auto_t *page = search(fixture, &filter);

    assert_int_equal(json_array_size(json_object_get(page, "items")), 0);
    assert_true(json_is_null(json_object_get(page, "next_page_id")));
}

static void event_is_found_by_its_id(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(written_done) struct written written = write_all(fixture);
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const struct uuid *id = &written.conversation.id;
    struct uuid unknown = uuid_random();
    struct error err = ERROR_INIT;

    assert_done(event_store_get(fixture->db, id, written.ids[2].text, &text, &err), &err);
    assert_non_null(strstr(text.text, written.ids[2].text));
    assert_int_equal(event_store_get(fixture->db, id, unknown.text, &text, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(event_store_get(fixture->db, id, "no-uuid", &text, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(event_store_get(fixture->db, &unknown, written.ids[2].text, &text, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void many_come_in_the_order_of_their_ids(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(written_done) struct written written = write_all(fixture);
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf none = STRBUF_INIT;
    json_auto_t *events = NULL;
    struct uuid unknown = uuid_random();
    struct error err = ERROR_INIT;
    const char *const ids[] = {written.ids[4].text, unknown.text, written.ids[0].text, "no-uuid",
                               written.ids[4].text};

    assert_done(event_store_get_many(fixture->db, &written.conversation.id, ids, ARRAY_SIZE(ids),
                                     &text, &err),
                &err);
    assert_done(json_parse(text.text, text.len, &events, &err), &err);
    assert_int_equal(json_array_size(events), ARRAY_SIZE(ids));
    assert_string_equal(json_text_or(json_array_get(events, 0), "id", ""), written.ids[4].text);
    assert_true(json_is_null(json_array_get(events, 1)));
    assert_string_equal(json_text_or(json_array_get(events, 2), "id", ""), written.ids[0].text);
    assert_true(json_is_null(json_array_get(events, 3)));
    assert_string_equal(json_text_or(json_array_get(events, 4), "id", ""), written.ids[4].text);
    assert_done(event_store_get_many(fixture->db, &written.conversation.id, ids, 0, &none, &err),
                &err);
    assert_string_equal(none.text, "[]");
}

static void history_goes_on_where_it_ended(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(written_done) struct written written = write_all(fixture);
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    struct error err = ERROR_INIT;
    struct uuid late = UUID_INIT;

    assert_done(event_store_load_after(fixture->db, &written.conversation.id, &history, &err),
                &err);
    assert_int_equal(history.n, N_EVENTS);
    assert_int_equal(history.last_timestamp_us, NEW_YEAR_2100_US + N_EVENTS * SECOND_US);
    late = write_event(fixture, &written.conversation, event_add_interrupt);
    assert_done(event_store_load_after(fixture->db, &written.conversation.id, &history, &err),
                &err);
    assert_int_equal(history.n, N_EVENTS + 1);
    assert_int_equal(history.last_seq, N_EVENTS + 1);
    assert_string_equal(history.items[N_EVENTS].id.text, late.text);
    assert_string_equal(history.items[N_EVENTS].kind, "InterruptEvent");
}

static void batches_follow_the_log(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(written_done) struct written written = write_all(fixture);
    CLEANUP(event_batch_done) struct event_batch first = {0};
    CLEANUP(event_batch_done) struct event_batch rest = {0};
    CLEANUP(event_batch_done) struct event_batch none = {0};
    const struct uuid *id = &written.conversation.id;
    struct error err = ERROR_INIT;

    assert_done(event_store_read_batch(fixture->db, id, 0, 2, &first, &err), &err);
    assert_int_equal(first.n, 2);
    assert_int_equal(first.seqs[0], 1);
    assert_non_null(strstr(first.bodies[1], written.ids[1].text));
    assert_done(event_store_read_batch(fixture->db, id, 2, 100, &rest, &err), &err);
    assert_int_equal(rest.n, N_EVENTS - 2);
    assert_int_equal(rest.seqs[rest.n - 1], N_EVENTS);
    assert_done(event_store_read_batch(fixture->db, id, N_EVENTS, 100, &none, &err), &err);
    assert_int_equal(none.n, 0);
    assert_int_equal(none.snapshot_version, 0);
}

static void batch_tells_the_snapshot_version(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    CLEANUP(event_batch_done) struct event_batch batch = {0};
    struct event_list no_events = EVENT_LIST_INIT;
    struct conversation_write bump = {.guard = GUARD_NONE, .bump_snapshot = true};
    struct uuid unknown = uuid_random();
    struct error err = ERROR_INIT;

    assert_done(conversation_store_write(fixture->db, &made, &no_events, &bump, &err), &err);
    assert_done(event_store_read_batch(fixture->db, &made.id, 0, 10, &batch, &err), &err);
    assert_int_equal(batch.n, 0);
    assert_int_equal(batch.snapshot_version, 1);
    assert_int_equal(event_store_read_batch(fixture->db, &unknown, 0, 10, &batch, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

struct since_case {
    const char *since;
    int64_t seq;
};

static void cursor_stands_before_the_first_event_since_then(void **state)
{
    static const struct since_case cases[] = {
        {"2000-01-01T00:00:00.000000", 0},
        {"2100-01-01T00:00:01.000000", 0},
        {"2100-01-01T00:00:01.000001", 1},
        {"2100-01-01T00:00:04.000000", 3},
        {"9999", N_EVENTS},
    };
    const struct store_fixture *fixture = *state;
    CLEANUP(written_done) struct written written = write_all(fixture);
    CLEANUP(conversation_done) struct conversation empty = store_create(fixture);
    struct error err = ERROR_INIT;
    int64_t seq = -1;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_done(event_store_seq_before(fixture->db, &written.conversation.id, cases[i].since,
                                           &seq, &err),
                    &err);
        assert_int_equal(seq, cases[i].seq);
    }
    assert_done(event_store_seq_before(fixture->db, &empty.id, "9999", &seq, &err), &err);
    assert_int_equal(seq, 0);
}

static void stored_text_that_cannot_be_read_is_our_own_fault(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(strbuf_done) struct strbuf page = STRBUF_INIT;
    struct conversation_write write = {.guard = GUARD_NONE};
    struct event_filter filter = {.conversation_id = made.id, .body = "word", .limit = 10};
    struct error err = ERROR_INIT;
    char sql[200];

    event_add_pause(&events);
    assert_done(conversation_store_write(fixture->db, &made, &events, &write, &err), &err);
    (void)snprintf(sql, sizeof(sql),
                   "UPDATE events SET body = '{\"timestamp\": \"never\"}'"
                   " WHERE conversation_id = '%s'",
                   made.id.text);
    test_sql(sql);
    assert_int_equal(event_store_load_after(fixture->db, &made.id, &history, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    (void)snprintf(
        sql, sizeof(sql),
        "UPDATE events SET body = '{ word', kind = 'MessageEvent' WHERE conversation_id = "
        "'%s'",
        made.id.text);
    test_sql(sql);
    assert_int_equal(event_store_load_after(fixture->db, &made.id, &history, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    assert_int_equal(event_store_search(fixture->db, &fixture->scope, &filter, &page, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_meet_without_gap),
        cmocka_unit_test(pages_run_backwards_too),
        cmocka_unit_test(full_last_page_has_no_next),
        cmocka_unit_test(unknown_page_starts_at_the_beginning),
        cmocka_unit_test(filters_apply_to_pages_and_counts_alike),
        cmocka_unit_test(stranger_and_other_sandbox_find_nothing),
        cmocka_unit_test(conversation_without_events_has_an_empty_page),
        cmocka_unit_test(event_is_found_by_its_id),
        cmocka_unit_test(many_come_in_the_order_of_their_ids),
        cmocka_unit_test(history_goes_on_where_it_ended),
        cmocka_unit_test(times_grow_strictly_whatever_the_clocks_say),
        cmocka_unit_test(copy_goes_on_after_its_last_event),
        cmocka_unit_test(new_conversation_begins_with_times_that_differ),
        cmocka_unit_test(batches_follow_the_log),
        cmocka_unit_test(batch_tells_the_snapshot_version),
        cmocka_unit_test(stored_text_that_cannot_be_read_is_our_own_fault),
        cmocka_unit_test(cursor_stands_before_the_first_event_since_then),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
