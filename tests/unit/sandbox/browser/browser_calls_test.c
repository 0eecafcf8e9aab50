/*
 * Calls of the browser's tools for tabs and pages: what is sent to the browser, and what is told.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "sandbox/browser/browser_tools.h"
#include "sandbox/browser/navigate.h"
#include "sandbox/browser/screenshot.h"
#include "sandbox/browser/tabs.h"
#include "unit/sandbox/browser/fake_browser.h"

/* --- tabs --- */

static void newest_tab_is_current_and_tabs_are_found_by_name(void **state)
{
    static const struct fake_answer answers[] = {{NULL, NULL, NULL}};
    struct browser_bench bench;

    (void)state;
    fake_browser_begin(&bench, answers);
    assert_string_equal(bench.driver.current->session, "s2");
    assert_string_equal(tab_name(bench.driver.current), "0002");
    assert_ptr_equal(tabs_find(&bench.driver, "0001"), bench.driver.tabs);
    assert_null(tabs_find(&bench.driver, "1"));
    assert_string_equal(bench.driver.current->url, "http://two/");
    assert_string_equal(bench.driver.current->title, "title target-0002");
    fake_browser_end(&bench, "");
}

/* One event; the driver's tabs are s1 and s2. */
static void take(struct browser_bench *bench, const char *method, const char *session,
                 const char *params)
{
    json_auto_t *value = json_loads(params, 0, NULL);

    assert_non_null(value);
    tabs_take_event(&bench->driver, method, session, value);
}

static void events_change_their_tab_alone(void **state)
{
    static const struct fake_answer answers[] = {{NULL, NULL, NULL}};
    struct browser_bench bench;
    struct tab *first = NULL;
    struct tab *second = NULL;

    (void)state;
    fake_browser_begin(&bench, answers);
    first = bench.driver.tabs;
    second = first->next;
    take(&bench, "Page.frameStartedLoading", "s1", "{\"frameId\":\"other\"}");
    assert_false(first->is_loading);
    take(&bench, "Page.frameStartedLoading", "s1", "{\"frameId\":\"target-0001\"}");
    assert_true(first->is_loading && !second->is_loading);
    take(&bench, "Page.frameStoppedLoading", "s1", "{\"frameId\":\"other\"}");
    assert_true(first->is_loading);
    take(&bench, "Page.frameStoppedLoading", "s1", "{\"frameId\":\"target-0001\"}");
    assert_false(first->is_loading);
    take(&bench, "Page.lifecycleEvent", "s2",
         "{\"frameId\":\"target-0002\",\"name\":\"init\",\"loaderId\":\"l1\"}");
    take(&bench, "Page.lifecycleEvent", "s2",
         "{\"frameId\":\"other\",\"name\":\"load\",\"loaderId\":\"l1\"}");
    assert_string_equal(second->loaded, "");
    take(&bench, "Page.lifecycleEvent", "s2",
         "{\"frameId\":\"target-0002\",\"name\":\"load\",\"loaderId\":\"l1\"}");
    assert_string_equal(second->loaded, "l1");
    take(&bench, "Fetch.requestPaused", "s2", "{\"requestId\":\"r1\"}");
    assert_string_equal(bench.driver.paused_request, "r1");
    take(&bench, "Target.targetInfoChanged", "",
         "{\"targetInfo\":{\"targetId\":\"target-0001\",\"url\":\"u\",\"title\":\"t\"}}");
    assert_string_equal(first->url, "u");
    assert_string_equal(first->title, "t");
    assert_string_equal(second->url, "http://two/");
    /* Events of the browser have no session, those of a tab have one. */
    take(&bench, "Target.targetCrashed", "s1", "{\"targetId\":\"target-0001\"}");
    assert_false(first->is_crashed);
    take(&bench, "Target.targetCrashed", "", "{\"targetId\":\"target-0001\"}");
    assert_true(first->is_crashed && !second->is_crashed);
    take(&bench, "Inspector.targetCrashed", "s2", "{}");
    assert_true(second->is_crashed);
    take(&bench, "Target.detachedFromTarget", "", "{\"sessionId\":\"none\"}");
    take(&bench, "Target.detachedFromTarget", "", "{\"sessionId\":\"s2\"}");
    assert_ptr_equal(bench.driver.current, first);
    assert_null(first->next);
    take(&bench, "Target.detachedFromTarget", "", "{\"sessionId\":\"s1\"}");
    assert_null(bench.driver.current);
    fake_browser_end(&bench, "");
}

