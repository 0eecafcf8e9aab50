#include "unit/runtime/lifecycle/service_fixture.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/text.h"
#include "client/http.h"
#include "runtime/core/runtime_lock.h"
#include "runtime/core/runtime_metrics.h"
#include "runtime/core/runtime_record.h"
#include "runtime/core/start_queue.h"
#include "runtime/core/start_spec.h"
#include "runtime/egress/egress.h"
#include "runtime/egress/egress_denials.h"
#include "runtime/images/build_queue.h"
#include "runtime/lifecycle/lifecycle_create.h"
#include "runtime/lifecycle/reconcile_queue.h"
#include "runtime/lifecycle/warm_pool.h"
#include "store/db/db.h"
#include "support/pg.h"
#include "support/sql.h"

enum { CONNECTIONS = 4, PATIENCE_MS = 60000 };

/* --- the back end --- */

static struct played_backend *played(struct backend *backend)
{
    return (struct played_backend *)backend;
}

static void note(struct backend *backend, const char *verb, const char *what)
{
    struct played_backend *self = played(backend);

    lock_take(&self->lock);
    strbuf_appendf(&self->told, "%s %s;", verb, what);
    condition_wake_all(&self->told_more);
    lock_release(&self->lock);
}

static int answer(enum error_code code, struct error *err)
{
    return code == ERROR_NONE ? 0 : error_set(err, code, "as the test wants it");
}

static const char *play_name(struct backend *backend)
{
    (void)backend;
    return "docker";
}

static int play_check(struct backend *backend, struct error *err)
{
    return answer(played(backend)->check_error, err);
}

static int play_space(struct backend *backend, struct backend_space *space_out, struct error *err)
{
    (void)err;
    *space_out = played(backend)->space;
    return 0;
}

static bool play_take_ready_home(struct backend *backend, char home_out[BACKEND_NAME_BYTES])
{
    const char *home = played(backend)->ready_home;

    if (home == NULL)
        return false;
    played(backend)->ready_home = NULL;
    (void)snprintf(home_out, BACKEND_NAME_BYTES, "%s", home);
    return true;
}

static int play_take_home(struct backend *backend, char home_out[BACKEND_NAME_BYTES],
                          struct error *err)
{
    (void)backend;
    (void)err;
    memcpy(home_out, "h-new", sizeof("h-new"));
    return 0;
}

static void play_give(struct backend *backend, const char *name)
{
    note(backend, "give", name);
}

static void play_keep_home(struct backend *backend, const char *name)
{
    note(backend, "keep_home", name);
}

static void play_keep_network(struct backend *backend, const char *name)
{
    note(backend, "keep_network", name);
}

static const char *play_agent_build(struct backend *backend)
{
    (void)backend;
    return TEST_BUILD;
}

static int play_start(struct backend *backend, const struct sandbox_config *order,
                      struct started_sandbox *place_out, struct error *err)
{
    const char *url = played(backend)->sandbox_url;

    lock_take(&played(backend)->lock);
    strbuf_appendf(&played(backend)->ordered, "%s %s %s %s %lld %lld;", order->runtime_id,
                   order->session_id, order->conversation_id, order->home,
                   (long long)order->memory_bytes, (long long)order->nano_cpus);
    lock_release(&played(backend)->lock);
    note(backend, "start", order->image);
    *place_out = (struct started_sandbox){.container_id = "c-new",
                                          .network = "n-new",
                                          .url = "http://10.1.2.3:8000",
                                          .image_id = "sha256:1",
                                          .init_key = "key"};
    if (url != NULL)
        (void)snprintf(place_out->url, sizeof(place_out->url), "%s", url);
    return answer(played(backend)->start_error, err);
}

static int play_remove(struct backend *backend, const char *runtime_id, const char *network,
                       struct error *err)
{
    (void)network;
    note(backend, "remove", runtime_id);
    return answer(played(backend)->remove_error, err);
}

static int play_remove_home(struct backend *backend, const char *home, struct error *err)
{
    (void)err;
    note(backend, "remove_home", home);
    return 0;
}

static int play_pause(struct backend *backend, const char *container_id, struct error *err)
{
    note(backend, "pause", container_id);
    return answer(played(backend)->pause_error, err);
}

