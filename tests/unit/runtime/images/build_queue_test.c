/*
 * How many images are built at once, and for whom; how a build ends, and which images go.
 */
#include "runtime/images/build_queue.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <zlib.h>

#include "base/clock.h"
#include "base/json.h"
#include "runtime/core/runtime_record.h"
#include "runtime/lifecycle/lifecycle.h"
#include "store/runtime/build_store.h"
#include "support/sql.h"
#include "unit/runtime/lifecycle/service_fixture.h"

enum { PATIENCE_MS = 60000 };

static void *run(void *context)
{
    build_queue_run(context);
    return NULL;
}

static enum error_code take(struct build_queue *queue, const struct uuid *tenant,
                            struct build_slot *slot)
{
    struct error err = ERROR_INIT;

    return build_queue_take_slot(queue, tenant, slot, &err) < 0 ? err.code : ERROR_NONE;
}

/* One key must not keep the others waiting. */
static void each_key_has_its_share_of_the_slots(void **state)
{
    struct service_fixture *fixture = *state;
    struct build_queue *queue = fixture->service.build_queue;
    const struct uuid one = uuid_random();
    const struct uuid two = uuid_random();
    const struct uuid three = uuid_random();
    struct build_slot slots[5] = {{.build_queue = NULL}};
    int64_t deadline_ms = clock_monotonic_ms() + PATIENCE_MS;
    pthread_t thread = 0;

    assert_int_equal(take(queue, &one, &slots[0]), ERROR_UNAVAILABLE);
    assert_int_equal(pthread_create(&thread, NULL, run, &fixture->service), 0);
    while (take(queue, &one, &slots[0]) != ERROR_NONE)
        assert_true(clock_monotonic_ms() < deadline_ms);
    assert_int_equal(take(queue, &one, &slots[1]), ERROR_NONE);
    assert_int_equal(take(queue, &one, &slots[2]), ERROR_RATE_LIMITED);
    assert_int_equal(take(queue, &two, &slots[2]), ERROR_NONE);
    assert_int_equal(take(queue, &two, &slots[3]), ERROR_NONE);
    assert_int_equal(take(queue, &three, &slots[4]), ERROR_RATE_LIMITED);
    build_slot_release(&slots[0]);
    build_slot_release(&slots[0]); /* frees no other slot of that key */
    assert_int_equal(take(queue, &one, &slots[0]), ERROR_NONE);
    assert_int_equal(take(queue, &one, &slots[4]), ERROR_RATE_LIMITED);
    build_slot_release(&slots[0]);
    assert_int_equal(take(queue, &two, &slots[4]), ERROR_RATE_LIMITED);
    assert_int_equal(take(queue, &three, &slots[4]), ERROR_NONE);
    for (size_t i = 0; i < ARRAY_SIZE(slots); i++)
        build_slot_release(&slots[i]);
    build_queue_stop(&fixture->service);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(take(queue, &one, &slots[0]), ERROR_UNAVAILABLE);
}

/* --- builds --- */

#define NAME "localhost/inst/house/x:1"
#define DOCKERFILE "FROM debian\n"

enum { BLOCK = 512, PACKED_BYTES = 4096 };

/* A gzipped archive with that Dockerfile. */
static void append_context(struct strbuf *context, const char *dockerfile)
{
    unsigned char tar[4 * BLOCK] = {0};
    unsigned char packed[PACKED_BYTES];
    z_stream stream = {
        .next_in = tar, .avail_in = sizeof(tar), .next_out = packed, .avail_out = sizeof(packed)};

    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): the rest is zeros */
    memcpy(tar, "Dockerfile", 10);
    (void)snprintf((char *)tar + 124, 12, "%011o", (unsigned)strlen(dockerfile));
    tar[156] = '0';
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): the rest is zeros */
    memcpy(tar + 257, "ustar", 5);
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): the rest is zeros */
    memcpy(tar + BLOCK, dockerfile, strlen(dockerfile));
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
                     Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    strbuf_append_bytes(context, (char *)packed, stream.total_out);
    (void)deflateEnd(&stream);
}