static void dialogs_are_answered_and_told(void **state)
{
    static const struct fake_answer answers[] = {{NULL, NULL, NULL}};
    struct browser_bench bench;

    (void)state;
    fake_browser_begin(&bench, answers);
    take(&bench, "Page.javascriptDialogOpening", "s1",
         "{\"type\":\"alert\",\"message\":\"hello\"}");
    take(&bench, "Page.javascriptDialogOpening", "s2",
         "{\"type\":\"prompt\",\"message\":\"name?\"}");
    take(&bench, "Page.javascriptDialogOpening", "s2", "{\"type\":\"beforeunload\"}");
    assert_string_equal(bench.driver.notes.text,
                        "[The page showed a dialog (alert): \"hello\". It was accepted.]\n"
                        "[The page showed a dialog (prompt): \"name?\". It was dismissed.]\n"
                        "[The page asked to confirm leaving it; that was accepted.]");
    fake_browser_end(&bench, "s1 Page.handleJavaScriptDialog {\"accept\":true}\n"
                             "s2 Page.handleJavaScriptDialog {\"accept\":false}\n"
                             "s2 Page.handleJavaScriptDialog {\"accept\":true}\n");
}

static void tabs_are_opened_and_closed(void **state)
{
    static const struct fake_answer answers[] = {
        {"Target.createTarget", NULL, "\"result\":{\"targetId\":\"target-0003\"}"},
        {"Target.closeTarget",
         "{\"method\":\"Target.detachedFromTarget\",\"params\":{\"sessionId\":\"s1\"}}",
         "\"result\":{}"},
        {"Target.getTargets", NULL,
         "\"result\":{\"targetInfos\":[{\"targetId\":\"none\",\"url\":\"x\"},{\"targetId\":"
         "\"target-0002\",\"url\":\"new\",\"title\":\"t\"}]}"},
        {NULL, NULL, NULL}};
    static const struct fake_answer opening[] = {{"Target.createTarget",
                                                  ATTACHED("s3", "target-0003", "http://three/"),
                                                  "\"result\":{\"targetId\":\"target-0003\"}"},
                                                 {NULL, NULL, NULL}};
    struct browser_bench bench;
    struct error err = ERROR_INIT;
    json_auto_t *tabs = NULL;
    char *text = NULL;

    (void)state;
    fake_browser_begin(&bench, opening);
    bench.driver.current = bench.driver.tabs;
    assert_int_equal(tabs_open(&bench.driver, "http://three/", &err), 0);
    assert_string_equal(bench.driver.current->session, "s3");
    fake_browser_end(&bench,
                     "- Target.createTarget {\"url\":\"http://three/\"}\n"
                     "s3 Page.enable {}\ns3 Page.setLifecycleEventsEnabled {\"enabled\":true}\n"
                     "s3 Runtime.runIfWaitingForDebugger {}\n");
    fake_browser_begin(&bench, answers);
    assert_int_equal(tabs_close(&bench.driver, bench.driver.tabs, &err), 0);
    assert_int_equal(tabs_refresh(&bench.driver, &err), 0);
    tabs = tabs_list_named(&bench.driver);
    text = json_dumps(tabs, JSON_COMPACT);
    assert_string_equal(text, "[{\"tab_id\":\"0002\",\"url\":\"new\",\"title\":\"t\"}]");
    free(text);
    fake_browser_end(
        &bench, "- Target.closeTarget {\"targetId\":\"target-0001\"}\n- Target.getTargets {}\n");
}

/* --- navigation --- */

#define LOADED(loader)                                                                             \
    "{\"method\":\"Page.lifecycleEvent\",\"sessionId\":\"s2\",\"params\":{\"frameId\":"            \
    "\"target-0002\",\"name\":\"load\",\"loaderId\":\"" loader "\"}}\n"

static int navigate(struct browser_bench *bench, const char *args, struct error *err)
{
    json_auto_t *given = json_loads(args, 0, NULL);

    return navigate_to(&bench->driver, given, &bench->reply, err);
}

