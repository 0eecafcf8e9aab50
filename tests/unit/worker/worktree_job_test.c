/*
 * The job that finishes the start of a conversation with a git worktree of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/worktree.h"
#include "model/event/event.h"
#include "model/limits.h"
#include "start/start.h"
#include "start/start_context.h"
#include "start/start_store.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/job_store.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"
#include "worker/jobs/job.h"
#include "worker/run_fixture.h"
#include "worker/stub_sandbox.h"

#define LOG "SystemPrompt Message(user) S(last_user_message_id) S(running)"
#define REQUEST                                                                                    \
    "{\"workspace\": {\"working_dir\": \"/workspace/project\"}, \"worktree\": true, \"agent\":"    \
    " {\"llm\": {\"model\": \"scripted/hello\"}, \"tools\": []}, \"secrets\": "                    \
    "{\"TOKEN\": \"hush-hush-71\"}, \"initial_message\": "                                         \
    "{\"content\":"                                                                                \
    " [{\"type\": \"text\", \"text\": \"go\"}]}}"

static void check(int rc, const struct error *err)
{
    if (rc < 0)
        fail_msg("%s: %s", err->where, err->message);
}

/* Starts a conversation whose worktree is to be added. */
static struct uuid start(struct run_fixture *fixture)
{
    CLEANUP(start_done) struct start start = START_INIT;
    json_auto_t *problems = json_array();
    json_auto_t *body = NULL;
    enum start_outcome outcome = START_STORED;
    struct error err = ERROR_INIT;
    const struct start_context context = {
        .db = fixture->context.db,
        .keyring = &fixture->context.keyring,
        .defaults = {.model = "scripted/hello"},
        .llm = {"", "", ""},
        .limits = {{100, 100}, 1LL << 30, 2000000000},
        .caller = {.scope = {.user_id = fixture->user_id}, .runtime_session = "u-test"},
        .problems = problems,
    };

    check(json_parse(REQUEST, strlen(REQUEST), &body, &err), &err);
    check(start_prepare(&context, body, NULL, &start, &err), &err);
    check(start_store(&context, &start.plan, &outcome, &err), &err);
    assert_int_equal(outcome, START_PENDING);
    return start.plan.conversation.id;
}

static void load(struct run_fixture *fixture, const struct uuid *id,
                 struct conversation *conversation_out)
{
    struct error err = ERROR_INIT;

    check(conversation_store_load_any(fixture->context.db, id, conversation_out, &err), &err);
}

/* text: NULL, or of the message's only part; sender: NULL, or the message's. */
static void run_job_with(struct run_fixture *fixture, const char *text, const char *sender)
{
    struct job job = {.kind = NULL};
    struct run_control control;
    struct error err = ERROR_INIT;
    bool is_claimed = false;

    run_control_init(&control, 0);
    check(job_store_claim(fixture->context.db, &fixture->context.owner, &is_claimed, &job, &err),
          &err);
    assert_true(is_claimed);
    assert_string_equal(job.kind, "worktree");
    if (text != NULL) {
        json_t *content = json_array();

        json_push(content, text_content(text));
        json_put(job.payload, "content", content);
    }
    json_put_text(job.payload, "sender", sender);
    job_run(&fixture->context, &control, &job);
    job_done(&job);
    run_control_done(&control);
}

static void run_job(struct run_fixture *fixture)
{
    run_job_with(fixture, NULL, NULL);
}

/* A new reference to the result for the waiting handler. */
static json_t *take_result(struct run_fixture *fixture, const struct uuid *id)
{
    json_t *result = NULL;
    struct error err = ERROR_INIT;

    check(job_store_wait(fixture->context.db, id, clock_monotonic_ms() + 1000, &result, &err),
          &err);
    return result;
}

static void nothing_runs_before_the_worktree_is_there(void **state)
{
    struct run_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(claim_done) struct claim claim = {.claim_count = 0};
    size_t n_commands = stub_n_commands(fixture->stub);
    struct uuid id = start(fixture);
    struct error err = ERROR_INIT;
    bool is_claimed = true;

    load(fixture, &id, &conversation);
    assert_true(worktree_is_pending(&conversation));
    assert_int_equal(conversation.last_seq, 0);
    check(conversation_store_claim(fixture->context.db, &fixture->context.owner, 1000, &is_claimed,
                                   &claim, &err),
          &err);
    assert_false(is_claimed);
    assert_int_equal(stub_n_commands(fixture->stub), n_commands);
    stub_set_command(fixture->stub, 0, "/tmp/x");
    run_job(fixture);
    json_decref(take_result(fixture, &id));
    test_sql("UPDATE conversations SET wanted_at = NULL");
}

