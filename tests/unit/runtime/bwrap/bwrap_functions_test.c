/*
 * The back end's settings, and those of its functions that concern no running sandbox.
 */
#include "runtime/bwrap/bwrap_backend.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "runtime/backend/backend.h"
#include "unit/runtime/bwrap/bwrap_fixture.h"

static void settings_are_checked(void **state)
{
    struct bwrap_fixture *fixture = *state;
    const struct bwrap_settings good = fixture->settings;
    struct bwrap_settings bad[5] = {good, good, good, good, good};
    static const char *const messages[5] = {
        "DEFT_PROCESS_DIR: an absolute path is needed",
        "DEFT_PROCESS_ROOT: an absolute path is needed", "DEFT_PROCESS_NETWORK: none or host",
        "DEFT_PROCESS_CGROUPS: an absolute path is needed, or none",
        "DEFT_PROCESS_CGROUPS: an absolute path is needed, or none"};

    bad[0].folder = "var/deft";
    bad[1].root = "var/tree";
    bad[2].network = "bridge";
    bad[3].cgroups = "";
    bad[4].cgroups = "sys/fs/cgroup";
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct backend *backend = NULL;

        assert_int_equal(bwrap_backend_new(&bad[i], &backend, &fixture->err), -1);
        assert_int_equal(fixture->err.code, ERROR_INVALID);
        assert_string_equal(fixture->err.message, messages[i]);
        assert_null(backend);
    }
    fixture->settings.network = "host";
    fixture->settings.root = "/tmp";
    fixture->settings.cgroups = "/nowhere";
    bwrap_restart(fixture);
    assert_string_equal(fixture->backend->functions->name(fixture->backend), "process");
}

static void space_is_that_of_its_folder(void **state)
{
    struct bwrap_fixture *fixture = *state;
    struct backend_space space = {.free_bytes = -1};

    assert_int_equal(fixture->backend->functions->space(fixture->backend, &space, &fixture->err),
                     0);
    assert_true(space.free_bytes > 0);
    fixture->settings.folder = "/nowhere/state";
    bwrap_restart(fixture);
    assert_int_equal(fixture->backend->functions->space(fixture->backend, &space, &fixture->err),
                     -1);
    assert_int_equal(fixture->err.code, ERROR_NOT_FOUND);
    fixture->settings.folder = fixture->state;
    bwrap_restart(fixture);
}

static void image_is_named_after_the_tree(void **state)
{
    static const struct {
        const char *root;
        const char *id;
    } trees[] = {{"", "host"}, {"/var/trees/v1", "v1"}, {"/v2", "v2"}};
    struct bwrap_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(trees); i++) {
        struct seen_image image = {.id = "before", .size_bytes = 7, .created_at = "x"};

        fixture->settings.root = trees[i].root;
        bwrap_restart(fixture);
        assert_int_equal(fixture->backend->functions->find_image(fixture->backend, "own.example/x",
                                                                 &image, &fixture->err),
                         0);
        assert_string_equal(image.id, trees[i].id);
        assert_int_equal(image.size_bytes, 0);
        assert_string_equal(image.created_at, "");
        assert_int_equal(fixture->backend->functions->find_image(fixture->backend, "other", &image,
                                                                 &fixture->err),
                         -1);
        assert_int_equal(fixture->err.code, ERROR_NOT_FOUND);
        assert_non_null(strstr(fixture->err.message, "the image other needs a container engine"));
    }
}

static void images_are_neither_built_nor_removed(void **state)
{
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;
    const struct image_build_request request = {.context = &context};
    struct bwrap_fixture *fixture = *state;
    char id[BACKEND_IMAGE_BYTES] = "before";

    assert_int_equal(
        fixture->backend->functions->build(fixture->backend, &request, id, &said, &fixture->err),
        -1);
    assert_int_equal(fixture->err.code, ERROR_INVALID);
    assert_true(text_ends_with(fixture->err.message, "images need a container engine"));
    assert_string_equal(id, "");
    fixture->backend->functions->stop_building(fixture->backend);
    fixture->backend->functions->ping(fixture->backend);
    assert_int_equal(
        fixture->backend->functions->remove_image(fixture->backend, "a", &fixture->err), 0);
}

