/*
 * Pieces of streamed answers: the lines that subscribers hear, and when they are sent.
 */
#include "worker/delta_outbox.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "store/db/hints.h"
#include "support/json_path.h"
#include "worker/agent_test.h"
#include "worker/subscriber.h"

enum { DEADLINE_MS = 30000 };

/* --- an answer --- */

static struct delta_item new_item(void)
{
    struct delta_item item = {.reasoning = CHUNKS_INIT, .text = CHUNKS_INIT};

    item.progress = (struct progress){
        .conversation_id = uuid_random(), .item_id = uuid_random(), .attempt = 1, .text = ""};
    return item;
}

static void item_done(struct delta_item *item)
{
    delta_chunks_done(&item->reasoning);
    delta_chunks_done(&item->text);
}

static void add_text(struct subscriber *subscriber, struct delta_item *item, const char *text)
{
    delta_outbox_add(subscriber->outbox, item, PROGRESS_TEXT, text, strlen(text));
}

/* A piece of n letters. */
static void add_letters(struct subscriber *subscriber, struct delta_item *item, size_t n)
{
    char *text = malloc(n + 1);

    assert_non_null(text);
    memset(text, 'a', n);
    delta_outbox_add(subscriber->outbox, item, PROGRESS_TEXT, text, n);
    free(text);
}

static void end(struct subscriber *subscriber, struct delta_item *item)
{
    delta_outbox_end(subscriber->outbox, item, PROGRESS_ABORTED, "end");
    subscriber_hear(subscriber);
}

static void pieces_come_together_reasoning_first(void **state)
{
    struct subscriber subscriber;
    struct delta_item item = new_item();

    subscriber_begin(&subscriber, *state);
    add_text(&subscriber, &item, "ab");
    add_text(&subscriber, &item, "");
    add_text(&subscriber, &item, "c");
    delta_outbox_add(subscriber.outbox, &item, PROGRESS_REASONING, "hmm", 2);
    end(&subscriber, &item);
    assert_int_equal(subscriber.n, 3);
    assert_json_at(subscriber.lines[0], "kind", "\"reasoning\"");
    assert_json_at(subscriber.lines[0], "text", "\"hm\"");
    assert_json_at(subscriber.lines[0], "order", "0");
    assert_json_at(subscriber.lines[0], "lengths", NULL);
    assert_json_at(subscriber.lines[1], "kind", "\"text\"");
    assert_json_at(subscriber.lines[1], "text", "\"abc\"");
    assert_json_at(subscriber.lines[1], "lengths", "[2, 1]");
    assert_json_at(subscriber.lines[1], "order", "1");
    assert_json_at(subscriber.lines[2], "kind", "\"item_aborted\"");
    assert_json_at(subscriber.lines[2], "order", "3");
    assert_json_at(subscriber.lines[2], "lengths", NULL);
    item_done(&item);
    subscriber_end(&subscriber);
}

static void pumped_pieces_are_not_sent_again(void **state)
{
    struct subscriber subscriber;
    struct delta_item item = new_item();
    struct delta_item other = new_item();
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;

    subscriber_begin(&subscriber, *state);
    add_text(&subscriber, &item, "a");
    add_text(&subscriber, &other, "b");
    assert_true(item.is_listed && other.is_listed);
    while ((item.is_listed || other.is_listed) && clock_monotonic_ms() < deadline_ms)
        subscriber_serve(&subscriber);
    assert_false(item.is_listed || other.is_listed);
    assert_int_equal(item.text.n + other.text.n, 0);
    assert_int_equal(item.progress.order, 1);
    add_text(&subscriber, &item, "c");
    assert_true(item.is_listed);
    end(&subscriber, &item);
    assert_int_equal(subscriber.n, 4);
    assert_json_at(subscriber.lines[2], "text", "\"c\"");
    assert_json_at(subscriber.lines[2], "order", "1");
    item_done(&item);
    item_done(&other);
    subscriber_end(&subscriber);
}

/* The number of letters in a line's text. */
static void assert_letters(const char *line, size_t n)
{
    const char *text = strstr(line, "\"text\":\"");

    assert_non_null(text);
    assert_int_equal(strspn(text + strlen("\"text\":\""), "a"), n);
}

static void long_piece_is_sent_in_several_lines(void **state)
{
    static const struct {
        size_t n;
        size_t lines[3];
    } cases[] = {{1200, {1200}}, {1201, {1200, 1}}, {2401, {1200, 1200, 1}}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct subscriber subscriber;
        struct delta_item item = new_item();
        size_t n = 0;

        subscriber_begin(&subscriber, *state);
        add_letters(&subscriber, &item, cases[i].n);
        end(&subscriber, &item);
        for (; n < 3 && cases[i].lines[n] > 0; n++) {
            assert_letters(subscriber.lines[n], cases[i].lines[n]);
            assert_json_at(subscriber.lines[n], "lengths", NULL);
        }
        assert_int_equal(subscriber.n, n + 1);
        assert_int_equal(item.progress.order, n);
        item_done(&item);
        subscriber_end(&subscriber);
    }
}

