/*
 * What the host gets before the first sandbox: folders, shared files and the trial.
 */
#include "runtime/bwrap/host_prepare.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "runtime/backend/backend.h"
#include "runtime/bwrap/bwrap_backend.h"
#include "unit/runtime/bwrap/bwrap_fixture.h"

/* A shared file's path below the state folder. */
static const char *shared(const struct bwrap_fixture *fixture, const char *name, char path[64])
{
    (void)snprintf(path, 64, "fittings/%s%s%s", fixture->host->agent_build,
                   name[0] != '\0' ? "/" : "", name);
    return path;
}

static void prepare(struct bwrap_fixture *fixture)
{
    if (host_prepare(fixture->host, &fixture->err) < 0)
        fail_msg("%s", fixture->err.message);
}

static void assert_refused(struct bwrap_fixture *fixture, enum error_code code, const char *message)
{
    assert_int_equal(host_prepare(fixture->host, &fixture->err), -1);
    assert_int_equal(fixture->err.code, code);
    if (strstr(fixture->err.message, message) == NULL)
        fail_msg("%s", fixture->err.message);
}

static void folders_are_open_as_far_as_sandboxes_need(void **state)
{
    static const struct {
        const char *name;
        unsigned mode;
    } folders[] = {{"", 0711}, {"boxes", 0700}, {"homes", 0711}, {"fittings", 0711}};
    struct bwrap_fixture *fixture = *state;
    mode_t mask = umask(077);
    char path[64] = "";

    prepare(fixture);
    (void)umask(mask);
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
        assert_int_equal(bwrap_mode(fixture, folders[i].name), folders[i].mode);
    assert_int_equal(bwrap_mode(fixture, shared(fixture, "", path)), 0755);
    /* Again, as after a restart. */
    prepare(fixture);
}

static void shared_files_are_written_once_for_all_to_read(void **state)
{
    static const struct {
        const char *name;
        unsigned mode;
        const char *text;
    } files[] = {
        {"deft-action", 0555, TEST_ACTION},
        {"ca.pem", 0444, TEST_BUNDLE},
        {"passwd", 0444,
         "root:x:0:0:root:/root:/bin/sh\n"
         "deft:x:10001:10001::/home/deft:/bin/bash\n"
         "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
        {"group", 0444, "root:x:0:\ndeft:x:10001:\nnogroup:x:65534:\n"},
    };
    struct bwrap_fixture *fixture = *state;
    char path[64] = "";

    prepare(fixture);
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

        bwrap_read(fixture, shared(fixture, files[i].name, path), &text);
        assert_string_equal(text.text, files[i].text);
        assert_int_equal(bwrap_mode(fixture, path), files[i].mode);
    }
    assert_false(bwrap_exists(fixture, shared(fixture, "filter", path)));
    assert_false(bwrap_exists(fixture, shared(fixture, "passwd.new", path)));
}

static void complete_file_stays_as_it_is(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct bwrap_fixture *fixture = *state;
    char path[64] = "";

    prepare(fixture);
    bwrap_write(fixture, shared(fixture, "group", path), "another");
    prepare(fixture);
    bwrap_read(fixture, path, &text);
    assert_string_equal(text.text, "another");
}

static void filter_is_a_program_of_the_profile(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct bwrap_fixture *fixture = *state;
    char path[64] = "";

    fixture->settings.seccomp_profile = "{\"defaultAction\": \"SCMP_ACT_ALLOW\"}";
    bwrap_restart(fixture);
    prepare(fixture);
    bwrap_read(fixture, shared(fixture, "filter", path), &text);
    assert_true(text.len > 0 && text.len % 8 == 0);
}

static void host_without_certificates_has_sandboxes(void **state)
{
    static const char *const bundles[] = {"", "/nowhere/ca.pem"};
    struct bwrap_fixture *fixture = *state;
    char path[64] = "";

    for (size_t i = 0; i < ARRAY_SIZE(bundles); i++) {
        fixture->settings.ca_bundle = bundles[i];
        bwrap_restart(fixture);
        prepare(fixture);
        assert_false(bwrap_exists(fixture, shared(fixture, "ca.pem", path)));
    }
}

static void build_is_named_after_all_its_files(void **state)
{
    struct bwrap_fixture *fixture = *state;
    char first[AGENT_BUILD_BYTES] = "";

    (void)snprintf(first, sizeof(first), "%s", fixture->host->agent_build);
    assert_int_equal(strlen(first), 12);
    assert_int_equal(strspn(first, "0123456789abcdef"), 12);
    bwrap_restart(fixture);
    assert_string_equal(fixture->backend->functions->agent_build(fixture->backend), first);
    fixture->settings.ca_bundle = "";
    bwrap_restart(fixture);
    assert_string_not_equal(fixture->host->agent_build, first);
    fixture->settings.ca_bundle = fixture->bundle;
    fixture->settings.seccomp_profile = "{\"defaultAction\": \"SCMP_ACT_ALLOW\"}";
    bwrap_restart(fixture);
    assert_string_not_equal(fixture->host->agent_build, first);
}

