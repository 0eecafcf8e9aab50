/*
 * A conversation's browser as the server has it: the driver's process, its browser, and what a call
 * is answered when either of them fails.
 */
#include "sandbox/browser/browser.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/core/event_loop.h"
#include "support/json_path.h"
#include "unit/sandbox/browser/browser_process_tests.h"
#include "unit/sandbox/browser/fake_chromium.h"

enum { CALL_MS = 60000, WITHIN_MS = 60000, GRACE_MS = 90000 };

#define OPENS "Target.setAutoAttach) " FAKE_ATTACH("s1", "one") ";;\n"
#define TABS "[{\"tab_id\":\"one\",\"url\":\"http://one/\",\"title\":\"t\"}]"

struct bench {
    struct fake_chromium fake;
    struct browser_spec spec;
    struct event_loop *loop;
    struct browser *browser;
    struct event_loop_timer watchdog;
    char *answer; /* the last observation; NULL until it comes */
};

static void on_late(void *owner)
{
    (void)owner;
    fail_msg("a call was not answered");
}

static void on_answer(void *owner, json_t *observation)
{
    struct bench *bench = owner;

    assert_null(bench->answer);
    bench->answer = json_to_text(observation);
    json_decref(observation);
}

static struct bench *bench_new(const char *answers, int64_t timeout_ms)
{
    struct bench *bench = NEW(struct bench);
    struct error err = ERROR_INIT;

    fake_chromium_begin(&bench->fake, answers);
    bench->spec = (struct browser_spec){.program = bench->fake.program,
                                        .workspace = "/tmp",
                                        .wait_ms = CALL_MS,
                                        .timeout_ms = timeout_ms};
    assert_int_equal(event_loop_new(&bench->loop, &err), 0);
    bench->browser = browser_new(bench->loop, &bench->spec);
    bench->watchdog = (struct event_loop_timer){.expired = on_late};
    event_loop_timer_set(bench->loop, &bench->watchdog, WITHIN_MS);
    return bench;
}

/* The driver ends its browser and removes the profile after it. */
static void bench_free(struct bench *bench)
{
    browser_free(bench->browser);
    fake_chromium_await_end(&bench->fake);
    event_loop_timer_clear(bench->loop, &bench->watchdog);
    event_loop_free(bench->loop);
    fake_chromium_end(&bench->fake);
    mem_free(bench->answer);
    mem_free(bench);
}

static void begin_call(struct bench *bench, const char *tool)
{
    json_auto_t *args = json_object();
    const struct browser_call call = {tool, args, "/tmp"};

    mem_free(bench->answer);
    bench->answer = NULL;
    assert_false(browser_is_busy(bench->browser));
    browser_execute(bench->browser, &call, &(struct browser_answer){bench, on_answer});
}

static void await_answer(struct bench *bench)
{
    while (bench->answer == NULL)
        event_loop_dispatch(bench->loop);
    assert_false(browser_is_busy(bench->browser));
}

/* Lists the tabs, and asserts the answer's text. */
static void assert_call(struct bench *bench, const char *text, const char *is_error)
{
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    json_auto_t *value = json_string(text);

    begin_call(bench, "browser_list_tabs");
    await_answer(bench);
    json_append_text(&expected, value);
    assert_json_at(bench->answer, "content[0].text", expected.text);
    assert_json_at(bench->answer, "is_error", is_error);
}

/* --- calls --- */

