#include "worker/agent/llm/vision.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/conversation/event_store.h"
#include "worker/events.h"
#include "worker/worker_test.h"

#define PICTURE                                                                                    \
    "{\"kind\": \"MessageEvent\", \"source\": \"user\", \"llm_message\": {\"role\": \"user\","     \
    " \"content\": [{\"type\": \"text\", \"text\": \"look\"},"                                     \
    " {\"type\": \"image\", \"image_urls\": [\"data:x\"]}]}}"

static bool is_asked(const char *events)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;

    history_add_text(&history, events);
    return vision_is_asked(&history);
}

static void an_image_of_the_last_words_asks(void **state)
{
    (void)state;
    assert_true(is_asked("[" PICTURE "]"));
    assert_true(is_asked("[" PICTURE ", " RUNNING "]"));
    assert_true(is_asked("[" PICTURE ", " USER("well?") "]"));
    assert_true(is_asked("[" PICTURE ", " ACTION("1", "x") ", " RESULT("1", "y") "]"));
}

static void an_image_that_was_answered_does_not(void **state)
{
    (void)state;
    assert_false(is_asked("[" USER("go") "]"));
    assert_false(is_asked("[]"));
    assert_false(is_asked("[" PICTURE ", " AGENT("a cat") ", " USER("and now?") "]"));
    assert_false(is_asked("[" PICTURE ", " AGENT("a cat") ", " USER("a") ", " AGENT("b") "]"));
}

/* Which would be unpacked in each step of a turn. */
static void the_calls_of_the_turn_before_stay_packed(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;

    (void)state;
    history_add_text(&history, "[" PICTURE ", " ACTION("1", "x") ", " RESULT("1", "y") ", " USER(
                                   "and now?") ", " ACTION("2", "x") "]");
    for (size_t i = 0; i < history.n; i++)
        stored_event_pack(&history.items[i]);
    assert_false(vision_is_asked(&history));
    assert_null(history.items[1].body);
    assert_null(history.items[2].body);
    assert_null(history.items[4].body);
}

int vision_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_image_of_the_last_words_asks),
        cmocka_unit_test(an_image_that_was_answered_does_not),
        cmocka_unit_test(the_calls_of_the_turn_before_stay_packed),
    };

    return cmocka_run_group_tests_name("worker/vision", tests, NULL, NULL);
}
