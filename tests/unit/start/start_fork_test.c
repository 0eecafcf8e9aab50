/*
 * Copies of conversations: what they have of their source, and what is stored of them.
 */
#include "base/json.h"
#include "base/mem.h"
#include "model/conversation/conversation.h"
#include "model/conversation/file_restore.h"
#include "model/conversation/sealed_secrets.h"
#include "model/conversation/worktree.h"
#include "start/start.h"
#include "start/start_fork.h"
#include "start/start_store.h"
#include "store/conversation/conversation_store.h"
#include "support/pg.h"
#include "unit/start/start_fixture.h"

/* A stored conversation with a message, a secret, a goal and a cost, as its fork reads it. */
static void store_source(const struct start_context *context, struct conversation *source_out)
{
    CLEANUP(start_done) struct start start = START_INIT;
    json_auto_t *body =
        start_body(", 'secrets': {'TOKEN': 'abc'}, 'tags': {'team': 'one'},"
                   " 'initial_message': {'content': [{'type': 'text', 'text': 'go'}]}");
    enum start_outcome outcome = START_EXISTED;
    struct error err = ERROR_INIT;

    assert_done(start_prepare(context, body, NULL, &start, &err), &err);
    assert_done(start_store(context, &start.plan, &outcome, &err), &err);
    assert_done(conversation_store_load(context->db, &context->caller.scope,
                                        &start.plan.conversation.id, source_out, &err),
                &err);
    json_put(source_out->spec, "goal", json_object());
    json_decref(source_out->stats);
    source_out->stats = start_json("{'usage_to_metrics': {'agent': {'accumulated_cost': 1}}}");
    worktree_set_pending(source_out);
}

static void load(const struct start_context *context, const struct uuid *id,
                 struct conversation *conversation_out)
{
    struct error err = ERROR_INIT;

    assert_done(
        conversation_store_load(context->db, &context->caller.scope, id, conversation_out, &err),
        &err);
}

static void assert_secret(const struct start_context *context,
                          const struct conversation *conversation, const char *expected)
{
    json_auto_t *secrets = NULL;
    struct error err = ERROR_INIT;

    assert_done(sealed_secrets_open(context->keyring, conversation, &secrets, &err), &err);
    assert_string_equal(json_text_or(json_object_get(secrets, "secrets"), "TOKEN", ""), expected);
}

static void a_copy_has_the_log_and_the_secrets_of_its_source(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(conversation_done) struct conversation source = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation copy = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation stored = CONVERSATION_INIT;
    const struct fork_order order = FORK_ORDER_INIT;
    struct error err = ERROR_INIT;

    store_source(&context, &source);
    assert_done(start_fork(&context, &source, &order, &copy, &err), &err);
    load(&context, &copy.id, &stored);
    assert_string_not_equal(stored.id.text, source.id.text);
    assert_true(stored.last_seq > 0);
    assert_int_equal(stored.last_seq, source.last_seq);
    assert_int_equal(copy.last_seq, source.last_seq);
    assert_string_equal(stored.runtime_session, source.runtime_session);
    assert_false(uuid_is_set(&stored.parent_id));
    assert_secret(&context, &stored, "abc");
}

static void a_copy_waits_for_its_own_work(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(conversation_done) struct conversation source = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation copy = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation stored = CONVERSATION_INIT;
    const struct fork_order order = {.id = UUID_INIT, .title = "  "};
    struct error err = ERROR_INIT;

    store_source(&context, &source);
    assert_true(source.is_wanted);
    json_put(source.agent_state, AGENT_STATE_DELEGATES, json_array());
    json_put(source.agent_state, AGENT_STATE_SERVER_SESSIONS, json_object());
    json_put_text(source.agent_state, "kept", "yes");
    assert_done(start_fork(&context, &source, &order, &copy, &err), &err);
    load(&context, &copy.id, &stored);
    assert_false(stored.is_wanted);
    assert_int_equal(stored.status, STATUS_IDLE);
    assert_null(stored.title);
    assert_null(json_object_get(stored.spec, "goal"));
    assert_int_equal(json_object_size(json_object_get(stored.spec, "tags")), 0);
    assert_false(worktree_is_pending(&stored));
    assert_null(json_object_get(stored.agent_state, AGENT_STATE_DELEGATES));
    assert_null(json_object_get(stored.agent_state, AGENT_STATE_SERVER_SESSIONS));
    assert_string_equal(json_text_or(stored.agent_state, "kept", ""), "yes");
}