/* A code point of two bytes would be at the end of the first line. */
static void code_points_stay_whole(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct subscriber subscriber;
    struct delta_item item = new_item();

    subscriber_begin(&subscriber, *state);
    for (int i = 0; i < PROGRESS_TEXT_MAX_BYTES - 1; i++)
        strbuf_append_char(&text, 'a');
    strbuf_append(&text, "éz");
    add_text(&subscriber, &item, text.text);
    end(&subscriber, &item);
    assert_int_equal(subscriber.n, 3);
    assert_letters(subscriber.lines[0], PROGRESS_TEXT_MAX_BYTES - 1);
    assert_json_at(subscriber.lines[1], "text", "\"éz\"");
    assert_json_at(subscriber.lines[1], "order", "1");
    item_done(&item);
    subscriber_end(&subscriber);
}

static void line_holds_a_limited_number_of_bytes(void **state)
{
    struct subscriber subscriber;
    struct delta_item item = new_item();

    subscriber_begin(&subscriber, *state);
    add_letters(&subscriber, &item, 600);
    add_letters(&subscriber, &item, 600);
    add_letters(&subscriber, &item, 601);
    end(&subscriber, &item);
    assert_int_equal(subscriber.n, 3);
    assert_json_at(subscriber.lines[0], "lengths", "[600, 600]");
    assert_letters(subscriber.lines[1], 601);
    assert_json_at(subscriber.lines[1], "order", "2");
    item_done(&item);
    subscriber_end(&subscriber);
}

static void line_holds_a_limited_number_of_pieces(void **state)
{
    struct subscriber subscriber;
    struct delta_item item = new_item();

    subscriber_begin(&subscriber, *state);
    for (int i = 0; i < PROGRESS_CHUNKS_MAX + 2; i++)
        add_text(&subscriber, &item, "a");
    end(&subscriber, &item);
    assert_int_equal(subscriber.n, 3);
    assert_letters(subscriber.lines[0], PROGRESS_CHUNKS_MAX);
    assert_json_at(subscriber.lines[0], "lengths[63]", "1");
    assert_json_at(subscriber.lines[0], "lengths[64]", NULL);
    assert_json_at(subscriber.lines[1], "lengths", "[1, 1]");
    assert_json_at(subscriber.lines[1], "order", "64");
    item_done(&item);
    subscriber_end(&subscriber);
}

/* Once its event is about to be stored, nothing of the answer follows. */
static void item_that_left_is_sent_at_once(void **state)
{
    struct subscriber subscriber;
    struct delta_item item = new_item();
    struct delta_item other = new_item();

    subscriber_begin(&subscriber, *state);
    add_text(&subscriber, &item, "a");
    delta_outbox_leave(subscriber.outbox, &item);
    assert_false(item.is_listed);
    assert_int_equal(item.text.n, 0);
    delta_outbox_leave(subscriber.outbox, &item);
    item_done(&item);
    add_text(&subscriber, &other, "b");
    end(&subscriber, &other);
    assert_int_equal(subscriber.n, 3);
    assert_json_at(subscriber.lines[0], "text", "\"a\"");
    assert_json_at(subscriber.lines[1], "text", "\"b\"");
    item_done(&other);
    subscriber_end(&subscriber);
}

/* Pumps until the item is sent. */
static void pump_until_sent(struct subscriber *subscriber, struct delta_item *item)
{
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;

    while (item->is_listed && clock_monotonic_ms() < deadline_ms) {
        struct pollfd wait = {.fd = delta_outbox_fd(subscriber->outbox), .events = POLLIN};

        (void)poll(&wait, 1, DEADLINE_MS);
        delta_outbox_pump(subscriber->outbox);
    }
    assert_false(item->is_listed);
}

/* After 2000 lines the next batch is gathered for 10 + 200 ms. */
static void much_that_was_sent_delays_the_next_batch(void **state)
{
    enum { LINES = 2000, PAUSE_MS = 10 + LINES / 10 };
    struct run_fixture *fixture = *state;
    struct subscriber subscriber = {.outbox = fixture->context.outbox};
    struct delta_item item = new_item();
    int64_t began_ms = 0;

    add_letters(&subscriber, &item, (size_t)LINES * PROGRESS_TEXT_MAX_BYTES);
    began_ms = clock_monotonic_ms();
    pump_until_sent(&subscriber, &item);
    assert_int_equal(item.progress.order, LINES);
    add_text(&subscriber, &item, "a");
    pump_until_sent(&subscriber, &item);
    assert_int_equal(item.progress.order, LINES + 1);
    assert_true(clock_monotonic_ms() - began_ms >= PAUSE_MS);
    item_done(&item);
}

int delta_outbox_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_come_together_reasoning_first),
        cmocka_unit_test(pumped_pieces_are_not_sent_again),
        cmocka_unit_test(long_piece_is_sent_in_several_lines),
        cmocka_unit_test(code_points_stay_whole),
        cmocka_unit_test(line_holds_a_limited_number_of_bytes),
        cmocka_unit_test(line_holds_a_limited_number_of_pieces),
        cmocka_unit_test(item_that_left_is_sent_at_once),
        cmocka_unit_test(much_that_was_sent_delays_the_next_batch),
    };

    return cmocka_run_group_tests_name("worker/delta_outbox", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}
