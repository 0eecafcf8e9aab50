#include "worker/run_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "client/http.h"
#include "llm/llm.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/prompt/planned_events.h"
#include "store/conversation/conversation_post.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_store.h"
#include "store/db/db.h"
#include "store/db/hints.h"
#include "support/pg.h"
#include "support/sql.h"
#include "support/test_catalogue.h"
#include "worker/agent/agent_run.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/event_writer.h"
#include "worker/delta_outbox.h"
#include "worker/stub_sandbox.h"

#define WAIT_MOST_MS 60000
#define LONG_AGO_MS 60000
#define HOUR_MS 3600000
#define LOOK_AGAIN_MS 2

static void check(int rc, const struct error *err)
{
    if (rc < 0)
        fail_msg("%s", err->message);
}

int run_fixture_set_up(void **state)
{
    struct run_fixture *fixture = NEW(struct run_fixture);
    struct worker_context *context = &fixture->context;
    struct llm_options options = {.scripted_dir = fixture->scripts};
    struct error err = ERROR_INIT;

    json_setup();
    fixture->stub = stub_start();
    (void)snprintf(fixture->scripts, sizeof(fixture->scripts), "/tmp/deft-scripts-XXXXXX");
    assert_non_null(mkdtemp(fixture->scripts));
    context->settings.runtime_url = stub_url(fixture->stub);
    context->settings.runtime_socket = "";
    context->settings.sandbox_image = "test:1";
    context->settings.sandbox_start_ms = 5000;
    context->settings.sandbox_check_ms = 100;
    context->settings.tool_timeout_ms = 20000;
    context->settings.stack_bytes = 1 << 20;
    context->settings.run_limits = (struct run_limits){.n_slots = 1000, .n_queued = 1000};
    context->settings.llm_model = "scripted/none";
    context->settings.llm_base_url = "";
    secret_set(&context->settings.runtime_key, "runtime-key");
    secret_set(&context->settings.secret_key,
               "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
    check(keyring_init(&context->keyring, &context->settings.secret_key, &err), &err);
    check(crash_points_init(&context->crash, "", &err), &err);
    context->catalogue = test_catalogue();
    context->owner = uuid_random();
    context->db = test_db_open(4);
    context->grant_db = context->db;
    fixture->user_id = test_user(context->db);
    check(hints_open(test_database_url(), "deft-test", 0, &context->hints, &err), &err);
    check(delta_outbox_new(context->hints, &context->outbox, &err), &err);
    check(http_open(&context->http, &err), &err);
    http_trust_users(context->http);
    options.catalogue = context->catalogue;
    options.http = context->http;
    context->llm = llm_new(&options);
    *state = fixture;
    return 0;
}

static void remove_scripts(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;

    assert_non_null(entries);
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries))
        (void)unlinkat(fd, entry->d_name, 0);
    (void)closedir(entries);
    (void)rmdir(dir);
}

int run_fixture_tear_down(void **state)
{
    struct run_fixture *fixture = *state;

    llm_free(fixture->context.llm);
    http_free(fixture->context.http);
    delta_outbox_free(fixture->context.outbox);
    hints_free(fixture->context.hints);
    db_free(fixture->context.db);
    secret_done(&fixture->context.settings.secret_key);
    secret_done(&fixture->context.settings.runtime_key);
    stub_stop(fixture->stub);
    remove_scripts(fixture->scripts);
    mem_free(fixture);
    return 0;
}

static void write_script(struct run_fixture *fixture, const char *name, const char *script)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(fd_close) int fd = -1;
    struct error err = ERROR_INIT;

    strbuf_appendf(&path, "%s/%s.json", fixture->scripts, name);
    fd = open(path.text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);
    assert_true(fd >= 0);
    check(fd_write_all(fd, script, strlen(script), &err), &err);
}

