/*
 * The events that a bash feed keeps, and a page that is read for one socket.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "gateway/bash/bash_window.h"
#include "gateway/core/frame.h"

static void push_event(json_t *page, int64_t stamp_us, size_t text_bytes)
{
    CLEANUP(mem_freep) char *text = mem_alloc(text_bytes + 1);
    json_t *event = json_object();
    char stamp[CLOCK_TEXT_BYTES];

    memset(text, 'x', text_bytes);
    text[text_bytes] = '\0';
    clock_format_z(stamp_us, stamp);
    json_put_text(event, "timestamp", stamp);
    json_put_text(event, "stdout", text);
    json_push(json_object_get(page, "items"), event);
}

/* A page of n events with the times first_us, first_us + 1, … */
static json_t *page_of(int64_t first_us, int n, size_t text_bytes)
{
    json_t *page = json_object();

    json_put(page, "items", json_array());
    for (int i = 0; i < n; i++)
        push_event(page, first_us + i, text_bytes);
    return page;
}

static void expect_next(const struct bash_window *window, int64_t *at_us, int64_t stamp_us)
{
    struct frame *frame = bash_window_next(window, at_us);

    assert_non_null(frame);
    assert_int_equal(*at_us, stamp_us);
    frame_release(frame);
}

static void events_come_in_order_and_once(void **state)
{
    CLEANUP(bash_window_done) struct bash_window window = {.n = 0};
    json_auto_t *page = page_of(100, 3, 1);
    int64_t at_us = 0;

    (void)state;
    assert_int_equal(bash_window_slide(&window, page, 0), 102);
    assert_int_equal(bash_window_slide(&window, page, 102), 102);
    for (int64_t stamp_us = 100; stamp_us <= 102; stamp_us++)
        expect_next(&window, &at_us, stamp_us);
    assert_null(bash_window_next(&window, &at_us));
}

static void the_oldest_make_room_in_a_feed(void **state)
{
    CLEANUP(bash_window_done) struct bash_window window = {.n = 0};
    json_auto_t *many = page_of(1, BASH_WINDOW_EVENTS + 2, 1);
    json_auto_t *large = page_of(1000, 1, 3 << 20);
    int64_t at_us = 2;

    (void)state;
    assert_int_equal(bash_window_slide(&window, many, 0), BASH_WINDOW_EVENTS + 2);
    assert_int_equal(window.from_us, 2);
    expect_next(&window, &at_us, 3);
    assert_int_equal(bash_window_slide(&window, large, BASH_WINDOW_EVENTS + 2), 1000);
    assert_int_equal(window.from_us, BASH_WINDOW_EVENTS + 2);
    assert_int_equal(window.n, 1);
}

static void the_newest_wait_when_a_page_is_full(void **state)
{
    CLEANUP(bash_window_done) struct bash_window window = {.n = 0};
    json_auto_t *page = page_of(50, 4, 1 << 20);
    int64_t at_us = 0;

    (void)state;
    bash_window_reset(&window, 0);
    bash_window_fill(&window, page);
    assert_int_equal(window.n, 1);
    expect_next(&window, &at_us, 50);
    bash_window_reset(&window, at_us);
    bash_window_fill(&window, page);
    expect_next(&window, &at_us, 51);
}

static void what_is_no_event_is_passed_over(void **state)
{
    CLEANUP(bash_window_done) struct bash_window window = {.n = 0};
    json_auto_t *page = page_of(7, 1, 1);

    (void)state;
    json_push(json_object_get(page, "items"), json_object());
    json_push(json_object_get(page, "items"), json_null());
    assert_int_equal(bash_window_slide(&window, page, 0), 7);
    assert_int_equal(window.n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_in_order_and_once),
        cmocka_unit_test(the_oldest_make_room_in_a_feed),
        cmocka_unit_test(the_newest_wait_when_a_page_is_full),
        cmocka_unit_test(what_is_no_event_is_passed_over),
    };

    json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
