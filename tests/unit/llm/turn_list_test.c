/*
 * The messages of any conversation keep the rules of the servers of Anthropic and Bedrock: random
 * histories with answers of several models, calls at once, results, and messages of the user in
 * between.
 */
#include "llm/formats/turn_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/format.h"
#include "llm/llm.h"
#include "llm/llm_error.h"
#include "llm/llm_prompt.h"
#include "llm/route.h"
#include "support/test_catalogue.h"

enum { N_HISTORIES = 400, ACTS_MAX = 14, CALLS_MAX = 3 };

struct rules {
    const char *model;
    const char *text; /* the members that blocks are known by */
    const char *call;
    const char *result;
    const char *thinking;
    bool keeps_results_apart;
};

static const struct rules servers[] = {
    {"anthropic/claude-haiku-4-5", "text", "tool_use", "tool_result", "thinking", false},
    {"bedrock/us-east-1/anthropic.claude-haiku-4-5", "text", "toolUse", "toolResult",
     "reasoningContent", false},
    {"bedrock/us-east-1/meta.llama3-3-70b-instruct-v1:0", "text", "toolUse", "toolResult",
     "reasoningContent", true},
};

/* --- histories --- */

/* A number below n (Marsaglia's xorshift). */
static size_t pick(uint64_t *seed, size_t n)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (size_t)(*seed % n);
}

static json_t *text_part(const char *text)
{
    json_t *part = json_object();

    json_put_text(part, "type", "text");
    json_put_text(part, "text", text);
    return part;
}

static json_t *message_of(const char *role, uint64_t *seed)
{
    static const char *const texts[] = {"words", " ", "", "a line\n", "{\"toolUse\":{}"};
    json_t *message = json_object();
    json_t *content = json_array();
    size_t n = pick(seed, 3);

    for (size_t i = 0; i < n; i++)
        json_push(content, text_part(texts[pick(seed, ARRAY_SIZE(texts))]));
    json_put_text(message, "role", role);
    json_put(message, "content", content);
    return message;
}

static void put_thinking(json_t *message, const char *model)
{
    json_t *block = json_object();
    json_t *blocks = json_array();

    json_put_text(block, "type", "thinking");
    json_put_text(block, "thinking", "hm");
    json_put_text(block, "signature", "sig");
    json_put_text(block, "model", model);
    json_push(blocks, block);
    json_put(message, "thinking_blocks", blocks);
}

static json_t *call_of(const char *id)
{
    static const char *const arguments[] = {"{\"a\": 1}", "{", "[]", "{}"};
    json_t *call = json_object();
    json_t *function = json_object();

    json_put_text(function, "name", "terminal");
    json_put_text(function, "arguments", arguments[strlen(id) % ARRAY_SIZE(arguments)]);
    json_put_text(call, "id", id);
    json_put(call, "function", function);
    return call;
}

/* An answer with calls, and their results. */
static void add_calls(json_t *history, json_t *answer, size_t *n_calls, uint64_t *seed)
{
    json_t *calls = json_array();
    size_t n = 1 + pick(seed, CALLS_MAX);

    json_put(answer, "tool_calls", calls);
    json_push(history, answer);
    for (size_t i = 0; i < n; i++) {
        CLEANUP(strbuf_done) struct strbuf id = STRBUF_INIT;
        json_t *result = message_of("tool", seed);

        strbuf_appendf(&id, "call:%zu", ++*n_calls);
        json_push(calls, call_of(id.text));
        json_put_text(result, "tool_call_id", id.text);
        json_push(history, result);
    }
}

static json_t *random_history(const struct rules *rules, uint64_t *seed)
{
    json_t *history = json_array();
    size_t n_acts = pick(seed, ACTS_MAX);
    size_t n_calls = 0;

    for (size_t i = 0; i < n_acts; i++) {
        json_t *answer = NULL;

        if (pick(seed, 3) == 0) {
            json_push(history, message_of("user", seed));
            continue;
        }
        answer = message_of("assistant", seed);
        if (pick(seed, 2) == 0)
            put_thinking(answer, pick(seed, 2) == 0 ? rules->model : "other");
        if (pick(seed, 3) > 0)
            add_calls(history, answer, &n_calls, seed);
        else
            json_push(history, answer);
    }
    return history;
}

/* --- what servers check --- */

/* Whether a block is of that type, in either format. */
static bool is_block(const json_t *block, const char *type)
{
    return json_object_get(block, type) != NULL ||
           text_equal(json_text_or(block, "type", ""), type);
}

static const char *id_of(const json_t *block, const char *type)
{
    const json_t *own = json_object_get(block, type);

    if (json_is_object(own))
        return json_text_or(own, "toolUseId", "");
    return json_text_or(block, "id", json_text_or(block, "tool_use_id", ""));
}

