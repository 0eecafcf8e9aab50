/*
 * The answer under way, as subscribers hear of it.
 */
#include "worker/agent/llm/delta_stream.h"

#include <string.h>

#include "llm/llm.h"
#include "model/event/progress.h"
#include "store/db/hints.h"
#include "support/json_path.h"
#include "worker/agent/core/agent.h"
#include "worker/step_test.h"
#include "worker/subscriber.h"

#define TOKEN_SECRET                                                                               \
    "{\"secrets\": {\"TOKEN\": {\"kind\": \"StaticSecret\", \"value\": \"opensesame\"}}}"

struct telling {
    struct claimed_agent claimed;
    struct subscriber subscriber;
    struct delta_stream stream;
    struct llm_listener listener;
};

static void begin(struct telling *telling, void **state, const char *more)
{
    step_begin(&telling->claimed, state, more);
    telling->claimed.agent.answer_id = uuid_random();
    subscriber_begin(&telling->subscriber, *state);
    telling->stream = delta_stream_begin(&telling->claimed.agent);
    telling->listener = delta_stream_listener(&telling->stream);
}

static void say(struct telling *telling, const char *text)
{
    telling->listener.piece(telling->listener.owner,
                            &(struct llm_piece){false, text, strlen(text), "resp-1"});
}

static void reason(struct telling *telling, const char *text)
{
    telling->listener.piece(telling->listener.owner,
                            &(struct llm_piece){true, text, strlen(text), "resp-1"});
}

static void fail_attempt(struct telling *telling, const char *why, int64_t n_attempts,
                         int64_t retry_in_ms)
{
    telling->listener.failed(telling->listener.owner,
                             &(struct llm_attempt){why, n_attempts, retry_in_ms, 0});
}

/* Hears all lines so far; the last one is only their end. */
static void hear(struct telling *telling)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    const struct progress end = {.conversation_id = telling->claimed.agent.lease.conversation_id,
                                 .item_id = uuid_random(),
                                 .kind = PROGRESS_ABORTED,
                                 .text = "end"};

    progress_append_line(&end, &line);
    hints_send_line(telling->claimed.agent.context->hints, line.text);
    subscriber_hear(&telling->subscriber);
    telling->subscriber.n--;
}

static void end(struct telling *telling)
{
    subscriber_end(&telling->subscriber);
    claimed_agent_end(&telling->claimed);
}

static void assert_line(struct telling *telling, size_t index, const char *path,
                        const char *expected)
{
    assert_true(index < telling->subscriber.n);
    assert_json_at(telling->subscriber.lines[index], path, expected);
}

static void answer_is_told_piece_by_piece(void **state)
{
    struct telling telling;
    CLEANUP(strbuf_done) struct strbuf id = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf seq = STRBUF_INIT;

    begin(&telling, state, "{}");
    strbuf_appendf(&id, "\"%s\"", telling.claimed.agent.answer_id.text);
    strbuf_appendf(&seq, "%lld", (long long)telling.claimed.agent.history.last_seq);
    reason(&telling, "hm");
    say(&telling, "ab");
    say(&telling, "c");
    delta_stream_done(&telling.stream);
    assert_int_equal(telling.claimed.agent.told_attempt, 1);
    hear(&telling);
    assert_int_equal(telling.subscriber.n, 3);
    assert_line(&telling, 0, "kind", "\"item_started\"");
    assert_line(&telling, 0, "item", id.text);
    assert_line(&telling, 0, "attempt", "1");
    assert_line(&telling, 0, "order", "0");
    assert_line(&telling, 0, "anchor", seq.text);
    assert_line(&telling, 0, "chunk", "\"resp-1\"");
    assert_line(&telling, 1, "kind", "\"reasoning\"");
    assert_line(&telling, 1, "text", "\"hm\"");
    assert_line(&telling, 2, "kind", "\"text\"");
    assert_line(&telling, 2, "text", "\"abc\"");
    assert_line(&telling, 2, "item", id.text);
    end(&telling);
}

