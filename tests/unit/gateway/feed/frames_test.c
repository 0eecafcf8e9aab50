/*
 * The content of a stream: its newest events, and the answer in progress.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "gateway/core/frame.h"
#include "gateway/feed/delta_buffer.h"
#include "gateway/feed/event_cache.h"
#include "gateway/feed/model_waits.h"
#include "model/event/progress.h"

static void expect_frame(struct frame *frame, const char *part)
{
    assert_non_null(frame);
    if (strstr((const char *)frame_text(frame), part) == NULL)
        fail_msg("%s is not in %s", part, (const char *)frame_text(frame));
    frame_release(frame);
}

/* --- events --- */

static void the_newest_events_are_kept(void **state)
{
    struct event_cache *cache = event_cache_new();
    struct uuid first = uuid_random();
    struct uuid id = first;

    (void)state;
    for (int64_t seq = 10; seq < 80; seq++) {
        event_cache_add(cache, seq, &id, "{\"n\":1}", 7);
        id = uuid_random();
    }
    assert_null(event_cache_frame(cache, 15, FORM_EVENT));
    assert_null(event_cache_frame(cache, 80, FORM_EVENT));
    assert_false(event_cache_has(cache, &first));
    expect_frame(event_cache_frame(cache, 79, FORM_EVENT), "{\"n\":1}");
    expect_frame(event_cache_frame(cache, 79, FORM_SESSION), "\"seq\":78,\"event\":{\"n\":1}}");
    event_cache_free(cache);
}

static void large_events_push_the_others_out(void **state)
{
    struct event_cache *cache = event_cache_new();
    struct uuid id = uuid_random();
    char *large = mem_alloc((1 << 20) + 1);

    (void)state;
    memset(large, 'x', 1 << 20);
    for (int64_t seq = 1; seq <= 4; seq++)
        event_cache_add(cache, seq, &id, large, 1 << 20);
    assert_null(event_cache_frame(cache, 2, FORM_EVENT));
    expect_frame(event_cache_frame(cache, 3, FORM_EVENT), "xxx");
    event_cache_add(cache, 9, &id, "{}", 2);
    assert_null(event_cache_frame(cache, 4, FORM_EVENT));
    expect_frame(event_cache_frame(cache, 9, FORM_EVENT), "{}");
    mem_free(large);
    event_cache_free(cache);
}

/* --- progress --- */

struct talk {
    struct delta_buffer *log;
    struct uuid item;
};

static void add(struct talk *talk, enum progress_kind kind, int64_t attempt, const char *text)
{
    struct progress progress = {
        .item_id = talk->item, .kind = kind, .attempt = attempt, .anchor_seq = 5, .text = text};

    delta_buffer_add(talk->log, &progress, 5);
}

static struct talk begin_talk(void)
{
    struct talk talk = {.log = delta_buffer_new(7), .item = uuid_random()};

    add(&talk, PROGRESS_STARTED, 1, "");
    add(&talk, PROGRESS_TEXT, 1, "hello");
    return talk;
}

static void pieces_wait_for_their_anchor(void **state)
{
    struct talk talk = begin_talk();
    struct delta_cursor session = {.n_seen = 7};
    struct delta_cursor events = {.n_seen = 7};

    (void)state;
    assert_null(delta_buffer_next(talk.log, &session, 4, FORM_SESSION));
    expect_frame(delta_buffer_next(talk.log, &session, 5, FORM_SESSION), "\"anchor_seq\":4");
    expect_frame(delta_buffer_next(talk.log, &session, 5, FORM_SESSION), "\"content\":\"hello\"");
    assert_null(delta_buffer_next(talk.log, &session, 5, FORM_SESSION));
    expect_frame(delta_buffer_next(talk.log, &events, 5, FORM_EVENT), "StreamingDeltaEvent");
    assert_null(delta_buffer_next(talk.log, &events, 5, FORM_EVENT));
    delta_buffer_free(talk.log);
}

