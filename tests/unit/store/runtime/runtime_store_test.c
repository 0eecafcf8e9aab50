/*
 * The store's guarantees for sandboxes: one live sandbox per session, status changes only from the
 * known old status, and a list of sandboxes that are not yet in the desired state.
 */
#include "store/runtime/idle_store.h"
#include "store/runtime/runtime_store.h"

#include <pthread.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "store/db/db.h"
#include "store/runtime/runtime_key_store.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

/* 16 letters, made of random hex digits. */
static void fill_id(char id[17])
{
    struct uuid random = uuid_random();
    char hex[UUID_HEX_BYTES];

    uuid_to_hex(&random, hex);
    for (size_t i = 0; i < 16; i++)
        id[i] = (char)('a' + (hex[i] <= '9' ? hex[i] - '0' : hex[i] - 'a' + 10));
    id[16] = '\0';
}

static struct runtime new_runtime(const struct store_fixture *fixture, const char *session_id)
{
    struct runtime runtime = RUNTIME_INIT;
    struct uuid hash = uuid_random();

    fill_id(runtime.id);
    runtime.session_id = mem_dup_text(session_id);
    runtime.owner_id = fixture->user_id;
    runtime.image = mem_dup_text("deft-sandbox:1");
    runtime.spec = json_object();
    json_put_text(runtime.spec, "image", "deft-sandbox:1");
    runtime.session_key = mem_dup_text("sealed");
    memcpy(runtime.session_key_hash, hash.text, sizeof(hash.text));
    return runtime;
}

static struct runtime add(const struct store_fixture *fixture, const char *session_id)
{
    struct runtime runtime = new_runtime(fixture, session_id);
    struct error err = ERROR_INIT;

    assert_done(runtime_store_add(fixture->db, &runtime, 0, &err), &err);
    return runtime;
}

static struct runtime add_session(const struct store_fixture *fixture)
{
    struct uuid session = uuid_random();

    return add(fixture, session.text);
}

/* Brings the row from one status to another. */
static void move(const struct store_fixture *fixture, struct runtime *runtime,
                 enum runtime_status status)
{
    enum runtime_status from = runtime->status;
    struct error err = ERROR_INIT;

    runtime->status = status;
    assert_done(runtime_store_update(fixture->db, runtime, from, &err), &err);
}

static void want(const struct store_fixture *fixture, const struct runtime *runtime,
                 enum runtime_desire desired)
{
    struct error err = ERROR_INIT;

    assert_done(runtime_store_want(fixture->db, runtime->id, desired, &err), &err);
}

static bool list_has(const struct runtime_list *list, const char *id)
{
    for (size_t i = 0; i < list->n; i++) {
        if (text_equal(list->items[i].id, id))
            return true;
    }
    return false;
}

static bool is_unsettled(const struct store_fixture *fixture, const struct runtime *runtime)
{
    CLEANUP(runtime_list_done) struct runtime_list list = {0};
    struct error err = ERROR_INIT;

    assert_done(runtime_store_list_unsettled(fixture->db, &list, &err), &err);
    return list_has(&list, runtime->id);
}

static bool is_listed(const struct store_fixture *fixture, const struct runtime *runtime)
{
    CLEANUP(runtime_list_done) struct runtime_list list = {0};
    struct error err = ERROR_INIT;

    assert_done(runtime_store_list(fixture->db, &list, &err), &err);
    return list_has(&list, runtime->id);
}

static void new_runtime_is_starting_and_wanted(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime made = add_session(fixture);
    CLEANUP(runtime_done) struct runtime found = RUNTIME_INIT;
    struct error err = ERROR_INIT;

    assert_done(runtime_store_get(fixture->db, made.id, &found, &err), &err);
    assert_int_equal(found.status, RUNTIME_STARTING);
    assert_int_equal(found.desired, DESIRED_RUNNING);
    assert_string_equal(found.session_id, made.session_id);
    assert_string_equal(found.owner_id.text, fixture->user_id.text);
    assert_string_equal(found.session_key, "sealed");
    assert_true(json_equal(found.spec, made.spec));
    assert_null(found.url);
    assert_null(found.status_detail);
    assert_true(found.created_at_us > 0);
}

