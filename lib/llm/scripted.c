#include "llm/scripted.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/call.h"
#include "llm/draft.h"
#include "llm/trouble.h"

enum { NAME_MAX_BYTES = 64, STATUS_OK = 200, MESSAGE_SHOWN_CODE_POINTS = 200 };

#define SCRIPT_MAX_BYTES ((size_t)(1024 * 1024))

static const char CWD_MARK[] = "[Current working directory: ";
static const char CWD_FALLBACK[] = "/workspace/project";

/* Position in a conversation, as far as a script needs it. */
struct place {
    size_t n_user;         /* messages of the user */
    size_t n_since;        /* messages of the assistant since then */
    struct strbuf message; /* the user's last */
    struct strbuf cwd;
};

static void place_done(struct place *place)
{
    strbuf_done(&place->message);
    strbuf_done(&place->cwd);
}

/* --- the file --- */

static bool is_plain_name(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && len <= NAME_MAX_BYTES &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == len;
}

static int load(const struct llm_call *call, const char *name, json_t **script_out,
                struct llm_trouble *trouble)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error why = ERROR_INIT;

    if (call->llm->scripted_dir == NULL || !is_plain_name(name))
        return trouble_set(trouble, LLM_CAUSE_NOT_FOUND, "There is no script \"%s\".", name);
    strbuf_appendf(&path, "%s/%s.json", call->llm->scripted_dir, name);
    if (file_read(path.text, SCRIPT_MAX_BYTES, &text, &why) < 0)
        return trouble_set(trouble, LLM_CAUSE_NOT_FOUND, "There is no script \"%s\": %s", name,
                           error_code_to_string(why.code));
    if (json_parse(text.text, text.len, script_out, &why) < 0)
        return trouble_set(trouble, LLM_CAUSE_BAD_REQUEST, "Script \"%s\" is broken: %s", name,
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

static void look_for_cwd(struct place *place, const char *text)
{
    const char *mark = strstr(text, CWD_MARK);
    const char *end = NULL;

    if (mark == NULL)
        return;
    mark += strlen(CWD_MARK);
    end = strchr(mark, ']');
    if (end == NULL || *mark != '/')
        return;
    strbuf_reset(&place->cwd);
    strbuf_append_bytes(&place->cwd, mark, (size_t)(end - mark));
}

static void find_place(const json_t *messages, struct place *place)
{
    const json_t *message = NULL;
    size_t i = 0;

    strbuf_append(&place->cwd, CWD_FALLBACK);
    json_array_foreach (messages, i, message) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        const char *role = json_text_or(message, "role", "");

        append_message_text(&text, json_object_get(message, "content"));
        if (text_equal(role, "assistant"))
            place->n_since++;
        if (text_equal(role, "tool"))
            look_for_cwd(place, text.text);
        if (!text_equal(role, "user"))
            continue;
        place->n_user++;
        place->n_since = 0;
        strbuf_reset(&place->message);
        strbuf_append(&place->message, text.text);
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

static const json_t *find_turn(const json_t *script, const struct place *place)
{
    const json_t *turns = json_object_get(script, "turns");
    const json_t *turn = NULL;
    size_t n = place->n_user > 0 ? place->n_user - 1 : 0;
    size_t i = 0;

    if (n < json_array_size(turns))
        return json_array_get(turns, n);
    json_array_foreach (json_object_get(script, "later"), i, turn) {
        if (matches(turn, place->message.text))
            return turn;
    }
    return NULL;
}

/* Appends text with its {{placeholders}} substituted. */
static void append_filled(struct strbuf *out, const char *text, const struct place *place)
{
    size_t shown = utf8_offset(place->message.text, place->message.len, MESSAGE_SHOWN_CODE_POINTS);

    while (*text != '\0') {
        if (text_starts_with(text, "{{message}}")) {
            strbuf_append_bytes(out, place->message.text, shown);
            text += strlen("{{message}}");
        } else if (text_starts_with(text, "{{cwd}}")) {
            strbuf_append(out, place->cwd.text);
            text += strlen("{{cwd}}");
        } else {
            strbuf_append_char(out, *text++);
        }
    }
}

/* The members of a call's arguments, with placeholders in their texts substituted. */
static json_t *filled_arguments(const json_t *arguments, const struct place *place)
{
    json_t *filled = json_object();
    const char *key = NULL;
    json_t *value = NULL;

    /* json_object_foreach() takes a non-const pointer, though it only reads. */
    json_object_foreach ((json_t *)(uintptr_t)arguments, key, value) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

        if (json_is_string(value)) {
            append_filled(&text, json_string_value(value), place);
            json_put_text(filled, key, text.text);
        } else {
            json_put(filled, key, json_incref(value));
        }
    }
    return filled;
}

static int play_call(const json_t *call, const struct place *place, struct draft *draft,
                     struct llm_trouble *trouble)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *filled = NULL;
    const json_t *arguments = json_object_get(call, "arguments");

    if (json_is_string(arguments)) {
        strbuf_append(&text, json_string_value(arguments));
    } else {
        filled = filled_arguments(arguments, place);
        json_append_text(&text, filled);
    }
    return draft_add_call(draft, json_text_or(call, "name", "finish"), text.text, trouble);
}

