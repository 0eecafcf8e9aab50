/*
 * Builds of images: what is read back, which build a name has, which images are to go, and which
 * rows.
 */
#include "store/runtime/build_store.h"

#include <string.h>

#include <jansson.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "store/runtime/runtime_key_store.h"
#include "store/store_fixture.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

#define SUCCESS "status = 'SUCCESS',"

/* Each test begins without builds. */
static int remove_all(void **state)
{
    (void)state;
    test_sql("DELETE FROM image_builds");
    test_sql("DELETE FROM runtime_keys");
    return 0;
}

static struct image_build new_build(const char *id, const char *image)
{
    struct image_build build = IMAGE_BUILD_INIT;

    memcpy(build.id, id, strnlen(id, sizeof(build.id) - 1));
    build.image = mem_dup_text(image);
    build.tags = json_array();
    json_array_append_new(build.tags, json_string(image));
    build.context_hash = mem_dup_text("c0ffee");
    return build;
}

static void add(const struct store_fixture *fixture, struct image_build *build)
{
    struct error err = ERROR_INIT;

    assert_done(build_store_add(fixture->db, build, &err), &err);
    image_build_done(build);
}

/* A build of that age. columns: assignments to more of its row, in front of a comma, or "". */
static void add_old(const struct store_fixture *fixture, const char *id, const char *image,
                    const char *age, const char *columns)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct image_build build = new_build(id, image);

    add(fixture, &build);
    strbuf_appendf(&sql,
                   "UPDATE image_builds SET %s created_at = now() - interval '%s',"
                   " updated_at = now() - interval '%s' WHERE id = '%s'",
                   columns, age, age, id);
    test_sql(sql.text);
}

static void build_is_read_as_it_was_stored(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(image_build_done) struct image_build read = IMAGE_BUILD_INIT;
    CLEANUP(strbuf_done) struct strbuf tags = STRBUF_INIT;
    CLEANUP(mem_freep) char *text = NULL;
    struct image_build build = new_build("aaaaaaaaaaaaaaaa", "repo:1");
    struct error err = ERROR_INIT;

    json_array_append_new(build.tags, json_string("repo:also"));
    add(fixture, &build);
    assert_done(build_store_get(fixture->db, "aaaaaaaaaaaaaaaa", &read, &err), &err);
    assert_string_equal(read.id, "aaaaaaaaaaaaaaaa");
    assert_false(uuid_is_set(&read.tenant_id));
    assert_string_equal(read.image, "repo:1");
    assert_string_equal(read.context_hash, "c0ffee");
    assert_int_equal(read.status, BUILD_QUEUED);
    assert_null(read.error);
    assert_null(read.image_id);
    text = json_dumps(read.tags, 0);
    assert_json_at(text, "", "[\"repo:1\", \"repo:also\"]");
}

