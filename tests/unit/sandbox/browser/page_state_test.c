/*
 * The state of a page: its elements in all frames, its measures, and pages that change meanwhile.
 */
#include "sandbox/browser/page_state.h"

#include <string.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "sandbox/browser/page_frames.h"
#include "support/json_path.h"
#include "unit/sandbox/browser/fake_browser.h"

#define END {NULL, NULL, NULL}
#define GONE "\"error\":{\"message\":\"gone\"}"
#define VALUE(text) "\"result\":{\"result\":{\"value\":\"" text "\"}}"
#define TREE                                                                                       \
    "\"result\":{\"frameTree\":{\"frame\":{\"id\":\"f1\",\"url\":\"u1\"},\"childFrames\":[{"       \
    "\"frame\":{\"id\":\"f2\",\"url\":\"u2\"}},{\"frame\":{\"id\":\"f3\",\"url\":\"u3\"}}]}}"
#define ONE_FRAME "\"result\":{\"frameTree\":{\"frame\":{\"id\":\"f1\",\"url\":\"u1\"}}}"
#define WORLD(frame)                                                                               \
    "s2 Page.createIsolatedWorld {\"frameId\":\"" frame "\",\"worldName\":\"deft\"}\n"
#define CALL(world, call)                                                                          \
    "s2 Runtime.evaluate {\"contextId\":" world ",\"expression\":\"" call                          \
    "\",\"returnByValue\":true}\n"
#define SETTLES                                                                                    \
    "s2 Runtime.evaluate {\"awaitPromise\":true,\"expression\":\"new Promise(done => "             \
    "setTimeout(done, 100))\"}\n"
#define READ_ONE "s2 Page.getFrameTree {}\n" WORLD("f1") CALL("1", "(ELEMENTS)(2000)")
#define TARGETS "- Target.getTargets {}\n"

static int get_state(struct browser_bench *bench, struct error *err)
{
    json_auto_t *args = json_object();

    return page_state_get(&bench->driver, args, &bench->reply, err);
}

/* A frame that vanished has none. */
static void elements_of_all_frames_are_numbered(void **state)
{
    static const struct fake_answer answers[] = {
        {"Page.getFrameTree", NULL, TREE},
        {"Page.createIsolatedWorld", NULL, "\"result\":{\"executionContextId\":1}"},
        {"Page.createIsolatedWorld", NULL, "\"result\":{\"executionContextId\":2}"},
        {"Page.createIsolatedWorld", NULL, "\"result\":{\"executionContextId\":3}"},
        {"Runtime.evaluate", NULL, VALUE("[{\\\"tag\\\":\\\"a\\\"},{\\\"tag\\\":\\\"b\\\"}]")},
        {"Runtime.evaluate", NULL, GONE},
        {"Runtime.evaluate", NULL, VALUE("[{\\\"tag\\\":\\\"c\\\",\\\"text\\\":\\\"t\\\"}]")},
        {"Target.getTargets", NULL,
         "\"result\":{\"targetInfos\":[{\"targetId\":\"target-0002\",\"url\":\"http://new/\","
         "\"title\":\"new\"}]}"},
        {"Runtime.evaluate", NULL,
         VALUE("{\\\"viewport\\\":[1],\\\"page\\\":[2],\\\"scroll\\\":[3],\\\"other\\\":4}")},
        END};
    struct browser_bench bench;
    struct error err = ERROR_INIT;
    size_t place = 9;

    (void)state;
    fake_browser_begin(&bench, answers);
    assert_int_equal(get_state(&bench, &err), 0);
    assert_json_at(bench.reply.text.text, "url", "\"http://new/\"");
    assert_json_at(bench.reply.text.text, "title", "\"new\"");
    assert_json_at(bench.reply.text.text, "tabs[1].url", "\"http://new/\"");
    assert_json_at(bench.reply.text.text, "interactive_elements",
                   "[{\"index\":0,\"tag\":\"a\",\"text\":\"\"},{\"index\":1,\"tag\":\"b\","
                   "\"text\":\"\"},{\"index\":2,\"tag\":\"c\",\"text\":\"t\"}]");
    assert_json_at(bench.reply.text.text, "viewport", "[1]");
    assert_json_at(bench.reply.text.text, "page", "[2]");
    assert_json_at(bench.reply.text.text, "scroll", "[3]");
    assert_json_at(bench.reply.text.text, "other", NULL);
    assert_null(bench.reply.screenshot);
    assert_string_equal(bench.driver.notes.text, "");
    assert_ptr_equal(page_state_find(&bench.driver, 0, &place), &bench.driver.frames[0]);
    assert_int_equal(place, 0);
    assert_ptr_equal(page_state_find(&bench.driver, 1, &place), &bench.driver.frames[0]);
    assert_int_equal(place, 1);
    assert_ptr_equal(page_state_find(&bench.driver, 2, &place), &bench.driver.frames[2]);
    assert_int_equal(place, 0);
    assert_null(page_state_find(&bench.driver, 3, &place));
    assert_null(page_state_find(&bench.driver, -1, &place));
    bench.driver.current = bench.driver.tabs;
    assert_null(page_state_find(&bench.driver, 1, &place)); /* of the other tab */
    page_frames_clear(&bench.driver);
    fake_browser_end(&bench,
                     "s2 Page.getFrameTree {}\n" WORLD("f1") WORLD("f2") WORLD("f3")
                         CALL("1", "(ELEMENTS)(2000)") CALL("2", "(ELEMENTS)(1998)")
                             CALL("3", "(ELEMENTS)(1998)") TARGETS CALL("1", "(MEASURES)()"));
}

