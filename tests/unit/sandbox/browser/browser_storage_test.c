/*
 * Storage that is written, frames of any number and depth, and pages that hang.
 */
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/browser/downloads.h"
#include "sandbox/browser/page_frames.h"
#include "sandbox/browser/recovery.h"
#include "sandbox/browser/storage.h"
#include "sandbox/browser/tabs.h"
#include "unit/sandbox/browser/fake_browser.h"

#define END {NULL, NULL, NULL}
#define NO_ANSWERS ((const struct fake_answer[]){END})
#define CLOSED(session)                                                                            \
    "{\"method\":\"Target.detachedFromTarget\",\"params\":{\"sessionId\":\"" session "\"}}"

static int set_storage(struct browser_bench *bench, const char *args, struct error *err)
{
    json_auto_t *given = json_loads(args, 0, NULL);

    assert_non_null(given);
    return storage_set(&bench->driver, given, &bench->reply, err);
}

/* Each origin is visited in a tab of its own, whose request is answered here. */
static void storage_is_set_without_a_request(void **state)
{
    static const struct fake_answer answers[] = {
        {"Target.createTarget", ATTACHED("s3", "target-0003", "about:blank"),
         "\"result\":{\"targetId\":\"target-0003\"}"},
        {"Page.navigate",
         "{\"method\":\"Fetch.requestPaused\",\"sessionId\":\"s3\",\"params\":{\"requestId\":"
         "\"r7\"}}\n",
         NULL},
        {"Fetch.fulfillRequest",
         "{\"method\":\"Page.frameStoppedLoading\",\"sessionId\":\"s3\",\"params\":{\"frameId\":"
         "\"target-0003\"}}\n",
         "\"result\":{}"},
        {"Page.createIsolatedWorld", NULL, "\"result\":{\"executionContextId\":5}"},
        {"Runtime.evaluate", NULL, "\"result\":{\"result\":{\"value\":\"1\"}}"},
        {"Runtime.evaluate", NULL, "\"result\":{\"result\":{\"value\":\"{}\"}}"},
        {"Target.closeTarget", CLOSED("s3"), "\"result\":{}"},
        END};
    struct browser_bench bench;
    struct error err = ERROR_INIT;

    (void)state;
    fake_browser_begin(&bench, answers);
    bench.driver.current = bench.driver.tabs;
    if (set_storage(&bench,
                    "{\"storage_state\":{\"cookies\":[{\"name\":\"n\",\"value\":\"v\",\"size\":1}],"
                    "\"origins\":[{\"origin\":\"http://a\",\"localStorage\":[{\"name\":\"k\","
                    "\"value\":\"w\"}]}]}}",
                    &err) < 0)
        fail_msg("%s", err.message);
    assert_string_equal(bench.reply.text.text,
                        "Storage set: 1 cookies, local storage of 1 origins.");
    /* The tab that was current is so again. */
    assert_string_equal(bench.driver.current->session, "s1");
    assert_null(bench.driver.tabs->next->next);
    fake_browser_end(
        &bench,
        "- Storage.setCookies {\"cookies\":[{\"name\":\"n\",\"value\":\"v\"}]}\n"
        "- Target.createTarget {\"url\":\"about:blank\"}\n"
        "s3 Page.enable {}\ns3 Page.setLifecycleEventsEnabled {\"enabled\":true}\n"
        "s3 Runtime.runIfWaitingForDebugger {}\n"
        "s3 Fetch.enable {}\n"
        "s3 Page.navigate {\"url\":\"http://a\"}\n"
        "s3 Fetch.fulfillRequest {\"requestId\":\"r7\",\"responseCode\":200,\"responseHeaders\":[{"
        "\"name\":\"Content-Type\",\"value\":\"text/html\"}]}\n"
        "s3 Runtime.evaluate {\"awaitPromise\":true,\"expression\":\"new Promise(done => "
        "setTimeout(done, 100))\"}\n"
        "s3 Page.createIsolatedWorld {\"frameId\":\"target-0003\",\"worldName\":\"deft\"}\n"
        "s3 Runtime.evaluate {\"contextId\":5,\"expression\":\"(STORE)([{\\\"name\\\":\\\"k\\\","
        "\\\"value\\\":\\\"w\\\"}])\",\"returnByValue\":true}\n"
        "- Target.closeTarget {\"targetId\":\"target-0003\"}\n");
}

