/*
 * The browser's program: where it is looked for, what it is given, and that nothing stays of it.
 */
#include "sandbox/browser/chromium.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/child_process.h"
#include "sandbox/core/program.h"
#include "unit/sandbox/browser/browser_process_tests.h"
#include "unit/sandbox/browser/fake_chromium.h"

static void assert_found(const char *wanted, const char *expected)
{
    CLEANUP(mem_freep) char *found = chromium_find(wanted);

    if (expected == NULL)
        assert_null(found);
    else
        assert_string_equal(found, expected);
}

static void wanted_program_must_be_executable(void **state)
{
    struct fake_chromium fake;

    (void)state;
    fake_chromium_begin(&fake, "");
    assert_found(fake.program, fake.program);
    assert_found(fake.folder, NULL);
    assert_int_equal(chmod(fake.program, 0600), 0);
    assert_found(fake.program, NULL);
    assert_found("/none", NULL);
    fake_chromium_end(&fake);
}

/* A variable of the environment that has another value while a test runs. */
struct variable {
    const char *name;
    char *before;
};

static struct variable set_variable(const char *name, const char *value)
{
    const struct variable variable = {name, mem_dup_text(child_process_variable(name))};

    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    assert_int_equal(value != NULL ? setenv(name, value, 1) : unsetenv(name), 0);
    return variable;
}

static void variable_restore(struct variable *variable)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    (void)(variable->before[0] != '\0' ? setenv(variable->name, variable->before, 1)
                                       : unsetenv(variable->name));
    mem_free(variable->before);
}

static void image_is_searched_by_name(void **state)
{
    struct fake_chromium fake;

    (void)state;
    fake_chromium_begin(&fake, "");
    {
        CLEANUP(variable_restore) struct variable path = set_variable("PATH", fake.folder);

        assert_found("", fake.program);
    }
    fake_chromium_end(&fake);
}

static void run_line(const char *line)
{
    CLEANUP(program_result_done) struct program_result result = PROGRAM_RESULT_INIT;
    const char *const argv[] = {"sh", "-ec", line, NULL};
    char *const envp[] = {(char *)(uintptr_t)"PATH=/usr/bin:/bin", NULL};
    const struct program program = {
        .path = "/bin/sh", .argv = argv, .envp = envp, .out_fd = -1, .max_out_bytes = 1000};
    struct error err = ERROR_INIT;

    assert_int_equal(program_run(&program, &result, &err), 0);
    assert_int_equal(result.exit_code, 0);
}

/* A version of a browser is kept in a folder of its own, of a cache that a variable may name. */
static void cache_of_playwright_is_searched(void **state)
{
    static const char *const programs[] = {
        "named/chromium-1/chrome-linux/chrome", "named/chromium-2/chrome-linux64/chrome",
        "named/chromium_headless_shell-3/chrome-linux/headless_shell",
        ".cache/ms-playwright/chromium-1/chrome-linux/chrome"};
    struct fake_chromium fake;

    (void)state;
    fake_chromium_begin(&fake, "");
    for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
        CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf cache = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf program = STRBUF_INIT;
        CLEANUP(variable_restore) struct variable home = set_variable("HOME", fake.folder);
        CLEANUP(variable_restore) struct variable named =
            set_variable("PLAYWRIGHT_BROWSERS_PATH", fake_text(&cache, "%s/named", fake.folder));
        CLEANUP(mem_freep) char *missing = NULL;
        CLEANUP(mem_freep) char *found = NULL;

        /* Folders of other browsers, and what cannot be executed. */
        run_line(fake_text(&line,
                           "cd %s; mkdir -p named/firefox-1/chrome-linux/chrome "
                           "named/firefox-2/chrome-linux named/chromium-0/chrome-linux; "
                           "cp chromium named/firefox-2/chrome-linux/chrome; "
                           "echo >named/chromium-0/chrome-linux/chrome",
                           fake.folder));
        missing = chromium_find_in_playwright();
        assert_true(missing == NULL || text_starts_with(missing, "/ms-playwright/"));
        (void)fake_text(&program, "%s/%s", fake.folder, programs[i]);
        run_line(fake_text(&line, "p=%s; mkdir -p ${p%%/*}; cp %s $p", program.text, fake.program));
        found = chromium_find_in_playwright();
        assert_non_null(found);
        assert_string_equal(found, program.text);
        run_line(fake_text(&line, "cd %s; rm -rf named .cache", fake.folder));
    }
    fake_chromium_end(&fake);
}

