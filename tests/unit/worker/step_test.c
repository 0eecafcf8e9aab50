#include "worker/step_test.h"

#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

void step_check(int rc, const struct error *err)
{
    if (rc < 0)
        fail_msg("%s", err->message);
}

void step_begin(struct claimed_agent *claimed, void **state, const char *more)
{
    struct uuid id = run_new_conversation(*state, UNUSED_SCRIPT, more);

    claimed_agent_begin(claimed, *state, &id);
}

void assert_step_log(struct claimed_agent *claimed, const char *expected)
{
    assert_log(claimed->fixture, &claimed->agent.lease.conversation_id, expected);
}

void assert_step_row(struct claimed_agent *claimed, const char *expected)
{
    assert_row(claimed->fixture, &claimed->agent.lease.conversation_id, expected);
}

void step_last_event(struct claimed_agent *claimed, const char *kind, struct strbuf *out)
{
    run_last_event(claimed->fixture, &claimed->agent.lease.conversation_id, kind, out);
}

void assert_step_event(struct claimed_agent *claimed, const char *kind, const char *path,
                       const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;

    step_last_event(claimed, kind, &event);
    assert_json_at(event.text, path, expected);
}

int64_t step_number(struct claimed_agent *claimed, const char *column)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "SELECT %s FROM conversations WHERE id = '%s'", column,
                   claimed->agent.lease.conversation_id.text);
    return test_sql_count(sql.text);
}

int main(int argc, char **argv)
{
    int n_failed = 0;

    (void)argc;
    test_need_postgres(argv);
    n_failed += llm_response_tests();
    n_failed += condense_step_tests();
    n_failed += summary_tests();
    n_failed += crash_points_tests();
    n_failed += delegate_call_tests();
    n_failed += delta_stream_tests();
    n_failed += llm_step_tests();
    n_failed += fallback_tests();
    n_failed += risk_query_tests();
    n_failed += outage_tests();
    n_failed += loop_tests();
    n_failed += pending_result_tests();
    n_failed += sandbox_address_tests();
    n_failed += run_end_tests();
    n_failed += secret_lookup_tests();
    n_failed += start_child_tests();
    n_failed += task_call_tests();
    return n_failed > 0;
}