/* Three times at most; a page whose measures are gone has none. */
static void page_that_changes_is_read_again(void **state)
{
    static const struct fake_answer later[] = {
        {"Page.getFrameTree", NULL, ONE_FRAME},
        {"Page.getFrameTree", NULL, ONE_FRAME},
        {"Page.getFrameTree", NULL, ONE_FRAME},
        {"Page.createIsolatedWorld", NULL, "\"result\":{\"executionContextId\":1}"},
        {"Page.createIsolatedWorld", NULL, "\"result\":{\"executionContextId\":1}"},
        {"Page.createIsolatedWorld", NULL, "\"result\":{\"executionContextId\":1}"},
        {"Runtime.evaluate", NULL, GONE},
        {"Runtime.evaluate", NULL, "\"result\":{}"},
        {"Runtime.evaluate", NULL, GONE},
        {"Runtime.evaluate", NULL, "\"result\":{}"},
        {"Runtime.evaluate", NULL, VALUE("[{\\\"tag\\\":\\\"a\\\"}]")},
        {"Runtime.evaluate", NULL, GONE},
        END};
    struct fake_answer never[ARRAY_SIZE(later)];
    struct browser_bench bench;
    struct error err = ERROR_INIT;

    (void)state;
    fake_browser_begin(&bench, later);
    assert_int_equal(get_state(&bench, &err), 0);
    assert_json_at(bench.reply.text.text, "interactive_elements",
                   "[{\"index\":0,\"tag\":\"a\",\"text\":\"\"}]");
    assert_json_at(bench.reply.text.text, "viewport", NULL);
    page_frames_clear(&bench.driver);
    fake_browser_end(&bench,
                     READ_ONE SETTLES READ_ONE SETTLES READ_ONE TARGETS CALL("1", "(MEASURES)()"));
    memcpy(never, later, sizeof(later));
    never[10].text = GONE;
    fake_browser_begin(&bench, never);
    assert_int_equal(get_state(&bench, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_string_equal(bench.reply.text.text, "");
    page_frames_clear(&bench.driver);
    fake_browser_end(&bench, READ_ONE SETTLES READ_ONE SETTLES READ_ONE);
}

int page_state_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_of_all_frames_are_numbered),
        cmocka_unit_test(page_that_changes_is_read_again),
    };

    return cmocka_run_group_tests_name("sandbox/page_state", tests, NULL, NULL);
}
