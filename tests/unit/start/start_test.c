/*
 * The stages that need a database, and all of them together.
 */
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/conversation/worktree.h"
#include "start/start.h"
#include "start/start_place.h"
#include "start/start_store.h"
#include "store/conversation/conversation_store.h"
#include "support/pg.h"
#include "support/sql.h"
#include "unit/start/start_fixture.h"

/* Starts with these members, fails the test otherwise. */
static struct uuid begin(const struct start_context *context, const char *members,
                         enum start_outcome *outcome_out)
{
    CLEANUP(start_done) struct start start = START_INIT;
    json_auto_t *body = start_body(members);
    struct error err = ERROR_INIT;

    assert_done(start_prepare(context, body, NULL, &start, &err), &err);
    assert_done(start_store(context, &start.plan, outcome_out, &err), &err);
    return start.plan.conversation.id;
}

static void load(const struct start_context *context, const struct uuid *id,
                 struct conversation *conversation_out)
{
    struct error err = ERROR_INIT;

    assert_done(
        conversation_store_load(context->db, &context->caller.scope, id, conversation_out, &err),
        &err);
}

static void a_start_is_stored_with_its_message(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    enum start_outcome outcome = START_EXISTED;
    struct uuid id = begin(
        &context, ", 'initial_message': {'content': [{'type': 'text', 'text': 'go'}]}", &outcome);

    assert_int_equal(outcome, START_STORED);
    load(&context, &id, &conversation);
    assert_true(conversation.is_wanted);
    assert_true(conversation.last_seq > 0);
    assert_string_equal(conversation.runtime_session, "u-test");
}

static void a_start_without_a_message_waits(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    enum start_outcome outcome = START_EXISTED;
    struct uuid id = begin(&context, "", &outcome);

    load(&context, &id, &conversation);
    assert_false(conversation.is_wanted);
    assert_int_equal(conversation.last_seq, 0);
}

static void an_id_is_stored_once(void **state)
{
    static const char members[] = ", 'conversation_id': 'aaaaaaaa-2222-4333-8444-555555555555'";
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    enum start_outcome outcome = START_EXISTED;

    (void)begin(&context, members, &outcome);
    assert_int_equal(outcome, START_STORED);
    (void)begin(&context, members, &outcome);
    assert_int_equal(outcome, START_EXISTED);
}

/* The caller may die here: the job knows all that is to be done. */
static void a_worktree_is_left_to_a_job(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    enum start_outcome outcome = START_EXISTED;
    json_auto_t *info = NULL;
    struct uuid id = begin(&context,
                           ", 'worktree': true, 'initial_message': {'content': [{'type': 'text',"
                           " 'text': 'go'}]}",
                           &outcome);

    assert_int_equal(outcome, START_PENDING);
    load(&context, &id, &conversation);
    assert_true(worktree_is_pending(&conversation));
    assert_false(conversation.is_wanted);
    assert_int_equal(conversation.last_seq, 0);
    info = conversation_info(&conversation);
    assert_null(json_object_get(json_object_get(info, "agent_state"), "worktree"));
    assert_int_equal(test_sql_count("SELECT count(*) FROM jobs WHERE kind = 'worktree'"
                                    " AND key = conversation_id"
                                    " AND payload::json->'content'->0->>'text' = 'go'"),
                     1);
}

