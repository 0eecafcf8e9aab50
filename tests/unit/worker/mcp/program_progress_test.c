/*
 * Progress of programs in the sandbox, as the worker asks for it and subscribers hear of it. The
 * time is the tests'.
 */
#include "worker/agent/mcp/program_progress.h"

#include <string.h>

#include "client/http.h"
#include "model/event/progress.h"
#include "store/db/hints.h"
#include "support/json_path.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/secret_list.h"
#include "worker/agent/mcp/progress_notice.h"
#include "worker/agent/sandbox/sandbox.h"
#include "worker/mcp/mcp_test.h"
#include "worker/subscriber.h"

enum { NOW_MS = 1000000, PATIENCE_MS = 60000 };

#define CALLS                                                                                      \
    "{\"turns\": [{\"steps\": [{\"calls\": [{\"name\": \"terminal\", \"arguments\":"               \
    " {\"command\": \"x\"}}]}]}]}"

struct asked {
    struct claimed_agent claimed;
    struct run_fixture *fixture;
    struct subscriber subscriber;
    struct program_progress progress;
    size_t action;
};

static void begin(struct asked *asked, void **state)
{
    CLEANUP(index_list_done) struct index_list pending = INDEX_LIST_INIT;
    struct error err = ERROR_INIT;

    *asked = (struct asked){.fixture = *state};
    claimed_agent_begin_pending(&asked->claimed, *state, CALLS);
    assert_int_equal(sandbox_ready(asked->claimed.agent.sandbox, &err), 0);
    history_find_pending(&asked->claimed.agent.history, &pending);
    asked->action = pending.items[0];
    asked->progress.agent = &asked->claimed.agent;
    subscriber_begin(&asked->subscriber, *state);
}

static void end(struct asked *asked)
{
    program_progress_done(&asked->progress);
    stub_set_progress(asked->fixture->stub, "{}");
    subscriber_end(&asked->subscriber);
    claimed_agent_end(&asked->claimed);
}

/* The sandbox replies so; "%s" stands for the call's id. Asks it, and takes the reply. */
static void ask(struct asked *asked, const char *reply, int64_t now_ms)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const char *id = asked->claimed.agent.history.items[asked->action].id.text;

    strbuf_append(&text, reply);
    if (strstr(reply, "%s") != NULL) {
        strbuf_reset(&text);
        strbuf_append_bytes(&text, reply, (size_t)(strstr(reply, "%s") - reply));
        strbuf_append(&text, id);
        strbuf_append(&text, strstr(reply, "%s") + 2);
    }
    stub_set_progress(asked->fixture->stub, text.text);
    assert_int_equal(program_progress_settle(&asked->progress, now_ms), PROGRESS_NEVER_MS);
    assert_non_null(asked->progress.request);
    assert_true(http_is_over_within(asked->progress.request, PATIENCE_MS));
}

static void hear(struct asked *asked)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    const struct progress end_line = {.conversation_id = asked->claimed.agent.lease.conversation_id,
                                      .item_id = uuid_random(),
                                      .kind = PROGRESS_ABORTED,
                                      .text = "end"};

    progress_append_line(&end_line, &line);
    hints_send_line(asked->claimed.agent.context->hints, line.text);
    subscriber_hear(&asked->subscriber);
    asked->subscriber.n--;
}

static void new_reports_are_told_half_a_second_apart(void **state)
{
    struct asked asked;
    struct program_progress *progress = &asked.progress;

    begin(&asked, state);
    secret_list_hide(&asked.claimed.agent.secrets, "of-the-key");
    /* Without a call there is nothing to ask. */
    assert_int_equal(program_progress_settle(progress, NOW_MS), PROGRESS_NEVER_MS);
    program_progress_add(progress, asked.action);
    assert_int_equal(program_progress_settle(progress, NOW_MS), PROGRESS_NOTICE_MS);
    assert_int_equal(program_progress_settle(progress, NOW_MS + PROGRESS_NOTICE_MS - 1), 1);
    assert_null(progress->request);
    ask(&asked,
        "{\"seq\":3,\"calls\":{\"%s\":{\"seq\":3,\"progress\":1,\"total\":2,"
        "\"message\":\"with of-the-key\"},\"other\":{\"seq\":2,\"progress\":1}}}",
        NOW_MS + PROGRESS_NOTICE_MS);
    assert_string_equal(stub_progress_query(asked.fixture->stub), "after=0");
    assert_int_equal(program_progress_settle(progress, NOW_MS + 600), PROGRESS_NOTICE_MS);
    /* One that was told, and one that is none. */
    ask(&asked, "{\"seq\":5,\"calls\":{\"%s\":{\"seq\":3,\"progress\":9}}}", NOW_MS + 1100);
    assert_string_equal(stub_progress_query(asked.fixture->stub), "after=3");
    assert_int_equal(program_progress_settle(progress, NOW_MS + 1200), PROGRESS_NOTICE_MS);
    ask(&asked, "{\"seq\":6,\"calls\":{\"%s\":{\"seq\":6,\"progress\":\"9\"}}}", NOW_MS + 1700);
    assert_int_equal(program_progress_settle(progress, NOW_MS + 1800), PROGRESS_NOTICE_MS);
    /* A server that was started again. */
    ask(&asked, "{\"seq\":1,\"calls\":{\"%s\":{\"seq\":1,\"progress\":2}}}", NOW_MS + 2300);
    assert_string_equal(stub_progress_query(asked.fixture->stub), "after=6");
    assert_int_equal(program_progress_settle(progress, NOW_MS + 2400), PROGRESS_NOTICE_MS);
    hear(&asked);
    assert_int_equal(asked.subscriber.n, 2);
    assert_json_at(asked.subscriber.lines[0], "text", "\"with <secret-hidden>\"");
    assert_json_at(asked.subscriber.lines[0], "total", "2.0");
    assert_json_at(asked.subscriber.lines[1], "progress", "2.0");
    program_progress_remove(progress, asked.action);
    assert_int_equal(program_progress_settle(progress, NOW_MS + 9000), PROGRESS_NEVER_MS);
    assert_null(progress->request);
    end(&asked);
}

static void sandbox_that_does_not_tell_is_not_asked_again(void **state)
{
    static const char *const replies[] = {"{}", "{\"seq\":-1,\"calls\":{}}",
                                          "{\"http_status\":404,\"seq\":1,\"calls\":{}}",
                                          "{\"seq\":\"1\"}"};

    for (size_t i = 0; i < ARRAY_SIZE(replies); i++) {
        struct asked asked;

        begin(&asked, state);
        program_progress_add(&asked.progress, asked.action);
        (void)program_progress_settle(&asked.progress, NOW_MS);
        ask(&asked, replies[i], NOW_MS + PROGRESS_NOTICE_MS);
        assert_int_equal(program_progress_settle(&asked.progress, NOW_MS + 600), PROGRESS_NEVER_MS);
        assert_int_equal(program_progress_settle(&asked.progress, NOW_MS + PATIENCE_MS),
                         PROGRESS_NEVER_MS);
        assert_null(asked.progress.request);
        end(&asked);
    }
}

int program_progress_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_reports_are_told_half_a_second_apart),
        cmocka_unit_test(sandbox_that_does_not_tell_is_not_asked_again),
    };

    return cmocka_run_group_tests_name("worker/program_progress", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}
