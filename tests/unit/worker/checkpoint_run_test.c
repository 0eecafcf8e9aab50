/*
 * Checkpoints of runs: when one is taken and stored, and what sets files back before a run.
 */
#include "worker/agent/sandbox/checkpoint.h"

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
#include "base/uuid.h"
#include "model/conversation/file_restore.h"
#include "store/conversation/branch_store.h"
#include "store/conversation/checkpoint_store.h"
#include "store/conversation/event_store.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"
#include "worker/agent/agent_run.h"
#include "worker/agent/run_files.h"
#include "worker/run_fixture.h"
#include "worker/stub_sandbox.h"

#define BEGINNING "SystemPrompt Message(user) S(last_user_message_id) S(running) "
#define CALL(name, arguments) "{\"name\": \"" name "\", \"arguments\": " arguments "}"
#define COMMAND(command) CALL("terminal", "{\"command\": \"" command "\"}")
#define THINK CALL("think", "{\"thought\": \"hm\"}")
#define CALLS(calls) "{\"calls\": [" calls "]}"
#define SAYS "{\"text\": \"well\"}"
#define TURN(steps) "{\"turns\": [{\"steps\": [" steps "]}]}"

#define TREE "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define BEFORE "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define TAKE "take {\"working_dir\":\"/workspace/project\",\"timeout_ms\":5000}\n"
#define TAKEN(more) "{\"id\": \"" TREE "\", \"n_files\": 3" more "}"

/* The requests for checkpoints since the last call. */
static void take_requests(struct run_fixture *fixture, struct strbuf *out)
{
    strbuf_reset(out);
    stub_take_checkpoints(fixture->stub, out);
}

static size_t count_lines(const struct strbuf *text, const char *what)
{
    size_t n = 0;

    for (const char *at = strstr(text->text, what); at != NULL; at = strstr(at + 1, what))
        n++;
    return n;
}

static void assert_requests(struct run_fixture *fixture, size_t n_taken, size_t n_restored)
{
    CLEANUP(strbuf_done) struct strbuf requests = STRBUF_INIT;

    take_requests(fixture, &requests);
    if (count_lines(&requests, "take {") != n_taken ||
        count_lines(&requests, "restore {") != n_restored)
        fail_msg("%s", requests.text);
}

/* A member of the n-th checkpoint of the list; "(null)" for null. */
static void assert_listed(struct run_fixture *fixture, const struct uuid *id, const char *path,
                          const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf json = STRBUF_INIT;
    struct error err = ERROR_INIT;

    if (checkpoint_store_list(fixture->context.db, id, &json, &err) < 0)
        fail_msg("%s", err.message);
    assert_json_at(json.text, path, expected);
}

/* --- taking --- */

static void turn_that_may_change_files_has_one_checkpoint(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(
        fixture,
        "{\"turns\": [{\"steps\": [" CALLS(COMMAND("one")) ", " CALLS(
            COMMAND("two")) ", " SAYS "]}, {\"steps\": [" CALLS(COMMAND("three")) ", " SAYS "]}]}",
        "{}");

    stub_set_checkpoint(fixture->stub, TAKEN(""));
    assert_requests(fixture, 0, 0);
    run_to_end(fixture, &id);
    assert_requests(fixture, 1, 0);
    run_say(fixture, &id, "more");
    run_to_end(fixture, &id);
    assert_requests(fixture, 1, 0);
    assert_listed(fixture, &id, "items[0].checkpoint_id", "\"" TREE "\"");
    assert_listed(fixture, &id, "items[0].n_files", "3");
    assert_listed(fixture, &id, "items[0].reason", "null");
    assert_listed(fixture, &id, "items[1].checkpoint_id", "\"" TREE "\"");
    assert_listed(fixture, &id, "items[2]", NULL);
}