static void await_count(const char *condition)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    int64_t deadline_ms = clock_monotonic_ms() + PATIENCE_MS;

    strbuf_appendf(&sql, "SELECT count(*) FROM image_builds WHERE %s", condition);
    while (test_sql_count(sql.text) != 1)
        assert_true(clock_monotonic_ms() < deadline_ms);
}

/* Stores a build as the API does; the slot is given. */
static void add(struct service_fixture *fixture, struct build_slot *slot, const char *name,
                const char *dockerfile)
{
    CLEANUP(image_build_done) struct image_build job = IMAGE_BUILD_INIT;
    CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;
    struct error err = ERROR_INIT;

    runtime_record_make_id(job.id);
    runtime_record_set_text(&job.image, name);
    runtime_record_set_text(&job.context_hash, "hash");
    job.tags = json_array();
    json_push(job.tags, json_text_of(name));
    append_context(&context, dockerfile);
    assert_int_equal(build_store_add(fixture->service.db, &job, &err), 0);
    build_queue_add(slot, &job, &context);
    /* The queue owns all three. */
    assert_null(slot->build_queue);
    assert_null(job.image);
    assert_null(job.tags);
    assert_int_equal(context.len, 0);
}

static void await_slot(struct service_fixture *fixture, const struct uuid *tenant,
                       struct build_slot *slot)
{
    int64_t deadline_ms = clock_monotonic_ms() + PATIENCE_MS;

    while (take(fixture->service.build_queue, tenant, slot) != ERROR_NONE)
        assert_true(clock_monotonic_ms() < deadline_ms);
}

static void post(struct service_fixture *fixture, const char *name, const char *dockerfile)
{
    CLEANUP(build_slot_release) struct build_slot slot = {.build_queue = NULL};
    const struct uuid nobody = UUID_INIT;

    await_slot(fixture, &nobody, &slot);
    add(fixture, &slot, name, dockerfile);
}

/* Posts a build, the only one, and waits until it has ended. */
static void build(struct service_fixture *fixture, const char *dockerfile)
{
    test_sql("DELETE FROM image_builds");
    post(fixture, NAME, dockerfile);
    await_count("status NOT IN ('QUEUED', 'BUILDING')");
}

static int set_up(void **state)
{
    if (service_set_up(state) < 0)
        return -1;
    test_sql("DELETE FROM image_builds");
    return 0;
}

/* Updates that fulfill the condition fail with that SQLSTATE, until the next call. */
static void refuse_updates(const char *condition, const char *sqlstate)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "CREATE SEQUENCE test_refusals;"
                   "CREATE FUNCTION test_refuse() RETURNS trigger LANGUAGE plpgsql AS"
                   " 'BEGIN PERFORM nextval(''test_refusals'');"
                   "  RAISE ''as the test wants it'' USING ERRCODE = ''%s''; END';"
                   "CREATE TRIGGER test_refuse BEFORE UPDATE ON image_builds FOR EACH ROW"
                   " WHEN (%s) EXECUTE FUNCTION test_refuse()",
                   sqlstate, condition);
    test_sql(sql.text);
}

static void refuse_no_updates(void)
{
    test_sql("DROP TRIGGER IF EXISTS test_refuse ON image_builds;"
             "DROP FUNCTION IF EXISTS test_refuse; DROP SEQUENCE IF EXISTS test_refusals");
}

static void await_refusal(void)
{
    int64_t deadline_ms = clock_monotonic_ms() + PATIENCE_MS;

    while (test_sql_count("SELECT is_called::int FROM test_refusals") != 1)
        assert_true(clock_monotonic_ms() < deadline_ms);
}

static int tear_down(void **state)
{
    refuse_no_updates();
    test_sql("DROP TRIGGER IF EXISTS test_wait ON image_builds;"
             "DROP FUNCTION IF EXISTS test_wait; DELETE FROM image_builds");
    return service_tear_down(state);
}

static pthread_t start(struct service_fixture *fixture)
{
    pthread_t thread = 0;

    fixture->settings.reconcile_ms = INT64_C(10) * PATIENCE_MS;
    assert_int_equal(pthread_create(&thread, NULL, run, &fixture->service), 0);
    return thread;
}

