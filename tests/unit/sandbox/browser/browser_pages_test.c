/*
 * Tools on tabs, downloads and storage, and what is told after a failure.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "sandbox/browser/browser_tools.h"
#include "sandbox/browser/downloads.h"
#include "sandbox/browser/page_frames.h"
#include "sandbox/browser/recovery.h"
#include "sandbox/browser/storage.h"
#include "sandbox/browser/tabs.h"
#include "sandbox/core/folder.h"
#include "unit/sandbox/browser/fake_browser.h"

#define END {NULL, NULL, NULL}
#define NO_ANSWERS ((const struct fake_answer[]){END})
#define DOWNLOADS                                                                                  \
    "- Browser.setDownloadBehavior {\"behavior\":\"allowAndName\",\"downloadPath\":\"/tmp\","      \
    "\"eventsEnabled\":true}\n"
#define CLOSED(session)                                                                            \
    "{\"method\":\"Target.detachedFromTarget\",\"params\":{\"sessionId\":\"" session "\"}}"

static int run(struct browser_bench *bench, const char *tool, const char *args, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *order = NULL;

    strbuf_appendf(&text, "{\"tool\":\"%s\",\"args\":%s}", tool, args);
    order = json_loads(text.text, 0, NULL);
    bench->driver.folder = (char *)(uintptr_t)"/tmp";
    strbuf_reset(&bench->reply.text);
    return browser_tools_run(&bench->driver, order, &bench->reply, err);
}

static void tabs_are_listed_switched_and_closed(void **state)
{
    static const struct fake_answer answers[] = {
        {"Target.closeTarget", CLOSED("s1"), "\"result\":{}"}, END};
    struct browser_bench bench;
    struct error err = ERROR_INIT;

    (void)state;
    fake_browser_begin(&bench, answers);
    assert_int_equal(run(&bench, "browser_list_tabs", "{}", &err), 0);
    assert_string_equal(bench.reply.text.text,
                        "[{\"tab_id\":\"0001\",\"url\":\"http://one/\",\"title\":\"title "
                        "target-0001\"},{\"tab_id\":\"0002\",\"url\":\"http://two/\",\"title\":"
                        "\"title target-0002\"}]");
    assert_int_equal(run(&bench, "browser_switch_tab", "{\"tab_id\":\"0001\"}", &err), 0);
    assert_string_equal(bench.reply.text.text, "Switched to tab 0001: http://one/");
    assert_string_equal(bench.driver.current->session, "s1");
    assert_int_equal(run(&bench, "browser_switch_tab", "{\"tab_id\":\"0003\"}", &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_string_equal(err.message,
                        "There is no tab 0003. browser_list_tabs lists the open tabs.");
    assert_int_equal(run(&bench, "browser_close_tab", "{\"tab_id\":\"0001\"}", &err), 0);
    assert_string_equal(bench.reply.text.text,
                        "Closed tab 0001: http://one/\nThe current tab is 0002: http://two/");
    assert_int_equal(run(&bench, "browser_other", "{}", &err), -1);
    assert_string_equal(err.message, "There is no browser tool browser_other.");
    fake_browser_end(&bench,
                     DOWNLOADS "- Target.getTargets {}\n" DOWNLOADS
                               "s1 Page.bringToFront {}\n" DOWNLOADS DOWNLOADS
                               "- Target.closeTarget {\"targetId\":\"target-0001\"}\n" DOWNLOADS);
}

static void every_tool_is_known(void **state)
{
    static const char *const names[] = {"navigate",    "click",     "type",        "get_state",
                                        "get_content", "scroll",    "go_back",     "list_tabs",
                                        "switch_tab",  "close_tab", "get_storage", "set_storage"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char name[40] = "";

        (void)snprintf(name, sizeof(name), "browser_%s", names[i]);
        assert_true(browser_tools_know(name));
    }
    assert_false(browser_tools_know("browser_other"));
}

static void crashed_tab_is_closed_before_a_call(void **state)
{
    static const struct fake_answer answers[] = {
        {"Target.closeTarget", CLOSED("s2"), "\"result\":{}"}, END};
    struct browser_bench bench;
    struct error err = ERROR_INIT;

    (void)state;
    fake_browser_begin(&bench, answers);
    bench.driver.current->is_crashed = true;
    assert_int_equal(run(&bench, "browser_list_tabs", "{}", &err), 0);
    assert_string_equal(bench.driver.notes.text, "[The page crashed and its tab was closed.]");
    assert_string_equal(bench.driver.current->session, "s1");
    fake_browser_end(&bench, DOWNLOADS "- Target.closeTarget {\"targetId\":\"target-0002\"}\n"
                                       "- Target.getTargets {}\n");
}

/* --- downloads --- */