/* As if the worker had died after its write: the job is due again, and does nothing more. */
static void the_path_and_the_message_are_stored_once(void **state)
{
    struct run_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation once = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation twice = CONVERSATION_INIT;
    struct uuid id = start(fixture);
    size_t n_commands = stub_n_commands(fixture->stub);
    json_auto_t *result = NULL;

    stub_set_command(fixture->stub, 0, "/tmp/conversation-worktrees/x/project");
    run_job(fixture);
    load(fixture, &id, &once);
    assert_string_equal(conversation_working_dir(&once), "/tmp/conversation-worktrees/x/project");
    assert_false(worktree_is_pending(&once));
    assert_true(once.is_wanted);
    assert_log(fixture, &id, LOG);
    test_sql("UPDATE jobs SET done_at = NULL, result = NULL WHERE kind = 'worktree'");
    run_job(fixture);
    load(fixture, &id, &twice);
    assert_int_equal(twice.last_seq, once.last_seq);
    assert_int_equal(stub_n_commands(fixture->stub), n_commands + 1);
    result = take_result(fixture, &id);
    assert_null(json_object_get(result, "refused"));
    test_sql("UPDATE conversations SET wanted_at = NULL");
}

static void without_a_repository_the_folder_stays(void **state)
{
    struct run_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    struct uuid id = start(fixture);

    stub_set_command(fixture->stub, 3, "");
    run_job(fixture);
    json_decref(take_result(fixture, &id));
    load(fixture, &id, &conversation);
    assert_string_equal(conversation_working_dir(&conversation), "/workspace/project");
    assert_log(fixture, &id, LOG);
    test_sql("UPDATE conversations SET wanted_at = NULL");
}

static void gits_refusal_is_told_and_ends_the_start(void **state)
{
    struct run_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    struct uuid id = start(fixture);
    json_auto_t *result = NULL;

    stub_set_command(fixture->stub, 1, "fatal: invalid reference: x");
    run_job(fixture);
    load(fixture, &id, &conversation);
    assert_int_equal(conversation.status, STATUS_ERROR);
    assert_false(conversation.is_wanted);
    assert_false(worktree_is_pending(&conversation));
    assert_log(fixture, &id, "ConversationError S(error)");
    result = take_result(fixture, &id);
    assert_non_null(strstr(json_text_or(result, "refused", ""), "invalid reference"));
}

/* As if the worker had died after its write. */
static void a_refusal_stays_one(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = start(fixture);
    json_auto_t *result = NULL;

    stub_set_command(fixture->stub, 1, "fatal: invalid reference: x");
    run_job(fixture);
    test_sql("UPDATE jobs SET done_at = NULL, result = NULL WHERE kind = 'worktree'");
    run_job(fixture);
    result = take_result(fixture, &id);
    assert_non_null(strstr(json_text_or(result, "refused", ""), "invalid reference"));
}

/* As if the worker had died after its write, and another one had run the conversation. */
static void a_run_that_failed_is_no_refusal(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = start(fixture);
    json_auto_t *result = NULL;

    stub_set_command(fixture->stub, 0, "/tmp/conversation-worktrees/x/project");
    run_job(fixture);
    test_sql("UPDATE conversations SET execution_status = 'error', wanted_at = NULL"
             " WHERE wanted_at IS NOT NULL");
    test_sql("UPDATE jobs SET done_at = NULL, result = NULL WHERE kind = 'worktree'");
    run_job(fixture);
    result = take_result(fixture, &id);
    assert_null(json_object_get(result, "refused"));
}

static void make_due(void)
{
    test_sql("UPDATE jobs SET due_at = now() WHERE kind = 'worktree'");
}

