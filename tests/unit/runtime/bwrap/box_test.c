/*
 * A box's files: what is read from them, by whom they were written, and whose process they mean.
 */
#include "runtime/bwrap/box.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "runtime/bwrap/process_tree.h"
#include "unit/runtime/bwrap/bwrap_fixture.h"
#include "unit/support/json_path.h"

#define BOX TEST_RUNTIME "-1"
#define FILE_MAX_BYTES 4096

static void make_box(struct bwrap_fixture *fixture, const char *box)
{
    const struct sandbox_config order = {.runtime_id = TEST_RUNTIME, .home = TEST_HOME};

    if (box_make(fixture->host, box, &order, &fixture->err) < 0)
        fail_msg("%s", fixture->err.message);
}

/* Reports this process, or another one's namespace, as the first process. */
static void report_first(const struct bwrap_fixture *fixture, pid_t pid, ino_t more)
{
    CLEANUP(strbuf_done) struct strbuf status = STRBUF_INIT;
    struct stat facts = {.st_ino = 0};

    assert_int_equal(stat("/proc/self/ns/pid", &facts), 0);
    strbuf_appendf(&status, "{\"child-pid\": %d}\nno JSON\n{\"pid-namespace\": %llu}\n", pid,
                   (unsigned long long)facts.st_ino + more);
    bwrap_write(fixture, "boxes/" BOX "/status", status.text);
}

static void report_guardian(const struct bwrap_fixture *fixture, pid_t pid,
                            unsigned long long started)
{
    CLEANUP(strbuf_done) struct strbuf status = STRBUF_INIT;

    strbuf_appendf(&status, "{\"guardian\": %d, \"guardian-started\": %llu}\n", pid, started);
    bwrap_write(fixture, "boxes/" BOX "/status", status.text);
}

/* As an earlier boot would have left it. */
static void change_boot(struct bwrap_fixture *fixture)
{
    bwrap_write(fixture, "boxes/" BOX "/order.json", "{\"boot_id\": \"another\"}");
}

static void order_says_what_was_started(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf boot = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    struct bwrap_fixture *fixture = *state;
    const struct sandbox_config order = {.runtime_id = TEST_RUNTIME, .home = TEST_HOME};

    assert_int_equal(
        file_read("/proc/sys/kernel/random/boot_id", FILE_MAX_BYTES, &boot, &fixture->err), 0);
    make_box(fixture, BOX);
    bwrap_read(fixture, "boxes/" BOX "/order.json", &text);
    strbuf_truncate(&boot, boot.len - 1);
    strbuf_appendf(&expected, "\"%s\\n\"", boot.text);
    assert_json_at(text.text, "boot_id", expected.text);
    assert_json_at(text.text, "runtime_id", "\"" TEST_RUNTIME "\"");
    assert_json_at(text.text, "home", "\"" TEST_HOME "\"");
    strbuf_reset(&expected);
    strbuf_appendf(&expected, "\"%s\"", fixture->host->agent_build);
    assert_json_at(text.text, "fittings", expected.text);
    assert_int_equal(bwrap_mode(fixture, "boxes/" BOX), 0700);
    /* Each start has a folder of its own. */
    assert_int_equal(box_make(fixture->host, BOX, &order, &fixture->err), -1);
    assert_int_equal(fixture->err.code, ERROR_UNAVAILABLE);
}

static void path_is_of_the_folder_or_a_file(void **state)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    struct bwrap_fixture *fixture = *state;

    box_append_path(fixture->host, "a", "", &path);
    strbuf_appendf(&expected, "%s/boxes/a", fixture->state);
    assert_string_equal(path.text, expected.text);
    strbuf_reset(&path);
    strbuf_reset(&expected);
    box_append_path(fixture->host, "a", "said", &path);
    strbuf_appendf(&expected, "%s/boxes/a/said", fixture->state);
    assert_string_equal(path.text, expected.text);
}

static bool opens(struct bwrap_fixture *fixture)
{
    CLEANUP(fd_close) int pidfd = -1;
    pid_t pid = 0;

    if (box_open(fixture->host, BOX, &pidfd, &pid, &fixture->err) == 0) {
        assert_true(pidfd >= 0);
        assert_int_equal(pid, getpid());
        return true;
    }
    assert_int_equal(pidfd, -1);
    assert_int_equal(fixture->err.code, ERROR_NOT_FOUND);
    return false;
}

static void first_process_is_the_one_that_was_reported(void **state)
{
    struct bwrap_fixture *fixture = *state;

    assert_false(opens(fixture));
    make_box(fixture, BOX);
    assert_false(opens(fixture));
    report_first(fixture, getpid(), 0);
    assert_true(opens(fixture));
    report_first(fixture, getpid(), 1);
    assert_false(opens(fixture));
    assert_string_equal(fixture->err.message, "the sandbox has ended");
    report_first(fixture, 0, 0);
    assert_false(opens(fixture));
    report_first(fixture, 1 << 30, 0);
    assert_false(opens(fixture));
    report_first(fixture, getpid(), 0);
    change_boot(fixture);
    assert_false(opens(fixture));
    bwrap_write(fixture, "boxes/" BOX "/status", "");
}