static void home_that_was_given_back_is_taken_first(void **state)
{
    struct bwrap_fixture *fixture = *state;
    const struct backend_functions *functions = fixture->backend->functions;
    struct backend *backend = fixture->backend;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    char home[BACKEND_NAME_BYTES] = "";
    char again[BACKEND_NAME_BYTES] = "";
    bool is_full = false;

    assert_false(functions->take_ready_home(backend, home));
    assert_int_equal(functions->refill(backend, &is_full, &fixture->err), 0);
    assert_true(is_full);
    assert_int_equal(functions->take_home(backend, home, &fixture->err), 0);
    assert_int_equal(strlen(home), 10);
    strbuf_appendf(&path, "homes/%s/workspace/project", home);
    assert_true(bwrap_exists(fixture, path.text));
    functions->give_home(backend, home);
    assert_int_equal(functions->take_home(backend, again, &fixture->err), 0);
    assert_string_equal(again, home);
    functions->give_home(backend, home);
    again[0] = '\0';
    assert_true(functions->take_ready_home(backend, again));
    assert_string_equal(again, home);
    assert_true(prealloc_has(fixture->host->prealloc, PREALLOC_HOME, home));
    functions->network_is_kept(backend, "");
    functions->home_is_kept(backend, home);
    assert_false(prealloc_has(fixture->host->prealloc, PREALLOC_HOME, home));
    assert_int_equal(functions->remove_home(backend, home, &fixture->err), 0);
    assert_false(bwrap_exists(fixture, path.text));
}

static int load_nothing(void *context, struct kept_names *kept_out, struct error *err)
{
    (void)context;
    (void)kept_out;
    (void)err;
    return 0;
}

static void leftovers_are_tidied(void **state)
{
    const struct kept_source source = {NULL, load_nothing};
    struct bwrap_fixture *fixture = *state;
    const struct backend_functions *functions = fixture->backend->functions;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    char home[BACKEND_NAME_BYTES] = "";

    assert_int_equal(functions->take_home(fixture->backend, home, &fixture->err), 0);
    strbuf_appendf(&path, "homes/%s", home);
    assert_int_equal(functions->tidy(fixture->backend, &source, &fixture->err), 0);
    assert_true(bwrap_exists(fixture, path.text));
    functions->home_is_kept(fixture->backend, home);
    assert_int_equal(functions->tidy(fixture->backend, &source, &fixture->err), 0);
    assert_false(bwrap_exists(fixture, path.text));
}

static void ended_sandbox_is_explained(void **state)
{
    struct bwrap_fixture *fixture = *state;
    struct error why = ERROR_INIT;

    fixture->backend->functions->explain_end(fixture->backend, "unknown-1", &why);
    assert_string_equal(why.message, "the sandbox ended");
}

static void everything_of_the_instance_is_removed(void **state)
{
    struct bwrap_fixture *fixture = *state;
    const struct backend_functions *functions = fixture->backend->functions;
    const struct sandbox_config order = {
        .runtime_id = TEST_RUNTIME, .image = "own.example/x", .home = TEST_HOME};
    struct started_sandbox place = {.url = ""};

    assert_int_equal(functions->start(fixture->backend, &order, &place, &fixture->err), 0);
    assert_int_equal(functions->remove_all(fixture->backend, &fixture->err), 0);
    assert_int_equal(access(fixture->state, F_OK), -1);
    assert_int_equal(functions->remove_all(fixture->backend, &fixture->err), 0);
}

/* Without boxes, it is not the folder of an instance. */
static void folder_of_others_stays(void **state)
{
    struct bwrap_fixture *fixture = *state;

    fixture->settings.folder = fixture->folder;
    bwrap_restart(fixture);
    assert_int_equal(fixture->backend->functions->remove_all(fixture->backend, &fixture->err), 0);
    assert_int_equal(access(fixture->action, F_OK), 0);
    fixture->settings.folder = fixture->state;
    bwrap_restart(fixture);
}

int test_bwrap_functions(void)
{
    const struct CMUnitTest tests[] = {
        BWRAP_RAW_TEST(settings_are_checked),
        BWRAP_TEST(space_is_that_of_its_folder),
        BWRAP_RAW_TEST(image_is_named_after_the_tree),
        BWRAP_RAW_TEST(images_are_neither_built_nor_removed),
        BWRAP_TEST(home_that_was_given_back_is_taken_first),
        BWRAP_TEST(leftovers_are_tidied),
        BWRAP_TEST(ended_sandbox_is_explained),
        BWRAP_TEST(everything_of_the_instance_is_removed),
        BWRAP_RAW_TEST(folder_of_others_stays),
    };

    return cmocka_run_group_tests_name("runtime/bwrap_functions", tests, NULL, NULL);
}