/* The conversation must not begin in the folder that it shares with others. */
static void missing_sandbox_leaves_the_start_to_the_next_attempt(void **state)
{
    struct run_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation early = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation late = CONVERSATION_INIT;
    struct uuid id = start(fixture);

    stub_refuse_start(fixture->stub, "no room");
    run_job(fixture);
    stub_refuse_start(fixture->stub, NULL);
    load(fixture, &id, &early);
    assert_true(worktree_is_pending(&early));
    assert_false(early.is_wanted);
    assert_int_equal(early.last_seq, 0);
    stub_set_command(fixture->stub, 0, "/tmp/conversation-worktrees/x/project");
    make_due();
    run_job(fixture);
    json_decref(take_result(fixture, &id));
    load(fixture, &id, &late);
    assert_string_equal(conversation_working_dir(&late), "/tmp/conversation-worktrees/x/project");
    assert_true(late.is_wanted);
    test_sql("UPDATE conversations SET wanted_at = NULL");
}

static void job_is_given_up_after_five_attempts(void **state)
{
    static const char SQL_OPEN[] = "SELECT count(*) FROM jobs WHERE done_at IS NULL";
    struct run_fixture *fixture = *state;
    struct uuid id = start(fixture);
    json_auto_t *result = NULL;

    stub_refuse_start(fixture->stub, "no room");
    test_sql("UPDATE jobs SET attempts = 3 WHERE kind = 'worktree'");
    run_job(fixture);
    assert_int_equal(test_sql_count(SQL_OPEN), 1);
    make_due();
    run_job(fixture);
    stub_refuse_start(fixture->stub, NULL);
    assert_int_equal(test_sql_count(SQL_OPEN), 0);
    result = take_result(fixture, &id);
    assert_non_null(json_object_get(result, "error"));
}

static void stored_refusal_holds_no_secret(void **state)
{
    struct run_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    struct uuid id = start(fixture);

    stub_set_command(fixture->stub, 1, "fatal: cannot read https://hush-hush-71@host/x");
    run_job(fixture);
    json_decref(take_result(fixture, &id));
    run_last_event(fixture, &id, "ConversationErrorEvent", &event);
    assert_non_null(strstr(event.text, "cannot read https://"));
    assert_null(strstr(event.text, "hush-hush-71"));
}

static void first_message_has_its_sender(void **state)
{
    static const char *const senders[] = {NULL, "bob"};
    struct run_fixture *fixture = *state;

    stub_set_command(fixture->stub, 0, "/tmp/conversation-worktrees/x/project");
    for (size_t i = 0; i < 2; i++) {
        CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
        struct uuid id = start(fixture);

        run_job_with(fixture, "from whom?", senders[i]);
        json_decref(take_result(fixture, &id));
        run_last_event(fixture, &id, "MessageEvent", &event);
        assert_json_at(event.text, "llm_message.content[0].text", "\"from whom?\"");
        assert_json_at(event.text, "sender", i == 0 ? NULL : "\"bob\"");
        test_sql("UPDATE conversations SET wanted_at = NULL");
    }
}

/* The worktree is there by then; its conversation cannot begin. */
static void message_that_is_too_large_ends_the_start(void **state)
{
    struct run_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct uuid id = start(fixture);
    json_auto_t *result = NULL;

    for (int i = 0; i < EVENT_MAX_BYTES; i++)
        strbuf_append_char(&text, 'x');
    stub_set_command(fixture->stub, 0, "/tmp/conversation-worktrees/x/project");
    run_job_with(fixture, text.text, NULL);
    load(fixture, &id, &conversation);
    assert_int_equal(conversation.status, STATUS_ERROR);
    assert_false(conversation.is_wanted);
    assert_log(fixture, &id, "ConversationError S(error)");
    result = take_result(fixture, &id);
    assert_non_null(json_text_or(result, "too_large", NULL));
    assert_int_equal(json_object_size(result), 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_runs_before_the_worktree_is_there),
        cmocka_unit_test(the_path_and_the_message_are_stored_once),
        cmocka_unit_test(without_a_repository_the_folder_stays),
        cmocka_unit_test(gits_refusal_is_told_and_ends_the_start),
        cmocka_unit_test(a_refusal_stays_one),
        cmocka_unit_test(a_run_that_failed_is_no_refusal),
        cmocka_unit_test(missing_sandbox_leaves_the_start_to_the_next_attempt),
        cmocka_unit_test(job_is_given_up_after_five_attempts),
        cmocka_unit_test(stored_refusal_holds_no_secret),
        cmocka_unit_test(first_message_has_its_sender),
        cmocka_unit_test(message_that_is_too_large_ends_the_start),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, run_fixture_set_up, run_fixture_tear_down);
}