static void unknown_runtime_is_not_found(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime found = RUNTIME_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(runtime_store_get(fixture->db, "nosuchruntimeabc", &found, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(runtime_store_get_session(fixture->db, "no-session", &found, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(runtime_store_want(fixture->db, "nosuchruntimeabc", DESIRED_PAUSED, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void session_has_one_live_runtime(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime first = add_session(fixture);
    CLEANUP(runtime_done) struct runtime second = new_runtime(fixture, first.session_id);
    CLEANUP(runtime_done) struct runtime newest = RUNTIME_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(runtime_store_add(fixture->db, &second, 0, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    move(fixture, &first, RUNTIME_RUNNING);
    move(fixture, &first, RUNTIME_PAUSED);
    assert_int_equal(runtime_store_add(fixture->db, &second, 0, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    move(fixture, &first, RUNTIME_STOPPED);
    assert_done(runtime_store_add(fixture->db, &second, 0, &err), &err);
    assert_done(runtime_store_get_session(fixture->db, first.session_id, &newest, &err), &err);
    assert_string_equal(newest.id, second.id);
}

static void failed_runtime_makes_room_for_another(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime failed = add_session(fixture);
    CLEANUP(runtime_done) struct runtime next = new_runtime(fixture, failed.session_id);
    struct error err = ERROR_INIT;

    move(fixture, &failed, RUNTIME_ERROR);
    assert_done(runtime_store_add(fixture->db, &next, 0, &err), &err);
}

static void update_is_refused_when_the_status_has_moved_on(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime runtime = add_session(fixture);
    CLEANUP(runtime_done) struct runtime found = RUNTIME_INIT;
    struct error err = ERROR_INIT;

    runtime.url = mem_dup_text("http://10.1.2.3:8000");
    runtime.container_id = mem_dup_text("c0ffee");
    runtime.status_detail = mem_dup_text("all is well");
    runtime.restart_count = 2;
    move(fixture, &runtime, RUNTIME_RUNNING);
    runtime.status = RUNTIME_ERROR;
    assert_int_equal(runtime_store_update(fixture->db, &runtime, RUNTIME_STARTING, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_done(runtime_store_get(fixture->db, runtime.id, &found, &err), &err);
    assert_int_equal(found.status, RUNTIME_RUNNING);
    assert_string_equal(found.url, "http://10.1.2.3:8000");
    assert_string_equal(found.container_id, "c0ffee");
    assert_string_equal(found.status_detail, "all is well");
    assert_int_equal(found.restart_count, 2);
}

static struct tenant new_tenant(const struct store_fixture *fixture)
{
    struct tenant tenant = {.user_id = fixture->user_id, .max_runtimes = 7};
    struct tenant found = TENANT_INIT;
    struct uuid hash = uuid_random();
    struct error err = ERROR_INIT;

    assert_done(runtime_key_store_add(fixture->db, &tenant, "test", hash.text, &err), &err);
    assert_done(runtime_key_store_find(fixture->db, hash.text, &found, &err), &err);
    assert_string_equal(found.user_id.text, fixture->user_id.text);
    assert_int_equal(found.max_runtimes, 7);
    return found;
}

static struct runtime new_of_tenant(const struct store_fixture *fixture,
                                    const struct tenant *tenant)
{
    struct uuid session = uuid_random();
    struct runtime runtime = new_runtime(fixture, session.text);

    runtime.tenant_id = tenant->id;
    runtime.tenant_session = mem_dup_text("theirs");
    return runtime;
}

static void unknown_key_is_no_tenant(void **state)
{
    const struct store_fixture *fixture = *state;
    struct tenant found = TENANT_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(runtime_key_store_find(fixture->db, "no-such-hash", &found, &err), -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
}

static void tenant_runs_no_more_than_it_may(void **state)
{
    const struct store_fixture *fixture = *state;
    struct tenant tenant = new_tenant(fixture);
    CLEANUP(runtime_done) struct runtime first = new_of_tenant(fixture, &tenant);
    CLEANUP(runtime_done) struct runtime second = new_of_tenant(fixture, &tenant);
    CLEANUP(runtime_list_done) struct runtime_list list = {0};
    struct error err = ERROR_INIT;

    assert_done(runtime_store_add(fixture->db, &first, 1, &err), &err);
    assert_int_equal(runtime_store_add(fixture->db, &second, 1, &err), -1);
    assert_int_equal(err.code, ERROR_RATE_LIMITED);
    assert_done(runtime_store_want(fixture->db, first.id, DESIRED_PAUSED, &err), &err);
    assert_done(runtime_store_add(fixture->db, &second, 1, &err), &err);
    assert_int_equal(runtime_store_want_within(fixture->db, &first, 1, &err), -1);
    assert_int_equal(err.code, ERROR_RATE_LIMITED);
    assert_done(runtime_store_want_within(fixture->db, &second, 1, &err), &err);
    assert_done(runtime_store_want_within(fixture->db, &first, 2, &err), &err);
    assert_done(runtime_store_list_tenant(fixture->db, &tenant.id, &list, &err), &err);
    assert_int_equal(list.n, 2);
    assert_string_equal(list.items[0].tenant_session, "theirs");
    assert_string_equal(list.items[0].tenant_id.text, tenant.id.text);
}

/* A start of a tenant that may have one sandbox. */
struct start {
    const struct store_fixture *fixture;
    const struct runtime *runtime;
    enum error_code code;
};

static void *add_within_one(void *context)
{
    struct start *start = context;
    struct error err = ERROR_INIT;

    (void)(runtime_store_add(start->fixture->db, start->runtime, 1, &err) < 0);
    start->code = err.code;
    return NULL;
}

static void starts_of_a_tenant_are_counted_one_after_the_other(void **state)
{
    const struct store_fixture *fixture = *state;
    struct tenant tenant = new_tenant(fixture);
    CLEANUP(runtime_done) struct runtime other = add_session(fixture);
    CLEANUP(runtime_done) struct runtime second = new_of_tenant(fixture, &tenant);
    CLEANUP(strbuf_done) struct strbuf lock = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf give = STRBUF_INIT;
    struct start start = {.fixture = fixture, .runtime = &second};
    struct test_tx *tx = test_tx_begin();
    pthread_t thread = 0;

    strbuf_appendf(&lock, "SELECT 1 FROM runtime_keys WHERE id = '%s' FOR NO KEY UPDATE",
                   tenant.id.text);
    strbuf_appendf(&give, "UPDATE runtimes SET tenant_id = '%s' WHERE id = '%s'", tenant.id.text,
                   other.id);
    test_tx_sql(tx, lock.text);
    assert_int_equal(pthread_create(&thread, NULL, add_within_one, &start), 0);
    test_wait_blocked();
    test_tx_sql(tx, give.text);
    test_tx_commit(tx);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(start.code, ERROR_RATE_LIMITED);
}

static void unsettled_is_what_is_not_as_wanted(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime runtime = add_session(fixture);

    assert_true(is_unsettled(fixture, &runtime));
    move(fixture, &runtime, RUNTIME_RUNNING);
    assert_false(is_unsettled(fixture, &runtime));
    want(fixture, &runtime, DESIRED_PAUSED);
    assert_true(is_unsettled(fixture, &runtime));
    move(fixture, &runtime, RUNTIME_PAUSED);
    assert_false(is_unsettled(fixture, &runtime));
    move(fixture, &runtime, RUNTIME_ERROR); /* nothing to try again by itself … */
    assert_false(is_unsettled(fixture, &runtime));
    want(fixture, &runtime, DESIRED_DELETED); /* … but its remains must go */
    assert_true(is_unsettled(fixture, &runtime));
}

static void key_works_while_the_runtime_lives(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime deleted = add_session(fixture);
    CLEANUP(runtime_done) struct runtime stopped = add_session(fixture);
    CLEANUP(runtime_done) struct runtime found = RUNTIME_INIT;
    struct error err = ERROR_INIT;

    assert_done(runtime_store_find_key(fixture->db, deleted.session_key_hash, &found, &err), &err);
    assert_string_equal(found.id, deleted.id);
    want(fixture, &deleted, DESIRED_DELETED);
    assert_int_equal(runtime_store_find_key(fixture->db, deleted.session_key_hash, &found, &err),
                     -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
    move(fixture, &stopped, RUNTIME_STOPPED);
    assert_int_equal(runtime_store_find_key(fixture->db, stopped.session_key_hash, &found, &err),
                     -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
}

static void one_that_is_to_be_deleted_is_wanted_in_no_other_way(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime runtime = add_session(fixture);
    struct error err = ERROR_INIT;

    want(fixture, &runtime, DESIRED_DELETED);
    for (int desired = 0; desired < DESIRED_N; desired++) {
        if (desired == DESIRED_DELETED)
            continue;
        assert_int_equal(
            runtime_store_want(fixture->db, runtime.id, (enum runtime_desire)desired, &err), -1);
        assert_int_equal(err.code, ERROR_NOT_FOUND);
    }
    want(fixture, &runtime, DESIRED_DELETED);
}

static void only_one_that_runs_and_is_to_run_can_be_used(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime runtime = add_session(fixture);
    struct error err = ERROR_INIT;
    bool is_awake = true;

    assert_done(runtime_store_use(fixture->db, runtime.id, &is_awake, &err), &err);
    assert_false(is_awake);
    move(fixture, &runtime, RUNTIME_RUNNING);
    assert_done(runtime_store_use(fixture->db, runtime.id, &is_awake, &err), &err);
    assert_true(is_awake);
    want(fixture, &runtime, DESIRED_PAUSED);
    assert_done(runtime_store_use(fixture->db, runtime.id, &is_awake, &err), &err);
    assert_false(is_awake);
}

static void one_in_use_is_not_let_rest(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime runtime = add_session(fixture);
    struct error err = ERROR_INIT;
    bool is = true;

    move(fixture, &runtime, RUNTIME_RUNNING);
    assert_done(idle_store_pause(fixture->db, runtime.id, 60000, &is, &err), &err);
    assert_false(is);
    assert_done(idle_store_pause(fixture->db, runtime.id, 0, &is, &err), &err);
    assert_true(is);
    /* A use now reports that it is stopped. */
    assert_done(runtime_store_use(fixture->db, runtime.id, &is, &err), &err);
    assert_false(is);
}

static void one_that_is_wanted_again_keeps_its_files(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime runtime = add_session(fixture);
    struct error err = ERROR_INIT;
    bool is = true;

    move(fixture, &runtime, RUNTIME_RUNNING);
    want(fixture, &runtime, DESIRED_PAUSED);
    move(fixture, &runtime, RUNTIME_PAUSED);
    assert_done(idle_store_delete(fixture->db, runtime.id, 60000, &is, &err), &err);
    assert_false(is);
    want(fixture, &runtime, DESIRED_RUNNING);
    assert_done(idle_store_delete(fixture->db, runtime.id, 0, &is, &err), &err);
    assert_false(is);
    want(fixture, &runtime, DESIRED_PAUSED);
    assert_done(idle_store_delete(fixture->db, runtime.id, 0, &is, &err), &err);
    assert_true(is);
}

static void stopped_runtime_is_history_until_it_is_removed(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime runtime = add_session(fixture);
    CLEANUP(runtime_list_done) struct runtime_list all = {0};
    CLEANUP(runtime_done) struct runtime found = RUNTIME_INIT;
    struct error err = ERROR_INIT;

    assert_done(runtime_store_touch(fixture->db, runtime.id, &err), &err);
    assert_true(is_listed(fixture, &runtime));
    move(fixture, &runtime, RUNTIME_STOPPED);
    assert_false(is_listed(fixture, &runtime));
    assert_done(runtime_store_list_all(fixture->db, &all, &err), &err);
    assert_true(list_has(&all, runtime.id));
    assert_done(runtime_store_remove(fixture->db, runtime.id, &err), &err);
    assert_int_equal(runtime_store_get(fixture->db, runtime.id, &found, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void missing_one_is_released(void **state)
{
    (void)state;
    runtime_done(NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_runtime_is_starting_and_wanted),
        cmocka_unit_test(unknown_runtime_is_not_found),
        cmocka_unit_test(session_has_one_live_runtime),
        cmocka_unit_test(failed_runtime_makes_room_for_another),
        cmocka_unit_test(update_is_refused_when_the_status_has_moved_on),
        cmocka_unit_test(unknown_key_is_no_tenant),
        cmocka_unit_test(tenant_runs_no_more_than_it_may),
        cmocka_unit_test(starts_of_a_tenant_are_counted_one_after_the_other),
        cmocka_unit_test(unsettled_is_what_is_not_as_wanted),
        cmocka_unit_test(key_works_while_the_runtime_lives),
        cmocka_unit_test(one_that_is_to_be_deleted_is_wanted_in_no_other_way),
        cmocka_unit_test(only_one_that_runs_and_is_to_run_can_be_used),
        cmocka_unit_test(one_in_use_is_not_let_rest),
        cmocka_unit_test(one_that_is_wanted_again_keeps_its_files),
        cmocka_unit_test(stopped_runtime_is_history_until_it_is_removed),
        cmocka_unit_test(missing_one_is_released),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
