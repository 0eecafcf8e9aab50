/*
 * Starts: what a sandbox is started with, what its row says afterwards, and which start is needed.
 */
#include <string.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/mem.h"
#include "base/sandbox_key.h"
#include "base/secret.h"
#include "client/test_server.h"
#include "runtime/core/runtime_metrics.h"
#include "runtime/core/runtime_record.h"
#include "runtime/core/sandbox_init.h"
#include "runtime/core/start_queue.h"
#include "runtime/lifecycle/lifecycle.h"
#include "runtime/lifecycle/lifecycle_create.h"
#include "runtime/lifecycle/liveness_check.h"
#include "runtime/lifecycle/reconcile_queue.h"
#include "store/runtime/runtime_count_store.h"
#include "store/runtime/runtime_store.h"
#include "support/json_path.h"
#include "support/sql.h"
#include "unit/runtime/lifecycle/service_fixture.h"

#define ONE "aaaaaaaaaaaaaaaa"
#define SESSION "s-" ONE
#define COLD "start " TEST_IMAGE ";"

static const struct test_reply taken = {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
                                        .ending = TEST_CLOSE};
static const struct test_reply refused = {.bytes = "HTTP/1.1 409 C\r\nContent-Length: 2\r\n\r\n{}",
                                          .ending = TEST_CLOSE};

/* The server in a sandbox, which has that init key. */
static struct test_server *play_sandbox(struct service_fixture *fixture,
                                        const struct test_reply *reply, const char *init_key)
{
    CLEANUP(secret_done) struct secret proof = SECRET_INIT;
    struct test_server *server = test_server_start(reply, 1, NULL);

    sandbox_key_derive(init_key, SANDBOX_KEY_PROOF, &proof);
    test_server_prove(server, secret_reveal(&proof), NULL);
    fixture->backend.sandbox_url = test_server_url(server, "");
    return server;
}

static bool row_is(const char *condition)
{
    return service_row_is("runtimes", ONE, condition);
}

static void add_one(struct service_fixture *fixture, const char *status, const char *desired)
{
    service_add_runtime(fixture,
                        &(struct test_runtime){.id = ONE, .status = status, .desired = desired});
    service_seal_key(fixture, ONE, "session-key");
}

static int start(struct service_fixture *fixture)
{
    struct error err = ERROR_INIT;
    int rc = lifecycle_start(&fixture->service, ONE, &err);

    return rc < 0 ? (int)err.code : 0;
}

/* The request's body has what its server needs to know a session key, not the key itself. */
static void assert_gets_keys(struct test_server *server, const char *key)
{
    static const struct {
        const char *path;
        enum sandbox_key_use use;
    } parts[] = {{"session_api_keys[0]", SANDBOX_KEY_CALL}, {"proof_key", SANDBOX_KEY_PROOF}};
    const char *body = strstr(test_server_request(server, 0), "\r\n\r\n") + 4;

    assert_null(strstr(body, key));
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        CLEANUP(secret_done) struct secret derived = SECRET_INIT;
        CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;

        sandbox_key_derive(key, parts[i].use, &derived);
        strbuf_appendf(&expected, "\"%s\"", secret_reveal(&derived));
        assert_json_at(body, parts[i].path, expected.text);
    }
    assert_json_at(body, "env.DEFT_SANDBOX_IMAGE", "\"" TEST_IMAGE "\"");
    assert_json_at(body, "env.DEFT_SANDBOX_EGRESS", "\"internet\"");
}

static void assert_starts_counted(const struct service_fixture *fixture, int n_cold, int n_warm)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf cold = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf warm = STRBUF_INIT;
    const struct tenant_count_list none = {.items = NULL};

    metrics_append(fixture->service.metrics, &none, &fixture->backend.space, &text);
    strbuf_appendf(&cold, "deft_start_seconds_count{kind=\"cold\"} %d\n", n_cold);
    strbuf_appendf(&warm, "deft_start_seconds_count{kind=\"warm\"} %d\n", n_warm);
    assert_non_null(strstr(text.text, cold.text));
    assert_non_null(strstr(text.text, warm.text));
}

