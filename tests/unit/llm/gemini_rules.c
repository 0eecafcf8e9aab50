#include "llm/gemini_rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "llm/format.h"
#include "llm/llm.h"
#include "llm/llm_error.h"
#include "llm/llm_prompt.h"
#include "llm/route.h"
#include "support/test_catalogue.h"

json_t *gemini_body_of(json_t *spec, const struct llm_prompt *prompt)
{
    CLEANUP(llm_route_done) struct llm_route route = LLM_ROUTE_INIT;
    CLEANUP(mem_freep) char *text = NULL;
    const struct llm_plan plan = {.is_stream = true};
    struct llm_request request = {.spec = spec, .prompt = prompt};
    struct llm_error llm_error = LLM_ERROR_INIT;
    struct error err = ERROR_INIT;
    json_t *body = NULL;

    assert_int_equal(llm_route_choose(test_catalogue(), spec, &route, &llm_error), 0);
    assert_int_equal(route.format, LLM_FORMAT_GEMINI);
    text = llm_format_of(route.format)->request_body(test_catalogue(), &request, &route, &plan);
    assert_int_equal(json_parse(text, strlen(text), &body, &err), 0);
    return body;
}

/* The parts of a content that are calls or results. A new reference. */
static json_t *parts_of(const json_t *content, const char *kind)
{
    json_t *found = json_array();
    const json_t *part = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(content, "parts"), i, part) {
        json_t *value = json_object_get(part, kind);

        if (value != NULL)
            json_push(found, json_incref(value));
    }
    return found;
}

/* All results of an answer's calls are in the next content, in order, and nothing else is. */
static void assert_answers(const json_t *content, const json_t *before)
{
    json_auto_t *calls = parts_of(before, "functionCall");
    json_auto_t *results = parts_of(content, "functionResponse");

    assert_int_equal(json_array_size(results), json_array_size(calls));
    if (json_array_size(calls) == 0)
        return;
    assert_int_equal(json_array_size(json_object_get(content, "parts")), json_array_size(calls));
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *call = json_array_get(calls, i);
        const json_t *result = json_array_get(results, i);

        assert_string_equal(json_text_or(result, "id", "none"), json_text_or(call, "id", ""));
        assert_string_equal(json_text_or(result, "name", "none"), json_text_or(call, "name", ""));
    }
}

static void assert_signed(const json_t *content)
{
    const json_t *part = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(content, "parts"), i, part) {
        if (json_object_get(part, "functionCall") == NULL)
            continue;
        assert_non_null(json_object_get(part, "thoughtSignature"));
        return;
    }
}

void assert_gemini_takes(const json_t *body)
{
    const json_t *contents = json_object_get(body, "contents");
    const json_t *before = NULL;
    const json_t *content = NULL;
    size_t i = 0;

    assert_true(json_array_size(contents) > 0);
    json_array_foreach (contents, i, content) {
        bool is_model = text_equal(json_text_or(content, "role", ""), "model");

        assert_true(json_array_size(json_object_get(content, "parts")) > 0);
        if (is_model)
            assert_string_equal(json_text_or(before, "role", "none"), "user");
        assert_answers(content, before);
        assert_signed(content);
        before = content;
    }
    assert_string_equal(json_text_or(before, "role", ""), "user");
}
