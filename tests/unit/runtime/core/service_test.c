/*
 * When the service starts sandboxes: by its rules, its back end and the space that is free.
 */
#include "runtime/core/service.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/lock.h"
#include "runtime/backend/backend.h"
#include "runtime/core/runtime_lock.h"
#include "runtime/core/start_queue.h"
#include "unit/runtime/runtime_test.h"

#define ID "aaaaaaaaaaaaaaaa"

/* Answers what the test wants. */
struct answers {
    struct backend base; /* must be first */
    int check;
    int space;
    struct backend_space free_space;
};

static int play_check(struct backend *backend, struct error *err)
{
    const struct answers *answers = (struct answers *)(void *)backend;

    return answers->check == 0 ? 0 : error_set(err, ERROR_TIMEOUT, "no answer");
}

static int play_space(struct backend *backend, struct backend_space *space_out, struct error *err)
{
    const struct answers *answers = (struct answers *)(void *)backend;

    if (answers->space != 0)
        return error_set(err, ERROR_NOT_FOUND, "unknown");
    *space_out = answers->free_space;
    return 0;
}

static const struct backend_functions functions = {.check = play_check, .space = play_space};

static void rules_and_back_end_must_both_be_there(void **state)
{
    struct answers answers = {.base.functions = &functions};
    struct service service = {.backend = &answers.base};
    struct error broken = ERROR_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    lock_init(&service.lock);
    service_set_rules_state(&service, &err);
    assert_int_equal(service_check(&service, &err), 0);
    answers.check = -1;
    assert_int_equal(service_check(&service, &err), -1);
    assert_string_equal(err.message, "no answer");
    error_set(&broken, ERROR_INTERNAL, "iptables failed");
    service_set_rules_state(&service, &broken);
    assert_int_equal(service_check(&service, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_string_equal(err.message, "sandboxes cannot be confined: iptables failed");
    lock_done(&service.lock);
}

static void space_is_kept_free(void **state)
{
    static const struct {
        int64_t free_bytes;
        int64_t n_free_files;
        const char *message; /* NULL: enough */
    } cases[] = {
        {5000000, 70, NULL},
        {4999999, 70,
         "the host's disk has 4 MB free, and 5 MB are to stay free (DEFT_SANDBOX_FREE_BYTES): "
         "delete conversations, or unused images and volumes (docker system df)"},
        {5000000, 69,
         "the host's disk has 69 free inodes, and 70 are to stay free (DEFT_SANDBOX_FREE_FILES): "
         "delete conversations, or unused images and volumes"},
    };
    const struct runtime_settings settings = {.free_bytes = 5000000, .n_free_files = 70};
    struct answers answers = {.base.functions = &functions};
    struct service service = {.backend = &answers.base, .settings = &settings};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = ERROR_INIT;

        answers.free_space = (struct backend_space){cases[i].free_bytes, cases[i].n_free_files};
        assert_int_equal(service_check_space(&service, &err), cases[i].message == NULL ? 0 : -1);
        if (cases[i].message == NULL)
            continue;
        assert_int_equal(err.code, ERROR_UNAVAILABLE);
        assert_string_equal(err.message, cases[i].message);
    }
    answers.space = -1;
    assert_int_equal(service_check_space(&service, &(struct error)ERROR_INIT), 0);
}

static void both_names_of_the_process_back_end_are_known(void **state)
{
    static const struct {
        const char *backend;
        bool has_processes;
    } cases[] = {{"process", true}, {"local", true}, {"docker", false}, {"podman", false}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct runtime_settings settings = {.backend = cases[i].backend};

        assert_int_equal(runtime_has_processes(&settings), cases[i].has_processes);
    }
}

static void runtime_is_busy_while_it_starts(void **state)
{
    struct service service = {.starts = start_queue_new(), .locks = runtime_locks_new()};
    struct runtime_lock held = {.locks = NULL};
    struct error err = ERROR_INIT;
    char id[RUNTIME_ID_BYTES] = "";

    (void)state;
    assert_false(service_is_busy(&service, ID));
    assert_int_equal(start_queue_add(service.starts, ID, &err), 0);
    assert_true(service_is_busy(&service, ID));
    assert_true(start_queue_take(service.starts, id));
    assert_true(service_is_busy(&service, ID));
    start_queue_finish(service.starts, ID);
    assert_false(service_is_busy(&service, ID));
    held = runtime_lock_take(service.locks, ID);
    assert_true(service_is_busy(&service, ID));
    runtime_lock_release(&held);
    assert_false(service_is_busy(&service, ID));
    start_queue_free(service.starts);
    runtime_locks_free(service.locks);
}

int test_service(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_and_back_end_must_both_be_there),
        cmocka_unit_test(space_is_kept_free),
        cmocka_unit_test(both_names_of_the_process_back_end_are_known),
        cmocka_unit_test(runtime_is_busy_while_it_starts),
    };

    return cmocka_run_group_tests_name("runtime/service", tests, NULL, NULL);
}