/* The provider has not named the answer. */
static void answer_without_an_id_is_told_without_one(void **state)
{
    struct telling telling;

    begin(&telling, state, "{}");
    telling.listener.piece(telling.listener.owner, &(struct llm_piece){false, "a", 1, ""});
    delta_stream_done(&telling.stream);
    hear(&telling);
    assert_int_equal(telling.subscriber.n, 2);
    assert_line(&telling, 0, "chunk", NULL);
    end(&telling);
}

static void answer_that_was_not_streamed_is_not_told(void **state)
{
    struct telling telling;

    begin(&telling, state, "{}");
    delta_stream_done(&telling.stream);
    assert_int_equal(telling.claimed.agent.told_attempt, 0);
    delta_stream_retract(&telling.claimed.agent, "it was too large");
    hear(&telling);
    assert_int_equal(telling.subscriber.n, 0);
    end(&telling);
}

static void told_answer_is_retracted_once(void **state)
{
    struct telling telling;
    CLEANUP(strbuf_done) struct strbuf id = STRBUF_INIT;

    begin(&telling, state, "{}");
    strbuf_appendf(&id, "\"%s\"", telling.claimed.agent.answer_id.text);
    say(&telling, "a");
    delta_stream_done(&telling.stream);
    delta_stream_retract(&telling.claimed.agent, "it was too large");
    assert_int_equal(telling.claimed.agent.told_attempt, 0);
    delta_stream_retract(&telling.claimed.agent, "again");
    hear(&telling);
    assert_int_equal(telling.subscriber.n, 3);
    assert_line(&telling, 2, "kind", "\"item_aborted\"");
    assert_line(&telling, 2, "item", id.text);
    assert_line(&telling, 2, "attempt", "1");
    assert_line(&telling, 2, "text", "\"it was too large\"");
    end(&telling);
}

static void secret_is_masked_across_pieces(void **state)
{
    struct telling telling;

    begin(&telling, state, TOKEN_SECRET);
    say(&telling, "it is open");
    say(&telling, "sesame, or open");
    reason(&telling, "opens");
    reason(&telling, "esame?");
    delta_stream_done(&telling.stream);
    hear(&telling);
    assert_int_equal(telling.subscriber.n, 3);
    assert_line(&telling, 1, "kind", "\"reasoning\"");
    assert_line(&telling, 1, "text", "\"<secret-hidden>?\"");
    assert_line(&telling, 2, "kind", "\"text\"");
    assert_line(&telling, 2, "text", "\"it is <secret-hidden>, or open\"");
    end(&telling);
}

static void failed_attempt_is_told_with_the_next_one(void **state)
{
    struct telling telling;

    begin(&telling, state, TOKEN_SECRET);
    say(&telling, "half, opens");
    fail_attempt(&telling, "no opensesame", 3, 500);
    say(&telling, "esame");
    fail_attempt(&telling, "again", 0, 0);
    delta_stream_done(&telling.stream);
    assert_int_equal(telling.claimed.agent.told_attempt, 0);
    hear(&telling);
    assert_int_equal(telling.subscriber.n, 6);
    assert_line(&telling, 1, "text", "\"half, \"");
    assert_line(&telling, 2, "kind", "\"item_aborted\"");
    assert_line(&telling, 2, "attempt", "1");
    assert_line(&telling, 2, "text", "\"no <secret-hidden>\"");
    assert_line(&telling, 2, "attempts", "3");
    assert_line(&telling, 2, "retry_in_ms", "500");
    assert_line(&telling, 3, "kind", "\"item_started\"");
    assert_line(&telling, 3, "attempt", "2");
    assert_line(&telling, 3, "order", "0");
    assert_line(&telling, 3, "attempts", NULL);
    assert_line(&telling, 4, "text", "\"esame\"");
    assert_line(&telling, 5, "kind", "\"item_aborted\"");
    assert_line(&telling, 5, "attempt", "2");
    assert_line(&telling, 5, "attempts", NULL);
    end(&telling);
}