/* Only who has asked for it gets it; an item that is open stays so. */
static void progress_of_tools_is_for_those_that_want_it(void **state)
{
    struct talk talk = begin_talk();
    struct delta_cursor wants = {.n_seen = 7, .wants_tool_progress = true};
    struct delta_cursor session = {.n_seen = 7};
    struct delta_cursor events = {.n_seen = 9, .wants_tool_progress = true};
    const struct progress tool = {.item_id = talk.item,
                                  .kind = PROGRESS_TOOL,
                                  .anchor_seq = 6,
                                  .text = "half",
                                  .done = 2,
                                  .total = 4};

    (void)state;
    delta_buffer_add(talk.log, &tool, 5);
    add(&talk, PROGRESS_TEXT, 1, "more");
    for (size_t i = 0; i < 2; i++) {
        struct delta_cursor *cursor = i == 0 ? &wants : &session;

        expect_frame(delta_buffer_next(talk.log, cursor, 5, FORM_SESSION), "item_started");
        expect_frame(delta_buffer_next(talk.log, cursor, 5, FORM_SESSION), "hello");
        assert_null(delta_buffer_next(talk.log, cursor, 5, FORM_SESSION));
    }
    expect_frame(delta_buffer_next(talk.log, &wants, 6, FORM_SESSION), "\"tool_progress\"");
    expect_frame(delta_buffer_next(talk.log, &wants, 6, FORM_SESSION), "more");
    expect_frame(delta_buffer_next(talk.log, &session, 6, FORM_SESSION), "more");
    expect_frame(delta_buffer_next(talk.log, &events, 6, FORM_EVENT), "more");
    delta_buffer_free(talk.log);
}

static void who_comes_late_sees_no_part_of_an_item(void **state)
{
    struct talk talk = begin_talk();
    struct delta_cursor late = {.n_seen = delta_buffer_count(talk.log)};

    (void)state;
    add(&talk, PROGRESS_TEXT, 1, "more");
    add(&talk, PROGRESS_ABORTED, 1, "interrupted");
    assert_null(delta_buffer_next(talk.log, &late, 5, FORM_SESSION));
    delta_buffer_free(talk.log);
}

static void an_item_that_became_an_event_is_not_aborted(void **state)
{
    struct talk talk = begin_talk();
    struct delta_cursor session = {.n_seen = delta_buffer_count(talk.log)};

    (void)state;
    delta_buffer_see_event(talk.log, &talk.item);
    assert_false(delta_buffer_is_open(talk.log));
    delta_buffer_abort(talk.log, "the run is over", 6);
    assert_null(delta_buffer_next(talk.log, &session, 6, FORM_SESSION));
    delta_buffer_free(talk.log);
}

static void another_item_ends_the_one_before(void **state)
{
    struct talk talk = begin_talk();
    struct delta_cursor session = {.n_seen = 7};

    (void)state;
    add(&talk, PROGRESS_STARTED, 2, "");
    expect_frame(delta_buffer_next(talk.log, &session, 5, FORM_SESSION), "item_started");
    expect_frame(delta_buffer_next(talk.log, &session, 5, FORM_SESSION), "hello");
    expect_frame(delta_buffer_next(talk.log, &session, 5, FORM_SESSION), "item_aborted");
    expect_frame(delta_buffer_next(talk.log, &session, 5, FORM_SESSION), "\"attempt\":2");
    delta_buffer_free(talk.log);
}

/* The next item is heard of before the event that the first one became is read. */
static void an_event_that_is_read_late_is_an_end_all_the_same(void **state)
{
    struct talk talk = begin_talk();
    struct delta_cursor session = {.n_seen = 7};
    struct progress next = {
        .item_id = uuid_random(), .kind = PROGRESS_STARTED, .attempt = 1, .anchor_seq = 7};

    (void)state;
    expect_frame(delta_buffer_next(talk.log, &session, 5, FORM_SESSION), "item_started");
    expect_frame(delta_buffer_next(talk.log, &session, 5, FORM_SESSION), "hello");
    delta_buffer_add(talk.log, &next, 5);
    assert_null(delta_buffer_next(talk.log, &session, 5, FORM_SESSION));
    delta_buffer_see_event(talk.log, &talk.item);
    expect_frame(delta_buffer_next(talk.log, &session, 7, FORM_SESSION), next.item_id.text);
    assert_null(delta_buffer_next(talk.log, &session, 7, FORM_SESSION));
    delta_buffer_free(talk.log);
}