static void sixteen_origins_are_allowed(void **state)
{
    struct browser_bench bench;
    struct error err = ERROR_INIT;

    (void)state;
    fake_browser_begin(&bench, NO_ANSWERS);
    assert_int_equal(
        set_storage(&bench,
                    "{\"storage_state\":{\"origins\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}}",
                    &err),
        -1);
    assert_string_equal(err.message,
                        "Each of storage_state.origins needs an origin and a localStorage list.");
    assert_int_equal(
        set_storage(&bench,
                    "{\"storage_state\":{\"origins\":[{\"origin\":\"file:///x\",\"localStorage\":"
                    "[]}]}}",
                    &err),
        -1);
    assert_int_equal(err.code, ERROR_INVALID);
    bench.driver.current = NULL;
    assert_int_equal(
        set_storage(&bench,
                    "{\"storage_state\":{\"origins\":[{\"origin\":\"http://a\",\"localStorage\":"
                    "[]}]}}",
                    &err),
        -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_string_equal(err.message, "There is no open tab. Navigate somewhere first.");
    fake_browser_end(&bench, "");
}

/* --- frames --- */

/* A tree of so many levels with so many frames side by side below each. */
static void append_tree(struct strbuf *out, int depth, int width)
{
    strbuf_append(out, "\"result\":{\"frameTree\":");
    for (int i = 0; i < depth; i++) {
        strbuf_appendf(out, "{\"frame\":{\"id\":\"d%d\",\"url\":\"u%d\"},\"childFrames\":[", i, i);
        for (int n = 0; n < width; n++)
            strbuf_appendf(out, "{\"frame\":{\"id\":\"w%d-%d\"}},", i, n);
    }
    strbuf_append(out, "{\"frame\":{\"id\":\"last\"}}");
    for (int i = 0; i < depth; i++)
        strbuf_append(out, "]}");
    strbuf_append_char(out, '}');
}

static void frames_are_read_in_document_order(void **state)
{
    static const char *const expected[] = {"d0", "w0-0", "w0-1", "d1", "w1-0", "w1-1", "last"};
    CLEANUP(strbuf_done) struct strbuf tree = STRBUF_INIT;
    struct fake_answer answers[] = {{"Page.getFrameTree", NULL, NULL}, END};
    struct browser_bench bench;
    struct error err = ERROR_INIT;

    (void)state;
    append_tree(&tree, 2, 2);
    answers[0].text = tree.text;
    fake_browser_begin(&bench, answers);
    assert_int_equal(page_frames_read(&bench.driver, &err), 0);
    assert_int_equal(bench.driver.n_frames, ARRAY_SIZE(expected));
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
        assert_string_equal(bench.driver.frames[i].id, expected[i]);
    assert_string_equal(bench.driver.frames[3].url, "u1");
    page_frames_clear(&bench.driver);
    assert_int_equal(bench.driver.n_frames, 0);
    fake_browser_end(&bench,
                     "s2 Page.getFrameTree {}\n"
                     "s2 Page.createIsolatedWorld {\"frameId\":\"d0\",\"worldName\":\"deft\"}\n"
                     "s2 Page.createIsolatedWorld {\"frameId\":\"w0-0\",\"worldName\":\"deft\"}\n"
                     "s2 Page.createIsolatedWorld {\"frameId\":\"w0-1\",\"worldName\":\"deft\"}\n"
                     "s2 Page.createIsolatedWorld {\"frameId\":\"d1\",\"worldName\":\"deft\"}\n"
                     "s2 Page.createIsolatedWorld {\"frameId\":\"w1-0\",\"worldName\":\"deft\"}\n"
                     "s2 Page.createIsolatedWorld {\"frameId\":\"w1-1\",\"worldName\":\"deft\"}\n"
                     "s2 Page.createIsolatedWorld {\"frameId\":\"last\",\"worldName\":\"deft\"}\n");
}

static void frames_are_bounded(void **state)
{
    static const struct {
        int depth;
        int width;
        size_t n;
    } cases[] = {{1, MAX_FRAMES - 2, MAX_FRAMES}, {1, MAX_FRAMES + 5, MAX_FRAMES}, {18, 0, 17}};
    struct error err = ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf tree = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf commands = STRBUF_INIT;
        struct fake_answer answers[] = {{"Page.getFrameTree", NULL, NULL}, END};
        struct browser_bench bench;

        append_tree(&tree, cases[i].depth, cases[i].width);
        answers[0].text = tree.text;
        fake_browser_begin(&bench, answers);
        assert_int_equal(page_frames_read(&bench.driver, &err), 0);
        assert_int_equal(bench.driver.n_frames, cases[i].n);
        strbuf_append(&commands, "s2 Page.getFrameTree {}\n");
        for (size_t n = 0; n < cases[i].n; n++)
            strbuf_appendf(
                &commands,
                "s2 Page.createIsolatedWorld {\"frameId\":\"%s\",\"worldName\":\"deft\"}\n",
                bench.driver.frames[n].id);
        page_frames_clear(&bench.driver);
        fake_browser_end(&bench, commands.text);
    }
}