static void first_call_starts_the_browser(void **state)
{
    static const char commands[] =
        "{\"id\":1,\"method\":\"Browser.getVersion\",\"params\":{}}\n"
        "{\"id\":2,\"method\":\"Target.setDiscoverTargets\",\"params\":{\"discover\":true}}\n"
        "{\"id\":3,\"method\":\"Target.setAutoAttach\",\"params\":{\"autoAttach\":true,"
        "\"waitForDebuggerOnStart\":true,\"flatten\":true}}\n"
        "{\"id\":4,\"method\":\"Page.enable\",\"params\":{},\"sessionId\":\"s1\"}\n"
        "{\"id\":5,\"method\":\"Page.setLifecycleEventsEnabled\",\"params\":{\"enabled\":true},"
        "\"sessionId\":\"s1\"}\n"
        "{\"id\":6,\"method\":\"Runtime.runIfWaitingForDebugger\",\"params\":{},"
        "\"sessionId\":\"s1\"}\n"
        "{\"id\":7,\"method\":\"Browser.setDownloadBehavior\",\"params\":{\"behavior\":"
        "\"allowAndName\",\"downloadPath\":\"/tmp/.downloads\",\"eventsEnabled\":true}}\n"
        "{\"id\":8,\"method\":\"Target.getTargets\",\"params\":{}}\n";
    /* The tab is reported before its answer, or after it. */
    static const char *const answers[] = {
        OPENS, "Browser.getVersion) attach() { " FAKE_ATTACH(
                   "s1", "one") "};;\n"
                                "Target.setAutoAttach) after=attach;;\n"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        CLEANUP(strbuf_done) struct strbuf log = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf profile = STRBUF_INIT;
        struct bench *bench = bench_new(answers[i], CALL_MS);

        begin_call(bench, "browser_list_tabs");
        assert_true(browser_is_busy(bench->browser));
        await_answer(bench);
        assert_json_at(bench->answer, "",
                       "{\"content\":[{\"type\":\"text\",\"text\":\"[{\\\"tab_id\\\":\\\"one\\\","
                       "\\\"url\\\":\\\"http://one/\\\",\\\"title\\\":\\\"t\\\"}]\","
                       "\"cache_prompt\":false}],"
                       "\"kind\":\"BrowserObservation\",\"is_error\":false}");
        fake_chromium_read(&bench->fake, "log", &log);
        assert_string_equal(log.text, commands);
        fake_chromium_read(&bench->fake, "profiles", &profile);
        profile.text[profile.len - 1] = '\0';
        assert_int_equal(access(profile.text, F_OK), 0);
        bench_free(bench);
        fake_await_no_file(profile.text);
    }
}

static void later_calls_use_the_same_browser(void **state)
{
    CLEANUP(strbuf_done) struct strbuf pids = STRBUF_INIT;
    struct bench *bench = bench_new(OPENS, CALL_MS);

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_call(bench, TABS, "false");
    begin_call(bench, "browser_dance");
    await_answer(bench);
    assert_json_at(bench->answer, "content[0].text", "\"There is no browser tool browser_dance.\"");
    assert_json_at(bench->answer, "is_error", "true");
    assert_json_at(bench->answer, "content[1]", NULL);
    fake_chromium_read(&bench->fake, "pids", &pids);
    assert_ptr_equal(strchr(pids.text, '\n'), pids.text + pids.len - 1);
    bench_free(bench);
}

static void side_events_follow_the_answer_once(void **state)
{
    struct bench *bench = bench_new(
        OPENS "Target.getTargets) [ -e $here/folder ] && say '{\"method\":"
              "\"Page.javascriptDialogOpening\",\"sessionId\":\"s1\",\"params\":{\"type\":"
              "\"alert\",\"message\":\"hello\"}}'; rm -f $here/folder;;\n",
        CALL_MS);

    (void)state;
    assert_call(bench, TABS, "false");
    assert_json_at(bench->answer, "content[1].text",
                   "\"\\n[The page showed a dialog (alert): \\\"hello\\\". It was accepted.]\"");
    assert_json_at(bench->answer, "content[2]", NULL);
    assert_call(bench, TABS, "false");
    assert_json_at(bench->answer, "content[1]", NULL);
    bench_free(bench);
}

static void crashed_tab_is_replaced(void **state)
{
    struct bench *bench = bench_new(
        OPENS
        "Target.getTargets) after=\"say '{\\\"method\\\":\\\"Target.targetCrashed\\\","
        "\\\"params\\\":{\\\"targetId\\\":\\\"one\\\"}}'\";;\n"
        "Target.closeTarget) after=\"say '{\\\"method\\\":\\\"Target.detachedFromTarget\\\","
        "\\\"params\\\":{\\\"sessionId\\\":\\\"s1\\\"}}'\";;\n"
        "Target.createTarget) " FAKE_ATTACH("s2", "two") "answer='{\"targetId\":\"two\"}';;\n",
        CALL_MS);

    (void)state;
    assert_call(bench, TABS, "false");
    assert_call(bench, "[{\"tab_id\":\"two\",\"url\":\"http://two/\",\"title\":\"t\"}]", "false");
    assert_json_at(bench->answer, "content[1].text",
                   "\"\\n[The page crashed and its tab was closed.]\"");
    bench_free(bench);
}