static int play_resume(struct backend *backend, const char *container_id, struct error *err)
{
    note(backend, "resume", container_id);
    return answer(played(backend)->resume_error, err);
}

static int play_is_paused(struct backend *backend, const char *container_id, bool *is_paused_out,
                          struct error *err)
{
    (void)err;
    note(backend, "is_paused", container_id);
    *is_paused_out = played(backend)->is_paused;
    return 0;
}

static void play_explain_end(struct backend *backend, const char *container_id,
                             struct error *why_out)
{
    note(backend, "explain", container_id);
    error_set(why_out, ERROR_UNAVAILABLE, "%s", played(backend)->end_reason);
}

static int play_list(struct backend *backend, struct seen_list *list_out, struct error *err)
{
    struct played_backend *self = played(backend);

    if (answer(self->list_error, err) < 0)
        return -1;
    for (size_t i = 0; i < self->n_seen; i++)
        *seen_list_add(list_out) = self->seen[i];
    return 0;
}

static int play_remove_container(struct backend *backend, const char *container_id,
                                 struct error *err)
{
    note(backend, "remove_container", container_id);
    return answer(played(backend)->remove_error, err);
}

/* Says which names it was given. */
static int play_tidy(struct backend *backend, const struct kept_source *source, struct error *err)
{
    CLEANUP(kept_names_done) struct kept_names kept = {.networks = NULL};

    if (source->load(source->context, &kept, err) < 0)
        return -1;
    for (size_t i = 0; i < kept.n_networks; i++)
        note(backend, "kept_network", kept.networks[i]);
    for (size_t i = 0; i < kept.n_homes; i++)
        note(backend, "kept_home", kept.homes[i]);
    note(backend, "tidied", "");
    return 0;
}

static int play_refill(struct backend *backend, bool *is_full_out, struct error *err)
{
    (void)err;
    note(backend, "refill", "");
    *is_full_out = played(backend)->is_full;
    played(backend)->is_full = true;
    return 0;
}

static int play_is_at_rest(struct backend *backend, const char *container_id, bool *is_at_rest_out,
                           struct error *err)
{
    note(backend, "look", container_id);
    *is_at_rest_out = played(backend)->is_at_rest;
    return answer(played(backend)->rest_error, err);
}

static int play_find_image(struct backend *backend, const char *image, struct seen_image *seen_out,
                           struct error *err)
{
    (void)image;
    (void)snprintf(seen_out->id, sizeof(seen_out->id), "%s", played(backend)->image_id);
    (void)snprintf(seen_out->created_at, sizeof(seen_out->created_at), "2026-01-02T03:04:05Z");
    seen_out->size_bytes = 77;
    return answer(played(backend)->find_error, err);
}

static int play_build(struct backend *backend, const struct image_build_request *order,
                      char image_id[BACKEND_IMAGE_BYTES], struct strbuf *said, struct error *err)
{
    note(backend, "build", json_string_value(json_array_get(order->names, 0)));
    (void)snprintf(image_id, BACKEND_IMAGE_BYTES, "sha256:built");
    strbuf_append(said, played(backend)->build_output);
    return answer(played(backend)->build_error, err);
}

static int play_remove_image(struct backend *backend, const char *image, struct error *err)
{
    note(backend, "remove_image", image);
    return answer(played(backend)->remove_error, err);
}

static void play_stop_building(struct backend *backend)
{
    note(backend, "stop_building", "");
}

static const struct backend_functions functions = {
    .name = play_name,
    .check = play_check,
    .space = play_space,
    .take_ready_home = play_take_ready_home,
    .take_home = play_take_home,
    .home_is_kept = play_keep_home,
    .network_is_kept = play_keep_network,
    .give_home = play_give,
    .agent_build = play_agent_build,
    .start = play_start,
    .remove = play_remove,
    .remove_home = play_remove_home,
    .pause = play_pause,
    .resume = play_resume,
    .is_paused = play_is_paused,
    .explain_end = play_explain_end,
    .list = play_list,
    .remove_container = play_remove_container,
    .tidy = play_tidy,
    .refill = play_refill,
    .is_at_rest = play_is_at_rest,
    .find_image = play_find_image,
    .build = play_build,
    .stop_building = play_stop_building,
    .remove_image = play_remove_image,
};

