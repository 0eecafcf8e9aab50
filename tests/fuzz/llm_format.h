/*
 * A model's answer in the format FUZZ_FORMAT, which the including file defines: events of a stream,
 * or a whole answer, up to the reply. Each line of the input is one of them.
 */
#ifndef DEFT_TESTS_FUZZ_LLM_FORMAT_H
#define DEFT_TESTS_FUZZ_LLM_FORMAT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "json_setup.h"
#include "llm/format.h"
#include "llm/json_repair.h"
#include "llm/llm_error.h"
#include "llm/response_builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static int take_line(struct response_builder *builder, const char *line, size_t len,
                     struct llm_error *llm_error)
{
    const struct llm_format *format = llm_format_of(FUZZ_FORMAT);
    json_auto_t *json = NULL;
    struct error err = ERROR_INIT;
    bool is_last = false;

    if (json_parse_lenient(line, len, &json, &err) < 0)
        return 0;
    if (json_is_array(json_object_get(json, "content")) || json_object_get(json, "output") != NULL)
        return format->read_answer(builder, json, llm_error);
    return format->read_event(builder, json, &is_last, llm_error);
}

static int take_lines(struct response_builder *builder, const char *text, size_t len,
                      struct llm_error *llm_error)
{
    size_t at = 0;

    while (at < len) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t n = end != NULL ? (size_t)(end - (text + at)) : len - at;

        if (take_line(builder, text + at, n, llm_error) < 0)
            return -1;
        at += n + 1;
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    CLEANUP(response_builder_done) struct response_builder builder = RESPONSE_BUILDER_INIT;
    CLEANUP(llm_reply_done) struct llm_reply reply = LLM_REPLY_INIT;
    struct llm_error llm_error = LLM_ERROR_INIT;

    if (take_lines(&builder, (const char *)bytes, len, &llm_error) < 0 ||
        response_builder_finish(&builder, &reply, &llm_error) < 0) {
        assert(utf8_is_valid(llm_error.detail, strlen(llm_error.detail)));
        return 0;
    }
    assert(reply.response_id[0] != '\0');
    assert(utf8_is_valid(reply.text, strlen(reply.text)));
    for (size_t i = 0; i < reply.n_calls; i++)
        assert(reply.calls[i].id[0] != '\0' && reply.calls[i].arguments[0] != '\0');
    return 0;
}

#endif