static void started_sandbox_gets_its_keys(void **state)
{
    struct service_fixture *fixture = *state;
    struct test_server *server = play_sandbox(fixture, &taken, "key");
    const char *body = NULL;

    add_one(fixture, "starting", "running");
    test_sql("UPDATE runtimes SET container_id = NULL, url = NULL, network = NULL,"
             " proves = false");
    assert_int_equal(start(fixture), 0);
    assert_true(row_is("status = 'running' AND container_id = 'c-new' AND network = 'n-new'"
                       " AND proves AND restart_count = 0 AND url LIKE 'http://127.0.0.1:%'"));
    assert_told(fixture, COLD "keep_network n-new;");
    assert_int_equal(test_server_n_requests(server), 1);
    body = strstr(test_server_request(server, 0), "\r\n\r\n") + 4;
    assert_non_null(strstr(test_server_request(server, 0), "POST /api/init"));
    assert_json_at(body, "env.WORKER_1", "\"12000\"");
    assert_gets_keys(server, "session-key");
    assert_starts_counted(fixture, 1, 0);
    test_server_stop(server);
}

/* A start uses up a network, and perhaps a home, made in advance, even if it fails. */
static void start_has_the_reserve_refilled_later(void **state)
{
    struct service_fixture *fixture = *state;
    struct reconcile_queue *queue = fixture->service.reconcile_queue;
    struct backend_event *events = mem_alloc_array(RECONCILE_QUEUE_NEWS_MAX, sizeof(*events));
    size_t n = 0;

    fixture->backend.start_error = ERROR_INVALID;
    add_one(fixture, "starting", "running");
    test_sql("UPDATE runtimes SET container_id = NULL, url = NULL");
    assert_int_equal(reconcile_queue_take(queue, 0, events, &n), 0);
    assert_int_equal(start(fixture), 0);
    assert_int_equal(reconcile_queue_take(queue, 0, events, &n), RECONCILE_REFILL_LATER);
    mem_free(events);
}

/* A row without a home gets one, which stays its own whatever becomes of the start. */
static void start_is_ordered_as_the_row_says(void **state)
{
    struct service_fixture *fixture = *state;

    fixture->backend.start_error = ERROR_UNAVAILABLE;
    add_one(fixture, "starting", "running");
    test_sql("UPDATE runtimes SET container_id = NULL, url = NULL, network = NULL, spec ="
             " '{\"conversation_id\": \"conversation-1\", \"home\": \"home-1\","
             " \"memory_bytes\": 5000, \"nano_cpus\": 6000}'");
    assert_int_equal(start(fixture), 0);
    assert_string_equal(fixture->backend.ordered.text,
                        ONE " " SESSION " conversation-1 home-1 5000 6000;");
    assert_told(fixture, COLD);
    strbuf_reset(&fixture->backend.ordered);
    test_sql("UPDATE runtimes SET spec = '{}'");
    assert_int_equal(start(fixture), 0);
    assert_string_equal(fixture->backend.ordered.text, ONE " " SESSION "  h-new 0 0;");
    assert_told(fixture, "keep_home h-new;" COLD);
    assert_true(row_is("spec->>'home' = 'h-new'"));
}

/* If it does not take them, nothing is left of it. */
static void sandbox_that_refuses_its_keys_is_removed(void **state)
{
    struct service_fixture *fixture = *state;
    struct test_server *server = play_sandbox(fixture, &refused, "key");

    add_one(fixture, "starting", "running");
    test_sql("UPDATE runtimes SET container_id = NULL, url = NULL, network = NULL");
    assert_int_equal(start(fixture), 0);
    assert_true(row_is("status = 'error' AND container_id IS NULL AND network IS NULL"
                       " AND status_detail = 'sending the sandbox''s key: the sandbox answered"
                       " 409'"));
    assert_told(fixture, COLD "remove " ONE ";");
    test_server_stop(server);
}