/* The model takes its time; the sandbox is known, since it was asked for the workspace's files. */
static void checkpoint_is_taken_while_the_model_answers(void **state)
{
    struct run_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf requests = STRBUF_INIT;
    struct background_run run;
    int64_t deadline_ms = clock_monotonic_ms() + 60000;
    struct uuid id =
        run_new_conversation(fixture, TURN("{\"text\": \"well\", \"delay_ms\": 60000}"),
                             "{\"agent\": {\"agent_context\": {\"load_project_skills\": true}}}");

    stub_set_checkpoint(fixture->stub, TAKEN(""));
    background_run_start(&run, fixture, &id);
    while (count_lines(&requests, "take {") == 0 && clock_monotonic_ms() < deadline_ms)
        stub_take_checkpoints(fixture->stub, &requests);
    assert_int_equal(count_lines(&requests, "take {"), 1);
    run_control_request(&run.control, STOP_INTERRUPT);
    background_run_join(&run);
    assert_listed(fixture, &id, "items[0]", NULL);
}

/* Once, however many answers change nothing before that. */
static void checkpoint_that_was_begun_is_used(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id =
        run_new_conversation(fixture,
                             TURN(CALLS(THINK) ", " CALLS(THINK) ", " CALLS(
                                 COMMAND("one")) ", " CALLS(COMMAND("two")) ", " SAYS),
                             "{\"agent\": {\"agent_context\": {\"load_project_skills\": true}}}");

    stub_set_checkpoint(fixture->stub, TAKEN(""));
    run_to_end(fixture, &id);
    assert_requests(fixture, 1, 0);
    assert_listed(fixture, &id, "items[0].checkpoint_id", "\"" TREE "\"");
    assert_listed(fixture, &id, "items[1]", NULL);
}

/* That is: the row is there when the first call is in the sandbox. */
static void checkpoint_is_stored_before_the_first_call(void **state)
{
    struct run_fixture *fixture = *state;
    struct background_run run;
    size_t n_runs = stub_n_runs(fixture->stub) + 1;
    struct uuid id = run_new_conversation(fixture, TURN(CALLS(COMMAND("hold")) ", " SAYS), "{}");

    stub_set_checkpoint(fixture->stub, TAKEN(""));
    background_run_start(&run, fixture, &id);
    assert_true(stub_wait_for_runs(fixture->stub, n_runs));
    assert_listed(fixture, &id, "items[0].checkpoint_id", "\"" TREE "\"");
    stub_release(fixture->stub);
    background_run_join(&run);
    assert_requests(fixture, 1, 0);
}

/* So going back to before that call finds it. */
static void checkpoint_is_before_the_first_call_of_an_answer(void **state)
{
    struct run_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct uuid id = run_new_conversation(
        fixture, TURN(CALLS(COMMAND("one") ", " COMMAND("two")) ", " SAYS), "{}");

    stub_set_checkpoint(fixture->stub, TAKEN(""));
    run_to_end(fixture, &id);
    assert_requests(fixture, 1, 0);
    strbuf_appendf(&sql,
                   "SELECT count(*) FROM checkpoints k WHERE k.conversation_id = '%s' AND k.seq ="
                   " (SELECT min(e.seq) FROM events e WHERE e.conversation_id = '%s'"
                   " AND e.kind = 'ActionEvent')",
                   id.text, id.text);
    assert_int_equal(test_sql_count(sql.text), 1);
}

/* One may have been begun; it is the last test, since its request may be counted late. */
static void turn_that_changes_nothing_has_none(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, TURN(CALLS(THINK) ", " SAYS), "{}");

    run_to_end(fixture, &id);
    assert_listed(fixture, &id, "items[0]", NULL);
}

static void worker_that_takes_over_takes_no_second_one(void **state)
{
    struct run_fixture *fixture = *state;
    struct background_run first;
    size_t n_runs = stub_n_runs(fixture->stub) + 1;
    struct uuid id = run_new_conversation(
        fixture, TURN(CALLS(COMMAND("sleep:700")) ", " CALLS(COMMAND("two")) ", " SAYS), "{}");

    stub_set_checkpoint(fixture->stub, TAKEN(""));
    background_run_start(&first, fixture, &id);
    assert_true(stub_wait_for_runs(fixture->stub, n_runs));
    run_control_request(&first.control, STOP_LOST);
    background_run_join(&first);
    run_expire_lease(&id);
    run_to_end(fixture, &id);
    assert_requests(fixture, 1, 0);
    assert_listed(fixture, &id, "items[1]", NULL);
    assert_row(fixture, &id, "finished/-/-");
}