static void a_full_queue_stores_nothing(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_done) struct start start = START_INIT;
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *body =
        start_body(", 'initial_message': {'content': [{'type': 'text', 'text': 'go'}]}");
    enum start_outcome outcome = START_STORED;
    struct error err = ERROR_INIT;

    context.limits.runs = (struct run_limits){0, 0};
    assert_done(start_prepare(&context, body, NULL, &start, &err), &err);
    assert_int_equal(start_store(&context, &start.plan, &outcome, &err), -1);
    assert_int_equal(err.code, ERROR_RATE_LIMITED);
    assert_int_equal(conversation_store_load(context.db, &context.caller.scope,
                                             &start.plan.conversation.id, &conversation, &err),
                     -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void place(const struct start_context *context, const char *members, int rc_expected)
{
    CLEANUP(start_done) struct start start = START_INIT;
    json_auto_t *body = start_body(members);
    struct error err = ERROR_INIT;

    assert_int_equal(start_prepare(context, body, NULL, &start, &err), rc_expected);
    if (rc_expected < 0)
        assert_int_equal(err.code, ERROR_INVALID);
}

static void a_sandboxes_conversations_run_in_that_sandbox(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_of_sandbox(state);
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    enum start_outcome outcome = START_EXISTED;
    struct uuid id = begin(&context, "", &outcome);

    load(&context, &id, &conversation);
    assert_string_equal(conversation.runtime_session, "c-test");
    place(&context, ", 'conversation_runtime': 'docker'", -1);
}

static void a_sandbox_of_its_own_has_a_session_of_its_own(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    enum start_outcome outcome = START_EXISTED;
    struct uuid id = begin(&context, ", 'conversation_runtime': 'docker'", &outcome);

    load(&context, &id, &conversation);
    assert_true(text_starts_with(conversation.runtime_session, CONVERSATION_SESSION_PREFIX));
}

static void a_child_has_the_folder_of_a_parent_that_the_caller_sees(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_context_end) struct start_context other = start_context_of_sandbox(state);
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    enum start_outcome outcome = START_EXISTED;
    struct uuid parent =
        begin(&context, ", 'conversation_id': 'bbbbbbbb-2222-4333-8444-555555555555'", &outcome);
    static const char child[] =
        ", 'parent_conversation_id': 'bbbbbbbb-2222-4333-8444-555555555555'";
    struct uuid id = begin(&context, child, &outcome);

    load(&context, &id, &conversation);
    assert_string_equal(conversation.parent_id.text, parent.text);
    place(&other, child, -1);
    place(&context, ", 'parent_conversation_id': 'cccccccc-2222-4333-8444-555555555555'", -1);
}

static void an_existing_id_is_found(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation none = CONVERSATION_INIT;
    json_auto_t *body = start_json("{}");
    enum start_outcome outcome = START_EXISTED;
    struct uuid id = begin(&context, "", &outcome);
    struct error err = ERROR_INIT;
    bool is_found = true;

    assert_done(start_find_existing(&context, body, &is_found, &none, &err), &err);
    assert_false(is_found);
    json_put_text(body, "conversation_id", "dddddddd-2222-4333-8444-555555555555");
    assert_done(start_find_existing(&context, body, &is_found, &none, &err), &err);
    assert_false(is_found);
    json_put_text(body, "conversation_id", id.text);
    assert_done(start_find_existing(&context, body, &is_found, &conversation, &err), &err);
    assert_true(is_found);
    assert_string_equal(conversation.id.text, id.text);
}

static void a_failed_look_up_is_no_new_id(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *body = start_json("{'conversation_id': 'dddddddd-2222-4333-8444-555555555555'}");
    struct error err = ERROR_INIT;
    bool is_found = true;
    int rc = 0;

    test_sql("ALTER TABLE conversations RENAME TO conversations_away");
    rc = start_find_existing(&context, body, &is_found, &conversation, &err);
    test_sql("ALTER TABLE conversations_away RENAME TO conversations");
    assert_int_equal(rc, -1);
    assert_int_not_equal(err.code, ERROR_NOT_FOUND);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_is_stored_with_its_message),
        cmocka_unit_test(a_start_without_a_message_waits),
        cmocka_unit_test(an_id_is_stored_once),
        cmocka_unit_test(a_worktree_is_left_to_a_job),
        cmocka_unit_test(a_full_queue_stores_nothing),
        cmocka_unit_test(a_sandboxes_conversations_run_in_that_sandbox),
        cmocka_unit_test(a_sandbox_of_its_own_has_a_session_of_its_own),
        cmocka_unit_test(a_child_has_the_folder_of_a_parent_that_the_caller_sees),
        cmocka_unit_test(an_existing_id_is_found),
        cmocka_unit_test(a_failed_look_up_is_no_new_id),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, start_set_up_with_db, start_tear_down);
}
