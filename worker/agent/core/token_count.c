#include "worker/agent/core/token_count.h"

#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "store/conversation/event_store.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/messages.h"
#include "worker/agent/core/model_view.h"

/* Prose and code have 3 to 5 bytes per token in current tokenizers. */
enum { BYTES_PER_TOKEN = 4 };
/* Role and separators of a message, or of a call. */
enum { FRAME_TOKENS = 4 };
/* Providers count 85 to 1,600 for an image, by its size. */
enum { IMAGE_TOKENS = 1000 };

static size_t tokens_of(const char *text)
{
    return (strlen(text) + BYTES_PER_TOKEN - 1) / BYTES_PER_TOKEN;
}

void token_count_add(struct token_count *count, const json_t *message)
{
    const json_t *content = json_object_get(message, "content");
    const json_t *calls = json_object_get(message, "tool_calls");

    count->n_tokens += FRAME_TOKENS;
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i);

        if (json_object_get(part, "image_url") != NULL)
            count->n_images++;
        else
            count->n_tokens += tokens_of(json_text_or(part, "text", ""));
    }
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *function = json_object_get(json_array_get(calls, i), "function");

        count->n_tokens += FRAME_TOKENS + tokens_of(json_text_or(function, "name", "")) +
                           tokens_of(json_text_or(function, "arguments", ""));
    }
}

size_t token_count_tools(const json_t *tools)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    json_append_text(&text, tools);
    return text.len / BYTES_PER_TOKEN;
}

size_t token_count_sum(const struct token_count *count)
{
    return count->n_tokens + count->n_images * IMAGE_TOKENS;
}

/* --- events --- */

static size_t weigh(const struct history *history, size_t index)
{
    struct stored_event events[2] = {stored_event_copy(&history->items[index])};
    struct history part = {.items = events, .n = 1};
    const struct stored_event *result = NULL;
    struct token_count count = {0, 0};
    json_auto_t *messages = json_array();

    if (stored_event_is(&events[0], "ActionEvent"))
        result = history_find_result(history, index);
    if (result != NULL)
        events[part.n++] = stored_event_copy(result);
    messages_append_as_said(messages, &part);
    for (size_t i = 0; i < json_array_size(messages); i++)
        token_count_add(&count, json_array_get(messages, i));
    for (size_t i = 0; i < part.n; i++)
        stored_event_drop(&events[i]);
    return token_count_sum(&count);
}

void token_count_events(const struct history *history, size_t *tokens)
{
    for (size_t i = 0; i < history->n; i++)
        tokens[i] = model_view_reads(&history->items[i]) ? weigh(history, i) : 0;
}