static void missing_or_unreadable_files_name_their_setting(void **state)
{
    struct bwrap_fixture *fixture = *state;
    struct backend *backend = NULL;
    struct bwrap_settings settings = fixture->settings;

    settings.action_binary = "/nowhere/deft-action";
    assert_int_equal(bwrap_backend_new(&settings, &backend, &fixture->err), -1);
    assert_int_equal(fixture->err.code, ERROR_NOT_FOUND);
    assert_true(text_starts_with(fixture->err.message, "DEFT_ACTION_BINARY: "));
    settings = fixture->settings;
    settings.ca_bundle = "/tmp";
    assert_int_equal(bwrap_backend_new(&settings, &backend, &fixture->err), -1);
    assert_int_equal(fixture->err.code, ERROR_UNAVAILABLE);
    assert_true(text_starts_with(fixture->err.message, "DEFT_SANDBOX_CA_BUNDLE: "));
    settings = fixture->settings;
    settings.seccomp_profile = "{";
    assert_int_equal(bwrap_backend_new(&settings, &backend, &fixture->err), -1);
    assert_int_equal(fixture->err.code, ERROR_INVALID);
    assert_true(text_starts_with(fixture->err.message, "DEFT_SANDBOX_SECCOMP: "));
    assert_null(backend);
}

static void program_changed_after_the_start_needs_a_restart(void **state)
{
    struct bwrap_fixture *fixture = *state;
    FILE *file = fopen(fixture->action, "ae");

    assert_non_null(file);
    assert_true(fputs("!", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_refused(fixture, ERROR_CONFLICT, "was changed after the start");
    bwrap_restart(fixture);
    prepare(fixture);
}

static void folder_that_cannot_be_made_is_an_error(void **state)
{
    struct bwrap_fixture *fixture = *state;

    fixture->settings.folder = "/nowhere/state";
    bwrap_restart(fixture);
    assert_refused(fixture, ERROR_UNAVAILABLE, "/nowhere/state: ");
    fixture->settings.folder = fixture->state;
    bwrap_restart(fixture);
}

static void trial_asks_for_namespaces_of_its_own(void **state)
{
    CLEANUP(strbuf_done) struct strbuf arguments = STRBUF_INIT;
    struct bwrap_fixture *fixture = *state;

    prepare(fixture);
    bwrap_read_seen(fixture, "arguments", &arguments);
    assert_string_equal(arguments.text, "--unshare-user\n--unshare-pid\n--unshare-net\n"
                                        "--ro-bind\n/\n/\n--proc\n/proc\n--dev\n/dev\ntrue\n");
}

static void failed_trial_says_the_first_line(void **state)
{
    struct bwrap_fixture *fixture = *state;

    bwrap_play_trial(fixture, "echo no namespaces >&2\necho second\nexit 1\n");
    assert_refused(fixture, ERROR_UNAVAILABLE, "are user namespaces allowed?): no namespaces");
    assert_null(strstr(fixture->err.message, "second"));
    bwrap_play_trial(fixture, "kill -9 $$\n");
    assert_refused(fixture, ERROR_UNAVAILABLE, "bubblewrap cannot create a sandbox");
    bwrap_play_trial(fixture, "[ \"$LC_ALL\" = C ]\n");
    prepare(fixture);
}

int test_host_prepare(void)
{
    const struct CMUnitTest tests[] = {
        BWRAP_RAW_TEST(folders_are_open_as_far_as_sandboxes_need),
        BWRAP_RAW_TEST(shared_files_are_written_once_for_all_to_read),
        BWRAP_RAW_TEST(complete_file_stays_as_it_is),
        BWRAP_RAW_TEST(filter_is_a_program_of_the_profile),
        BWRAP_RAW_TEST(host_without_certificates_has_sandboxes),
        BWRAP_RAW_TEST(build_is_named_after_all_its_files),
        BWRAP_RAW_TEST(missing_or_unreadable_files_name_their_setting),
        BWRAP_RAW_TEST(program_changed_after_the_start_needs_a_restart),
        BWRAP_RAW_TEST(folder_that_cannot_be_made_is_an_error),
        BWRAP_RAW_TEST(trial_asks_for_namespaces_of_its_own),
        BWRAP_RAW_TEST(failed_trial_says_the_first_line),
    };

    return cmocka_run_group_tests_name("runtime/host_prepare", tests, NULL, NULL);
}