/* --- failures --- */

static void sandbox_without_a_browser_says_so(void **state)
{
    struct bench *bench = bench_new(OPENS, CALL_MS);

    (void)state;
    assert_call(bench, TABS, "false");
    browser_free(bench->browser);
    bench->spec.program = "/none";
    bench->browser = browser_new(bench->loop, &bench->spec);
    assert_call(bench, "This sandbox has no browser: no Chromium was found in its image.", "true");
    bench_free(bench);
}

static void browser_that_fails_is_restarted_by_the_next_call(void **state)
{
    CLEANUP(strbuf_done) struct strbuf before = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf after = STRBUF_INIT;
    struct bench *bench = bench_new(
        OPENS "Target.getTargets) [ -e $here/folder ] && { rm $here/folder; exit; };;\n", CALL_MS);

    (void)state;
    assert_call(bench,
                "The browser failed (the browser has ended). The next call restarts it; its tabs "
                "are lost.",
                "true");
    fake_chromium_read(&bench->fake, "arguments", &before);
    /* The new one makes `folder` again. */
    assert_call(bench,
                "The browser failed (the browser has ended). The next call restarts it; its tabs "
                "are lost.",
                "true");
    fake_chromium_read(&bench->fake, "arguments", &after);
    assert_string_equal(after.text, before.text);
    bench_free(bench);
}

static void browser_that_fails_to_start_is_told(void **state)
{
    static const struct {
        const char *answers;
        const char *text;
    } cases[] = {
        {"Browser.getVersion) exit;;\n",
         "The browser failed (starting the browser: the browser has ended). The next call restarts "
         "it; its tabs are lost."},
        {"Target.setDiscoverTargets) exit;;\n",
         "The browser failed (starting the browser: the browser has ended). The next call restarts "
         "it; its tabs are lost."},
        {"Target.setAutoAttach) after=exit;;\n",
         "The browser failed (starting the browser: the browser has ended). The next call restarts "
         "it; its tabs are lost."},
        {OPENS "Browser.setDownloadBehavior) exit;;\n",
         "The browser failed (the browser has ended). The next call restarts it; its tabs are "
         "lost."},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct bench *bench = bench_new(cases[i].answers, CALL_MS);

        assert_call(bench, cases[i].text, "true");
        bench_free(bench);
    }
}

static void browser_that_ended_between_calls_is_told(void **state)
{
    struct bench *bench = bench_new(
        OPENS "Target.getTargets) [ -e $here/folder ] && { rm $here/folder; after=exit; };;\n",
        CALL_MS);

    (void)state;
    assert_call(bench, TABS, "false");
    assert_json_at(bench->answer, "content[1]", NULL);
    /* The driver has waited for it, so it has noticed. */
    fake_chromium_await_gone(&bench->fake);
    assert_call(bench, TABS, "false");
    assert_json_at(bench->answer, "content[1].text",
                   "\"\\n[The browser had ended unexpectedly and was restarted: its tabs are "
                   "lost.]\"");
    bench_free(bench);
}

static void call_ends_with_its_time(void **state)
{
    struct bench *bench = bench_new(OPENS "Target.getTargets) continue;;\n", 2000);

    (void)state;
    assert_call(bench,
                "The call was cut off: the page did not answer in time. Its script was stopped; "
                "the page is still open.",
                "true");
    bench_free(bench);
}

/* Also one that starts the browser. */
static void start_ends_with_the_time_of_its_call(void **state)
{
    struct bench *bench = bench_new("Browser.getVersion) continue;;\n", 2000);

    (void)state;
    assert_call(bench,
                "The call was cut off: the page did not answer in time. The browser was restarted: "
                "its tabs are lost.",
                "true");
    bench_free(bench);
}

/* Only time-outs in a row restart the browser. */
static void answered_call_ends_a_row_of_timeouts(void **state)
{
    static const char cut_off[] =
        "The call was cut off: the page did not answer in time. Its script was stopped; the page "
        "is still open.";
    struct bench *bench =
        bench_new(OPENS "Target.getTargets) [ $(grep -c Target.getTargets $here/log) != 3 ] && "
                        "continue;;\n",
                  2000);

    (void)state;
    assert_call(bench, cut_off, "true");
    assert_call(bench, cut_off, "true");
    assert_call(bench, TABS, "false");
    assert_call(bench, cut_off, "true");
    bench_free(bench);
}