/* --- the service --- */

static void make_service(struct service_fixture *fixture)
{
    CLEANUP(secret_done) struct secret root = SECRET_INIT;
    struct service *service = &fixture->service;
    struct error err = ERROR_INIT;

    secret_set(&root, "00112233445566778899001122334455667788990011223344556677889900ff");
    assert_int_equal(keyring_init(&service->keyring, &root, &err), 0);
    service->settings = &fixture->settings;
    service->backend = &fixture->backend.base;
    service->db = test_db_open(CONNECTIONS);
    service->build_queue = build_queue_new();
    service->locks = runtime_locks_new();
    service->starts = start_queue_new();
    service->reconcile_queue = reconcile_queue_new();
    service->pool = warm_pool_new(&fixture->settings);
    service->metrics = metrics_new();
    service->limits = (struct start_spec_limits){.image = TEST_IMAGE,
                                                 .memory_bytes = 1LL << 30,
                                                 .nano_cpus = 1000000000,
                                                 .max_memory_bytes = 4LL << 30,
                                                 .max_nano_cpus = 4000000000};
    assert_int_equal(http_open(&service->http, &err), 0);
    assert_int_equal(egress_new(&fixture->settings, &service->egress, &err), 0);
    service->denials = egress_denials_new(&fixture->settings);
    lock_init(&service->lock);
    service->rules_state = (struct error)ERROR_INIT;
}

int service_set_up(void **state)
{
    struct service_fixture *fixture = NEW(struct service_fixture);

    fixture->settings = (struct runtime_settings){.image = TEST_IMAGE,
                                                  .warm_least = 1,
                                                  .warm_most = 4,
                                                  .reconcile_ms = 100,
                                                  .tenant_runtimes = 5,
                                                  .tenant_images = 5,
                                                  .may_build = 1,
                                                  .build_max_bytes = 100000,
                                                  .build_max_unpacked_bytes = 1000000,
                                                  .app_url = "https://app.example",
                                                  .agent_url = "https://agent.example",
                                                  .egress = "internet",
                                                  .egress_allow = "",
                                                  .resolver_port = 5399,
                                                  .backend = "docker",
                                                  .docker.instance = "inst",
                                                  .docker.registries = "docker.io",
                                                  .docker.profile.memory_bytes = 1000,
                                                  .docker.profile.nano_cpus = 2000};
    fixture->backend.base.functions = &functions;
    fixture->backend.told = (struct strbuf)STRBUF_INIT;
    fixture->backend.ordered = (struct strbuf)STRBUF_INIT;
    fixture->backend.is_at_rest = true;
    fixture->backend.is_full = true;
    fixture->backend.image_id = "sha256:1";
    fixture->backend.end_reason = "it ended";
    fixture->backend.build_output = "";
    fixture->backend.space =
        (struct backend_space){.free_bytes = INT64_MAX, .n_free_files = INT64_MAX};
    lock_init(&fixture->backend.lock);
    condition_init(&fixture->backend.told_more);
    make_service(fixture);
    test_sql("DELETE FROM runtimes; DELETE FROM warm_sandboxes; DELETE FROM warm_configs");
    fixture->owner_id = test_user(fixture->service.db);
    *state = fixture;
    return 0;
}

int service_tear_down(void **state)
{
    struct service_fixture *fixture = *state;
    struct service *service = &fixture->service;

    lock_done(&service->lock);
    egress_denials_free(service->denials);
    egress_free(service->egress);
    http_free(service->http);
    metrics_free(service->metrics);
    warm_pool_free(service->pool);
    reconcile_queue_free(service->reconcile_queue);
    start_queue_free(service->starts);
    runtime_locks_free(service->locks);
    build_queue_free(service->build_queue);
    db_free(service->db);
    condition_done(&fixture->backend.told_more);
    lock_done(&fixture->backend.lock);
    strbuf_done(&fixture->backend.told);
    strbuf_done(&fixture->backend.ordered);
    mem_free(fixture);
    return 0;
}

