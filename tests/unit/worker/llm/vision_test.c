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

int vision_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_image_of_the_last_words_asks),
        cmocka_unit_test(an_image_that_was_answered_does_not),
    };

    return cmocka_run_group_tests_name("worker/vision", tests, NULL, NULL);
}