static pid_t only_child(void)
{
    CLEANUP(fd_close) int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    char pids[64] = "";

    assert_true(read(fd, pids, sizeof(pids) - 1) > 0);
    return (pid_t)strtol(pids, NULL, 10);
}

/* The driver is given a grace after the time of a call, which is over before it begins here. */
static void driver_that_hangs_is_killed(void **state)
{
    struct bench *bench = bench_new("", CALL_MS);
    struct browser_spec spec = bench->spec;
    pid_t driver = 0;

    (void)state;
    browser_free(bench->browser);
    spec.program = "/none";
    spec.timeout_ms = 1000 - GRACE_MS;
    bench->browser = browser_new(bench->loop, &spec);
    assert_call(bench, "This sandbox has no browser: no Chromium was found in its image.", "true");
    driver = only_child();
    assert_int_equal(kill(driver, SIGSTOP), 0);
    assert_call(bench,
                "The browser did not answer in time and was killed. The next call restarts it; its "
                "tabs are lost.",
                "true");
    while (kill(driver, 0) == 0)
        event_loop_dispatch(bench->loop);
    bench_free(bench);
}

static void driver_that_ends_is_restarted_by_the_next_call(void **state)
{
    struct bench *bench = bench_new(
        OPENS "Target.getTargets) [ $(wc -l <$here/pids) = 1 ] && kill -KILL $PPID;;\n", CALL_MS);

    (void)state;
    assert_call(bench,
                "The browser ended while the call was in progress. The next call restarts it; its "
                "tabs are lost.",
                "true");
    assert_call(bench, TABS, "false");
    bench_free(bench);
}

static void interrupted_call_ends(void **state)
{
    struct bench *bench = bench_new(
        OPENS "Target.getTargets) [ -e $here/folder ] && { rm $here/folder; continue; };;\n",
        CALL_MS);

    (void)state;
    /* Without a call nothing is sent. */
    browser_interrupt(bench->browser);
    begin_call(bench, "browser_list_tabs");
    fake_chromium_await(&bench->fake, "log", "Target.getTargets");
    browser_interrupt(bench->browser);
    await_answer(bench);
    assert_json_at(bench->answer, "content[0].text", "\"The call was interrupted.\"");
    assert_json_at(bench->answer, "is_error", "true");
    fake_chromium_await(&bench->fake, "log", "Page.stopLoading");
    browser_interrupt(bench->browser);
    assert_call(bench, TABS, "false");
    bench_free(bench);
}

static void refusal_is_an_observation(void **state)
{
    json_auto_t *observation = browser_refusal("no");
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    (void)state;
    json_append_text(&text, observation);
    assert_json_at(text.text, "",
                   "{\"content\":[{\"type\":\"text\",\"text\":\"no\",\"cache_prompt\":false}],"
                   "\"is_error\":true,\"kind\":\"BrowserObservation\"}");
    assert_true(browser_has_tool("browser_navigate"));
    assert_false(browser_has_tool("terminal"));
    browser_free(NULL);
}

int browser_process_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_call_starts_the_browser),
        cmocka_unit_test(later_calls_use_the_same_browser),
        cmocka_unit_test(side_events_follow_the_answer_once),
        cmocka_unit_test(crashed_tab_is_replaced),
        cmocka_unit_test(sandbox_without_a_browser_says_so),
        cmocka_unit_test(browser_that_fails_is_restarted_by_the_next_call),
        cmocka_unit_test(browser_that_fails_to_start_is_told),
        cmocka_unit_test(browser_that_ended_between_calls_is_told),
        cmocka_unit_test(call_ends_with_its_time),
        cmocka_unit_test(start_ends_with_the_time_of_its_call),
        cmocka_unit_test(answered_call_ends_a_row_of_timeouts),
        cmocka_unit_test(driver_that_hangs_is_killed),
        cmocka_unit_test(driver_that_ends_is_restarted_by_the_next_call),
        cmocka_unit_test(interrupted_call_ends),
        cmocka_unit_test(refusal_is_an_observation),
    };

    return cmocka_run_group_tests_name("sandbox/browser_process", tests, NULL, NULL);
}
