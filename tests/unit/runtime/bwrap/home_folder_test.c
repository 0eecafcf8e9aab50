/*
 * The folders of sandboxes: which are removed, and that only such are.
 */
#include "runtime/bwrap/home_folder.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "runtime/backend/prealloc.h"
#include "runtime/bwrap/bwrap_host.h"
#include "unit/runtime/bwrap/bwrap_fixture.h"

struct fixture {
    struct bwrap_host host;
    char folder[32];
    char homes[48];
};

static int set_up(void **state)
{
    struct fixture *fixture = NEW(struct fixture);

    (void)snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/deft-homes-XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    (void)snprintf(fixture->homes, sizeof(fixture->homes), "%s/homes", fixture->folder);
    assert_int_equal(mkdir(fixture->homes, 0700), 0);
    fixture->host.settings.folder = fixture->folder;
    fixture->host.prealloc = prealloc_new();
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    prealloc_free(fixture->host.prealloc);
    assert_int_equal(rmdir(fixture->homes), 0);
    assert_int_equal(rmdir(fixture->folder), 0);
    mem_free(fixture);
    return 0;
}

static bool is_there(const struct fixture *fixture, const char *home)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    home_append_path(&fixture->host, home, "", &path);
    return access(path.text, F_OK) == 0;
}

static void make(const struct fixture *fixture, const char *home)
{
    struct error err = ERROR_INIT;

    if (home_make(&fixture->host, home, &err) < 0)
        fail_msg("%s", err.message);
}

static void discard(struct fixture *fixture, const char *home)
{
    struct error err = ERROR_INIT;

    if (home_remove(&fixture->host, home, &err) < 0)
        fail_msg("%s", err.message);
    assert_false(is_there(fixture, home));
}

/* Rows and folders outlive the process: a name is looked at before anything below it is removed. */
static void only_the_name_of_a_home_is_removed(void **state)
{
    static const char *const names[] = {"", ".", "..", "../homes", "aa/../bb", "/", "AA", "bb "};
    struct fixture *fixture = *state;

    make(fixture, "bb");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct error err = ERROR_INIT;

        assert_int_equal(home_remove(&fixture->host, names[i], &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
    }
    assert_true(is_there(fixture, "bb"));
    discard(fixture, "bb");
}

static void home_is_of_its_user_alone(void **state)
{
    static const char *const parts[] = {"", "workspace", "workspace/project", "journal", "user"};
    struct fixture *fixture = *state;

    make(fixture, "0000010123");
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
        struct stat info = {.st_mode = 0};

        home_append_path(&fixture->host, "0000010123", parts[i], &path);
        assert_int_equal(stat(path.text, &info), 0);
        assert_int_equal(info.st_mode & 07777, 0700);
        assert_int_equal(info.st_uid, home_uid("0000010123"));
    }
    if (geteuid() == 0) {
        assert_int_equal(home_uid("0000010123"), 1900000001);
        assert_int_not_equal(home_uid("0000020123"), home_uid("0000010123"));
    }
    discard(fixture, "0000010123");
}

/* A sandbox may put a link in the place of a folder that is missing. */
static void link_in_a_home_is_not_followed(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf home = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf link = STRBUF_INIT;
    char outside[48] = "";

    (void)snprintf(outside, sizeof(outside), "%s/outside", fixture->folder);
    assert_int_equal(mkdir(outside, 0700), 0);
    home_append_path(&fixture->host, "aa", "", &home);
    home_append_path(&fixture->host, "aa", "out", &link);
    assert_int_equal(mkdir(home.text, 0700), 0);
    assert_int_equal(symlink(outside, link.text), 0);
    discard(fixture, "aa");
    assert_int_equal(access(outside, F_OK), 0);
    assert_int_equal(rmdir(outside), 0);
}

static int load_one(void *context, struct kept_names *kept_out, struct error *err)
{
    (void)err;
    kept_names_add_home(kept_out, context);
    return 0;
}

static int load_nothing(void *context, struct kept_names *kept_out, struct error *err)
{
    (void)context;
    (void)kept_out;
    return error_set(err, ERROR_UNAVAILABLE, "no database");
}

static void homes_in_no_row_are_removed(void **state)
{
    char kept[] = "aa";
    const struct kept_source source = {kept, load_one};
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;

    make(fixture, "aa");
    make(fixture, "bb");
    make(fixture, "cc");
    prealloc_add_used(fixture->host.prealloc, PREALLOC_HOME, "bb");
    assert_int_equal(homes_tidy(&fixture->host, &source, &err), 0);
    assert_true(is_there(fixture, "aa"));
    assert_true(is_there(fixture, "bb"));
    assert_false(is_there(fixture, "cc"));
    discard(fixture, "aa");
    discard(fixture, "bb");
}

static void no_home_is_removed_while_rows_cannot_be_read(void **state)
{
    const struct kept_source source = {NULL, load_nothing};
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;

    make(fixture, "aa");
    assert_int_equal(homes_tidy(&fixture->host, &source, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_true(is_there(fixture, "aa"));
    discard(fixture, "aa");
}

static void new_home_is_known_until_it_is_in_a_row(void **state)
{
    struct fixture *fixture = *state;
    char home[BACKEND_NAME_BYTES] = "";
    struct error err = ERROR_INIT;

    assert_int_equal(home_make_new(&fixture->host, home, &err), 0);
    assert_true(prealloc_has(fixture->host.prealloc, PREALLOC_HOME, home));
    discard(fixture, home);
    assert_false(prealloc_has(fixture->host.prealloc, PREALLOC_HOME, home));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int test_home_folder(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_the_name_of_a_home_is_removed),
        TEST(home_is_of_its_user_alone),
        TEST(link_in_a_home_is_not_followed),
        TEST(homes_in_no_row_are_removed),
        TEST(no_home_is_removed_while_rows_cannot_be_read),
        TEST(new_home_is_known_until_it_is_in_a_row),
    };

    return cmocka_run_group_tests_name("runtime/home_folder", tests, NULL, NULL);
}