static json_t *start_request(const char *name, const char *more)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *added = NULL;
    json_t *request = NULL;
    struct error err = ERROR_INIT;

    strbuf_appendf(&text,
                   "{\"agent\": {\"kind\": \"Agent\", \"llm\": {\"model\": \"scripted/%s\","
                   " \"usage_id\": \"agent\", \"num_retries\": 1},"
                   " \"tools\": [{\"name\": \"terminal\"}, {\"name\": \"file_editor\"},"
                   " {\"name\": \"task_tracker\"}, {\"name\": \"start_child_conversation\"},"
                   " {\"name\": \"task_tool_set\"}, {\"name\": \"delegate\"}]},"
                   " \"workspace\": {\"working_dir\": \"/workspace/project\"},"
                   " \"initial_message\": {\"role\": \"user\", \"content\":"
                   " [{\"type\": \"text\", \"text\": \"go\"}]}}",
                   name);
    check(json_parse(text.text, text.len, &request, &err), &err);
    check(json_parse(more, strlen(more), &added, &err), &err);
    assert_int_equal(json_object_update_recursive(request, added), 0);
    return request;
}

static void seal(const struct run_fixture *fixture, struct conversation *conversation,
                 const struct secret *plain)
{
    CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf sealed = STRBUF_INIT;

    strbuf_appendf(&context, "conversations.secrets:%s", conversation->id.text);
    keyring_seal(&fixture->context.keyring, context.text, plain, &sealed);
    conversation->secrets = strbuf_take(&sealed);
}

struct uuid run_new_conversation(struct run_fixture *fixture, const char *script, const char *more)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(secret_done) struct secret secrets = SECRET_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct conversation_defaults defaults = {.runtime_kind = RUNTIME_LOCAL, .model = "scripted/x"};
    CLEANUP(conversation_change_done) struct conversation_change change = CONVERSATION_CHANGE_INIT;
    struct conversation_write write = {.guard = GUARD_NONE};
    struct uuid name = uuid_random();
    json_auto_t *request = start_request(name.text, more);
    json_auto_t *content = NULL;
    json_auto_t *problems = NULL;
    struct error err = ERROR_INIT;
    bool was_there = false;

    write_script(fixture, name.text, script);
    if (conversation_from_request(request, &defaults, &conversation, &secrets, &content, &problems,
                                  &err) < 0)
        fail_msg("%s: %s", err.message, json_dumps(problems, 0));
    conversation.user_id = fixture->user_id;
    conversation.runtime_session = mem_dup_text("u-test");
    seal(fixture, &conversation, &secrets);
    check(conversation_plan_message(
              &conversation,
              &(struct planned_message){fixture->context.catalogue, content, MESSAGE_AND_RUN},
              &events, &change, &err),
          &err);
    conversation_write_change(&change, &write);
    check(conversation_store_create(fixture->context.db, &conversation, &events, &write, &was_there,
                                    &err),
          &err);
    return conversation.id;
}

void run_say(struct run_fixture *fixture, const struct uuid *id, const char *text)
{
    struct conversation_scope scope = {.user_id = fixture->user_id};
    json_auto_t *content = json_array();
    const struct user_message message = {
        .catalogue = fixture->context.catalogue, .content = content, .run = MESSAGE_AND_RUN};
    struct error err = ERROR_INIT;

    json_push(content, text_content(text));
    check(conversation_post_message(fixture->context.db, &scope, id, &message, &err), &err);
}

void run_again(struct run_fixture *fixture, const struct uuid *id)
{
    struct conversation_scope scope = {.user_id = fixture->user_id};
    enum post_result result = POST_UNDER_WAY;
    struct error err = ERROR_INIT;

    check(conversation_post_run(fixture->context.db, &scope, id,
                                &(struct run_request){fixture->context.catalogue, NULL}, &result,
                                &err),
          &err);
    assert_int_equal(result, POST_WRITTEN);
}