static void event(struct browser_bench *bench, const char *method, const char *params)
{
    json_auto_t *value = json_loads(params, 0, NULL);

    assert_non_null(value);
    tabs_take_event(&bench->driver, method, "", value);
}

static void write_file(const char *folder, const char *name)
{
    char path[80] = "";
    FILE *file = NULL;

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}

static void downloads_get_a_free_name(void **state)
{
    char folder[] = "/tmp/deft-download-XXXXXX";
    CLEANUP(strbuf_done) struct strbuf notes = STRBUF_INIT;
    struct browser_bench bench;

    (void)state;
    assert_non_null(mkdtemp(folder));
    fake_browser_begin(&bench, NO_ANSWERS);
    bench.driver.folder = folder;
    write_file(folder, "a.txt");
    write_file(folder, "d1");
    event(&bench, "Browser.downloadWillBegin",
          "{\"guid\":\"d1\",\"suggestedFilename\":\"x/a.txt\"}");
    event(&bench, "Browser.downloadWillBegin", "{\"guid\":\"d1\",\"suggestedFilename\":\"b\"}");
    event(&bench, "Browser.downloadWillBegin", "{\"guid\":\"../d\",\"suggestedFilename\":\"b\"}");
    event(&bench, "Browser.downloadWillBegin", "{\"guid\":\"d2\",\"suggestedFilename\":\"c\"}");
    assert_int_equal(bench.driver.n_downloads, 2);
    assert_int_equal(bench.driver.n_begun, 2);
    event(&bench, "Browser.downloadProgress", "{\"guid\":\"d1\",\"state\":\"inProgress\"}");
    event(&bench, "Browser.downloadProgress", "{\"guid\":\"none\",\"state\":\"completed\"}");
    assert_int_equal(bench.driver.n_downloads, 2);
    event(&bench, "Browser.downloadProgress",
          "{\"guid\":\"d1\",\"state\":\"completed\",\"receivedBytes\":7}");
    event(&bench, "Browser.downloadProgress", "{\"guid\":\"d2\",\"state\":\"canceled\"}");
    assert_int_equal(bench.driver.n_downloads, 0);
    strbuf_appendf(&notes,
                   "[A file was downloaded: %s/a (1).txt (7 bytes).]\n[The download of c was "
                   "aborted.]",
                   folder);
    assert_string_equal(bench.driver.notes.text, notes.text);
    for (int i = 0; i < MAX_DOWNLOADS + 1; i++) {
        char params[80] = "";

        (void)snprintf(params, sizeof(params), "{\"guid\":\"n%d\",\"suggestedFilename\":\"f\"}", i);
        event(&bench, "Browser.downloadWillBegin", params);
    }
    assert_int_equal(bench.driver.n_downloads, MAX_DOWNLOADS);
    downloads_clear(&bench.driver);
    assert_int_equal(bench.driver.n_downloads, 0);
    folder_remove(folder);
    fake_browser_end(&bench, "");
}

static void names_of_downloads_are_plain(void **state)
{
    static const char *const names[][2] = {{"a.txt", "a.txt"}, {"/x/y", "y"},   {"..", "download"},
                                           {"", "download"},   {".hid", "hid"}, {"a\nb", "a_b"},
                                           {"x/", "download"}, {"..a..", "a.."}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;

        downloads_append_name(&out, names[i][0]);
        assert_string_equal(out.text, names[i][1]);
    }
}