static void an_end_that_another_attempt_follows_says_when(void **state)
{
    struct talk talk = begin_talk();
    struct delta_cursor session = {.n_seen = 7};
    const struct progress end = {.item_id = talk.item,
                                 .kind = PROGRESS_ABORTED,
                                 .attempt = 1,
                                 .text = "busy",
                                 .n_attempts = 5,
                                 .retry_in_ms = 8000};
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    struct progress read = {.n_attempts = 0};
    json_auto_t *json = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    progress_append_line(&end, &line);
    assert_int_equal(
        progress_read(strchr(line.text, '{'), strlen(strchr(line.text, '{')), &json, &read, &err),
        0);
    delta_buffer_add(talk.log, &read, 5);
    expect_frame(delta_buffer_next(talk.log, &session, 5, FORM_SESSION), "item_started");
    expect_frame(delta_buffer_next(talk.log, &session, 5, FORM_SESSION), "hello");
    expect_frame(delta_buffer_next(talk.log, &session, 5, FORM_SESSION),
                 "\"reason\":\"busy\",\"attempts\":5,\"retry_in_ms\":8000");
    delta_buffer_free(talk.log);
}

static void who_lost_the_end_is_told_it(void **state)
{
    struct talk talk = begin_talk();
    struct delta_cursor slow = {.n_seen = 7};
    int n_ends = 0;

    (void)state;
    expect_frame(delta_buffer_next(talk.log, &slow, 5, FORM_SESSION), "item_started");
    add(&talk, PROGRESS_ABORTED, 1, "failed");
    for (int i = 0; i < 200; i++)
        add(&talk, PROGRESS_TEXT, 1, "after the end");
    for (struct frame *frame = delta_buffer_next(talk.log, &slow, 5, FORM_SESSION); frame != NULL;
         frame = delta_buffer_next(talk.log, &slow, 5, FORM_SESSION)) {
        n_ends++;
        expect_frame(frame, "item_aborted");
    }
    assert_int_equal(n_ends, 1);
    delta_buffer_free(talk.log);
}

static struct progress failed_attempt(int64_t attempt)
{
    return (struct progress){.item_id = uuid_random(),
                             .kind = PROGRESS_ABORTED,
                             .attempt = attempt,
                             .anchor_seq = 5,
                             .text = "busy",
                             .n_attempts = 5,
                             .retry_in_ms = 8000};
}

static void an_attempt_that_was_not_begun_is_told_as_a_whole_item(void **state)
{
    struct delta_buffer *log = delta_buffer_new(7);
    struct delta_cursor session = {.n_seen = 7};
    struct delta_cursor events = {.n_seen = 7};
    const struct progress failed = failed_attempt(2);

    (void)state;
    delta_buffer_add(log, &failed, 5);
    assert_false(delta_buffer_is_open(log));
    expect_frame(delta_buffer_next(log, &session, 5, FORM_SESSION), "item_started");
    expect_frame(delta_buffer_next(log, &session, 5, FORM_SESSION),
                 "\"attempt\":2,\"reason\":\"busy\",\"attempts\":5,\"retry_in_ms\":8000");
    assert_null(delta_buffer_next(log, &session, 5, FORM_SESSION));
    assert_null(delta_buffer_next(log, &events, 5, FORM_EVENT));
    delta_buffer_free(log);
}