static const char *or_else(const char *text, const char *otherwise)
{
    return text != NULL ? text : otherwise;
}

void service_add_runtime(const struct service_fixture *fixture, const struct test_runtime *row)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "INSERT INTO runtimes (id, session_id, owner_id, status, desired, image, spec,"
                   " container_id, network, url, session_key, session_key_hash, since,"
                   " last_used_at) VALUES ('%s', 's-%s', '%s', '%s', '%s', '" TEST_IMAGE "',"
                   " '{\"home\":\"h-%s\"}', 'c-%s', 'n-%s', 'http://10.1.2.3:8000', 'sealed',"
                   " 'hash-%s', now() - interval '%s', now() - interval '%s')",
                   row->id, row->id, fixture->owner_id.text, or_else(row->status, "running"),
                   or_else(row->desired, "running"), row->id, row->id, row->id, row->id,
                   or_else(row->since_age, "0"), or_else(row->unused_age, "0"));
    test_sql(sql.text);
}

int service_create(struct service_fixture *fixture, const char *session, const char *image,
                   struct error *err)
{
    CLEANUP(start_spec_done) struct start_spec spec = START_SPEC_INIT;
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    *err = (struct error)ERROR_INIT;
    spec.session_id = mem_dup_text(session);
    spec.image = mem_dup_text(image);
    spec.working_dir = mem_dup_text("/w");
    spec.conversation_id = mem_dup_text("");
    spec.environment = json_object();
    spec.owner_id = fixture->owner_id;
    return lifecycle_create(&fixture->service, &spec, &runtime, err);
}

void service_seal_key(const struct service_fixture *fixture, const char *id, const char *key)
{
    CLEANUP(secret_done) struct secret secret = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf sealed = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    char context[RUNTIME_RECORD_KEY_CONTEXT_BYTES] = "";

    runtime_record_key_context(id, context);
    secret_set(&secret, key);
    keyring_seal(&fixture->service.keyring, context, &secret, &sealed);
    strbuf_appendf(&sql, "UPDATE runtimes SET session_key = '%s' WHERE id = '%s'", sealed.text, id);
    test_sql(sql.text);
}

struct seen_sandbox *service_see(struct service_fixture *fixture, const char *id,
                                 enum seen_state state)
{
    struct seen_sandbox *seen = &fixture->backend.seen[fixture->backend.n_seen++];

    *seen = (struct seen_sandbox){.state = state};
    (void)snprintf(seen->runtime_id, sizeof(seen->runtime_id), "%s", id);
    (void)snprintf(seen->container_id, sizeof(seen->container_id), "c-%s", id);
    return seen;
}

void assert_told(struct service_fixture *fixture, const char *expected)
{
    lock_take(&fixture->backend.lock);
    assert_string_equal(fixture->backend.told.text, expected);
    strbuf_reset(&fixture->backend.told);
    lock_release(&fixture->backend.lock);
}

void service_await_told(struct service_fixture *fixture, const char *what)
{
    struct played_backend *backend = &fixture->backend;
    int64_t deadline_ms = clock_monotonic_ms() + PATIENCE_MS;
    bool has_time = true;

    lock_take(&backend->lock);
    while (strstr(backend->told.text, what) == NULL && has_time)
        has_time = condition_wait_until(&backend->told_more, &backend->lock, deadline_ms);
    lock_release(&backend->lock);
    assert_true(service_was_told(fixture, what));
}

void service_forget_told(struct service_fixture *fixture)
{
    lock_take(&fixture->backend.lock);
    strbuf_reset(&fixture->backend.told);
    lock_release(&fixture->backend.lock);
}

bool service_row_is(const char *table, const char *id, const char *condition)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "SELECT count(*) FROM %s WHERE id = '%s' AND (%s)", table, id, condition);
    return test_sql_count(sql.text) == 1;
}

bool service_was_told(struct service_fixture *fixture, const char *what)
{
    bool was_told = false;

    lock_take(&fixture->backend.lock);
    was_told = strstr(fixture->backend.told.text, what) != NULL;
    lock_release(&fixture->backend.lock);
    return was_told;
}