static void program_gets_flags_and_a_profile(void **state)
{
    static const char flags[] =
        "--headless=new\n--remote-debugging-pipe\n--no-sandbox\n--no-first-run\n"
        "--no-default-browser-check\n--no-pings\n--disable-background-networking\n"
        "--disable-breakpad\n--disable-component-update\n--disable-crash-reporter\n"
        "--disable-default-apps\n--disable-dev-shm-usage\n--disable-extensions\n--disable-gpu\n"
        "--disable-sync\n--disable-site-isolation-trials\n"
        "--disable-features=IsolateOrigins,site-per-process,Translate,MediaRouter,HttpsUpgrades\n"
        "--metrics-recording-only\n--mute-audio\n--password-store=basic\n--use-mock-keychain\n"
        "--window-size=1280,900\n";
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf arguments = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf inputs = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf environment = STRBUF_INIT;
    CLEANUP(variable_restore) struct variable tmpdir = set_variable("TMPDIR", "/elsewhere");
    CLEANUP(variable_restore) struct variable key = set_variable("SESSION_API_KEY", "secret-key");
    struct chromium chromium = CHROMIUM_INIT;
    struct fake_chromium fake;
    struct error err = ERROR_INIT;
    CLEANUP(fd_close) int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    CLEANUP(fd_close) int other = memfd_create("input", MFD_CLOEXEC);

    (void)state;
    fake_chromium_begin(&fake, "");
    /* It gets none of the server's own. */
    assert_true(dup2(other, STDIN_FILENO) == STDIN_FILENO);
    assert_int_equal(chromium_start(&chromium, fake.program, "/home-of-none", &err), 0);
    if (input >= 0)
        (void)dup2(input, STDIN_FILENO);
    else
        (void)close(STDIN_FILENO);
    assert_true(chromium.pid > 0 && chromium.to_fd >= 0 && chromium.from_fd >= 0);
    fake_chromium_await(&fake, "pids", "\n");
    strbuf_appendf(&expected, "%s--user-data-dir=%s\nabout:blank\n", flags, chromium.profile);
    fake_chromium_read(&fake, "arguments", &arguments);
    assert_string_equal(arguments.text, expected.text);
    strbuf_reset(&expected);
    strbuf_appendf(&expected, "%s\n", chromium.profile);
    fake_chromium_read(&fake, "folder", &folder);
    assert_string_equal(folder.text, expected.text);
    fake_chromium_read(&fake, "inputs", &inputs);
    assert_string_equal(inputs.text, "/dev/null\n/dev/null\n/dev/null\n");
    strbuf_reset(&expected);
    strbuf_appendf(&expected, "TMPDIR=%s\n", chromium.profile);
    fake_chromium_read(&fake, "environment", &environment);
    assert_non_null(strstr(environment.text, expected.text));
    assert_null(strstr(environment.text, "TMPDIR=/elsewhere"));
    assert_null(strstr(environment.text, "SESSION_API_KEY"));
    chromium_done(&chromium);
    fake_chromium_end(&fake);
}

static void temporary_folder_is_set_without_one_in_the_image(void **state)
{
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    CLEANUP(variable_restore) struct variable tmpdir = set_variable("TMPDIR", NULL);
    struct chromium chromium = CHROMIUM_INIT;
    struct fake_chromium fake;
    struct error err = ERROR_INIT;

    (void)state;
    fake_chromium_begin(&fake, "");
    assert_int_equal(chromium_start(&chromium, fake.program, "/tmp", &err), 0);
    fake_chromium_await(&fake, "pids", "\n");
    fake_chromium_await(&fake, "environment",
                        fake_text(&expected, "TMPDIR=%s\n", chromium.profile));
    chromium_done(&chromium);
    fake_chromium_end(&fake);
}

