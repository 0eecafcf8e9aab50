/*
 * Whatever a conversation was like, its contents keep the rules of Gemini's server: random
 * histories with answers of several models, signed or not, calls at once, odd arguments, blank
 * texts, images.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/gemini_rules.h"
#include "llm/llm_fixture.h"
#include "llm/llm_prompt.h"
#include "support/test_catalogue.h"

#define MODEL "gemini/gemini-3-flash-preview"

enum { N_HISTORIES = 500, ACTS_MAX = 14, CALLS_MAX = 3 };

struct making {
    struct llm_prompt *prompt;
    uint64_t seed;
    size_t n_calls;
};

/* A number below n (Marsaglia's xorshift). */
static size_t pick(struct making *making, size_t n)
{
    making->seed ^= making->seed << 13;
    making->seed ^= making->seed >> 7;
    making->seed ^= making->seed << 17;
    return (size_t)(making->seed % n);
}

static const char *one_of(struct making *making, const char *const *texts, size_t n)
{
    return texts[pick(making, n)];
}

static void append_parts(struct making *making, struct strbuf *out)
{
    static const char *const parts[] = {
        "{'type':'text','text':'words'}",
        "{'type':'text','text':' '}",
        "{'type':'text','text':''}",
        "{'type':'image_url','image_url':{'url':'data:image/png;base64,AAAA'}}",
        "{'type':'image_url','image_url':{'url':'http://a/b'}}",
        "{'type':'odd'}",
    };
    size_t n = pick(making, 3);

    strbuf_append(out, "'content':[");
    for (size_t i = 0; i < n; i++)
        strbuf_appendf(out, "%s%s", i > 0 ? "," : "", one_of(making, parts, ARRAY_SIZE(parts)));
    strbuf_append_char(out, ']');
}

static void add(struct making *making, const struct strbuf *text)
{
    json_auto_t *message = parsed_quotes(text->text);

    llm_prompt_add(making->prompt, message);
}

static void say(struct making *making, const char *role)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    strbuf_appendf(&text, "{'role':'%s',", role);
    append_parts(making, &text);
    strbuf_append_char(&text, '}');
    add(making, &text);
}

static void append_call(struct making *making, size_t id, struct strbuf *out)
{
    static const char *const signatures[] = {"", "__thought__c2ln", "__thought__"};
    static const char *const names[] = {"t", "3d", "_x"};
    static const char *const arguments[] = {"{}", "{\\\"a\\\":1}", "[1]", "{", ""};

    strbuf_appendf(out,
                   "{'id':'call%zu%s','type':'function','function':{'name':'%s','arguments':'%s'}}",
                   id, one_of(making, signatures, ARRAY_SIZE(signatures)),
                   names[id % ARRAY_SIZE(names)], one_of(making, arguments, ARRAY_SIZE(arguments)));
}

static void add_result(struct making *making, size_t id)
{
    static const char *const names[] = {"t", "3d", "_x"};
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    strbuf_appendf(&text, "{'role':'tool','tool_call_id':'call%zu','name':'%s',", id,
                   names[id % ARRAY_SIZE(names)]);
    append_parts(making, &text);
    strbuf_append_char(&text, '}');
    add(making, &text);
}

/* An answer of this model or of others, with calls and their results. */
static void answer(struct making *making)
{
    static const char *const blocks[] = {
        "",
        ",'thinking_blocks':[{'type':'thinking','thinking':'','signature':'eA==','model':'" MODEL
        "'}]",
        ",'thinking_blocks':[{'type':'thinking','thinking':'','signature':'eA==','model':'x'}]",
        ",'thinking_blocks':[{'type':'redacted_thinking','data':'eA=='}]",
    };
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    size_t first = making->n_calls;
    size_t n = pick(making, CALLS_MAX + 1);

    strbuf_append(&text, "{'role':'assistant',");
    append_parts(making, &text);
    strbuf_append(&text, one_of(making, blocks, ARRAY_SIZE(blocks)));
    strbuf_append(&text, ",'tool_calls':[");
    for (size_t i = 0; i < n; i++) {
        strbuf_append(&text, i > 0 ? "," : "");
        append_call(making, first + i, &text);
    }
    strbuf_append(&text, "]}");
    add(making, &text);
    making->n_calls += n;
    for (size_t i = 0; i < n; i++)
        add_result(making, first + i);
}

static void any_history_keeps_the_rules(void **state)
{
    json_auto_t *spec = parsed_quotes("{'model':'" MODEL "'}");

    (void)state;
    for (uint64_t n = 1; n <= N_HISTORIES; n++) {
        CLEANUP(llm_prompt_done) struct llm_prompt prompt = LLM_PROMPT_INIT;
        struct making making = {.prompt = &prompt, .seed = n * 0x9E3779B97F4A7C15U + 1};
        size_t n_acts = pick(&making, ACTS_MAX);

        llm_prompt_begin(&prompt, test_catalogue(), spec);
        for (size_t i = 0; i < n_acts; i++) {
            json_auto_t *body = NULL;

            if (pick(&making, 3) == 0)
                say(&making, pick(&making, 4) == 0 ? "system" : "user");
            else
                answer(&making);
            body = gemini_body_of(spec, &prompt);
            assert_gemini_takes(body);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_history_keeps_the_rules),
    };

    json_setup();
    return cmocka_run_group_tests_name("gemini_history", tests, NULL, NULL);
}