static void run_goes_on_without_and_says_why(void **state)
{
    static const struct {
        const char *reply;
        const char *reason;
    } rows[] = {
        {"{\"id\": null, \"reason\": \"More than 50000 files\"}", "\"More than 50000 files\""},
        {"{}", "\"The sandbox gave no checkpoint\""},
        {"{\"id\": \"../../x\"}", "\"The sandbox gave no checkpoint\""},
        {"{\"id\": \"ABC\"}", "\"The sandbox gave no checkpoint\""},
        {"{\"http_status\": 404, \"detail\": \"Not Found\"}",
         "\"the sandbox replied with status 404 Not Found\""},
    };
    struct run_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct uuid id = run_new_conversation(
            fixture, TURN(CALLS(COMMAND("one")) ", " CALLS(COMMAND("two")) ", " SAYS), "{}");

        stub_set_checkpoint(fixture->stub, rows[i].reply);
        run_to_end(fixture, &id);
        assert_row(fixture, &id, "finished/-/-");
        assert_listed(fixture, &id, "items[0].checkpoint_id", "null");
        assert_listed(fixture, &id, "items[0].reason", rows[i].reason);
        assert_requests(fixture, 1, 0);
    }
}

static void no_call_runs_while_the_last_checkpoint_is_unknown(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, TURN(CALLS(COMMAND("one")) ", " SAYS), "{}");
    size_t n_runs = stub_n_runs(fixture->stub);

    test_sql("ALTER TABLE checkpoints RENAME TO checkpoints_away");
    run_to_end(fixture, &id);
    test_sql("ALTER TABLE checkpoints_away RENAME TO checkpoints");
    assert_int_equal(stub_n_runs(fixture->stub), n_runs);
    assert_requests(fixture, 0, 0);
    stub_set_checkpoint(fixture->stub, TAKEN(""));
    run_expire_lease(&id);
    run_to_end(fixture, &id);
    assert_row(fixture, &id, "finished/-/-");
    assert_int_equal(stub_n_runs(fixture->stub), n_runs + 1);
    assert_requests(fixture, 1, 0);
}

static void skipped_files_are_bounded_and_masked(void **state)
{
    struct run_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;
    struct uuid id = run_new_conversation(fixture, TURN(CALLS(COMMAND("one")) ", " SAYS),
                                          "{\"secrets\": {\"TOKEN\": \"opensesame\"}}");

    strbuf_append(&reply, "{\"id\": \"" TREE "\", \"n_skipped\": 70, \"skipped\": [");
    for (int i = 0; i < 70; i++)
        strbuf_appendf(&reply,
                       "%s{\"path\": \"opensesame/%d\", \"reason\": \"no opensesame here\"}",
                       i > 0 ? "," : "", i);
    strbuf_append(&reply, "]}");
    stub_set_checkpoint(fixture->stub, reply.text);
    run_to_end(fixture, &id);
    assert_listed(fixture, &id, "items[0].n_skipped", "70");
    assert_listed(fixture, &id, "items[0].skipped[49].path", "\"<secret-hidden>/49\"");
    assert_listed(fixture, &id, "items[0].skipped[49].reason", "\"no <secret-hidden> here\"");
    assert_listed(fixture, &id, "items[0].skipped[50]", NULL);
    assert_requests(fixture, 1, 0);
}

/* --- setting back --- */

/* The id of the n-th event of that kind. */
static struct uuid event_id(struct run_fixture *fixture, const struct uuid *id, const char *kind,
                            size_t n)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    struct error err = ERROR_INIT;

    if (event_store_load_after(fixture->context.db, id, &history, &err) < 0)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < history.n; i++) {
        if (text_equal(history.items[i].kind, kind) && n-- == 0)
            return history.items[i].id;
    }
    fail_msg("no such %s", kind);
    return (struct uuid)UUID_INIT;
}