/* The ids of a message's calls or results, in order. */
static void append_ids(const json_t *message, const char *type, struct strbuf *out)
{
    const json_t *block = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(message, "content"), i, block) {
        if (is_block(block, type))
            strbuf_appendf(out, "%s ", id_of(block, type));
    }
}

static size_t count(const json_t *message, const char *type)
{
    const json_t *block = NULL;
    size_t n = 0;
    size_t i = 0;

    json_array_foreach (json_object_get(message, "content"), i, block)
        n += is_block(block, type);
    return n;
}

static const char *problem_of_block(const struct rules *rules, const json_t *content, size_t i)
{
    const json_t *block = json_array_get(content, i);
    const json_t *before = i > 0 ? json_array_get(content, i - 1) : NULL;

    if (is_block(block, rules->text) && !is_block(block, rules->result) &&
        text_is_blank(json_text_or(block, "text", "")))
        return "a blank text";
    if (is_block(block, rules->thinking) && i > 0 && !is_block(before, rules->thinking))
        return "thinking after something else";
    if (is_block(block, rules->result) && i > 0 && !is_block(before, rules->result))
        return "a result after something else";
    return NULL;
}

static const char *problem_of_message(const struct rules *rules, const json_t *messages, size_t i)
{
    const json_t *message = json_array_get(messages, i);
    const json_t *before = i > 0 ? json_array_get(messages, i - 1) : NULL;
    const json_t *content = json_object_get(message, "content");
    CLEANUP(strbuf_done) struct strbuf owed = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf given = STRBUF_INIT;
    const char *problem = NULL;

    if (!text_equal(json_text_or(message, "role", ""), i % 2 == 0 ? "user" : "assistant"))
        return "roles do not alternate";
    if (json_array_size(content) == 0)
        return "no content";
    if (count(message, rules->thinking) == json_array_size(content))
        return "thinking that led to nothing";
    append_ids(before, rules->call, &owed);
    append_ids(message, rules->result, &given);
    if (!text_equal(owed.text, given.text))
        return "results are not those of the calls";
    if (rules->keeps_results_apart && given.len > 0 && count(message, rules->text) > 0)
        return "words and results in one message";
    for (size_t n = 0; n < json_array_size(content) && problem == NULL; n++)
        problem = problem_of_block(rules, content, n);
    return problem;
}

static const char *problem_of(const struct rules *rules, const json_t *messages)
{
    const char *problem = json_array_size(messages) % 2 == 0 ? "the user is not last" : NULL;

    for (size_t i = 0; i < json_array_size(messages) && problem == NULL; i++)
        problem = problem_of_message(rules, messages, i);
    return problem;
}

static json_t *body_of(const struct rules *rules, const json_t *history)
{
    const struct llm_plan plan = {.is_stream = false};
    CLEANUP(llm_route_done) struct llm_route route = LLM_ROUTE_INIT;
    CLEANUP(llm_prompt_done) struct llm_prompt prompt = LLM_PROMPT_INIT;
    CLEANUP(mem_freep) char *text = NULL;
    struct llm_error llm_error = LLM_ERROR_INIT;
    struct error err = ERROR_INIT;
    json_auto_t *spec = json_object();
    struct llm_request request = {.spec = spec, .prompt = &prompt, .usage_id = "agent"};
    json_t *body = NULL;

    json_put_text(spec, "model", rules->model);
    assert_int_equal(llm_route_choose(test_catalogue(), spec, &route, &llm_error), 0);
    llm_prompt_begin(&prompt, test_catalogue(), spec);
    for (size_t i = 0; i < json_array_size(history); i++)
        llm_prompt_add(&prompt, json_array_get(history, i));
    text = llm_format_of(route.format)->request_body(test_catalogue(), &request, &route, &plan);
    assert_int_equal(json_parse(text, strlen(text), &body, &err), 0);
    return body;
}

static void any_history_keeps_the_rules_of_the_server(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(servers); i++) {
        for (uint64_t n = 1; n <= N_HISTORIES; n++) {
            uint64_t seed = n * 0x9E3779B97F4A7C15U;
            json_auto_t *history = random_history(&servers[i], &seed);
            json_auto_t *body = body_of(&servers[i], history);
            CLEANUP(mem_freep) char *text = json_to_text(json_object_get(body, "messages"));
            const char *problem = problem_of(&servers[i], json_object_get(body, "messages"));

            if (problem != NULL)
                fail_msg("%s, history %d: %s\n%s", servers[i].model, (int)n, problem, text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_history_keeps_the_rules_of_the_server),
    };

    json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