static int play_step(const json_t *step, const struct place *place, struct draft *draft,
                     struct llm_trouble *trouble)
{
    const json_t *call = NULL;
    size_t i = 0;

    draft->has_choice = true;
    append_filled(&draft->text, json_text_or(step, "text", ""), place);
    append_filled(&draft->reasoning, json_text_or(step, "reasoning", ""), place);
    json_array_foreach (json_object_get(step, "calls"), i, call) {
        if (play_call(call, place, draft, trouble) < 0)
            return -1;
    }
    strbuf_append(&draft->finish_reason, draft->n_calls > 0 ? "tool_calls" : "stop");
    return 0;
}

/* A rough estimate, four bytes per token, so that the page can show usage. */
static void count_tokens(const struct llm_request *request, struct draft *draft)
{
    draft->usage.prompt_tokens = (int64_t)(strlen(request->messages) / 4);
    draft->usage.completion_tokens = (int64_t)(draft->text.len / 4 + 8 * draft->n_calls);
}

static int parse_messages(const struct llm_request *request, json_t **messages_out,
                          struct llm_trouble *trouble)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error why = ERROR_INIT;

    strbuf_appendf(&text, "[%s]", request->messages);
    if (json_parse(text.text, text.len, messages_out, &why) < 0)
        return trouble_set(trouble, LLM_CAUSE_BAD_REQUEST, "%s", why.message);
    return 0;
}

int scripted_attempt(struct llm_call *call, const struct llm_request *request, const char *name,
                     struct draft *draft, struct llm_trouble *trouble)
{
    CLEANUP(place_done) struct place place = {.message = STRBUF_INIT, .cwd = STRBUF_INIT};
    json_auto_t *script = NULL;
    json_auto_t *messages = NULL;
    const json_t *step = NULL;
    json_int_t status = 0;

    if (load(call, name, &script, trouble) < 0)
        return -1;
    if (parse_messages(request, &messages, trouble) < 0)
        return -1;
    find_place(messages, &place);
    step = json_array_get(json_object_get(find_turn(script, &place), "steps"), place.n_since);
    status = json_int_or(step, "status", STATUS_OK);
    if (!llm_call_sleep(call, json_int_or(step, "delay_ms", 0)))
        return trouble_set(trouble, LLM_CAUSE_CANCELLED, "The model call was cancelled.");
    if (status != STATUS_OK) {
        const char *words = json_text_or(step, "error", "scripted failure");

        return trouble_from_answer(trouble, (long)status, words, strlen(words));
    }
    if (step == NULL) {
        draft->has_choice = true;
        strbuf_append(&draft->text, "The script ends here.");
        return 0;
    }
    if (play_step(step, &place, draft, trouble) < 0)
        return -1;
    count_tokens(request, draft);
    return 0;
}