static void profile_outlives_its_program(void **state)
{
    CLEANUP(strbuf_done) struct strbuf inner = STRBUF_INIT;
    struct chromium chromium = CHROMIUM_INIT;
    struct fake_chromium fake;
    struct error err = ERROR_INIT;
    struct stat info;
    char profile[FAKE_PATH_BYTES] = "";

    (void)state;
    fake_chromium_begin(&fake, "");
    assert_int_equal(chromium_start(&chromium, fake.program, "/tmp", &err), 0);
    (void)snprintf(profile, sizeof(profile), "%s", chromium.profile);
    assert_int_equal(strncmp(profile, "/tmp/deft-browser-", strlen("/tmp/deft-browser-")), 0);
    fake_chromium_await(&fake, "pids", "\n");
    chromium_stop(&chromium);
    fake_chromium_await_end(&fake);
    assert_int_equal(chromium.pid, 0);
    assert_int_equal(chromium.to_fd, -1);
    assert_int_equal(chromium.from_fd, -1);
    chromium_stop(&chromium);
    strbuf_appendf(&inner, "%s/inner", profile);
    assert_int_equal(mkdir(inner.text, 0700), 0);
    strbuf_append(&inner, "/deep");
    assert_int_equal(symlink("nothing", inner.text), 0);
    assert_int_equal(chromium_start(&chromium, fake.program, "/tmp", &err), 0);
    assert_string_equal(chromium.profile, profile);
    assert_int_equal(lstat(inner.text, &info), 0);
    chromium_done(&chromium);
    assert_null(chromium.profile);
    assert_int_equal(lstat(profile, &info), -1);
    chromium_done(&chromium);
    chromium_done(NULL);
    fake_chromium_end(&fake);
}

static void locks_are_removed_before_a_start(void **state)
{
    static const char *const locks[] = {"SingletonLock", "SingletonSocket", "SingletonCookie"};
    struct chromium chromium = CHROMIUM_INIT;
    struct fake_chromium fake;
    struct error err = ERROR_INIT;
    struct stat info;

    (void)state;
    fake_chromium_begin(&fake, "");
    assert_int_equal(chromium_start(&chromium, fake.program, "/tmp", &err), 0);
    for (size_t i = 0; i < ARRAY_SIZE(locks); i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

        chromium_stop(&chromium);
        strbuf_appendf(&path, "%s/%s", chromium.profile, locks[i]);
        assert_int_equal(symlink("nothing", path.text), 0);
        assert_int_equal(chromium_start(&chromium, fake.program, "/tmp", &err), 0);
        assert_int_equal(lstat(path.text, &info), -1);
    }
    chromium_done(&chromium);
    fake_chromium_end(&fake);
}

static void image_without_a_browser_is_an_error(void **state)
{
    struct chromium chromium = CHROMIUM_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(chromium_start(&chromium, "/none", "/tmp", &err), -1);
    assert_int_equal(err.code, ERROR_UNSUPPORTED);
    assert_string_equal(err.message,
                        "This sandbox has no browser: no Chromium was found in its image.");
    assert_null(chromium.profile);
    chromium_done(&chromium);
}

/* Its renderers are in its process group. */
static void children_end_with_it(void **state)
{
    static const char order[] = "{\"id\":1,\"method\":\"Make.child\"}";
    struct chromium chromium = CHROMIUM_INIT;
    struct fake_chromium fake;
    struct error err = ERROR_INIT;

    (void)state;
    fake_chromium_begin(&fake, "Make.child) sleep 1000 & echo $! >>$here/pids;;\n");
    assert_int_equal(chromium_start(&chromium, fake.program, "/tmp", &err), 0);
    assert_int_equal(write(chromium.to_fd, order, sizeof(order)), sizeof(order));
    fake_chromium_await(&fake, "log", "Make.child");
    assert_true(read(chromium.from_fd, (char[64]){0}, 64) > 0);
    chromium_done(&chromium);
    fake_chromium_await_end(&fake);
    fake_chromium_end(&fake);
}

int chromium_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wanted_program_must_be_executable),
        cmocka_unit_test(image_is_searched_by_name),
        cmocka_unit_test(cache_of_playwright_is_searched),
        cmocka_unit_test(program_gets_flags_and_a_profile),
        cmocka_unit_test(temporary_folder_is_set_without_one_in_the_image),
        cmocka_unit_test(profile_outlives_its_program),
        cmocka_unit_test(locks_are_removed_before_a_start),
        cmocka_unit_test(image_without_a_browser_is_an_error),
        cmocka_unit_test(children_end_with_it),
    };

    return cmocka_run_group_tests_name("sandbox/chromium", tests, NULL, NULL);
}