static void a_copy_is_named_as_ordered(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(conversation_done) struct conversation source = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation copy = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation stored = CONVERSATION_INIT;
    json_auto_t *tags = start_json("{'team': 'two'}");
    struct fork_order order = {.id = uuid_random(), .title = "Again", .tags = tags};
    struct error err = ERROR_INIT;

    store_source(&context, &source);
    assert_done(start_fork(&context, &source, &order, &copy, &err), &err);
    load(&context, &order.id, &stored);
    assert_string_equal(stored.title, "Again");
    assert_true(json_equal(json_object_get(stored.spec, "tags"), tags));
}

static void a_copy_keeps_the_cost_only_on_request(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(conversation_done) struct conversation source = CONVERSATION_INIT;
    struct fork_order order = FORK_ORDER_INIT;

    store_source(&context, &source);
    for (order.metrics = FORK_RESETS_METRICS; order.metrics <= FORK_KEEPS_METRICS;
         order.metrics++) {
        CLEANUP(conversation_done) struct conversation copy = CONVERSATION_INIT;
        CLEANUP(conversation_done) struct conversation stored = CONVERSATION_INIT;
        struct error err = ERROR_INIT;

        assert_done(start_fork(&context, &source, &order, &copy, &err), &err);
        load(&context, &copy.id, &stored);
        assert_int_equal(json_equal(stored.stats, source.stats),
                         order.metrics == FORK_KEEPS_METRICS);
    }
}

static void refuse(const struct start_context *context, const struct conversation *source,
                   const struct fork_order *order, enum error_code code)
{
    CLEANUP(conversation_done) struct conversation copy = CONVERSATION_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(start_fork(context, source, order, &copy, &err), -1);
    assert_int_equal(err.code, code);
}

/* Its forks run where it is, and restored files would replace those of the source. */
static void a_sandboxs_key_restores_no_files(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(conversation_done) struct conversation source = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation copy = CONVERSATION_INIT;
    struct fork_order order = {.id = UUID_INIT, .files = FORK_FILES_RESTORED};
    struct file_restore files;
    struct error err = ERROR_INIT;

    store_source(&context, &source);
    source.runtime_kind = RUNTIME_DOCKER;
    context.caller.kind = START_BY_SANDBOX;
    refuse(&context, &source, &order, ERROR_FORBIDDEN);
    order.files = FORK_FILES_BY_SANDBOX;
    assert_done(start_fork(&context, &source, &order, &copy, &err), &err);
    assert_false(file_restore_read(copy.agent_state, &files));
    assert_string_equal(copy.runtime_session, source.runtime_session);
}

static void an_unknown_event_and_a_taken_id_are_refused(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(conversation_done) struct conversation source = CONVERSATION_INIT;
    struct fork_order unknown = {.id = UUID_INIT, .from_event_id = "nonsense"};
    struct fork_order taken = FORK_ORDER_INIT;

    store_source(&context, &source);
    taken.id = source.id;
    refuse(&context, &source, &unknown, ERROR_NOT_FOUND);
    refuse(&context, &source, &taken, ERROR_CONFLICT);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_has_the_log_and_the_secrets_of_its_source),
        cmocka_unit_test(a_copy_waits_for_its_own_work),
        cmocka_unit_test(a_copy_is_named_as_ordered),
        cmocka_unit_test(a_copy_keeps_the_cost_only_on_request),
        cmocka_unit_test(a_sandboxs_key_restores_no_files),
        cmocka_unit_test(an_unknown_event_and_a_taken_id_are_refused),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, start_set_up_with_db, start_tear_down);
}
