#include "worker/agent/core/event_size.h"

#include <stddef.h>
#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "llm/llm.h"
#include "model/limits.h"
#include "model/tools/tool_check.h"

/* The rest of an event: ids, names, and masks in place of secrets. */
enum { FRAME_BYTES = 8192 };

/* A byte grows to at most six in JSON, and the arguments are contained twice. */
enum { GROWTH_MAX = 12 };

static size_t json_size(const json_t *value)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    json_append_text(&text, value);
    return text.len;
}

static size_t text_size(const char *text)
{
    json_auto_t *value = text != NULL ? json_text_of(text) : NULL;

    return value != NULL ? json_size(value) : 0;
}

static size_t length(const char *text)
{
    return text != NULL ? strlen(text) : 0;
}

static char *too_large_text(const struct tool_call_check *check)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    strbuf_appendf(
        &text,
        "The call was not run: its arguments have %zu bytes, which is too large to keep. "
        "Do it in several smaller calls, for example write a long file piece by piece.",
        strlen(check->arguments));
    return strbuf_take(&text);
}

static void give_up(struct tool_call_check *check)
{
    json_decref(TAKE_PTR(check->action));
    mem_free(TAKE_PTR(check->summary));
    mem_free(check->problem);
    check->problem = too_large_text(check);
}

/* NULL: none. */
static size_t size_of(const json_t *json)
{
    return json != NULL ? json_size(json) : 0;
}

void event_size_limit(struct tool_call_check *check, const struct llm_tool_call *call,
                      const struct llm_reply *reply)
{
    const char *text = reply != NULL ? reply->text : NULL;
    const char *reasoning = reply != NULL ? reply->reasoning : NULL;
    size_t beside = FRAME_BYTES;
    size_t thinking = reply != NULL ? size_of(reply->thinking) + size_of(reply->reasoning_item) : 0;
    size_t ids = 2 * length(call->id);
    size_t arguments = 0;

    if (length(check->arguments) + length(text) + length(reasoning) + thinking + ids <
        (EVENT_MAX_BYTES - FRAME_BYTES) / GROWTH_MAX)
        return;
    beside += text_size(text) + text_size(reasoning) + thinking + ids;
    arguments = text_size(check->arguments);
    if (check->action != NULL)
        beside += json_size(check->action) + text_size(check->summary);
    if (arguments + beside <= EVENT_MAX_BYTES)
        return;
    if (check->action != NULL)
        beside -= json_size(check->action) + text_size(check->summary);
    give_up(check);
    if (arguments + beside <= EVENT_MAX_BYTES)
        return;
    mem_free(check->arguments);
    check->arguments = mem_dup_text("{}");
}