static void failed_start_is_in_the_row(void **state)
{
    struct service_fixture *fixture = *state;

    fixture->backend.start_error = ERROR_UNAVAILABLE;
    add_one(fixture, "error", "running");
    assert_int_equal(start(fixture), 0);
    assert_true(row_is("status = 'error' AND status_detail = 'as the test wants it'"
                       " AND restart_count = 1 AND container_id IS NULL AND network IS NULL"));
    assert_told(fixture, COLD);
    fixture->backend.check_error = ERROR_UNAVAILABLE;
    assert_int_equal(start(fixture), 0);
    assert_true(row_is("status = 'error' AND restart_count = 2"));
    assert_told(fixture, "");
    fixture->backend.check_error = ERROR_NONE;
    fixture->settings.free_bytes = 1;
    fixture->backend.space.free_bytes = 0;
    assert_int_equal(start(fixture), 0);
    assert_true(row_is("status_detail LIKE 'the host''s disk has 0 MB free%'"));
    assert_told(fixture, "");
    assert_starts_counted(fixture, 0, 0);
}

static void start_that_is_not_wanted_is_not_made(void **state)
{
    static const struct {
        const char *status;
        const char *desired;
    } cases[] = {{"running", "running"},
                 {"starting", "stopped"},
                 {"paused", "paused"},
                 {"stopped", "deleted"}};
    struct service_fixture *fixture = *state;

    assert_int_equal(start(fixture), ERROR_NOT_FOUND);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        test_sql("DELETE FROM runtimes");
        add_one(fixture, cases[i].status, cases[i].desired);
        assert_int_equal(start(fixture), 0);
        assert_told(fixture, "");
    }
}

static void home_is_made_if_none_was_ready(void **state)
{
    struct service_fixture *fixture = *state;

    fixture->backend.start_error = ERROR_UNAVAILABLE;
    add_one(fixture, "starting", "running");
    test_sql("UPDATE runtimes SET url = NULL, spec = '{\"home\": \"\"}'");
    assert_int_equal(start(fixture), 0);
    assert_told(fixture, "keep_home h-new;" COLD);
    assert_true(row_is("spec->>'home' = 'h-new'"));
}

/* --- resume --- */

static void paused_container_is_resumed(void **state)
{
    struct service_fixture *fixture = *state;

    add_one(fixture, "paused", "running");
    fixture->backend.resume_error = ERROR_TIMEOUT;
    assert_int_equal(start(fixture), ERROR_TIMEOUT);
    assert_told(fixture, "resume c-" ONE ";");
    fixture->backend.resume_error = ERROR_UNAVAILABLE;
    assert_int_equal(start(fixture), ERROR_UNAVAILABLE);
    assert_true(row_is("status = 'paused' AND container_id = 'c-" ONE "'"));
    assert_told(fixture, "resume c-" ONE ";");
    fixture->backend.resume_error = ERROR_NONE;
    assert_int_equal(start(fixture), 0);
    assert_true(row_is("status = 'running' AND container_id = 'c-" ONE "'"));
    assert_told(fixture, "resume c-" ONE ";");
}

static void container_that_cannot_be_resumed_is_replaced(void **state)
{
    struct service_fixture *fixture = *state;

    fixture->backend.resume_error = ERROR_CONFLICT;
    fixture->backend.start_error = ERROR_UNAVAILABLE;
    add_one(fixture, "paused", "running");
    assert_int_equal(start(fixture), 0);
    assert_told(fixture, "resume c-" ONE ";remove " ONE ";" COLD);
    test_sql("UPDATE runtimes SET status = 'paused'");
    assert_int_equal(start(fixture), 0);
    assert_told(fixture, COLD);
}

/* --- claimed ones --- */

static void claim(struct service_fixture *fixture, const char *init_key, const char *url)
{
    CLEANUP(strbuf_done) struct strbuf sealed = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    sandbox_init_seal_key(&fixture->service, ONE, init_key, &sealed);
    add_one(fixture, "starting", "running");
    strbuf_appendf(&sql,
                   "UPDATE runtimes SET url = '%s',"
                   " spec = spec || jsonb_build_object('init_key', '%s')",
                   url, sealed.text);
    test_sql(sql.text);
}

static void claimed_sandbox_only_gets_its_keys(void **state)
{
    struct service_fixture *fixture = *state;
    struct test_server *server = play_sandbox(fixture, &taken, "warm-key");

    claim(fixture, "warm-key", test_server_url(server, ""));
    assert_int_equal(start(fixture), 0);
    assert_true(row_is("status = 'running' AND container_id = 'c-" ONE "'"));
    assert_told(fixture, "");
    assert_int_equal(test_server_n_requests(server), 1);
    assert_gets_keys(server, "session-key");
    assert_starts_counted(fixture, 0, 1);
    test_server_stop(server);
}