/* Subscribers see why there is no answer yet; a last failure is an event. */
static void failure_before_any_piece_is_told_if_another_attempt_follows(void **state)
{
    struct telling telling;

    begin(&telling, state, "{}");
    fail_attempt(&telling, "busy", 5, 100);
    fail_attempt(&telling, "gone", 0, 0);
    say(&telling, "a");
    delta_stream_done(&telling.stream);
    assert_int_equal(telling.claimed.agent.told_attempt, 3);
    hear(&telling);
    assert_int_equal(telling.subscriber.n, 3);
    assert_line(&telling, 0, "kind", "\"item_aborted\"");
    assert_line(&telling, 0, "text", "\"busy\"");
    assert_line(&telling, 0, "attempts", "5");
    assert_line(&telling, 1, "attempt", "3");
    end(&telling);
}

static void wait_for_a_server_out_of_order_is_told(void **state)
{
    struct telling telling;

    begin(&telling, state, TOKEN_SECRET);
    delta_stream_done(&telling.stream);
    retry_notice_send_outage(&telling.claimed.agent,
                             &(struct llm_attempt){"no opensesame", 3, 700, 9000});
    hear(&telling);
    assert_int_equal(telling.subscriber.n, 1);
    assert_line(&telling, 0, "kind", "\"item_aborted\"");
    assert_line(&telling, 0, "text", "\"no <secret-hidden>\"");
    assert_line(&telling, 0, "attempt", "2");
    assert_line(&telling, 0, "attempts", "3");
    assert_line(&telling, 0, "retry_in_ms", "700");
    assert_line(&telling, 0, "gives_up_in_ms", "9000");
    end(&telling);
}

static void retries_of_other_calls_are_told(void **state)
{
    struct telling telling;
    struct retry_notice notice;
    struct llm_listener listener;
    CLEANUP(strbuf_done) struct strbuf id = STRBUF_INIT;

    begin(&telling, state, TOKEN_SECRET);
    delta_stream_done(&telling.stream);
    notice = retry_notice_begin(&telling.claimed.agent);
    listener = retry_notice_listener(&notice);
    strbuf_appendf(&id, "\"%s\"", notice.item_id.text);
    listener.piece(listener.owner, &(struct llm_piece){false, "a", 1, ""});
    listener.failed(listener.owner, &(struct llm_attempt){"no opensesame", 3, 700, 0});
    listener.failed(listener.owner, &(struct llm_attempt){"busy", 3, 900, 0});
    listener.failed(listener.owner, &(struct llm_attempt){"over", 0, 0, 0});
    hear(&telling);
    assert_int_equal(telling.subscriber.n, 2);
    assert_line(&telling, 0, "kind", "\"item_aborted\"");
    assert_line(&telling, 0, "item", id.text);
    assert_line(&telling, 0, "attempt", "1");
    assert_line(&telling, 0, "text", "\"no <secret-hidden>\"");
    assert_line(&telling, 0, "attempts", "3");
    assert_line(&telling, 0, "retry_in_ms", "700");
    assert_line(&telling, 1, "attempt", "2");
    assert_line(&telling, 1, "retry_in_ms", "900");
    end(&telling);
}

int delta_stream_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answer_is_told_piece_by_piece),
        cmocka_unit_test(answer_without_an_id_is_told_without_one),
        cmocka_unit_test(answer_that_was_not_streamed_is_not_told),
        cmocka_unit_test(told_answer_is_retracted_once),
        cmocka_unit_test(secret_is_masked_across_pieces),
        cmocka_unit_test(failed_attempt_is_told_with_the_next_one),
        cmocka_unit_test(failure_before_any_piece_is_told_if_another_attempt_follows),
        cmocka_unit_test(wait_for_a_server_out_of_order_is_told),
        cmocka_unit_test(retries_of_other_calls_are_told),
    };

    return cmocka_run_group_tests_name("worker/delta_stream", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}