/* A conversation with one turn, in which a command ran; after a step back it does so again. */
static struct uuid with_one_turn(struct run_fixture *fixture)
{
    CLEANUP(strbuf_done) struct strbuf ignored = STRBUF_INIT;
    struct uuid id = run_new_conversation(fixture, TURN(CALLS(COMMAND("one")) ", " SAYS), "{}");

    stub_set_checkpoint(fixture->stub, TAKEN(""));
    run_to_end(fixture, &id);
    take_requests(fixture, &ignored);
    return id;
}

static const struct file_restore own_order = {.id = "order",
                                              .tree = TREE,
                                              .runtime_session = "s",
                                              .runtime_id = "aaaaaaaaaaaaaaaa",
                                              .is_required = true};

static void go_back(struct run_fixture *fixture, const struct uuid *id,
                    const struct file_restore *order)
{
    const struct uuid message = event_id(fixture, id, "MessageEvent", 0);
    struct error err = ERROR_INIT;

    if (branch_store_navigate_with_files(fixture->context.db, id, message.text, order, &err) < 0)
        fail_msg("%s", err.message);
}

static void assert_has_order(struct run_fixture *fixture, const struct uuid *id, bool has)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    (void)fixture;
    strbuf_appendf(&sql,
                   "SELECT count(*) FROM conversations WHERE id = '%s'"
                   " AND agent_state::json -> 'restore_files' IS NOT NULL",
                   id->text);
    assert_int_equal(test_sql_count(sql.text), has);
}

/* A worker that takes over asks for the same action. */
static void assert_restored_by_name(struct run_fixture *fixture, const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    struct uuid action = UUID_INIT;

    strbuf_appendf(&name, "%s/order/restore", id->text);
    action = uuid_from_name(name.text);
    assert_true(stub_has_action(fixture->stub, action.text));
}

/* Before the first call, and before the checkpoint of the turn. */
static void files_are_set_back_once_before_the_run(void **state)
{
    struct run_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf requests = STRBUF_INIT;
    struct uuid id = with_one_turn(fixture);

    go_back(fixture, &id, &own_order);
    stub_set_restore(fixture->stub, "{\"before\": \"" BEFORE "\", \"n_written\": 1}");
    run_say(fixture, &id, "again");
    run_to_end(fixture, &id);
    take_requests(fixture, &requests);
    assert_true(text_starts_with(requests.text, "restore {\"id\":\"" TREE "\"}\ntake {"));
    assert_int_equal(count_lines(&requests, "\n"), 2);
    assert_row(fixture, &id, "finished/-/-");
    assert_has_order(fixture, &id, false);
    assert_restored_by_name(fixture, &id);
    /* What was replaced is a checkpoint, too: between those of the two turns. */
    assert_listed(fixture, &id, "items[0].checkpoint_id", "\"" TREE "\"");
    assert_listed(fixture, &id, "items[1].checkpoint_id", "\"" BEFORE "\"");
    assert_listed(fixture, &id, "items[2].checkpoint_id", "\"" TREE "\"");
}

/* Without a new message: the calls after it are a turn of their own. */
static void run_after_a_step_back_has_a_checkpoint(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = with_one_turn(fixture);

    go_back(fixture, &id, NULL);
    /* A finished one would not run. */
    test_sql("UPDATE conversations SET execution_status = 'paused'");
    run_again(fixture, &id);
    run_to_end(fixture, &id);
    assert_requests(fixture, 1, 0);
}