static void claimed_sandbox_that_has_ended_is_replaced(void **state)
{
    struct service_fixture *fixture = *state;
    struct test_server *server = play_sandbox(fixture, &taken, "key");

    claim(fixture, "another-key", test_server_url(server, ""));
    assert_int_equal(start(fixture), 0);
    assert_told(fixture, "remove " ONE ";" COLD "keep_network n-new;");
    assert_true(row_is("status = 'running' AND container_id = 'c-new'"));
    test_server_stop(server);
}

/* --- which start a request needs --- */

static void new_session_gets_a_row_and_a_start(void **state)
{
    struct service_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    fixture->backend.ready_home = "h-ready";
    assert_int_equal(service_create(fixture, "new", TEST_IMAGE, &err), 0);
    assert_told(fixture, "keep_home h-ready;");
    assert_int_equal(test_sql_count("SELECT count(*) FROM runtimes WHERE session_id = 'new'"
                                    " AND status = 'starting' AND desired = 'running' AND proves"
                                    " AND spec->>'home' = 'h-ready' AND backend = 'docker'"
                                    " AND url IS NULL AND container_id IS NULL"
                                    " AND image = '" TEST_IMAGE "'"),
                     1);
    fixture->backend.ready_home = NULL;
    assert_int_equal(service_create(fixture, "another", TEST_IMAGE, &err), 0);
    assert_told(fixture, "");
    assert_int_equal(test_sql_count("SELECT count(*) FROM runtimes WHERE session_id = 'another'"
                                    " AND spec->>'home' = ''"),
                     1);
}

static void new_row_is_its_owners_and_has_a_key_of_its_own(void **state)
{
    struct service_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime first = RUNTIME_INIT;
    CLEANUP(runtime_done) struct runtime second = RUNTIME_INIT;
    struct runtime *const runtimes[] = {&first, &second};
    static const char *const sessions[] = {"one", "two"};
    struct error err = ERROR_INIT;
    int64_t begun_us = clock_utc_us();

    for (size_t i = 0; i < ARRAY_SIZE(sessions); i++) {
        CLEANUP(secret_done) struct secret key = SECRET_INIT;
        char context[RUNTIME_RECORD_KEY_CONTEXT_BYTES] = "";
        char hash[CRYPTO_HASH_HEX_BYTES] = "";

        assert_int_equal(service_create(fixture, sessions[i], TEST_IMAGE, &err), 0);
        assert_int_equal(
            runtime_store_get_session(fixture->service.db, sessions[i], runtimes[i], &err), 0);
        assert_string_equal(runtimes[i]->owner_id.text, fixture->owner_id.text);
        assert_false(uuid_is_set(&runtimes[i]->tenant_id));
        assert_in_range(runtimes[i]->created_at_us, begun_us, clock_utc_us());
        runtime_record_key_context(runtimes[i]->id, context);
        assert_int_equal(
            keyring_open(&fixture->service.keyring, context, runtimes[i]->session_key, &key, &err),
            0);
        keyring_hash_token(&fixture->service.keyring, secret_reveal(&key), hash);
        assert_string_equal(runtimes[i]->session_key_hash, hash);
        assert_true(start_queue_has(fixture->service.starts, runtimes[i]->id));
    }
    assert_string_not_equal(first.session_key_hash, second.session_key_hash);
    assert_string_not_equal(first.id, second.id);
}

static void new_session_claims_a_warm_sandbox(void **state)
{
    struct service_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    test_sql("INSERT INTO warm_sandboxes (id, image, memory_bytes, nano_cpus, fittings, home,"
             " image_id, container_id, network, url, init_key, is_ready) VALUES ('" ONE "',"
             " '" TEST_IMAGE "', 0, 0, '" TEST_BUILD "', 'h-warm', 'sha256:1', 'c-warm',"
             " 'n-warm', 'http://10.1.2.3:8000', 'sealed', true)");
    assert_int_equal(service_create(fixture, "new", TEST_IMAGE, &err), 0);
    assert_true(row_is("session_id = 'new' AND status = 'starting' AND desired = 'running'"
                       " AND container_id = 'c-warm' AND network = 'n-warm'"
                       " AND url = 'http://10.1.2.3:8000' AND spec->>'home' = 'h-warm'"
                       " AND spec->>'init_key' = 'sealed'"));
    assert_int_equal(test_sql_count("SELECT count(*) FROM warm_sandboxes"), 0);
    assert_true(start_queue_has(fixture->service.starts, ONE));
    assert_told(fixture, "");
}