/* Nobody renews it, and a run without a lease waits for one. */
static void extend_lease(const struct uuid *id, struct run_control *control)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "UPDATE conversations SET lease_expires_at = now() + interval '1 hour'"
                   " WHERE id = '%s'",
                   id->text);
    test_sql(sql.text);
    run_control_renew(control, clock_monotonic_ms() + HOUR_MS);
}

static void claim_agent(struct run_fixture *fixture, const struct uuid *id,
                        struct run_control *control, struct agent *agent_out)
{
    CLEANUP(claim_done) struct claim claim = {.claim_count = 0};
    struct error err = ERROR_INIT;
    bool is_claimed = false;

    /* Tests run one after the other, and leave nothing that waits. */
    check(conversation_store_claim(fixture->context.db, &fixture->context.owner, 1000, &is_claimed,
                                   &claim, &err),
          &err);
    assert_true(is_claimed);
    assert_string_equal(claim.conversation.id.text, id->text);
    extend_lease(id, control);
    run_control_request_word(control, claim.stop_requested);
    agent_init(agent_out, &fixture->context, control, &claim);
}

static void claim_and_run(struct run_fixture *fixture, const struct uuid *id,
                          struct run_control *control)
{
    struct agent agent = {.context = NULL};

    claim_agent(fixture, id, control, &agent);
    agent_run(&agent);
    agent_done(&agent);
}

void run_expire_lease(const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "UPDATE conversations SET lease_expires_at = now() - interval '1 second'"
                   " WHERE id = '%s'",
                   id->text);
    test_sql(sql.text);
}

void run_put_first(const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "UPDATE conversations SET wanted_at = least(wanted_at, (SELECT min(wanted_at) -"
                   " interval '1 second' FROM conversations)) WHERE id = '%s' AND wanted_at IS NOT"
                   " NULL",
                   id->text);
    test_sql(sql.text);
}

void claimed_agent_begin(struct claimed_agent *claimed, struct run_fixture *fixture,
                         const struct uuid *id)
{
    struct error err = ERROR_INIT;

    claimed->fixture = fixture;
    run_control_init(&claimed->control, 0);
    claim_agent(fixture, id, &claimed->control, &claimed->agent);
    check(event_writer_load(&claimed->agent, &err), &err);
}

void claimed_agent_begin_pending(struct claimed_agent *claimed, struct run_fixture *fixture,
                                 const char *script)
{
    claimed_agent_begin_pending_in(claimed, fixture, script, "{}");
}

void claimed_agent_begin_pending_in(struct claimed_agent *claimed, struct run_fixture *fixture,
                                    const char *script, const char *more)
{
    struct uuid id = run_new_conversation(fixture, script, more);

    stub_refuse_start(fixture->stub, "no room");
    run_to_end(fixture, &id);
    stub_refuse_start(fixture->stub, NULL);
    run_again(fixture, &id);
    claimed_agent_begin(claimed, fixture, &id);
}

void claimed_agent_end(struct claimed_agent *claimed)
{
    const struct conversation_scope scope = {.user_id = claimed->fixture->user_id};
    struct error err = ERROR_INIT;

    check(conversation_store_delete(claimed->fixture->context.db, &scope,
                                    &claimed->agent.lease.conversation_id, &err),
          &err);
    agent_done(&claimed->agent);
    run_control_done(&claimed->control);
}

void run_to_end(struct run_fixture *fixture, const struct uuid *id)
{
    struct run_control control;

    run_control_init(&control, 0);
    claim_and_run(fixture, id, &control);
    run_control_done(&control);
}

void run_paused_long_ago(struct run_fixture *fixture, const struct uuid *id)
{
    struct run_control control;

    run_control_init(&control, 0);
    run_control_request(&control, STOP_PAUSE);
    lock_take(&control.lock);
    control.stop_at_ms -= LONG_AGO_MS;
    lock_release(&control.lock);
    claim_and_run(fixture, id, &control);
    run_control_done(&control);
}

