/*
 * Calls that are too large for an event.
 */
#include "worker/agent/core/event_size.h"

#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "llm/llm.h"
#include "model/limits.h"
#include "model/tools/tool_check.h"
#include "worker/worker_test.h"

/* What an event has besides the arguments and what is named here. */
enum { FRAME_BYTES = 8192 };

/* Text that is n bytes long in JSON, quotes included. */
static char *text_of(size_t n)
{
    char *text = mem_alloc(n - 1);

    memset(text, 'x', n - 2);
    text[n - 2] = '\0';
    return text;
}

enum outcome { KEPT, REFUSED, REFUSED_AND_CUT };

/* A call whose parts have these sizes in JSON; 0: there is none. */
struct sizes {
    size_t arguments;
    size_t action;
    size_t summary;
    size_t text;
    size_t reasoning;
    size_t thinking;
    size_t item;
    size_t id; /* of the call, without quotes */
};

static json_t *json_of(size_t n)
{
    CLEANUP(mem_freep) char *text = n > 0 ? text_of(n) : NULL;

    return n > 0 ? json_text_of(text) : NULL;
}

static void make(const struct sizes *sizes, struct tool_call_check *check, struct llm_reply *reply)
{
    check->arguments = text_of(sizes->arguments);
    check->action = json_of(sizes->action);
    check->summary = sizes->summary > 0 ? text_of(sizes->summary) : NULL;
    check->problem = check->action == NULL ? mem_dup_text("bad") : NULL;
    reply->text = sizes->text > 0 ? text_of(sizes->text) : NULL;
    reply->reasoning = sizes->reasoning > 0 ? text_of(sizes->reasoning) : NULL;
    reply->thinking = json_of(sizes->thinking);
    reply->reasoning_item = json_of(sizes->item);
}

static void assert_refused(const struct tool_call_check *check, const struct sizes *sizes)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;

    strbuf_appendf(&words,
                   "The call was not run: its arguments have %zu bytes, which is too large to "
                   "keep. Do it in several smaller calls, for example write a long file piece by "
                   "piece.",
                   sizes->arguments - 2);
    assert_null(check->action);
    assert_null(check->summary);
    assert_string_equal(check->problem, words.text);
}

static void assert_outcome(const struct sizes *sizes, enum outcome expected)
{
    CLEANUP(tool_call_check_done) struct tool_call_check check = {.tool = NULL};
    CLEANUP(llm_reply_done) struct llm_reply reply = LLM_REPLY_INIT;
    CLEANUP(mem_freep) char *id = text_of(sizes->id + 2);
    struct llm_tool_call call = {.id = NULL};

    make(sizes, &check, &reply);
    call.id = id;
    event_size_limit(&check, &call, &reply);
    assert_int_equal(strlen(check.arguments),
                     expected == REFUSED_AND_CUT ? strlen("{}") : sizes->arguments - 2);
    if (expected == KEPT) {
        assert_int_equal(check.action != NULL, sizes->action > 0);
        assert_int_equal(check.summary != NULL, sizes->summary > 0);
        assert_int_equal(check.problem != NULL, sizes->action == 0);
    } else {
        assert_refused(&check, sizes);
    }
}

/* Each part counts: exactly what fits is kept, and one byte more is not. */
static void each_part_counts(void **state)
{
    static const struct sizes most[] = {
        {.arguments = 495904, .action = 495904},
        {.arguments = 400000, .action = 491708, .summary = 100100},
        {.arguments = 400000, .action = 491708, .text = 100100},
        {.arguments = 400000, .action = 491708, .reasoning = 100100},
        {.arguments = 400000, .action = 491708, .thinking = 100100},
        {.arguments = 400000, .action = 491708, .item = 100100},
        {.arguments = 400000, .action = 491708, .id = 50050},
        {.arguments = 991808},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(most); i++) {
        struct sizes more = most[i];

        assert_outcome(&most[i], KEPT);
        more.arguments++;
        assert_outcome(&more, most[i].action > 0 ? REFUSED : REFUSED_AND_CUT);
    }
}

/* Without the action there may be room for what the model wrote. */
static void arguments_that_fit_alone_stay(void **state)
{
    (void)state;
    assert_outcome(&(struct sizes){.arguments = 991808, .action = 900000, .summary = 10}, REFUSED);
    assert_outcome(&(struct sizes){.arguments = 991809, .action = 900000, .summary = 10},
                   REFUSED_AND_CUT);
    assert_outcome(&(struct sizes){.arguments = 891808, .action = 900000, .text = 100000}, REFUSED);
    assert_outcome(&(struct sizes){.arguments = 891809, .action = 900000, .text = 100000},
                   REFUSED_AND_CUT);
}

/* The answer's own texts are stored with its first call only. */
static void later_call_is_measured_by_itself(void **state)
{
    CLEANUP(tool_call_check_done) struct tool_call_check check = {.tool = NULL};
    CLEANUP(llm_reply_done) struct llm_reply reply = LLM_REPLY_INIT;
    const struct sizes sizes = {.arguments = 495904, .action = 495904};
    const struct llm_tool_call call = {.id = NULL};

    (void)state;
    make(&sizes, &check, &reply);
    event_size_limit(&check, &call, NULL);
    assert_non_null(check.action);
    assert_null(check.problem);
}

static char *repeated(const char *piece, size_t n)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    for (size_t i = 0; i < n; i++)
        strbuf_append(&text, piece);
    return strbuf_take(&text);
}

/* A control character has six bytes in JSON: a twelfth of the limit can be too much. */
static void size_is_that_of_the_json(void **state)
{
    static const struct {
        size_t n;
        enum outcome expected;
    } cases[] = {{82000, KEPT}, {82700, REFUSED}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(tool_call_check_done) struct tool_call_check check = {.tool = NULL};

        check.arguments = repeated("\x01", cases[i].n);
        check.action = json_text_of(check.arguments);
        event_size_limit(&check, &(struct llm_tool_call){.id = NULL}, NULL);
        assert_int_equal(check.action == NULL, cases[i].expected == REFUSED);
    }
}

int event_size_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_part_counts),
        cmocka_unit_test(arguments_that_fit_alone_stay),
        cmocka_unit_test(later_call_is_measured_by_itself),
        cmocka_unit_test(size_is_that_of_the_json),
    };

    return cmocka_run_group_tests_name("worker/event_size", tests, NULL, NULL);
}