/* --- storage --- */

static void storage_is_read_of_all_frames(void **state)
{
    static const struct fake_answer answers[] = {
        {"Storage.getCookies", NULL,
         "\"result\":{\"cookies\":[{\"name\":\"n\",\"value\":\"v\",\"domain\":\"d\",\"path\":\"/\","
         "\"expires\":-1,\"httpOnly\":true,\"secure\":false,\"sameSite\":\"Lax\",\"size\":2}]}"},
        {"Page.getFrameTree", NULL,
         "\"result\":{\"frameTree\":{\"frame\":{\"id\":\"f1\",\"url\":\"u1\"},\"childFrames\":[{"
         "\"frame\":{\"id\":\"f2\",\"url\":\"u2\"}},{\"frame\":{\"id\":\"f3\",\"url\":\"u3\"}}]}}"},
        {"Page.createIsolatedWorld", NULL, "\"result\":{\"executionContextId\":1}"},
        {"Page.createIsolatedWorld", NULL, "\"result\":{\"executionContextId\":2}"},
        {"Page.createIsolatedWorld", NULL, "\"error\":{\"message\":\"gone\"}"},
        {"Runtime.evaluate", NULL,
         "\"result\":{\"result\":{\"value\":\"{\\\"origin\\\":\\\"http://"
         "a\\\",\\\"localStorage\\\":"
         "[1]}\"}}"},
        {"Runtime.evaluate", NULL,
         "\"result\":{\"result\":{\"value\":\"{\\\"origin\\\":\\\"http://"
         "a\\\",\\\"localStorage\\\":"
         "[2]}\"}}"},
        {"Runtime.evaluate", NULL, "\"error\":{\"message\":\"gone\"}"},
        END};
    json_auto_t *no_args = json_object();
    struct browser_bench bench;
    struct error err = ERROR_INIT;

    (void)state;
    fake_browser_begin(&bench, answers);
    memcpy(bench.driver.indexed_target, "target-0002", sizeof("target-0002"));
    assert_int_equal(storage_get(&bench.driver, no_args, &bench.reply, &err), 0);
    assert_string_equal(bench.reply.text.text,
                        "{\"cookies\":[{\"name\":\"n\",\"value\":\"v\",\"domain\":\"d\",\"path\":"
                        "\"/\",\"expires\":-1,\"httpOnly\":true,\"secure\":false,\"sameSite\":"
                        "\"Lax\"}],\"origins\":[{\"origin\":\"http://a\",\"localStorage\":[1]}]}");
    assert_string_equal(bench.driver.indexed_target, "");
    page_frames_clear(&bench.driver);
    fake_browser_end(&bench,
                     "- Storage.getCookies {}\ns2 Page.getFrameTree {}\n"
                     "s2 Page.createIsolatedWorld {\"frameId\":\"f1\",\"worldName\":\"deft\"}\n"
                     "s2 Page.createIsolatedWorld {\"frameId\":\"f2\",\"worldName\":\"deft\"}\n"
                     "s2 Page.createIsolatedWorld {\"frameId\":\"f3\",\"worldName\":\"deft\"}\n"
                     "s2 Runtime.evaluate "
                     "{\"contextId\":1,\"expression\":\"(STORAGE)()\",\"returnByValue\":true}\n"
                     "s2 Runtime.evaluate "
                     "{\"contextId\":2,\"expression\":\"(STORAGE)()\",\"returnByValue\":true}\n"
                     "s2 Runtime.evaluate "
                     "{\"contextId\":0,\"expression\":\"(STORAGE)()\",\"returnByValue\":true}"
                     "\n");
}

static int set_storage(struct browser_bench *bench, const char *args, struct error *err)
{
    json_auto_t *given = json_loads(args, 0, NULL);

    assert_non_null(given);
    return storage_set(&bench->driver, given, &bench->reply, err);
}

