#include "model/agent/hook_verdict.h"

#include <stddef.h>
#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

void hook_verdict_done(struct hook_verdict *verdict)
{
    strbuf_done(&verdict->reason);
    strbuf_done(&verdict->context);
}

static void append_trimmed(struct strbuf *out, const char *text)
{
    const char *begin = text + strspn(text, " \t\r\n");
    size_t len = strlen(begin);

    while (len > 0 && strchr(" \t\r\n", begin[len - 1]) != NULL)
        len--;
    strbuf_append_bytes(out, begin, len);
}

static void read_object(struct hook_verdict *verdict, const json_t *said)
{
    const char *decision = json_text_or(said, "decision", "");
    const char *reason = json_text_or(said, "reason", "");

    if (text_equal(decision, "deny") || json_bool_or(said, "continue", 1) == 0)
        verdict->is_blocked = true;
    if (!text_is_blank(reason)) {
        strbuf_reset(&verdict->reason);
        append_trimmed(&verdict->reason, reason);
    }
    append_trimmed(&verdict->context, json_text_or(said, "additionalContext", ""));
}

void hook_verdict_read(struct hook_verdict *verdict, int64_t exit_code, const char *out,
                       const char *err)
{
    json_auto_t *said = NULL;
    const char *begin = out + strspn(out, " \t\r\n");
    struct error no_object = ERROR_INIT;

    verdict->is_blocked = exit_code == HOOK_EXIT_BLOCKS;
    verdict->is_success = exit_code == 0 || verdict->is_blocked;
    if (verdict->is_blocked)
        append_trimmed(&verdict->reason, err);
    if (!verdict->is_success || *begin != '{' ||
        json_parse(begin, strlen(begin), &said, &no_object) < 0)
        return;
    read_object(verdict, said);
    verdict->asks_reading = json_bool_or(said, "reload_knowledge", 0) != 0;
}

bool hook_verdict_read_answer(struct hook_verdict *verdict, const char *answer)
{
    json_auto_t *said = NULL;
    const char *begin = strchr(answer, '{');
    const char *end = strrchr(answer, '}');
    struct error no_object = ERROR_INIT;

    if (begin == NULL || end == NULL || end < begin ||
        json_parse(begin, (size_t)(end - begin) + 1, &said, &no_object) < 0)
        return false;
    if (json_object_get(said, "decision") == NULL && json_object_get(said, "continue") == NULL)
        return false;
    verdict->is_success = true;
    read_object(verdict, said);
    return true;
}