static void stop(struct service_fixture *fixture, pthread_t thread)
{
    build_queue_stop(&fixture->service);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void end_of_a_build_is_stored(void **state)
{
    static const struct {
        enum error_code code;
        const char *output;
        const char *row;
    } cases[] = {
        {ERROR_NONE, "output",
         "status = 'SUCCESS' AND image_id = 'sha256:built' AND error IS NULL"},
        {ERROR_INVALID, "output", "status = 'FAILURE' AND error = 'output'"},
        {ERROR_INVALID, "", "status = 'FAILURE' AND error = 'as the test wants it'"},
        {ERROR_NOT_FOUND, "", "status = 'FAILURE'"},
        {ERROR_TOO_LARGE, "", "status = 'FAILURE'"},
        {ERROR_UNSUPPORTED, "", "status = 'FAILURE'"},
        {ERROR_FORBIDDEN, "", "status = 'FAILURE'"},
        {ERROR_TIMEOUT, "", "status = 'TIMEOUT'"},
        {ERROR_CANCELLED, "", "status = 'INTERNAL_ERROR'"},
        {ERROR_UNAVAILABLE, "", "status = 'INTERNAL_ERROR'"},
        {ERROR_CONFLICT, "", "status = 'INTERNAL_ERROR'"},
        {ERROR_INTERNAL, "", "status = 'INTERNAL_ERROR'"},
    };
    struct service_fixture *fixture = *state;
    pthread_t thread = start(fixture);

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        fixture->backend.build_error = cases[i].code;
        fixture->backend.build_output = cases[i].output;
        build(fixture, DOCKERFILE);
        await_count(cases[i].row);
        assert_told(fixture, "build " NAME ";");
    }
    stop(fixture, thread);
    assert_true(service_was_told(fixture, "stop_building"));
}

/* Output that is not text would keep the row as it was, and its client waiting. */
static void output_that_cannot_be_stored_is_replaced(void **state)
{
    struct service_fixture *fixture = *state;
    pthread_t thread = start(fixture);

    fixture->backend.build_error = ERROR_INVALID;
    fixture->backend.build_output = "\xff\xfe";
    build(fixture, DOCKERFILE);
    await_count("status = 'FAILURE' AND image_id = 'sha256:built'"
                " AND error = 'The build failed, and its output cannot be stored.'");
    stop(fixture, thread);
}

/* Clients ask until a build has ended. */
static void end_is_stored_once_the_database_takes_it(void **state)
{
    struct service_fixture *fixture = *state;
    pthread_t thread = start(fixture);

    refuse_updates("NEW.status = 'SUCCESS'", "53100");
    post(fixture, NAME, DOCKERFILE);
    await_refusal();
    await_count("status = 'BUILDING'");
    refuse_no_updates();
    await_count("status = 'SUCCESS' AND image_id = 'sha256:built' AND error IS NULL");
    stop(fixture, thread);
}

static void build_that_cannot_be_stored_holds_up_no_other(void **state)
{
    struct service_fixture *fixture = *state;
    pthread_t thread = start(fixture);

    refuse_updates("NEW.image = '" NAME "'", "23514");
    post(fixture, NAME, DOCKERFILE);
    post(fixture, "other", DOCKERFILE);
    await_count("status = 'SUCCESS' AND image = 'other'");
    await_count("status = 'QUEUED' AND image = '" NAME "'");
    stop(fixture, thread);
}

/* The thread is held at the first of three builds until all are posted. */
static void builds_are_made_in_the_order_of_their_posts(void **state)
{
    static const char *const names[] = {"a", "b", "c"};
    struct service_fixture *fixture = *state;
    struct build_slot slots[3] = {{.build_queue = NULL}};
    struct test_tx *tx = NULL;
    pthread_t thread = start(fixture);

    for (size_t i = 0; i < ARRAY_SIZE(slots); i++) {
        const struct uuid tenant = uuid_random();

        await_slot(fixture, &tenant, &slots[i]);
    }
    test_sql("CREATE FUNCTION test_wait() RETURNS trigger LANGUAGE plpgsql AS"
             " 'BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END';"
             "CREATE TRIGGER test_wait BEFORE UPDATE ON image_builds FOR EACH ROW"
             " EXECUTE FUNCTION test_wait()");
    tx = test_tx_begin();
    test_tx_sql(tx, "SELECT pg_advisory_xact_lock(4711)");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        add(fixture, &slots[i], names[i], DOCKERFILE);
    test_wait_blocked();
    test_tx_commit(tx);
    await_count("(SELECT count(*) FROM image_builds WHERE status = 'SUCCESS') = 3 AND image = 'c'");
    assert_told(fixture, "build a;build b;build c;");
    stop(fixture, thread);
}