static void script_that_fails_is_told(void **state)
{
    static const struct fake_answer answers[] = {
        {"Runtime.evaluate", NULL,
         "\"result\":{\"exceptionDetails\":{\"text\":\"Uncaught\",\"exception\":{\"description\":"
         "\"TypeError: x\"}}}"},
        {"Runtime.evaluate", NULL, "\"result\":{\"exceptionDetails\":{\"text\":\"Uncaught\"}}"},
        {"Runtime.evaluate", NULL, "\"result\":{\"exceptionDetails\":{}}"},
        {"Runtime.evaluate", NULL, "\"result\":{\"result\":{\"value\":1}}"},
        {"Runtime.evaluate", NULL, "\"result\":{\"result\":{\"value\":\"{\\\"a\\\":1}\"}}"},
        END};
    static const char *const messages[] = {
        "The page's script failed: TypeError: x", "The page's script failed: Uncaught",
        "The page's script failed: ", "The page's script returned no result."};
    const struct page_frame frame = {.world = 3};
    CLEANUP(strbuf_done) struct strbuf commands = STRBUF_INIT;
    struct browser_bench bench;

    (void)state;
    fake_browser_begin(&bench, answers);
    for (size_t i = 0; i <= ARRAY_SIZE(messages); i++) {
        json_auto_t *value = NULL;
        struct error err = ERROR_INIT;
        int rc = frame_call(&bench.driver, &frame, "f", "1", &value, &err);

        strbuf_append(&commands, "s2 Runtime.evaluate {\"contextId\":3,\"expression\":\"(f)(1)\","
                                 "\"returnByValue\":true}\n");
        assert_int_equal(rc, i < ARRAY_SIZE(messages) ? -1 : 0);
        if (rc < 0) {
            assert_int_equal(err.code, ERROR_INVALID);
            assert_string_equal(err.message, messages[i]);
        } else {
            assert_int_equal(json_int_or(value, "a", 0), 1);
        }
    }
    fake_browser_end(&bench, commands.text);
}

/* --- tabs --- */

static void attach(struct browser_bench *bench, int number, const char *type)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *params = NULL;

    strbuf_appendf(&text,
                   "{\"sessionId\":\"n%d\",\"targetInfo\":{\"type\":\"%s\",\"targetId\":"
                   "\"more-%04d\",\"url\":\"u\",\"title\":\"t\"}}",
                   number, type, number);
    params = json_loads(text.text, 0, NULL);
    tabs_take_event(&bench->driver, "Target.attachedToTarget", "", params);
}