/* A job may ask a model while a run's answer is told. */
static void an_attempt_beside_an_answer_is_not_told(void **state)
{
    struct talk talk = begin_talk();
    struct delta_cursor session = {.n_seen = 7};
    const struct progress failed = failed_attempt(1);

    (void)state;
    delta_buffer_add(talk.log, &failed, 5);
    add(&talk, PROGRESS_TEXT, 1, "more");
    expect_frame(delta_buffer_next(talk.log, &session, 5, FORM_SESSION), "item_started");
    expect_frame(delta_buffer_next(talk.log, &session, 5, FORM_SESSION), "hello");
    expect_frame(delta_buffer_next(talk.log, &session, 5, FORM_SESSION), "more");
    assert_null(delta_buffer_next(talk.log, &session, 5, FORM_SESSION));
    delta_buffer_free(talk.log);
}

/* Its event is stored, and not read yet. */
static void an_attempt_behind_an_answer_is_told(void **state)
{
    struct talk talk = begin_talk();
    struct delta_cursor session = {.n_seen = delta_buffer_count(talk.log)};
    struct progress failed = failed_attempt(1);

    (void)state;
    failed.anchor_seq = 7;
    delta_buffer_add(talk.log, &failed, 5);
    delta_buffer_see_event(talk.log, &talk.item);
    expect_frame(delta_buffer_next(talk.log, &session, 7, FORM_SESSION), failed.item_id.text);
    expect_frame(delta_buffer_next(talk.log, &session, 7, FORM_SESSION), "\"attempts\":5");
    assert_null(delta_buffer_next(talk.log, &session, 7, FORM_SESSION));
    delta_buffer_free(talk.log);
}

/* --- what was told before a socket came --- */

static void hear(struct model_waits *waits, const struct progress *progress, int64_t now_ms)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;

    progress_append_line(progress, &line);
    model_waits_hear(waits, progress->conversation_id.text, strchr(line.text, '{'), now_ms);
}

static void a_wait_is_known_until_its_answer_comes(void **state)
{
    struct model_waits *waits = model_waits_new();
    struct progress failed = failed_attempt(2);
    struct progress ended = {.attempt = 0};
    struct uuid other = uuid_random();
    const char *id = failed.conversation_id.text;

    (void)state;
    failed.conversation_id = uuid_random();
    assert_false(model_waits_find(waits, id, 5, 1000, &ended));
    assert_int_equal(model_waits_heard_ms(waits, id), -1);
    hear(waits, &failed, 1000);
    assert_true(model_waits_find(waits, id, 5, 4000, &ended));
    assert_string_equal(ended.text, "busy");
    assert_int_equal(ended.attempt, 2);
    assert_int_equal(ended.n_attempts, 5);
    assert_int_equal(ended.retry_in_ms, 5000);
    assert_int_equal(model_waits_heard_ms(waits, id), 1000);
    assert_true(model_waits_find(waits, id, 5, 20000, &ended));
    assert_int_equal(ended.retry_in_ms, 0);
    assert_false(model_waits_find(waits, id, 6, 4000, &ended));
    assert_false(model_waits_find(waits, other.text, 5, 4000, &ended));
    assert_int_equal(ended.gives_up_in_ms, 0);
    failed.gives_up_in_ms = 60000;
    hear(waits, &failed, 1000);
    assert_true(model_waits_find(waits, id, 5, 4000, &ended));
    assert_int_equal(ended.gives_up_in_ms, 57000);
    assert_true(model_waits_find(waits, id, 5, 61000, &ended));
    assert_int_equal(ended.gives_up_in_ms, 1);
    failed.gives_up_in_ms = 0;
    failed.kind = PROGRESS_TEXT;
    failed.n_attempts = 0;
    failed.text = "\"attempts\": words";
    hear(waits, &failed, 9000);
    assert_false(model_waits_find(waits, id, 5, 9000, &ended));
    assert_int_equal(model_waits_heard_ms(waits, id), 9000);
    model_waits_free(waits);
}