static void old_builds_are_forgotten(void **state)
{
    struct service_fixture *fixture = *state;
    int64_t deadline_ms = clock_monotonic_ms() + PATIENCE_MS;
    pthread_t thread = 0;

    test_sql("INSERT INTO image_builds (id, image, tags, context_hash, status, updated_at) VALUES"
             " ('aaaaaaaaaaaaaaaa', 'a', '[]', 'h', 'FAILURE', now() - interval '8 days'),"
             " ('bbbbbbbbbbbbbbbb', 'b', '[]', 'h', 'FAILURE', now() - interval '6 days')");
    thread = start(fixture);
    while (test_sql_count("SELECT count(*) FROM image_builds") != 1)
        assert_true(clock_monotonic_ms() < deadline_ms);
    await_count("image = 'b'");
    stop(fixture, thread);
}

/* Only images of this host, and of the registries on the list. */
static void images_of_other_registries_are_not_fetched(void **state)
{
    static const char *const refused[] = {"FROM evil.example/x\n",
                                          "FROM debian\nCOPY --from=evil.example/x /a /b\n"};
    struct service_fixture *fixture = *state;
    pthread_t thread = start(fixture);

    fixture->backend.find_error = ERROR_NOT_FOUND;
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        build(fixture, refused[i]);
        await_count("status = 'FAILURE' AND image_id IS NULL AND error = 'Dockerfile: images cannot"
                    " be pulled from evil.example: it is not on the list of registries"
                    " (DEFT_REGISTRIES)'");
    }
    assert_told(fixture, "");
    fixture->backend.find_error = ERROR_NONE; /* it is on this host */
    build(fixture, refused[0]);
    await_count("status = 'SUCCESS'");
    stop(fixture, thread);
}

static void builds_cut_off_by_the_end_of_the_service_are_failed(void **state)
{
    struct service_fixture *fixture = *state;
    pthread_t thread = 0;

    test_sql("INSERT INTO image_builds (id, image, tags, context_hash, status) VALUES"
             " ('aaaaaaaaaaaaaaaa', 'a', '[]', 'h', 'BUILDING'),"
             " ('bbbbbbbbbbbbbbbb', 'b', '[]', 'h', 'SUCCESS')");
    thread = start(fixture);
    await_count("status = 'INTERNAL_ERROR' AND image = 'a'"
                " AND error = 'the service stopped during the build; post it again'");
    await_count("status = 'SUCCESS' AND image = 'b'");
    stop(fixture, thread);
}

/* Until then nothing new begins, or it would be failed, too. */
static void builds_are_accepted_once_those_of_before_are_failed(void **state)
{
    struct service_fixture *fixture = *state;
    struct build_queue *queue = fixture->service.build_queue;
    const struct uuid nobody = UUID_INIT;
    struct build_slot slot = {.build_queue = NULL};
    pthread_t thread = 0;

    test_sql("INSERT INTO image_builds (id, image, tags, context_hash, status) VALUES"
             " ('aaaaaaaaaaaaaaaa', 'a', '[]', 'h', 'BUILDING')");
    refuse_updates("OLD.status = 'BUILDING'", "53100");
    thread = start(fixture);
    await_refusal();
    assert_int_equal(take(queue, &nobody, &slot), ERROR_UNAVAILABLE);
    refuse_no_updates();
    await_slot(fixture, &nobody, &slot);
    await_count("status = 'INTERNAL_ERROR' AND image = 'a'");
    build_slot_release(&slot);
    stop(fixture, thread);
}

static void end_of_the_service_waits_for_no_database(void **state)
{
    struct service_fixture *fixture = *state;
    pthread_t thread = 0;

    test_sql("INSERT INTO image_builds (id, image, tags, context_hash, status) VALUES"
             " ('aaaaaaaaaaaaaaaa', 'a', '[]', 'h', 'BUILDING')");
    refuse_updates("OLD.status = 'BUILDING'", "53100");
    thread = start(fixture);
    await_refusal();
    stop(fixture, thread);
    await_count("status = 'BUILDING'");
    assert_told(fixture, "stop_building ;");
}