static void tabs_are_bounded(void **state)
{
    CLEANUP(strbuf_done) struct strbuf commands = STRBUF_INIT;
    struct browser_bench bench;

    (void)state;
    fake_browser_begin(&bench, NO_ANSWERS);
    /* Workers and the like are no tabs; they must go on, too. */
    attach(&bench, 0, "worker");
    assert_string_equal(bench.driver.current->session, "s2");
    strbuf_append(&commands, "n0 Runtime.runIfWaitingForDebugger {}\n");
    for (int i = 3; i <= MAX_TABS; i++) {
        attach(&bench, i, "page");
        strbuf_appendf(&commands,
                       "n%d Page.enable {}\nn%d Page.setLifecycleEventsEnabled {\"enabled\":true}\n"
                       "n%d Runtime.runIfWaitingForDebugger {}\n",
                       i, i, i);
    }
    assert_string_equal(bench.driver.current->target, "more-0064");
    assert_int_equal(bench.driver.notes.len, 0);
    attach(&bench, 65, "page");
    assert_string_equal(bench.driver.current->target, "more-0064");
    assert_string_equal(bench.driver.notes.text, "[Another tab was closed: 64 are open.]");
    strbuf_append(&commands, "- Target.closeTarget {\"targetId\":\"more-0065\"}\n"
                             "n65 Runtime.runIfWaitingForDebugger {}\n");
    fake_browser_end(&bench, commands.text);
}

/* --- pages that hang --- */

#define CUT_OFF "The call was cut off: the page did not answer in time. "
#define RESTARTED CUT_OFF "The browser was restarted: its tabs are lost."
#define STOPPED                                                                                    \
    "- Browser.getVersion {}\ns2 Runtime.terminateExecution {}\n"                                  \
    "s2 Runtime.evaluate {\"expression\":\"1\"}\n"

static void page_that_hangs_is_stopped_or_replaced(void **state)
{
    static const struct {
        struct fake_answer answers[4];
        const char *text;
        const char *commands;
        bool is_running; /* the browser was not restarted */
    } cases[] = {
        {{{"Browser.getVersion", NULL, NULL}, END}, RESTARTED, "- Browser.getVersion {}\n", false},
        {{{"Runtime.evaluate", NULL, NULL},
          {"Target.closeTarget", CLOSED("s2"), "\"result\":{}"},
          END},
         CUT_OFF "The page hung and its tab was closed.",
         STOPPED "s2 Page.crash {}\n- Target.closeTarget {\"targetId\":\"target-0002\"}\n",
         true},
        {{{"Runtime.evaluate", NULL, NULL}, {"Target.closeTarget", NULL, NULL}, END},
         RESTARTED,
         STOPPED "s2 Page.crash {}\n- Target.closeTarget {\"targetId\":\"target-0002\"}\n",
         false},
        {{END}, CUT_OFF "Its script was stopped; the page is still open.", STOPPED, true},
    };
    const struct error late = {.code = ERROR_TIMEOUT, .message = "late"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        struct browser_bench bench;

        fake_browser_begin(&bench, cases[i].answers);
        bench.spec.wait_ms = 700;
        /* The call's own time is over. */
        bench.driver.deadline_ms = 1;
        recovery_settle(&bench.driver, &late, &text);
        assert_string_equal(text.text, cases[i].text);
        assert_int_equal(bench.driver.cdp != NULL, cases[i].is_running);
        assert_int_equal(bench.driver.n_timeouts, cases[i].is_running);
        fake_browser_end(&bench, cases[i].commands);
    }
}