static void the_conversations_heard_of_last_are_known(void **state)
{
    struct model_waits *waits = model_waits_new();
    struct progress failed = failed_attempt(1);
    struct uuid first = uuid_random();
    struct uuid second = uuid_random();
    struct progress ended = {.attempt = 0};

    (void)state;
    failed.conversation_id = first;
    hear(waits, &failed, 1);
    failed.conversation_id = second;
    hear(waits, &failed, 2);
    failed.conversation_id = first;
    hear(waits, &failed, 3);
    for (int i = 0; i < MODEL_WAITS_MAX - 1; i++) {
        failed.conversation_id = uuid_random();
        hear(waits, &failed, 4);
    }
    assert_true(model_waits_find(waits, first.text, 5, 4, &ended));
    assert_false(model_waits_find(waits, second.text, 5, 4, &ended));
    assert_true(model_waits_find(waits, failed.conversation_id.text, 5, 4, &ended));
    model_waits_free(waits);
}

static void the_first_frame_tells_a_long_silence_alone(void **state)
{
    (void)state;
    expect_frame(frame_sync(&(struct sync){-1, 4, SYNC_SILENT_MS}),
                 "{\"type\":\"sync\",\"from_seq\":-1,\"through_seq\":4,\"silent_ms\":20000}");
    expect_frame(frame_sync(&(struct sync){-2, 4, SYNC_SILENT_MS - 1}),
                 "{\"type\":\"sync\",\"through_seq\":4}");
    expect_frame(frame_sync(&(struct sync){0, 0, 0}),
                 "{\"type\":\"sync\",\"from_seq\":0,\"through_seq\":0}");
    expect_frame(frame_sync(&(struct sync){-1, -1, 0}), "{\"type\":\"sync\",\"from_seq\":-1}");
}

static void lines_say_what_was_written(void **state)
{
    struct progress written = {.conversation_id = uuid_random(),
                               .item_id = uuid_random(),
                               .kind = PROGRESS_REASONING,
                               .attempt = 3,
                               .order = 4,
                               .anchor_seq = 5,
                               .text = "a \"b\"\n\xc3\xbc",
                               .chunk_id = "chatcmpl-1"};
    struct progress read = {.conversation_id = written.conversation_id};
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    json_auto_t *json = NULL;
    struct error err = ERROR_INIT;
    const char *at = NULL;

    (void)state;
    progress_append_line(&written, &line);
    assert_null(strchr(line.text, '\n'));
    at = strchr(line.text, ' ') + 1;
    assert_int_equal(progress_read(at, strlen(at), &json, &read, &err), 0);
    assert_string_equal(read.item_id.text, written.item_id.text);
    assert_int_equal(read.kind, PROGRESS_REASONING);
    assert_int_equal(read.attempt, 3);
    assert_int_equal(read.order, 4);
    assert_int_equal(read.anchor_seq, 5);
    assert_string_equal(read.text, written.text);
    assert_string_equal(read.chunk_id, "chatcmpl-1");
    assert_int_equal(progress_read("{\"kind\":\"text\"}", 15, &json, &read, &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_events_are_kept),
        cmocka_unit_test(large_events_push_the_others_out),
        cmocka_unit_test(pieces_wait_for_their_anchor),
        cmocka_unit_test(progress_of_tools_is_for_those_that_want_it),
        cmocka_unit_test(who_comes_late_sees_no_part_of_an_item),
        cmocka_unit_test(an_item_that_became_an_event_is_not_aborted),
        cmocka_unit_test(another_item_ends_the_one_before),
        cmocka_unit_test(an_event_that_is_read_late_is_an_end_all_the_same),
        cmocka_unit_test(an_end_that_another_attempt_follows_says_when),
        cmocka_unit_test(who_lost_the_end_is_told_it),
        cmocka_unit_test(an_attempt_that_was_not_begun_is_told_as_a_whole_item),
        cmocka_unit_test(an_attempt_beside_an_answer_is_not_told),
        cmocka_unit_test(an_attempt_behind_an_answer_is_told),
        cmocka_unit_test(a_wait_is_known_until_its_answer_comes),
        cmocka_unit_test(the_conversations_heard_of_last_are_known),
        cmocka_unit_test(the_first_frame_tells_a_long_silence_alone),
        cmocka_unit_test(lines_say_what_was_written),
    };

    json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
