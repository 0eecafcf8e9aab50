#include "llm/scripted.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/llm_call.h"
#include "llm/llm_error.h"
#include "llm/llm_prompt.h"
#include "llm/response_builder.h"

enum { NAME_MAX_BYTES = 64, STATUS_OK = 200, MESSAGE_SHOWN_CODE_POINTS = 200 };

#define SCRIPT_MAX_BYTES ((size_t)(1024 * 1024))

static const char CWD_MARK[] = "[Current working directory: ";
static const char CWD_FALLBACK[] = "/workspace/project";

/* Position in a conversation, as far as a script needs it. */
struct script_position {
    size_t n_user;         /* messages of the user */
    size_t n_since;        /* messages of the assistant since then */
    struct strbuf message; /* the user's last */
    struct strbuf cwd;
};

static void script_position_done(struct script_position *position)
{
    strbuf_done(&position->message);
    strbuf_done(&position->cwd);
}

/* --- the file --- */

static bool is_plain_name(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && len <= NAME_MAX_BYTES &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == len;
}

static int load(const struct llm_call *call, const char *name, json_t **script_out,
                struct llm_error *llm_error)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error why = ERROR_INIT;

    if (call->llm->scripted_dir == NULL || !is_plain_name(name))
        return llm_error_set(llm_error, LLM_CAUSE_NOT_FOUND, "There is no script \"%s\".", name);
    strbuf_appendf(&path, "%s/%s.json", call->llm->scripted_dir, name);
    if (file_read(path.text, SCRIPT_MAX_BYTES, &text, &why) < 0)
        return llm_error_set(llm_error, LLM_CAUSE_NOT_FOUND, "There is no script \"%s\": %s", name,
                             error_code_to_string(why.code));
    if (json_parse(text.text, text.len, script_out, &why) < 0)
        return llm_error_set(llm_error, LLM_CAUSE_BAD_REQUEST, "Script \"%s\" is broken: %s", name,
                             why.message);
    return 0;
}

/* --- position --- */

static void append_message_text(struct strbuf *out, const json_t *content)
{
    const json_t *part = NULL;
    size_t i = 0;

    if (json_is_string(content))
        strbuf_append(out, json_string_value(content));
    json_array_foreach (content, i, part)
        strbuf_append(out, json_text_or(part, "text", ""));
}

static void look_for_cwd(struct script_position *position, const char *text)
{
    const char *mark = strstr(text, CWD_MARK);
    const char *end = NULL;

    if (mark == NULL)
        return;
    mark += strlen(CWD_MARK);
    end = strchr(mark, ']');
    if (end == NULL || *mark != '/')
        return;
    strbuf_reset(&position->cwd);
    strbuf_append_bytes(&position->cwd, mark, (size_t)(end - mark));
}

static void find_position(const json_t *messages, struct script_position *position)
{
    const json_t *message = NULL;
    size_t i = 0;

    strbuf_append(&position->cwd, CWD_FALLBACK);
    json_array_foreach (messages, i, message) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        const char *role = json_text_or(message, "role", "");

        append_message_text(&text, json_object_get(message, "content"));
        if (text_equal(role, "assistant"))
            position->n_since++;
        if (text_equal(role, "tool"))
            look_for_cwd(position, text.text);
        if (!text_equal(role, "user"))
            continue;
        position->n_user++;
        position->n_since = 0;
        strbuf_reset(&position->message);
        strbuf_append(&position->message, text.text);
    }
}

/* --- the step --- */

/* True if the text contains the words, not adjacent to a letter or digit. */
static bool has_words(const char *text, const char *words)
{
    size_t len = strlen(words);

    for (const char *at = strcasestr(text, words); at != NULL; at = strcasestr(at + 1, words)) {
        if ((at == text || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[len]))
            return true;
    }
    return false;
}

static bool matches(const json_t *turn, const char *message)
{
    const json_t *words = json_object_get(turn, "match");
    const json_t *word = NULL;
    size_t i = 0;

    json_array_foreach (words, i, word) {
        if (json_is_string(word) && has_words(message, json_string_value(word)))
            return true;
    }
    return json_array_size(words) == 0;
}

static const json_t *find_turn(const json_t *script, const struct script_position *position)
{
    const json_t *turns = json_object_get(script, "turns");
    const json_t *turn = NULL;
    size_t n = position->n_user > 0 ? position->n_user - 1 : 0;
    size_t i = 0;

    if (n < json_array_size(turns))
        return json_array_get(turns, n);
    json_array_foreach (json_object_get(script, "later"), i, turn) {
        if (matches(turn, position->message.text))
            return turn;
    }
    return NULL;
}