static void missing_build_is_not_found(void **state)
{
    const struct store_fixture *fixture = *state;
    struct image_build read = IMAGE_BUILD_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(build_store_get(fixture->db, "missing", &read, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(build_store_find(fixture->db, "missing", &read, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_null(read.image);
}

static void each_status_is_stored_with_what_came_of_it(void **state)
{
    static const char *const names[BUILD_N_STATUSES] = {
        "QUEUED", "BUILDING", "SUCCESS", "FAILURE", "INTERNAL_ERROR", "TIMEOUT", "EXPIRED"};
    const struct store_fixture *fixture = *state;
    struct image_build build = new_build("aaaaaaaaaaaaaaaa", "repo:1");
    struct error err = ERROR_INIT;

    add(fixture, &build);
    for (int i = 0; i < BUILD_N_STATUSES; i++) {
        CLEANUP(image_build_done) struct image_build read = IMAGE_BUILD_INIT;
        CLEANUP(image_build_done) struct image_build changed =
            new_build("aaaaaaaaaaaaaaaa", "repo:1");

        assert_string_equal(build_status_to_string((enum build_status)i), names[i]);
        changed.status = (enum build_status)i;
        changed.error = mem_dup_text("words");
        changed.image_id = mem_dup_text("sha256:1");
        test_sql("UPDATE image_builds SET updated_at = now() - interval '1 hour'");
        assert_done(build_store_update(fixture->db, &changed, &err), &err);
        assert_done(build_store_get(fixture->db, "aaaaaaaaaaaaaaaa", &read, &err), &err);
        assert_int_equal(read.status, i);
        assert_string_equal(read.error, "words");
        assert_string_equal(read.image_id, "sha256:1");
        assert_int_equal(test_sql_count("SELECT count(*) FROM image_builds"
                                        " WHERE updated_at > now() - interval '10 minutes'"),
                         1);
    }
}

static void image_has_one_build_at_a_time(void **state)
{
    const struct store_fixture *fixture = *state;
    struct image_build first = new_build("aaaaaaaaaaaaaaaa", "repo:1");
    CLEANUP(image_build_done) struct image_build second = new_build("bbbbbbbbbbbbbbbb", "repo:1");
    struct image_build other = new_build("cccccccccccccccc", "repo:2");
    struct error err = ERROR_INIT;

    add(fixture, &first);
    add(fixture, &other);
    assert_int_equal(build_store_add(fixture->db, &second, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    test_sql("UPDATE image_builds SET status = 'FAILURE'");
    assert_done(build_store_add(fixture->db, &second, &err), &err);
}

static void newest_build_of_a_name_is_found(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(image_build_done) struct image_build read = IMAGE_BUILD_INIT;
    struct error err = ERROR_INIT;

    add_old(fixture, "aaaaaaaaaaaaaaaa", "repo:1", "3 hours", SUCCESS);
    add_old(fixture, "bbbbbbbbbbbbbbbb", "repo:1", "1 hour", "status = 'FAILURE',");
    add_old(fixture, "cccccccccccccccc", "repo:1", "2 hours", SUCCESS);
    add_old(fixture, "dddddddddddddddd", "repo:2", "1 minute", SUCCESS);
    assert_done(build_store_find(fixture->db, "repo:1", &read, &err), &err);
    assert_string_equal(read.id, "bbbbbbbbbbbbbbbb");
}

static void interrupted_builds_end(void **state)
{
    const struct store_fixture *fixture = *state;
    struct image_build queued = new_build("aaaaaaaaaaaaaaaa", "repo:1");
    struct image_build building = new_build("bbbbbbbbbbbbbbbb", "repo:2");
    struct error err = ERROR_INIT;

    add_old(fixture, "cccccccccccccccc", "repo:3", "1 hour", SUCCESS);
    add_old(fixture, "dddddddddddddddd", "repo:4", "1 hour", "status = 'FAILURE', error = 'x',");
    add(fixture, &building);
    test_sql("UPDATE image_builds SET status = 'BUILDING' WHERE id = 'bbbbbbbbbbbbbbbb'");
    add(fixture, &queued);
    assert_done(build_store_end_all(fixture->db, "the service ended", &err), &err);
    assert_int_equal(test_sql_count("SELECT count(*) FROM image_builds WHERE error ="
                                    " 'the service ended' AND status = 'INTERNAL_ERROR'"
                                    " AND id IN ('aaaaaaaaaaaaaaaa', 'bbbbbbbbbbbbbbbb')"),
                     2);
    assert_int_equal(test_sql_count("SELECT count(*) FROM image_builds WHERE error ="
                                    " 'the service ended'"),
                     2);
}

/* The ids of the images to delete, each with a comma. */
static void assert_doomed(const struct store_fixture *fixture, int64_t most, const char *expected)
{
    CLEANUP(build_list_done) struct build_list list = {.items = NULL};
    CLEANUP(strbuf_done) struct strbuf ids = STRBUF_INIT;
    struct error err = ERROR_INIT;

    assert_done(build_store_list_doomed(fixture->db, most, &list, &err), &err);
    strbuf_append(&ids, "");
    for (size_t i = 0; i < list.n; i++)
        strbuf_appendf(&ids, "%.1s,", list.items[i].id);
    assert_string_equal(ids.text, expected);
}

/* Two keys with images of their own; the first is of a deft process. */
static void add_images(const struct store_fixture *fixture)
{
    const struct tenant tenant = {.user_id = fixture->user_id};
    struct error err = ERROR_INIT;

    assert_done(runtime_key_store_add(fixture->db, &tenant, "a", "hash-a", &err), &err);
    assert_done(runtime_key_store_add(fixture->db, &tenant, "b", "hash-b", &err), &err);
#define OF_KEY(name) "tenant_id = (SELECT id FROM runtime_keys WHERE name = '" name "'),"
    add_old(fixture, "aaaaaaaaaaaaaaaa", "a:1", "9 hours", SUCCESS OF_KEY("a"));
    add_old(fixture, "bbbbbbbbbbbbbbbb", "a:2", "8 hours", SUCCESS OF_KEY("a"));
    add_old(fixture, "cccccccccccccccc", "a:3", "7 hours", SUCCESS OF_KEY("a"));
    /* The oldest name was built anew. */
    add_old(fixture, "dddddddddddddddd", "a:1", "1 hour", SUCCESS OF_KEY("a"));
    add_old(fixture, "eeeeeeeeeeeeeeee", "b:1", "6 hours", SUCCESS OF_KEY("b"));
    add_old(fixture, "ffffffffffffffff", "b:2", "5 hours", OF_KEY("b") "status = 'FAILURE',");
}

static void images_beyond_a_keys_number_are_doomed(void **state)
{
    const struct store_fixture *fixture = *state;

    add_images(fixture);
    assert_doomed(fixture, 3, "");
    assert_doomed(fixture, 2, "b,");
    assert_doomed(fixture, 1, "b,c,");
    assert_doomed(fixture, 0, "b,c,e,d,");
}

static void images_of_a_revoked_key_are_doomed(void **state)
{
    const struct store_fixture *fixture = *state;

    add_images(fixture);
    test_sql("UPDATE runtime_keys SET revoked_at = now() WHERE name = 'a'");
    assert_doomed(fixture, 9, "b,c,d,");
}

static void old_builds_that_left_no_image_are_pruned(void **state)
{
    const struct store_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    add_old(fixture, "aaaaaaaaaaaaaaaa", "a:1", "8 days", "status = 'FAILURE',");
    add_old(fixture, "bbbbbbbbbbbbbbbb", "a:2", "8 days", "status = 'INTERNAL_ERROR',");
    add_old(fixture, "cccccccccccccccc", "a:3", "8 days", "status = 'TIMEOUT',");
    add_old(fixture, "dddddddddddddddd", "a:4", "8 days", "status = 'EXPIRED',");
    add_old(fixture, "eeeeeeeeeeeeeeee", "a:5", "9 days", SUCCESS);
    add_old(fixture, "ffffffffffffffff", "a:5", "8 days", SUCCESS);
    add_old(fixture, "gggggggggggggggg", "a:6", "8 days", "status = 'BUILDING',");
    add_old(fixture, "hhhhhhhhhhhhhhhh", "a:7", "6 days", "status = 'FAILURE',");
    add_old(fixture, "iiiiiiiiiiiiiiii", "a:8", "8 days", SUCCESS);
    add_old(fixture, "jjjjjjjjjjjjjjjj", "a:8", "1 day", "status = 'FAILURE',");
    assert_done(build_store_prune(fixture->db, &err), &err);
    assert_int_equal(test_sql_count("SELECT count(*) FROM image_builds"), 5);
    assert_int_equal(test_sql_count("SELECT count(*) FROM image_builds WHERE left(id, 1)"
                                    " IN ('f', 'g', 'h', 'i', 'j')"),
                     5);
}

static void missing_one_is_released(void **state)
{
    (void)state;
    image_build_done(NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(build_is_read_as_it_was_stored, remove_all),
        cmocka_unit_test_setup(missing_build_is_not_found, remove_all),
        cmocka_unit_test_setup(each_status_is_stored_with_what_came_of_it, remove_all),
        cmocka_unit_test_setup(image_has_one_build_at_a_time, remove_all),
        cmocka_unit_test_setup(newest_build_of_a_name_is_found, remove_all),
        cmocka_unit_test_setup(interrupted_builds_end, remove_all),
        cmocka_unit_test_setup(images_beyond_a_keys_number_are_doomed, remove_all),
        cmocka_unit_test_setup(images_of_a_revoked_key_are_doomed, remove_all),
        cmocka_unit_test_setup(old_builds_that_left_no_image_are_pruned, remove_all),
        cmocka_unit_test(missing_one_is_released),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