static void new_session_needs_space(void **state)
{
    struct service_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    fixture->settings.free_bytes = 1;
    fixture->backend.space.free_bytes = 0;
    fixture->backend.ready_home = "h-ready";
    assert_int_equal(service_create(fixture, "new", TEST_IMAGE, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_int_equal(test_sql_count("SELECT count(*) FROM runtimes"), 0);
    assert_non_null(fixture->backend.ready_home);
    /* One that has a container needs no more. */
    add_one(fixture, "paused", "paused");
    assert_int_equal(service_create(fixture, SESSION, TEST_IMAGE, &err), 0);
    assert_told(fixture, "resume c-" ONE ";");
    test_sql("UPDATE runtimes SET status = 'paused', desired = 'paused', container_id = NULL");
    assert_int_equal(service_create(fixture, SESSION, TEST_IMAGE, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
}

static void session_is_brought_to_run(void **state)
{
    static const struct {
        const char *status;
        const char *desired;
        bool is_queued;
        const char *told;
    } cases[] = {
        {"running", "running", false, ""},
        {"paused", "paused", false, "resume c-" ONE ";"},
        {"running", "paused", false, "resume c-" ONE ";"},
        {"stopped", "stopped", true, ""},
        {"error", "running", true, ""},
        {"starting", "running", true, ""},
    };
    struct service_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        test_sql("DELETE FROM runtimes");
        start_queue_free(fixture->service.starts);
        fixture->service.starts = start_queue_new();
        add_one(fixture, cases[i].status, cases[i].desired);
        if (cases[i].status[0] == 'r' && cases[i].desired[0] == 'p')
            test_sql("UPDATE runtimes SET status = 'paused'");
        assert_int_equal(service_create(fixture, SESSION, TEST_IMAGE, &err), 0);
        assert_int_equal(start_queue_has(fixture->service.starts, ONE), cases[i].is_queued);
        assert_told(fixture, cases[i].told);
        assert_true(row_is("desired = 'running'"));
        assert_int_equal(lifecycle_resume(&fixture->service, ONE, NULL, &err), 0);
    }
}

/* The files stay: the home is the new runtime's. */
static void another_image_replaces_a_runtime_without_a_container(void **state)
{
    struct service_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    add_one(fixture, "running", "running");
    assert_int_equal(service_create(fixture, SESSION, "other:1", &err), 0);
    assert_true(row_is("image = '" TEST_IMAGE "'"));
    test_sql("UPDATE runtimes SET status = 'paused', desired = 'paused',"
             " spec = spec || '{\"keeps_image\": true}'");
    assert_int_equal(service_create(fixture, SESSION, "other:1", &err), 0);
    assert_true(row_is("image = '" TEST_IMAGE "'"));
    assert_told(fixture, "resume c-" ONE ";");
    test_sql(
        "UPDATE runtimes SET status = 'paused', desired = 'paused', spec = spec - 'keeps_image'");
    assert_int_equal(service_create(fixture, SESSION, TEST_IMAGE, &err), 0);
    assert_told(fixture, "resume c-" ONE ";");
    test_sql("UPDATE runtimes SET status = 'paused', desired = 'paused'");
    assert_int_equal(service_create(fixture, SESSION, "other:1", &err), 0);
    assert_told(fixture, "remove " ONE ";");
    assert_false(row_is("true"));
    assert_int_equal(test_sql_count("SELECT count(*) FROM runtimes WHERE session_id = '" SESSION
                                    "' AND image = 'other:1' AND spec->>'home' = 'h-" ONE "'"),
                     1);
}

static void deleted_runtime_is_replaced(void **state)
{
    struct service_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    add_one(fixture, "running", "deleted");
    assert_int_equal(lifecycle_resume(&fixture->service, ONE, NULL, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(service_create(fixture, SESSION, TEST_IMAGE, &err), 0);
    assert_told(fixture, "remove " ONE ";remove_home h-" ONE ";");
    assert_false(row_is("true"));
    assert_int_equal(
        test_sql_count("SELECT count(*) FROM runtimes WHERE session_id = '" SESSION "'"), 1);
}

static void nothing_starts_without_the_back_end(void **state)
{
    struct service_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    add_one(fixture, "paused", "paused");
    fixture->backend.check_error = ERROR_UNAVAILABLE;
    assert_int_equal(service_create(fixture, SESSION, TEST_IMAGE, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    err = (struct error)ERROR_INIT;
    assert_int_equal(lifecycle_resume(&fixture->service, ONE, NULL, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_true(row_is("status = 'paused' AND desired = 'paused'"));
}

/* --- a doubted sandbox --- */

static void sandbox_that_does_not_answer_is_lost(void **state)
{
    struct service_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    assert_int_equal(liveness_check_settle(&fixture->service, SESSION, &err), 0);
    add_one(fixture, "paused", "paused");
    test_sql("UPDATE runtimes SET url = 'http://127.0.0.1:1'");
    assert_int_equal(liveness_check_settle(&fixture->service, SESSION, &err), 0);
    assert_true(row_is("status = 'paused'"));
    test_sql("UPDATE runtimes SET status = 'running', desired = 'running', session_key = 'odd'");
    assert_int_equal(liveness_check_settle(&fixture->service, SESSION, &err), 0);
    assert_true(row_is("status = 'running'")); /* nothing is known of it */
    service_seal_key(fixture, ONE, "session-key");
    assert_int_equal(liveness_check_settle(&fixture->service, SESSION, &err), 0);
    assert_true(row_is("status = 'error' AND status_detail = 'The sandbox''s server stopped"
                       " responding, and the sandbox was killed.'"));
    assert_told(fixture, "remove " ONE ";");
}

static void sandbox_that_answers_is_kept(void **state)
{
    struct service_fixture *fixture = *state;
    CLEANUP(secret_done) struct secret proof = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct test_server *server = test_server_start(&taken, 1, NULL);
    struct error err = ERROR_INIT;

    sandbox_key_derive("session-key", SANDBOX_KEY_PROOF, &proof);
    test_server_prove(server, secret_reveal(&proof), NULL);
    add_one(fixture, "running", "running");
    strbuf_appendf(&sql, "UPDATE runtimes SET proves = true, url = '%s'",
                   test_server_url(server, ""));
    test_sql(sql.text);
    assert_int_equal(liveness_check_settle(&fixture->service, SESSION, &err), 0);
    assert_true(row_is("status = 'running'"));
    assert_told(fixture, "");
    test_server_stop(server);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, service_set_up, service_tear_down)

int start_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(started_sandbox_gets_its_keys),
        TEST(start_has_the_reserve_refilled_later),
        TEST(start_is_ordered_as_the_row_says),
        TEST(sandbox_that_refuses_its_keys_is_removed),
        TEST(failed_start_is_in_the_row),
        TEST(start_that_is_not_wanted_is_not_made),
        TEST(home_is_made_if_none_was_ready),
        TEST(paused_container_is_resumed),
        TEST(container_that_cannot_be_resumed_is_replaced),
        TEST(claimed_sandbox_only_gets_its_keys),
        TEST(claimed_sandbox_that_has_ended_is_replaced),
        TEST(new_session_gets_a_row_and_a_start),
        TEST(new_row_is_its_owners_and_has_a_key_of_its_own),
        TEST(new_session_claims_a_warm_sandbox),
        TEST(new_session_needs_space),
        TEST(session_is_brought_to_run),
        TEST(another_image_replaces_a_runtime_without_a_container),
        TEST(deleted_runtime_is_replaced),
        TEST(nothing_starts_without_the_back_end),
        TEST(sandbox_that_does_not_answer_is_lost),
        TEST(sandbox_that_answers_is_kept),
    };

    return cmocka_run_group_tests_name("runtime/start", tests, NULL, NULL);
}