static void page_is_opened_and_waited_for(void **state)
{
    static const struct fake_answer answers[] = {
        {"Page.navigate", LOADED("old") LOADED("l1"), "\"result\":{\"loaderId\":\"l1\"}"},
        {"Page.navigate", NULL, "\"result\":{}"},
        {NULL, NULL, NULL}};
    struct browser_bench bench;
    struct error err = ERROR_INIT;

    (void)state;
    fake_browser_begin(&bench, answers);
    assert_int_equal(navigate(&bench, "{\"url\":\" example.org\"}", &err), 0);
    assert_string_equal(bench.reply.text.text, "Navigated to: https://example.org");
    assert_string_equal(bench.driver.current->loaded, "l1");
    /* Only a fragment: nothing is loaded. */
    assert_int_equal(navigate(&bench, "{\"url\":\"http://example.org/#x\"}", &err), 0);
    fake_browser_end(&bench, "s2 Page.navigate {\"url\":\"https://example.org\"}\n"
                             "s2 Page.navigate {\"url\":\"http://example.org/#x\"}\n");
}

static void page_that_cannot_be_opened_is_an_error(void **state)
{
    static const struct fake_answer answers[] = {
        {"Page.navigate", NULL, "\"result\":{\"errorText\":\"net::ERR_NETWORK_CHANGED\"}"},
        {"Page.navigate", NULL, "\"result\":{\"errorText\":\"net::ERR_NETWORK_CHANGED\"}"},
        {"Page.navigate", NULL, "\"result\":{\"errorText\":\"net::ERR_NETWORK_CHANGED\"}"},
        {"Page.navigate", NULL, "\"error\":{\"message\":\"no\"}"},
        {NULL, NULL, NULL}};
    struct browser_bench bench;
    struct error err = ERROR_INIT;

    (void)state;
    fake_browser_begin(&bench, answers);
    assert_int_equal(navigate(&bench, "{\"url\":\"http://a/\"}", &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_string_equal(err.message,
                        "The page could not be opened (net::ERR_NETWORK_CHANGED): http://a/");
    assert_int_equal(navigate(&bench, "{\"url\":\"http://b/\"}", &err), -1);
    assert_string_equal(err.message, "no");
    assert_int_equal(navigate(&bench, "{\"url\":\"file:///etc/passwd\"}", &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_int_equal(navigate(&bench, "{}", &err), -1);
    assert_string_equal(err.message, "The url is empty or too long.");
    fake_browser_end(&bench, "s2 Page.navigate {\"url\":\"http://a/\"}\n"
                             "s2 Page.navigate {\"url\":\"http://a/\"}\n"
                             "s2 Page.navigate {\"url\":\"http://a/\"}\n"
                             "s2 Page.navigate {\"url\":\"http://b/\"}\n");
}

/* The browser aborts what is loaded when the page's process dies, which it tells only then. */
static void page_that_was_aborted_is_asked_whether_it_lives(void **state)
{
    static const struct fake_answer answers[] = {
        {"Page.navigate", NULL, "\"result\":{\"errorText\":\"net::ERR_ABORTED\"}"},
        {"Runtime.evaluate", NULL, "\"result\":{}"},
        {"Page.navigate", NULL, "\"result\":{\"errorText\":\"net::ERR_ABORTED\"}"},
        {"Runtime.evaluate",
         "{\"method\":\"Inspector.targetCrashed\",\"sessionId\":\"s2\",\"params\":{}}", NULL},
        {NULL, NULL, NULL}};
    struct browser_bench bench;
    struct error err = ERROR_INIT;

    (void)state;
    fake_browser_begin(&bench, answers);
    assert_int_equal(navigate(&bench, "{\"url\":\"http://a/\"}", &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_string_equal(err.message, "The page could not be opened (net::ERR_ABORTED): http://a/");
    assert_int_equal(navigate(&bench, "{\"url\":\"http://b/\"}", &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_true(bench.driver.current->is_crashed);
    fake_browser_end(&bench, "s2 Page.navigate {\"url\":\"http://a/\"}\n"
                             "s2 Runtime.evaluate {\"expression\":\"1\"}\n"
                             "s2 Page.navigate {\"url\":\"http://b/\"}\n"
                             "s2 Runtime.evaluate {\"expression\":\"1\"}\n");
}

#define CRASH "{\"method\":\"Target.targetCrashed\",\"params\":{\"targetId\":\"target-0002\"}}"

static void page_that_crashes_while_it_loads_is_lost(void **state)
{
    static const struct fake_answer opening[] = {
        {"Page.navigate", CRASH, "\"result\":{\"loaderId\":\"l1\"}"}, {NULL, NULL, NULL}};
    static const struct fake_answer settling[] = {{"Runtime.evaluate", CRASH, "\"result\":{}"},
                                                  {NULL, NULL, NULL}};
    struct browser_bench bench;
    struct error err = ERROR_INIT;

    (void)state;
    fake_browser_begin(&bench, opening);
    assert_int_equal(navigate(&bench, "{\"url\":\"http://a/\"}", &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    fake_browser_end(&bench, "s2 Page.navigate {\"url\":\"http://a/\"}\n");
    fake_browser_begin(&bench, settling);
    err = (struct error)ERROR_INIT;
    assert_int_equal(navigate_settle(&bench.driver, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    fake_browser_end(&bench, "s2 Runtime.evaluate {\"awaitPromise\":true,\"expression\":\"new "
                             "Promise(done => setTimeout(done, 100))\"}\n");
}

static void address_that_does_not_answer_is_an_error(void **state)
{
    static const struct fake_answer answers[] = {{"Page.navigate", NULL, NULL}, {NULL, NULL, NULL}};
    static const struct fake_answer slow[] = {
        {"Page.navigate", NULL, "\"result\":{\"loaderId\":\"l1\"}"}, {NULL, NULL, NULL}};
    struct browser_bench bench;
    struct error err = ERROR_INIT;

    (void)state;
    fake_browser_begin(&bench, answers);
    bench.spec.wait_ms = 300;
    assert_int_equal(navigate(&bench, "{\"url\":\"http://a/\"}", &err), -1);
    assert_string_equal(err.message,
                        "The address did not answer within 0 seconds; loading it was stopped.");
    fake_browser_end(&bench, "s2 Page.navigate {\"url\":\"http://a/\"}\ns2 Page.stopLoading {}\n");
    /* A slow page is told; it may be used. */
    fake_browser_begin(&bench, slow);
    bench.spec.wait_ms = 2000;
    assert_int_equal(navigate(&bench, "{\"url\":\"http://a/\"}", &err), 0);
    assert_string_equal(bench.driver.notes.text, "[The page was still loading after 2 seconds.]");
    fake_browser_end(&bench, "s2 Page.navigate {\"url\":\"http://a/\"}\n"
                             "s2 Runtime.evaluate {\"expression\":\"1\"}\n");
}

static void new_tab_is_navigated(void **state)
{
    static const struct fake_answer answers[] = {{"Target.createTarget",
                                                  ATTACHED("s3", "target-0003", "about:blank"),
                                                  "\"result\":{\"targetId\":\"target-0003\"}"},
                                                 {NULL, NULL, NULL}};
    struct browser_bench bench;
    struct error err = ERROR_INIT;

    (void)state;
    fake_browser_begin(&bench, answers);
    assert_int_equal(navigate(&bench, "{\"url\":\"http://a/\",\"new_tab\":true}", &err), 0);
    assert_string_equal(bench.reply.text.text, "Opened new tab with URL: http://a/");
    fake_browser_end(&bench,
                     "- Target.createTarget {\"url\":\"about:blank\"}\n"
                     "s3 Page.enable {}\ns3 Page.setLifecycleEventsEnabled {\"enabled\":true}\n"
                     "s3 Runtime.runIfWaitingForDebugger {}\n"
                     "s3 Page.navigate {\"url\":\"http://a/\"}\n");
}

static void back_goes_to_the_entry_before(void **state)
{
    static const struct fake_answer answers[] = {
        {"Page.getNavigationHistory", NULL,
         "\"result\":{\"currentIndex\":1,\"entries\":[{\"id\":7},{\"id\":8}]}"},
        {"Page.getNavigationHistory", NULL,
         "\"result\":{\"currentIndex\":0,\"entries\":[{\"id\":7}]}"},
        {NULL, NULL, NULL}};
    json_auto_t *no_args = json_object();
    struct browser_bench bench;
    struct error err = ERROR_INIT;

    (void)state;
    fake_browser_begin(&bench, answers);
    assert_int_equal(navigate_back(&bench.driver, no_args, &bench.reply, &err), 0);
    assert_string_equal(bench.reply.text.text, "Navigated back");
    assert_int_equal(navigate_back(&bench.driver, no_args, &bench.reply, &err), -1);
    assert_string_equal(err.message, "There is no page to go back to in this tab.");
    fake_browser_end(
        &bench, "s2 Page.getNavigationHistory {}\ns2 Page.navigateToHistoryEntry {\"entryId\":7}\n"
                "s2 Runtime.evaluate {\"awaitPromise\":true,\"expression\":\"new Promise(done => "
                "setTimeout(done, 100))\"}\ns2 Page.getNavigationHistory {}\n");
}

/* --- screenshots --- */

static void picture_is_made_smaller_until_it_fits(void **state)
{
    CLEANUP(strbuf_done) struct strbuf large = STRBUF_INIT;
    struct fake_answer answers[] = {
        {"Page.getLayoutMetrics", NULL,
         "\"result\":{\"cssVisualViewport\":{\"pageX\":1,\"pageY\":2,\"clientWidth\":3,"
         "\"clientHeight\":4}}"},
        {"Page.captureScreenshot", NULL, NULL},
        {"Page.captureScreenshot", NULL, "\"result\":{\"data\":\"cG5n\"}"},
        {"Page.captureScreenshot", NULL, "\"result\":{}"},
        {NULL, NULL, NULL}};
    struct browser_bench bench;
    struct error err = ERROR_INIT;
    json_t *picture = NULL;

    (void)state;
    strbuf_append(&large, "\"result\":{\"data\":\"");
    for (int i = 0; i < 700001; i++)
        strbuf_append_char(&large, 'a');
    strbuf_append(&large, "\"}");
    answers[1].text = large.text;
    fake_browser_begin(&bench, answers);
    assert_int_equal(screenshot_take(&bench.driver, &picture, &err), 0);
    assert_string_equal(json_string_value(picture), "cG5n");
    json_decref(picture);
    picture = NULL;
    assert_int_equal(screenshot_take(&bench.driver, &picture, &err), -1);
    assert_string_equal(err.message, "The browser did not return a screenshot.");
    fake_browser_end(
        &bench,
        "s2 Page.getLayoutMetrics {}\n"
        "s2 Page.captureScreenshot {\"clip\":{\"height\":4.0,\"scale\":1.0,\"width\":3.0,\"x\":1.0,"
        "\"y\":2.0},\"format\":\"png\"}\n"
        "s2 Page.captureScreenshot {\"clip\":{\"height\":4.0,\"scale\":0.69999999999999996,"
        "\"width\":3.0,\"x\":1.0,\"y\":2.0},\"format\":\"png\"}\n"
        "s2 Page.getLayoutMetrics {}\n"
        "s2 Page.captureScreenshot {\"clip\":{\"height\":800.0,\"scale\":1.0,\"width\":1280.0,"
        "\"x\":0.0,\"y\":0.0},\"format\":\"png\"}\n");
}

int browser_calls_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(newest_tab_is_current_and_tabs_are_found_by_name),
        cmocka_unit_test(events_change_their_tab_alone),
        cmocka_unit_test(dialogs_are_answered_and_told),
        cmocka_unit_test(tabs_are_opened_and_closed),
        cmocka_unit_test(page_is_opened_and_waited_for),
        cmocka_unit_test(page_that_cannot_be_opened_is_an_error),
        cmocka_unit_test(page_that_was_aborted_is_asked_whether_it_lives),
        cmocka_unit_test(page_that_crashes_while_it_loads_is_lost),
        cmocka_unit_test(address_that_does_not_answer_is_an_error),
        cmocka_unit_test(new_tab_is_navigated),
        cmocka_unit_test(back_goes_to_the_entry_before),
        cmocka_unit_test(picture_is_made_smaller_until_it_fits),
    };

    return cmocka_run_group_tests_name("sandbox/browser_calls", tests, NULL, NULL);
}