static void run_that_cannot_set_back_ends_and_the_next_goes_on(void **state)
{
    struct run_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    struct uuid id = with_one_turn(fixture);

    go_back(fixture, &id, &own_order);
    stub_set_restore(fixture->stub, "{\"is_error\": true, \"content\": [{\"type\": \"text\","
                                    " \"text\": \"The object x is missing\"}]}");
    run_say(fixture, &id, "again");
    run_to_end(fixture, &id);
    assert_row(fixture, &id, "error/-/-");
    assert_requests(fixture, 0, 1);
    run_last_event(fixture, &id, "ConversationErrorEvent", &event);
    assert_json_at(event.text, "detail",
                   "\"The files could not be set back: The object x is missing. Run the "
                   "conversation again to continue with the files as they are now.\"");
    assert_has_order(fixture, &id, false);
    run_again(fixture, &id);
    run_to_end(fixture, &id);
    assert_row(fixture, &id, "finished/-/-");
    assert_requests(fixture, 1, 0);
}

static void order_waits_for_a_sandbox(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = with_one_turn(fixture);

    go_back(fixture, &id, &own_order);
    stub_refuse_start(fixture->stub, "no room");
    run_say(fixture, &id, "again");
    run_to_end(fixture, &id);
    assert_row(fixture, &id, "error/-/-");
    assert_has_order(fixture, &id, true);
    stub_refuse_start(fixture->stub, NULL);
    stub_set_restore(fixture->stub, "{}");
    run_again(fixture, &id);
    run_to_end(fixture, &id);
    assert_row(fixture, &id, "finished/-/-");
    assert_requests(fixture, 1, 1);
    assert_has_order(fixture, &id, false);
}

/* The sandbox of the row does not exist any more; another one has its session. */
static void files_of_a_lost_sandbox_are_told(void **state)
{
    struct run_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    struct file_restore order = own_order;
    struct uuid id = with_one_turn(fixture);

    order.runtime_id = "cccccccccccccccc";
    go_back(fixture, &id, &order);
    run_say(fixture, &id, "again");
    run_to_end(fixture, &id);
    assert_row(fixture, &id, "error/-/-");
    run_last_event(fixture, &id, "ConversationErrorEvent", &event);
    assert_json_at(event.text, "detail",
                   "\"The files could not be set back: the sandbox with the files no longer exists."
                   " Run the conversation again to continue with the files as they are now.\"");
    assert_requests(fixture, 0, 0);
}

static void files_of_another_sandbox_are_copied_first(void **state)
{
    struct run_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf requests = STRBUF_INIT;
    struct file_restore order = own_order;
    struct uuid id = with_one_turn(fixture);

    order.runtime_session = STUB_OTHER_SESSION;
    order.runtime_id = STUB_OTHER_RUNTIME;
    go_back(fixture, &id, &order);
    stub_set_missing(fixture->stub, "[\"x\"]");
    stub_set_restore(fixture->stub, "{}");
    run_say(fixture, &id, "again");
    run_to_end(fixture, &id);
    assert_row(fixture, &id, "finished/-/-");
    take_requests(fixture, &requests);
    assert_string_equal(requests.text,
                        "missing {\"id\":\"" TREE "\"}\n"
                        "read {\"ids\":[\"x\"]}\n"
                        "write {\"objects\":[{\"id\":\"an object\",\"data\":\"\"}]}\n"
                        "missing {\"id\":\"" TREE "\"}\n"
                        "restore {\"id\":\"" TREE "\"}\n" TAKE);
}

/* --- forks: the source is found when the fork runs --- */

/* Makes the other conversation the source, in the other sandbox. */
static void place_elsewhere(const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "UPDATE conversations SET runtime_session = '" STUB_OTHER_SESSION "',"
                   " agent_state = '{\"runtime_id\": \"" STUB_OTHER_RUNTIME "\"}' WHERE id = '%s';"
                   " UPDATE checkpoints SET runtime_session = '" STUB_OTHER_SESSION "',"
                   " runtime_id = '" STUB_OTHER_RUNTIME "' WHERE conversation_id = '%s'",
                   id->text, id->text);
    test_sql(sql.text);
}