static bool opens_guardian(struct bwrap_fixture *fixture)
{
    CLEANUP(fd_close) int pidfd = -1;
    pid_t pid = 0;

    if (box_open_guardian(fixture->host, BOX, &pidfd, &pid, &fixture->err) == 0) {
        assert_true(pidfd >= 0);
        assert_int_equal(pid, getpid());
        return true;
    }
    assert_int_equal(pidfd, -1);
    assert_int_equal(fixture->err.code, ERROR_NOT_FOUND);
    return false;
}

static void guardian_is_the_one_that_was_noted(void **state)
{
    struct process_entry self = {.pid = 0};
    struct bwrap_fixture *fixture = *state;

    assert_true(process_entry_read(getpid(), &self));
    assert_false(opens_guardian(fixture));
    make_box(fixture, BOX);
    assert_false(opens_guardian(fixture));
    report_guardian(fixture, getpid(), self.started);
    assert_true(opens_guardian(fixture));
    report_guardian(fixture, getpid(), self.started + 1);
    assert_false(opens_guardian(fixture));
    assert_string_equal(fixture->err.message, "the sandbox's guardian has ended");
    report_guardian(fixture, 0, self.started);
    assert_false(opens_guardian(fixture));
    report_guardian(fixture, getpid(), self.started);
    change_boot(fixture);
    assert_false(opens_guardian(fixture));
    bwrap_write(fixture, "boxes/" BOX "/status", "");
}

static void guardian_is_noted_by_number_and_start(void **state)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf number = STRBUF_INIT;
    CLEANUP(fd_close) int fd = -1;
    struct process_entry self = {.pid = 0};
    struct bwrap_fixture *fixture = *state;

    assert_true(process_entry_read(getpid(), &self));
    make_box(fixture, BOX);
    box_append_path(fixture->host, BOX, "status", &path);
    fd = open(path.text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_int_equal(box_note_guardian(fd, getpid(), &fixture->err), 0);
    bwrap_read(fixture, "boxes/" BOX "/status", &text);
    assert_true(text_ends_with(text.text, "}\n"));
    strbuf_appendf(&number, "%d", getpid());
    assert_json_at(text.text, "guardian", number.text);
    strbuf_reset(&number);
    strbuf_appendf(&number, "%llu", self.started);
    assert_json_at(text.text, "guardian-started", number.text);
    assert_int_equal(box_note_guardian(fd, 1 << 30, &fixture->err), -1);
    assert_int_equal(fixture->err.code, ERROR_UNAVAILABLE);
    bwrap_write(fixture, "boxes/" BOX "/status", "");
}

static void exit_code_is_that_of_the_last_report(void **state)
{
    struct bwrap_fixture *fixture = *state;

    assert_int_equal(box_exit_code(fixture->host, BOX), -1);
    make_box(fixture, BOX);
    assert_int_equal(box_exit_code(fixture->host, BOX), -1);
    bwrap_write(fixture, "boxes/" BOX "/status", "{\"child-pid\": 5}\n[]\n{\"exit-code\": 0}\n");
    assert_int_equal(box_exit_code(fixture->host, BOX), 0);
    /* Still being written. */
    bwrap_write(fixture, "boxes/" BOX "/status", "{\"exit-code\": 3}\n{\"exit-code\": 4}");
    assert_int_equal(box_exit_code(fixture->host, BOX), 3);
}

static void assert_why(struct bwrap_fixture *fixture, const char *status, const char *said,
                       const char *expected)
{
    struct error why = ERROR_INIT;

    bwrap_write(fixture, "boxes/" BOX "/status", status);
    bwrap_write(fixture, "boxes/" BOX "/said", said);
    box_explain(fixture->host, BOX, &why);
    assert_int_equal(why.code, ERROR_UNAVAILABLE);
    assert_string_equal(why.message, expected);
}

static void end_is_explained_by_code_and_last_line(void **state)
{
    struct bwrap_fixture *fixture = *state;
    struct error why = ERROR_INIT;

    box_explain(fixture->host, BOX, &why);
    assert_string_equal(why.message, "the sandbox ended");
    make_box(fixture, BOX);
    assert_why(fixture, "", "", "the sandbox ended");
    assert_why(fixture, "", "a\n", "the sandbox ended: a");
    assert_why(fixture, "", "a\nlast words\n\n", "the sandbox ended: last words");
    assert_why(fixture, "{\"exit-code\": 0}\n", "", "the sandbox ended with exit code 0");
    assert_why(fixture, "{\"exit-code\": 1}\n", "a\nb", "the sandbox ended with exit code 1: b");
    assert_why(fixture, "{\"exit-code\": 137}\n", "b", "the sandbox was killed (exit code 137)");
}

