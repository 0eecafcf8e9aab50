/*
 * Runs that start others: what is stored of both, and in which order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "store/conversation_store.h"
#include "support/pg.h"
#include "support/sql.h"
#include "worker/run_fixture.h"

#define BEGINNING "SystemPrompt Message(user) S(last_user_message_id) S(running) "
#define CALL(name, arguments) "{\"name\": \"" name "\", \"arguments\": " arguments "}"
#define FINISH CALL("finish", "{\"message\": \"done\"}")
#define TURN(steps) "{\"turns\": [{\"steps\": [" steps "]}]}"
#define CALLS(calls) "{\"calls\": [" calls "]}"

/* The child's part is the first, the parent's the second. */
#define SCRIPT(child_steps, steps)                                                                 \
    "{\"turns\": [], \"later\": [{\"match\": [\"the part\"], \"steps\": [" child_steps "]},"       \
    " {\"steps\": [" steps "]}]}"
#define START                                                                                      \
    CALLS(CALL("start_child_conversation",                                                         \
               "{\"task\": \"the part\", \"title\": \"Part\", \"isolation\": \"shared\"}"))
#define CHILD_STARTED                                                                              \
    "S(stats) Action(start_child_conversation) Observation(start_child_conversation) "
#define FINISHED "S(stats) Action(finish) Observation(finish) S(finished)"

/* The only child of that conversation. */
static struct uuid child_of(const struct run_fixture *fixture, const struct uuid *id)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    struct uuid child = UUID_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(conversation_store_load_any(fixture->context.db, id, &conversation, &err), 0);
    assert_non_null(conversation.children);
    assert_true(uuid_parse(conversation.children, &child));
    return child;
}

static void assert_no_child(const struct run_fixture *fixture, const struct uuid *id)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(conversation_store_load_any(fixture->context.db, id, &conversation, &err), 0);
    assert_null(conversation.children);
}

/* The newest observation of the conversation says that, somewhere. */
static void assert_told(struct run_fixture *fixture, const struct uuid *id, const char *words)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;

    run_last_event(fixture, id, "ObservationEvent", &event);
    if (strstr(event.text, words) == NULL)
        fail_msg("no \"%s\" in %s", words, event.text);
}

static void started_child_runs_by_itself(void **state)
{
    struct uuid id =
        run_new_conversation(*state, SCRIPT(CALLS(FINISH), START ", " CALLS(FINISH)), "{}");
    struct uuid child;

    run_to_end(*state, &id);
    assert_log(*state, &id, BEGINNING CHILD_STARTED FINISHED);
    child = child_of(*state, &id);
    assert_row(*state, &child, "running/wanted/-");
    run_to_end(*state, &child);
    assert_log(*state, &child, BEGINNING FINISHED);
    assert_row(*state, &child, "finished/-/-");
}

static void children_are_started_three_deep_and_no_more(void **state)
{
    const char *script = SCRIPT(START, START);
    struct uuid id = run_new_conversation(*state, script, "{\"max_iterations\": 1}");

    for (int depth = 0; depth < 3; depth++) {
        run_to_end(*state, &id);
        id = child_of(*state, &id);
    }
    run_to_end(*state, &id);
    assert_no_child(*state, &id);
    assert_told(*state, &id, "at most 3 deep");
    assert_told(*state, &id, "\"is_error\":true");
}

static void child_without_room_is_refused_in_words(void **state)
{
    struct run_fixture *fixture = *state;
    struct run_limits limits = fixture->context.settings.run_limits;
    struct uuid id = run_new_conversation(*state, SCRIPT(START, START), "{\"max_iterations\": 1}");

    fixture->context.settings.run_limits = (struct run_limits){.n_slots = 1, .n_queued = 0};
    run_to_end(*state, &id);
    fixture->context.settings.run_limits = limits;
    assert_no_child(*state, &id);
    assert_told(*state, &id, "run limit reached");
}

static void child_that_has_no_task_is_none(void **state)
{
    struct uuid id = run_new_conversation(
        *state,
        TURN(CALLS(CALL("start_child_conversation",
                        "{\"task\": \" \", \"isolation\": \"shared\"}")) ", " CALLS(FINISH)),
        "{}");

    run_to_end(*state, &id);
    assert_no_child(*state, &id);
    assert_log(*state, &id, BEGINNING CHILD_STARTED FINISHED);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(started_child_runs_by_itself),
        cmocka_unit_test(children_are_started_three_deep_and_no_more),
        cmocka_unit_test(child_without_room_is_refused_in_words),
        cmocka_unit_test(child_that_has_no_task_is_none),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, run_fixture_set_up, run_fixture_tear_down);
}