static void fork_files(struct run_fixture *fixture, const struct uuid *source,
                       const struct uuid *event, bool is_required, struct strbuf *requests,
                       const char *row)
{
    struct uuid id = with_one_turn(fixture);
    const struct file_restore order = {.id = "fork",
                                       .source_id = source->text,
                                       .event_id = event->text,
                                       .is_required = is_required};

    go_back(fixture, &id, &order);
    run_say(fixture, &id, "again");
    run_to_end(fixture, &id);
    assert_row(fixture, &id, row);
    assert_has_order(fixture, &id, false);
    take_requests(fixture, requests);
}

static void fork_gets_a_checkpoint_of_its_source(void **state)
{
    struct run_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf requests = STRBUF_INIT;
    struct uuid source = with_one_turn(fixture);
    const struct uuid event = event_id(fixture, &source, "MessageEvent", 0);

    place_elsewhere(&source);
    stub_set_restore(fixture->stub, "{}");
    fork_files(fixture, &source, &event, true, &requests, "finished/-/-");
    assert_string_equal(requests.text, "missing {\"id\":\"" TREE "\"}\n"
                                       "restore {\"id\":\"" TREE "\"}\n" TAKE);
}

static void fork_gets_the_present_files_of_its_source(void **state)
{
    struct run_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf requests = STRBUF_INIT;
    struct uuid source = with_one_turn(fixture);
    const struct uuid event = event_id(fixture, &source, "MessageEvent", 1);

    place_elsewhere(&source);
    stub_set_restore(fixture->stub, "{}");
    fork_files(fixture, &source, &event, true, &requests, "finished/-/-");
    assert_true(text_starts_with(requests.text, "take {\"working_dir\":\"/workspace/project\","));
    assert_int_equal(count_lines(&requests, "restore {\"id\":\"" TREE "\"}"), 1);
}

static void fork_without_files_goes_on_unless_they_were_asked_for(void **state)
{
    struct run_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf requests = STRBUF_INIT;
    struct uuid source = with_one_turn(fixture);
    const struct uuid event = event_id(fixture, &source, "MessageEvent", 0);

    place_elsewhere(&source);
    stub_set_restore(fixture->stub, "{\"is_error\": true}");
    fork_files(fixture, &source, &event, false, &requests, "finished/-/-");
    fork_files(fixture, &source, &event, true, &requests, "error/-/-");
}

static void deleted_source_is_told(void **state)
{
    struct run_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf requests = STRBUF_INIT;
    const struct uuid unknown = uuid_random();

    fork_files(fixture, &unknown, &unknown, true, &requests, "error/-/-");
    assert_int_equal(requests.len, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turn_that_may_change_files_has_one_checkpoint),
        cmocka_unit_test(checkpoint_is_taken_while_the_model_answers),
        cmocka_unit_test(checkpoint_that_was_begun_is_used),
        cmocka_unit_test(checkpoint_is_stored_before_the_first_call),
        cmocka_unit_test(checkpoint_is_before_the_first_call_of_an_answer),
        cmocka_unit_test(worker_that_takes_over_takes_no_second_one),
        cmocka_unit_test(run_goes_on_without_and_says_why),
        cmocka_unit_test(no_call_runs_while_the_last_checkpoint_is_unknown),
        cmocka_unit_test(skipped_files_are_bounded_and_masked),
        cmocka_unit_test(files_are_set_back_once_before_the_run),
        cmocka_unit_test(run_after_a_step_back_has_a_checkpoint),
        cmocka_unit_test(run_that_cannot_set_back_ends_and_the_next_goes_on),
        cmocka_unit_test(order_waits_for_a_sandbox),
        cmocka_unit_test(files_of_a_lost_sandbox_are_told),
        cmocka_unit_test(files_of_another_sandbox_are_copied_first),
        cmocka_unit_test(fork_gets_a_checkpoint_of_its_source),
        cmocka_unit_test(fork_gets_the_present_files_of_its_source),
        cmocka_unit_test(fork_without_files_goes_on_unless_they_were_asked_for),
        cmocka_unit_test(deleted_source_is_told),
        cmocka_unit_test(turn_that_changes_nothing_has_none),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests_name("checkpoint runs", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}
