#include "sandbox/git/workspace_repository.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "unit/sandbox/sandbox_test.h"

/* deepest first, as they are removed */
static const char *const made[] = {
    "a/b/.git/HEAD",
    "a/b/.git/config",
    "a/b/.git/refs/heads",
    "a/b/.git/refs",
    "a/b/.git/objects",
    "a/b/.git",
    "a/b/c",
    "a/b",
    "a",
};

struct workspace {
    char home[64];
    char path[128];
};

static int make_place(void **state)
{
    struct workspace *place = calloc(1, sizeof(*place));

    assert_non_null(place);
    memcpy(place->home, "/tmp/deft-repository-XXXXXX", sizeof("/tmp/deft-repository-XXXXXX"));
    assert_non_null(mkdtemp(place->home));
    *state = place;
    return 0;
}

static const char *path_of(struct workspace *place, const char *name)
{
    (void)snprintf(place->path, sizeof(place->path), "%s/%s", place->home, name);
    return place->path;
}

static int remove_place(void **state)
{
    struct workspace *place = *state;

    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
        (void)remove(path_of(place, made[i]));
    (void)rmdir(place->home);
    free(place);
    return 0;
}

static bool is_there(struct workspace *place, const char *name)
{
    return access(path_of(place, name), F_OK) == 0;
}

/* As a conversation does it before its first call. */
static int make_repository(const char *folder, struct error *err)
{
    return workspace_repository_make_folder(folder, err) < 0
               ? -1
               : workspace_repository_init(folder, err);
}

static void a_folder_is_made_and_becomes_a_repository(void **state)
{
    struct error err = ERROR_INIT;

    assert_int_equal(make_repository(path_of(*state, "a/b"), &err), 0);
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
        assert_int_equal(is_there(*state, made[i]), strcmp(made[i], "a/b/c") != 0);
}

static void what_was_begun_is_finished(void **state)
{
    struct error err = ERROR_INIT;

    assert_int_equal(make_repository(path_of(*state, "a/b"), &err), 0);
    assert_int_equal(unlink(path_of(*state, "a/b/.git/HEAD")), 0);
    assert_int_equal(make_repository(path_of(*state, "a/b"), &err), 0);
    assert_true(is_there(*state, "a/b/.git/HEAD"));
}

static void a_head_whose_writer_was_killed_is_written_again(void **state)
{
    struct error err = ERROR_INIT;
    struct stat info;

    assert_int_equal(make_repository(path_of(*state, "a/b"), &err), 0);
    assert_int_equal(truncate(path_of(*state, "a/b/.git/HEAD"), 0), 0);
    assert_int_equal(make_repository(path_of(*state, "a/b"), &err), 0);
    assert_int_equal(stat(path_of(*state, "a/b/.git/HEAD"), &info), 0);
    assert_true(info.st_size > 0);
}

static void a_pipe_in_a_files_place_is_not_waited_for(void **state)
{
    struct error err = ERROR_INIT;

    assert_int_equal(make_repository(path_of(*state, "a/b"), &err), 0);
    assert_int_equal(unlink(path_of(*state, "a/b/.git/HEAD")), 0);
    assert_int_equal(mkfifo(path_of(*state, "a/b/.git/HEAD"), 0600), 0);
    assert_int_equal(make_repository(path_of(*state, "a/b"), &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
}

static void a_repository_is_not_put_into_another(void **state)
{
    struct error err = ERROR_INIT;

    assert_int_equal(make_repository(path_of(*state, "a/b"), &err), 0);
    assert_int_equal(make_repository(path_of(*state, "a/b/c"), &err), 0);
    assert_true(is_there(*state, "a/b/c"));
    assert_false(is_there(*state, "a/b/c/.git"));
}

static void a_folder_below_a_file_cannot_be_made(void **state)
{
    struct error err = ERROR_INIT;

    assert_int_equal(make_repository(path_of(*state, "a/b"), &err), 0);
    assert_int_equal(workspace_repository_make_folder(path_of(*state, "a/b/.git/HEAD/c"), &err),
                     -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_non_null(strstr(err.message, "/a/b/.git/HEAD is not a directory"));
}

int workspace_repository_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_folder_is_made_and_becomes_a_repository, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(what_was_begun_is_finished, make_place, remove_place),
        cmocka_unit_test_setup_teardown(a_head_whose_writer_was_killed_is_written_again, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(a_pipe_in_a_files_place_is_not_waited_for, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(a_folder_below_a_file_cannot_be_made, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(a_repository_is_not_put_into_another, make_place,
                                        remove_place),
    };

    return cmocka_run_group_tests_name("workspace_repository", tests, NULL, NULL);
}