static void storage_that_cannot_be_set_is_refused(void **state)
{
    static const struct fake_answer answers[] = {
        {"Storage.setCookies", NULL, "\"error\":{\"message\":\"bad\"}"}, END};
    static const char each[] =
        "Each of storage_state.origins needs an origin and a localStorage list.";
    struct browser_bench bench;
    struct error err = ERROR_INIT;

    (void)state;
    fake_browser_begin(&bench, answers);
    assert_int_equal(
        set_storage(&bench, "{\"storage_state\":{\"cookies\":[{\"name\":\"n\"}]}}", &err), -1);
    assert_string_equal(err.message, "The browser rejected the cookies: bad");
    assert_int_equal(
        set_storage(&bench, "{\"storage_state\":{\"origins\":[{\"origin\":\"http://a\"}]}}", &err),
        -1);
    assert_string_equal(err.message, each);
    assert_int_equal(
        set_storage(&bench, "{\"storage_state\":{\"origins\":[{\"localStorage\":[]}]}}", &err), -1);
    assert_string_equal(err.message, each);
    assert_int_equal(
        set_storage(&bench,
                    "{\"storage_state\":{\"origins\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,"
                    "15,16,17]}}",
                    &err),
        -1);
    assert_string_equal(err.message, "storage_state has more than 16 origins.");
    assert_int_equal(set_storage(&bench, "{}", &err), 0);
    assert_string_equal(bench.reply.text.text,
                        "Storage set: 0 cookies, local storage of 0 origins.");
    fake_browser_end(&bench, "- Storage.setCookies {\"cookies\":[{\"name\":\"n\"}]}\n");
}

/* --- failures --- */

static void settle(struct browser_bench *bench, enum error_code code, const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const struct error failure = {.code = code, .message = "why"};

    strbuf_append(&text, "what was begun");
    recovery_settle(&bench->driver, &failure, &text);
    assert_string_equal(text.text, expected);
}

static void failure_is_told_and_repaired(void **state)
{
    static const struct fake_answer crashed[] = {
        {"Target.closeTarget", CLOSED("s2"), "\"result\":{}"}, END};
    struct browser_bench bench;

    (void)state;
    fake_browser_begin(&bench, crashed);
    settle(&bench, ERROR_INVALID, "why");
    settle(&bench, ERROR_CANCELLED, "The call was interrupted.");
    settle(&bench, ERROR_NOT_FOUND, "The tab was closed while the call was in progress.");
    settle(
        &bench, ERROR_TIMEOUT,
        "The call was cut off: the page did not answer in time. Its script was stopped; the page "
        "is still open.");
    assert_int_equal(bench.driver.n_timeouts, 1);
    bench.driver.current->is_crashed = true;
    settle(&bench, ERROR_NOT_FOUND,
           "The page crashed while the call was in progress; its tab was closed.");
    assert_string_equal(bench.driver.current->session, "s1");
    settle(&bench, ERROR_UNAVAILABLE,
           "The browser failed (why). The next call restarts it; its tabs are lost.");
    assert_null(bench.driver.cdp);
    assert_null(bench.driver.tabs);
    fake_browser_end(&bench, "s2 Page.stopLoading {}\n- Browser.getVersion {}\n"
                             "s2 Runtime.terminateExecution {}\n"
                             "s2 Runtime.evaluate {\"expression\":\"1\"}\n"
                             "- Target.closeTarget {\"targetId\":\"target-0002\"}\n");
}

int browser_pages_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tabs_are_listed_switched_and_closed),
        cmocka_unit_test(every_tool_is_known),
        cmocka_unit_test(crashed_tab_is_closed_before_a_call),
        cmocka_unit_test(downloads_get_a_free_name),
        cmocka_unit_test(names_of_downloads_are_plain),
        cmocka_unit_test(storage_is_read_of_all_frames),
        cmocka_unit_test(storage_that_cannot_be_set_is_refused),
        cmocka_unit_test(failure_is_told_and_repaired),
    };

    return cmocka_run_group_tests_name("sandbox/browser_pages", tests, NULL, NULL);
}