static void tab_that_is_gone_needs_no_stop(void **state)
{
    static const struct fake_answer closes[] = {
        {"Target.closeTarget", CLOSED("s2"), "\"result\":{}"}, END};
    const struct error late = {.code = ERROR_TIMEOUT, .message = "late"};
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct browser_bench bench;

    (void)state;
    /* A crashed one is closed, without being crashed again. */
    fake_browser_begin(&bench, closes);
    bench.driver.current->is_crashed = true;
    bench.driver.deadline_ms = 1;
    recovery_settle(&bench.driver, &late, &text);
    assert_string_equal(text.text, CUT_OFF "The page hung and its tab was closed.");
    bench.driver.current = NULL;
    recovery_settle(&bench.driver, &late, &text);
    assert_string_equal(text.text, CUT_OFF "The page hung and its tab was closed.");
    assert_int_equal(bench.driver.n_timeouts, 2);
    fake_browser_end(&bench, "- Browser.getVersion {}\n"
                             "- Target.closeTarget {\"targetId\":\"target-0002\"}\n"
                             "- Browser.getVersion {}\n");
    fake_browser_begin(&bench, NO_ANSWERS);
    tabs_clear(&bench.driver);
    recovery_settle(&bench.driver, &late, &text);
    assert_string_equal(text.text, RESTARTED);
    fake_browser_end(&bench, "");
}

static void tab_that_crashed_late_is_closed(void **state)
{
    static const struct fake_answer closes[] = {
        {"Target.closeTarget", CLOSED("s2"), "\"result\":{}"}, END};
    static const struct fake_answer fails[] = {
        {"Target.closeTarget", NULL, "\"error\":{\"message\":\"no\"}"}, END};
    const struct error lost = {.code = ERROR_NOT_FOUND, .message = "lost"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        struct browser_bench bench;

        fake_browser_begin(&bench, i == 0 ? closes : fails);
        bench.driver.current->is_crashed = true;
        bench.driver.deadline_ms = 1;
        recovery_settle(&bench.driver, &lost, &text);
        assert_string_equal(text.text,
                            "The page crashed while the call was in progress; its tab was closed.");
        /* A browser that cannot close it is restarted. */
        assert_int_equal(bench.driver.cdp != NULL, i == 0);
        if (i == 0)
            assert_string_equal(bench.driver.current->session, "s1");
        fake_browser_end(&bench, "- Target.closeTarget {\"targetId\":\"target-0002\"}\n");
    }
}

static void third_timeout_in_a_row_restarts_the_browser(void **state)
{
    const struct error late = {.code = ERROR_TIMEOUT, .message = "late"};
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    char folder[] = "/tmp";
    json_auto_t *download = json_loads("{\"guid\":\"d1\",\"suggestedFilename\":\"b\"}", 0, NULL);
    struct browser_bench bench;

    (void)state;
    fake_browser_begin(&bench, NO_ANSWERS);
    bench.driver.folder = folder;
    downloads_begun(&bench.driver, download);
    for (int i = 1; i <= 2; i++) {
        recovery_settle(&bench.driver, &late, &text);
        assert_int_equal(bench.driver.n_timeouts, i);
        assert_non_null(bench.driver.cdp);
        assert_non_null(bench.driver.tabs);
        assert_int_equal(bench.driver.n_downloads, 1);
    }
    recovery_settle(&bench.driver, &late, &text);
    assert_string_equal(text.text,
                        CUT_OFF "Several calls in a row took too long, so the browser was "
                                "restarted: its tabs are lost.");
    assert_int_equal(bench.driver.n_timeouts, 0);
    assert_null(bench.driver.cdp);
    assert_null(bench.driver.tabs);
    assert_null(bench.driver.current);
    assert_int_equal(bench.driver.n_downloads, 0);
    fake_browser_end(&bench, STOPPED STOPPED);
}

int browser_storage_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(storage_is_set_without_a_request),
        cmocka_unit_test(sixteen_origins_are_allowed),
        cmocka_unit_test(frames_are_read_in_document_order),
        cmocka_unit_test(frames_are_bounded),
        cmocka_unit_test(script_that_fails_is_told),
        cmocka_unit_test(tabs_are_bounded),
        cmocka_unit_test(page_that_hangs_is_stopped_or_replaced),
        cmocka_unit_test(tab_that_is_gone_needs_no_stop),
        cmocka_unit_test(tab_that_crashed_late_is_closed),
        cmocka_unit_test(third_timeout_in_a_row_restarts_the_browser),
    };

    return cmocka_run_group_tests_name("sandbox/browser_storage", tests, NULL, NULL);
}