static void images_beyond_the_limit_are_removed(void **state)
{
    struct service_fixture *fixture = *state;
    pthread_t thread = 0;

    fixture->settings.tenant_images = 1;
    test_sql(
        "INSERT INTO image_builds (id, image, tags, context_hash, image_id, status, created_at)"
        " VALUES ('aaaaaaaaaaaaaaaa', 'a', '[\"a:1\", \"a:2\"]', 'h', 'i', 'SUCCESS',"
        " now() - interval '1 hour'),"
        " ('bbbbbbbbbbbbbbbb', 'b', '[\"b\"]', 'h', 'i', 'SUCCESS', now())");
    fixture->backend.remove_error = ERROR_CONFLICT; /* a container uses it */
    thread = start(fixture);
    service_await_told(fixture, "remove_image a:1;");
    stop(fixture, thread);
    await_count("status = 'SUCCESS' AND image = 'a'");
    build_queue_free(fixture->service.build_queue);
    fixture->service.build_queue = build_queue_new();
    fixture->backend.remove_error = ERROR_NONE;
    service_forget_told(fixture);
    thread = start(fixture);
    await_count("status = 'EXPIRED' AND image = 'a' AND error ="
                " 'the image was removed: its key was revoked, or newer images of that key replaced"
                " it'");
    assert_true(service_was_told(fixture, "remove_image a:1;remove_image a:2;"));
    await_count("status = 'SUCCESS' AND image = 'b'");
    service_forget_told(fixture);
    test_sql("UPDATE image_builds SET status = 'SUCCESS'");
    build_queue_wake(fixture->service.build_queue);
    service_await_told(fixture, "remove_image a:1;remove_image a:2;");
    stop(fixture, thread);
}

/* A container may have been the last one that used an image. */
static void images_are_looked_at_again_when_a_runtime_is_deleted(void **state)
{
    struct service_fixture *fixture = *state;
    struct error err = ERROR_INIT;
    pthread_t thread = 0;

    fixture->settings.tenant_images = 1;
    service_add_runtime(fixture, &(struct test_runtime){.id = "aaaaaaaaaaaaaaaa"});
    test_sql(
        "INSERT INTO image_builds (id, image, tags, context_hash, image_id, status, created_at)"
        " VALUES ('aaaaaaaaaaaaaaaa', 'a', '[\"a\"]', 'h', 'i', 'SUCCESS',"
        " now() - interval '1 hour'),"
        " ('bbbbbbbbbbbbbbbb', 'b', '[\"b\"]', 'h', 'i', 'SUCCESS', now())");
    fixture->backend.remove_error = ERROR_CONFLICT;
    thread = start(fixture);
    service_await_told(fixture, "remove_image a;");
    fixture->backend.remove_error = ERROR_NONE;
    assert_int_equal(lifecycle_request(&fixture->service, VERB_DELETE, "aaaaaaaaaaaaaaaa", &err),
                     0);
    await_count("status = 'EXPIRED' AND image = 'a'");
    stop(fixture, thread);
}

int build_queue_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_key_has_its_share_of_the_slots, service_set_up,
                                        service_tear_down),
        cmocka_unit_test_setup_teardown(end_of_a_build_is_stored, set_up, tear_down),
        cmocka_unit_test_setup_teardown(output_that_cannot_be_stored_is_replaced, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(end_is_stored_once_the_database_takes_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(build_that_cannot_be_stored_holds_up_no_other, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(builds_are_made_in_the_order_of_their_posts, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(builds_are_accepted_once_those_of_before_are_failed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(end_of_the_service_waits_for_no_database, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(old_builds_are_forgotten, set_up, tear_down),
        cmocka_unit_test_setup_teardown(images_of_other_registries_are_not_fetched, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(builds_cut_off_by_the_end_of_the_service_are_failed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(images_beyond_the_limit_are_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(images_are_looked_at_again_when_a_runtime_is_deleted,
                                        set_up, tear_down),
    };

    return cmocka_run_group_tests_name("runtime/build_queue", tests, NULL, NULL);
}