/* Appends text with its {{placeholders}} substituted. */
static void append_filled(struct strbuf *out, const char *text,
                          const struct script_position *position)
{
    size_t shown =
        utf8_offset(position->message.text, position->message.len, MESSAGE_SHOWN_CODE_POINTS);

    while (*text != '\0') {
        if (text_starts_with(text, "{{message}}")) {
            strbuf_append_bytes(out, position->message.text, shown);
            text += strlen("{{message}}");
        } else if (text_starts_with(text, "{{cwd}}")) {
            strbuf_append(out, position->cwd.text);
            text += strlen("{{cwd}}");
        } else {
            strbuf_append_char(out, *text++);
        }
    }
}

/* The members of a call's arguments, with placeholders in their texts substituted. */
static json_t *filled_arguments(const json_t *arguments, const struct script_position *position)
{
    json_t *filled = json_object();
    const char *key = NULL;
    json_t *value = NULL;

    /* json_object_foreach() takes a non-const pointer, though it only reads. */
    json_object_foreach ((json_t *)(uintptr_t)arguments, key, value) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

        if (json_is_string(value)) {
            append_filled(&text, json_string_value(value), position);
            json_put_text(filled, key, text.text);
        } else {
            json_put(filled, key, json_incref(value));
        }
    }
    return filled;
}

static int play_call(const json_t *call, const struct script_position *position,
                     struct response_builder *builder, struct llm_error *llm_error)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *filled = NULL;
    const json_t *arguments = json_object_get(call, "arguments");

    if (json_is_string(arguments)) {
        strbuf_append(&text, json_string_value(arguments));
    } else {
        filled = filled_arguments(arguments, position);
        json_append_text(&text, filled);
    }
    return response_builder_add_call(builder, json_text_or(call, "name", "finish"), text.text,
                                     llm_error);
}

static int play_step(const json_t *step, const struct script_position *position,
                     struct response_builder *builder, struct llm_error *llm_error)
{
    const json_t *call = NULL;
    size_t i = 0;

    builder->has_answer = true;
    append_filled(&builder->text, json_text_or(step, "text", ""), position);
    append_filled(&builder->reasoning, json_text_or(step, "reasoning", ""), position);
    json_array_foreach (json_object_get(step, "calls"), i, call) {
        if (play_call(call, position, builder, llm_error) < 0)
            return -1;
    }
    strbuf_append(&builder->finish_reason, builder->n_calls > 0 ? "tool_calls" : "stop");
    return 0;
}

/* A rough estimate, four bytes per token, so that the page can show usage. */
static void count_tokens(const struct llm_request *request, struct response_builder *builder)
{
    builder->usage.prompt_tokens = (int64_t)(request->prompt->messages.len / 4);
    builder->usage.completion_tokens = (int64_t)(builder->text.len / 4 + 8 * builder->n_calls);
}

static int parse_messages(const struct llm_request *request, json_t **messages_out,
                          struct llm_error *llm_error)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error why = ERROR_INIT;

    strbuf_appendf(&text, "[%s]", request->prompt->messages.text);
    if (json_parse(text.text, text.len, messages_out, &why) < 0)
        return llm_error_set(llm_error, LLM_CAUSE_BAD_REQUEST, "%s", why.message);
    return 0;
}

int scripted_attempt(struct llm_call *call, const struct llm_request *request, const char *name,
                     struct response_builder *builder, struct llm_error *llm_error)
{
    CLEANUP(script_position_done) struct script_position position = {.message = STRBUF_INIT,
                                                                     .cwd = STRBUF_INIT};
    json_auto_t *script = NULL;
    json_auto_t *messages = NULL;
    const json_t *step = NULL;
    json_int_t status = 0;

    if (load(call, name, &script, llm_error) < 0)
        return -1;
    if (parse_messages(request, &messages, llm_error) < 0)
        return -1;
    find_position(messages, &position);
    step = json_array_get(json_object_get(find_turn(script, &position), "steps"), position.n_since);
    status = json_int_or(step, "status", STATUS_OK);
    if (!llm_call_sleep(call, json_int_or(step, "delay_ms", 0)))
        return llm_error_set(llm_error, LLM_CAUSE_CANCELLED, "The model call was cancelled.");
    if (status != STATUS_OK) {
        const char *words = json_text_or(step, "error", "scripted failure");

        return llm_error_from_answer(llm_error, (long)status, words, strlen(words));
    }
    if (step == NULL) {
        builder->has_answer = true;
        strbuf_append(&builder->text, "The script ends here.");
        return 0;
    }
    if (play_step(step, &position, builder, llm_error) < 0)
        return -1;
    count_tokens(request, builder);
    return 0;
}