void run_interrupted(struct run_fixture *fixture, const struct uuid *id)
{
    struct run_control control;

    run_control_init(&control, 0);
    run_control_request(&control, STOP_INTERRUPT);
    claim_and_run(fixture, id, &control);
    run_control_done(&control);
}

static void *background_main(void *argument)
{
    struct background_run *run = argument;

    claim_and_run(run->fixture, &run->id, &run->control);
    return NULL;
}

void background_run_start(struct background_run *run, struct run_fixture *fixture,
                          const struct uuid *id)
{
    run->fixture = fixture;
    run->id = *id;
    run_control_init(&run->control, 0);
    assert_int_equal(pthread_create(&run->thread, NULL, background_main, run), 0);
}

void background_run_wait_for_model(struct background_run *run)
{
    struct run_control *control = &run->control;
    int64_t deadline_ms = clock_monotonic_ms() + WAIT_MOST_MS;
    bool is_waiting = false;

    lock_take(&control->lock);
    while (!is_waiting && clock_monotonic_ms() < deadline_ms) {
        (void)condition_wait_until(&control->changed, &control->lock,
                                   clock_monotonic_ms() + LOOK_AGAIN_MS);
        is_waiting = control->cancel != NULL && control->wait == WAIT_MODEL;
    }
    lock_release(&control->lock);
    assert_true(is_waiting);
}

void background_run_join(struct background_run *run)
{
    assert_int_equal(pthread_join(run->thread, NULL), 0);
    run_control_done(&run->control);
}

static void append_word(struct strbuf *out, const struct stored_event *event)
{
    const char *detail = json_text_or(stored_event_json(event), "tool_name", NULL);
    size_t len = strlen(event->kind);

    if (text_equal(event->kind, "ConversationStateUpdateEvent")) {
        const char *key = json_text_or(stored_event_json(event), "key", "");

        strbuf_appendf(out, "S(%s) ",
                       text_equal(key, "execution_status")
                           ? json_text_or(stored_event_json(event), "value", "")
                           : key);
        return;
    }
    if (text_equal(event->kind, "MessageEvent"))
        detail = json_text_or(stored_event_json(event), "source", "");
    if (text_ends_with(event->kind, "Event"))
        len -= strlen("Event");
    strbuf_append_bytes(out, event->kind, len);
    if (detail != NULL)
        strbuf_appendf(out, "(%s)", detail);
    strbuf_append_char(out, ' ');
}

void assert_log(struct run_fixture *fixture, const struct uuid *id, const char *expected)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    struct error err = ERROR_INIT;

    check(event_store_load_after(fixture->context.db, id, &history, &err), &err);
    for (size_t i = 0; i < history.n; i++) {
        assert_int_equal(history.items[i].seq, i + 1);
        append_word(&words, &history.items[i]);
    }
    strbuf_truncate(&words, words.len - 1);
    assert_string_equal(words.text, expected);
}

void run_last_event(struct run_fixture *fixture, const struct uuid *id, const char *kind,
                    struct strbuf *out)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    struct error err = ERROR_INIT;

    check(event_store_load_after(fixture->context.db, id, &history, &err), &err);
    strbuf_reset(out);
    for (size_t i = 0; i < history.n; i++) {
        if (text_equal(history.items[i].kind, kind)) {
            strbuf_reset(out);
            json_append_text(out, stored_event_json(&history.items[i]));
        }
    }
}

void assert_row(struct run_fixture *fixture, const struct uuid *id, const char *expected)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct conversation_scope scope = {.user_id = fixture->user_id};
    struct error err = ERROR_INIT;

    check(conversation_store_load(fixture->context.db, &scope, id, &conversation, &err), &err);
    strbuf_appendf(&text, "%s/%s/%s", status_to_string(conversation.status),
                   conversation.is_wanted ? "wanted" : "-",
                   conversation.is_leased ? "leased" : "-");
    assert_string_equal(text.text, expected);
}
