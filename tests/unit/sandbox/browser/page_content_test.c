/*
 * The content of a page: its text in all frames.
 */
#include "sandbox/browser/page_content.h"

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/browser/page_frames.h"
#include "unit/sandbox/browser/fake_browser.h"

#define END {NULL, NULL, NULL}
#define GONE "\"error\":{\"message\":\"gone\"}"
#define VALUE(text) "\"result\":{\"result\":{\"value\":\"" text "\"}}"
#define TREE                                                                                       \
    "\"result\":{\"frameTree\":{\"frame\":{\"id\":\"f1\",\"url\":\"u1\"},\"childFrames\":[{"       \
    "\"frame\":{\"id\":\"f2\",\"url\":\"u2\"}},{\"frame\":{\"id\":\"f3\",\"url\":\"u3\"}},{"       \
    "\"frame\":{\"id\":\"f4\",\"url\":\"u4\"}}]}}"
#define WORLD(frame)                                                                               \
    "s2 Page.createIsolatedWorld {\"frameId\":\"" frame "\",\"worldName\":\"deft\"}\n"
#define CALL(world, call)                                                                          \
    "s2 Runtime.evaluate {\"contextId\":" world ",\"expression\":\"" call                          \
    "\",\"returnByValue\":true}\n"

static int get_content(struct browser_bench *bench, const char *args, struct error *err)
{
    json_auto_t *given = json_loads(args, 0, NULL);

    return page_content_get(&bench->driver, given, &bench->reply, err);
}

/* A frame without text, or that vanished, adds nothing; the last state's frames stay. */
static void text_of_all_frames_is_read(void **state)
{
    static const struct fake_answer answers[] = {
        {"Page.getFrameTree", NULL, TREE},
        {"Page.createIsolatedWorld", NULL, "\"result\":{\"executionContextId\":1}"},
        {"Page.createIsolatedWorld", NULL, "\"result\":{\"executionContextId\":2}"},
        {"Page.createIsolatedWorld", NULL, "\"result\":{\"executionContextId\":3}"},
        {"Page.createIsolatedWorld", NULL, "\"result\":{\"executionContextId\":4}"},
        {"Runtime.evaluate", NULL, VALUE("\\\"main\\\"")},
        {"Runtime.evaluate", NULL, VALUE("\\\"\\\"")},
        {"Runtime.evaluate", NULL, GONE},
        {"Runtime.evaluate", NULL, VALUE("\\\"last\\\"")},
        END};
    struct browser_bench bench;
    struct error err = ERROR_INIT;

    (void)state;
    fake_browser_begin(&bench, answers);
    bench.driver.n_frames = 1;
    bench.driver.frames[0] = (struct page_frame){.id = "f", .url = mem_dup_text("u"), .n = 3};
    assert_int_equal(get_content(&bench, "{\"extract_links\":true}", &err), 0);
    assert_string_equal(bench.reply.text.text,
                        "URL: http://two/\nCharacters 0 to 25 of 25.\n\nmain\n\n---\nFrame: "
                        "u4\n\nlast");
    assert_int_equal(bench.driver.n_frames, 1);
    assert_string_equal(bench.driver.frames[0].url, "u");
    page_frames_clear(&bench.driver);
    fake_browser_end(&bench,
                     "s2 Page.getFrameTree {}\n" WORLD("f1") WORLD("f2") WORLD("f3") WORLD("f4")
                         CALL("1", "(MARKDOWN)(true)") CALL("2", "(MARKDOWN)(true)")
                             CALL("3", "(MARKDOWN)(true)") CALL("4", "(MARKDOWN)(true)"));
}

/* The page itself must answer. */
static void page_that_is_gone_has_no_content(void **state)
{
    static const struct fake_answer answers[] = {
        {"Page.getFrameTree", NULL, TREE}, {"Runtime.evaluate", NULL, GONE}, END};
    struct browser_bench bench;
    struct error err = ERROR_INIT;

    (void)state;
    fake_browser_begin(&bench, answers);
    assert_int_equal(get_content(&bench, "{}", &err), -1);
    assert_string_equal(bench.reply.text.text, "");
    assert_int_equal(bench.driver.n_frames, 0);
    fake_browser_end(&bench, "s2 Page.getFrameTree {}\n" WORLD("f1") WORLD("f2") WORLD("f3")
                                 WORLD("f4") CALL("0", "(MARKDOWN)(false)"));
}

int page_content_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_of_all_frames_is_read),
        cmocka_unit_test(page_that_is_gone_has_no_content),
    };

    return cmocka_run_group_tests_name("sandbox/page_content", tests, NULL, NULL);
}