static const struct seen_sandbox *list_one(struct bwrap_fixture *fixture, struct seen_list *list)
{
    seen_list_done(list);
    *list = (struct seen_list){.items = NULL};
    if (box_list(fixture->host, list, &fixture->err) < 0)
        fail_msg("%s", fixture->err.message);
    assert_int_equal(list->n, 1);
    return &list->items[0];
}

static void list_shows_boxes_as_they_are(void **state)
{
    CLEANUP(seen_list_done) struct seen_list list = {.items = NULL};
    struct bwrap_fixture *fixture = *state;
    const struct seen_sandbox *seen = NULL;
    int64_t now_s = clock_utc_us() / 1000000;

    make_box(fixture, BOX);
    seen = list_one(fixture, &list);
    assert_string_equal(seen->runtime_id, TEST_RUNTIME);
    assert_string_equal(seen->container_id, BOX);
    assert_in_range(seen->created_at_s, now_s, clock_utc_us() / 1000000);
    assert_false(seen->is_outdated);
    assert_int_equal(seen->state, SEEN_ENDED);
    report_first(fixture, getpid(), 0);
    assert_int_equal(list_one(fixture, &list)->state, SEEN_RUNNING);
    bwrap_write(fixture, "boxes/" BOX "/status", "{\"exit-code\": 0}\n");
    assert_int_equal(list_one(fixture, &list)->state, SEEN_ENDED);
    (void)snprintf(fixture->host->agent_build, AGENT_BUILD_BYTES, "newer");
    assert_true(list_one(fixture, &list)->is_outdated);
}

static void ended_server_counts_even_if_a_process_remains(void **state)
{
    CLEANUP(seen_list_done) struct seen_list list = {.items = NULL};
    CLEANUP(strbuf_done) struct strbuf status = STRBUF_INIT;
    struct bwrap_fixture *fixture = *state;

    make_box(fixture, BOX);
    report_first(fixture, getpid(), 0);
    bwrap_read(fixture, "boxes/" BOX "/status", &status);
    strbuf_append(&status, "{\"exit-code\": 0}\n");
    bwrap_write(fixture, "boxes/" BOX "/status", status.text);
    assert_int_equal(list_one(fixture, &list)->state, SEEN_ENDED);
    bwrap_write(fixture, "boxes/" BOX "/status", "");
}

/* A start that was interrupted before it wrote its order. */
static void box_without_an_order_has_the_age_of_its_folder(void **state)
{
    CLEANUP(seen_list_done) struct seen_list list = {.items = NULL};
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    const struct timespec times[2] = {{.tv_sec = 1500000000}, {.tv_sec = 1600000000}};
    struct bwrap_fixture *fixture = *state;
    const struct seen_sandbox *seen = NULL;

    box_append_path(fixture->host, BOX, "", &path);
    assert_int_equal(mkdir(path.text, 0700), 0);
    assert_int_equal(utimensat(AT_FDCWD, path.text, times, 0), 0);
    seen = list_one(fixture, &list);
    assert_int_equal(seen->created_at_s, 1600000000);
    assert_int_equal(seen->state, SEEN_ENDED);
    assert_true(seen->is_outdated);
}

static void there_are_no_boxes_before_the_preparation(void **state)
{
    CLEANUP(seen_list_done) struct seen_list list = {.items = NULL};
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct bwrap_fixture *fixture = *state;

    assert_int_equal(box_list(fixture->host, &list, &fixture->err), 0);
    assert_int_equal(list.n, 0);
    assert_int_equal(mkdir(fixture->state, 0700), 0);
    bwrap_write(fixture, "boxes", "no folder");
    assert_int_equal(box_list(fixture->host, &list, &fixture->err), -1);
    assert_int_equal(fixture->err.code, ERROR_UNAVAILABLE);
    strbuf_appendf(&path, "%s/boxes", fixture->state);
    assert_int_equal(unlink(path.text), 0);
}

int test_box(void)
{
    const struct CMUnitTest tests[] = {
        BWRAP_TEST(order_says_what_was_started),
        BWRAP_TEST(path_is_of_the_folder_or_a_file),
        BWRAP_TEST(first_process_is_the_one_that_was_reported),
        BWRAP_TEST(guardian_is_the_one_that_was_noted),
        BWRAP_TEST(guardian_is_noted_by_number_and_start),
        BWRAP_TEST(exit_code_is_that_of_the_last_report),
        BWRAP_TEST(end_is_explained_by_code_and_last_line),
        BWRAP_TEST(list_shows_boxes_as_they_are),
        BWRAP_TEST(ended_server_counts_even_if_a_process_remains),
        BWRAP_TEST(box_without_an_order_has_the_age_of_its_folder),
        BWRAP_RAW_TEST(there_are_no_boxes_before_the_preparation),
    };

    return cmocka_run_group_tests_name("runtime/box", tests, NULL, NULL);
}
