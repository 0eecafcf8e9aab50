#include "llm/text_calls.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/llm.h"
#include "llm/text_call.h"
#include "model/catalogue/catalogue.h"

/* --- the functions --- */

static bool is_required(const json_t *schema, const char *name)
{
    const json_t *required = json_object_get(schema, "required");

    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *one = json_string_value(json_array_get(required, i));

        if (one != NULL && text_equal(one, name))
            return true;
    }
    return false;
}

/* The values of the parts that describe a function or a parameter. */
struct described {
    size_t number;
    const char *name;
    const char *type;
    const char *need;
    const char *description;
    const char *list; /* of allowed values, or of parameters */
};

static void append_part(const struct catalogue *catalogue, const char *part,
                        const struct described *described, struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf number = STRBUF_INIT;
    struct text_value values[] = {
        {"number", ""},
        {"name", described->name},
        {"type", described->type},
        {"need", described->need},
        {"description", described->description},
        {"list", described->list},
    };

    strbuf_appendf(&number, "%zu", described->number);
    values[0].text = number.text;
    catalogue_append(catalogue, TEXT_CALLS, part, values, ARRAY_SIZE(values), out);
}

static void append_parameter(const struct catalogue *catalogue, const json_t *schema,
                             const char *name, size_t number, struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf allowed = STRBUF_INIT;
    const json_t *own = json_object_get(json_object_get(schema, "properties"), name);
    const json_t *words = json_object_get(own, "enum");
    struct described described = {
        .number = number,
        .name = name,
        .type = json_text_or(own, "type", "string"),
        .need = is_required(schema, name) ? "required" : "optional",
        .description = json_text_or(own, "description", ""),
    };

    if (json_is_array(words))
        json_append_text(&allowed, words);
    described.list = allowed.text;
    append_part(catalogue, allowed.len > 0 ? "allowed" : "parameter", &described, out);
}

static void append_parameters(const struct catalogue *catalogue, const json_t *function,
                              struct strbuf *out)
{
    json_t *schema = json_object_get(function, "parameters");
    const char *name = NULL;
    json_t *unused = NULL;
    size_t n = 0;

    json_object_foreach (json_object_get(schema, "properties"), name, unused) {
        if (n > 0)
            strbuf_append_char(out, '\n');
        append_parameter(catalogue, schema, name, ++n, out);
    }
    if (n == 0)
        catalogue_append(catalogue, TEXT_CALLS, "no_parameters", NULL, 0, out);
}

static void append_function(const struct catalogue *catalogue, const json_t *function,
                            size_t number, struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf parameters = STRBUF_INIT;
    struct described described = {
        .number = number,
        .name = json_text_or(function, "name", ""),
        .type = "",
        .need = "",
        .description = json_text_or(function, "description", ""),
    };

    append_parameters(catalogue, function, &parameters);
    described.list = parameters.text;
    append_part(catalogue, "function", &described, out);
}

void text_calls_done(struct text_calls *calls)
{
    json_decref(calls->functions);
    strbuf_done(&calls->description);
    *calls = (struct text_calls)TEXT_CALLS_INIT;
}

void text_calls_set(struct text_calls *calls, const json_t *functions)
{
    CLEANUP(strbuf_done) struct strbuf list = STRBUF_INIT;
    struct text_value value = {"functions", ""};

    for (size_t i = 0; i < json_array_size(functions); i++) {
        if (i > 0)
            strbuf_append(&list, "\n\n");
        append_function(calls->catalogue, json_object_get(json_array_get(functions, i), "function"),
                        i + 1, &list);
    }
    value.text = list.text;
    json_decref(calls->functions);
    calls->functions = json_deep_copy(functions);
    strbuf_reset(&calls->description);
    catalogue_append(calls->catalogue, TEXT_CALLS, "functions", &value, 1, &calls->description);
}

/* --- messages --- */

static json_t *text_part(const char *text)
{
    json_t *part = json_object();

    json_put_text(part, "type", "text");
    json_put_text(part, "text", text);
    return part;
}

/* A copy whose content is a list of its own. */
static json_t *open_copy(json_t *message, json_t **content_out)
{
    json_t *copy = json_copy(message);
    json_t *content = json_object_get(message, "content");
    json_t *own = json_is_array(content) ? json_copy(content) : json_array();

    if (json_is_string(content))
        json_push(own, text_part(json_string_value(content)));
    json_put(copy, "content", own);
    *content_out = own;
    return copy;
}

/* In the first part, which is the same in all conversations, so that providers may cache both. */
static void describe_in(json_t *content, const struct strbuf *description)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const json_t *first = json_array_get(content, 0);

    if (text_equal(json_text_or(first, "type", ""), "text")) {
        strbuf_appendf(&text, "%s\n\n", json_text_or(first, "text", ""));
        (void)json_array_remove(content, 0);
    }
    strbuf_append_bytes(&text, description->text, description->len);
    (void)json_array_insert_new(content, 0, text_part(text.text));
}

static json_t *system_message(const struct text_calls *calls, struct text_calls_end *end,
                              json_t *message)
{
    json_t *content = NULL;
    json_t *copy = open_copy(message, &content);

    if (calls->description.len > 0 && !end->is_described)
        describe_in(content, &calls->description);
    end->is_described = true;
    return copy;
}

static json_t *user_message(const struct text_calls *calls, struct text_calls_end *end,
                            json_t *message)
{
    const struct text_template *texts = catalogue_template(calls->catalogue, TEXT_CALLS);
    json_t *content = NULL;
    json_t *copy = open_copy(message, &content);
    bool is_first = !end->has_user;

    end->has_user = true;
    if (!is_first || !calls->takes_example || calls->description.len == 0)
        return copy;
    (void)json_array_insert_new(content, 0, text_part(text_template_part(texts, "example_begin")));
    json_push(content, text_part(text_template_part(texts, "example_end")));
    return copy;
}

/* A value of one line stands between its tags, a longer one on lines of its own. */
static void append_argument(const char *name, const json_t *value, struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const char *around = "";

    if (json_is_string(value))
        strbuf_append(&text, json_string_value(value));
    else
        json_append_text(&text, value);
    if (strchr(text.text, '\n') != NULL)
        around = "\n";
    strbuf_appendf(out, "<parameter=%s>%s%s%s</parameter>\n", name, around, text.text, around);
}

static void append_call(const json_t *call, struct strbuf *out)
{
    const json_t *function = json_object_get(call, "function");
    const char *text = json_text_or(function, "arguments", "{}");
    json_auto_t *arguments = NULL;
    struct error ignored = ERROR_INIT;
    const char *name = NULL;
    json_t *value = NULL;

    strbuf_appendf(out, "<function=%s>\n", json_text_or(function, "name", ""));
    if (json_parse(text, strlen(text), &arguments, &ignored) < 0)
        strbuf_appendf(out, "%s\n", text);
    json_object_foreach (arguments, name, value)
        append_argument(name, value, out);
    strbuf_append(out, "</function>");
}

static json_t *assistant_message(struct text_calls_end *end, json_t *message)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const json_t *calls = json_object_get(message, "tool_calls");
    json_t *content = NULL;
    json_t *copy = open_copy(message, &content);
    size_t n = json_array_size(calls);

    (void)json_object_del(copy, "tool_calls");
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            strbuf_append_char(&text, '\n');
        append_call(json_array_get(calls, i), &text);
    }
    if (n > 0)
        json_push(content, text_part(text.text));
    end->n_calls += n;
    return copy;
}

static json_t *result_message(json_t *message)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_t *content = NULL;
    json_t *copy = open_copy(message, &content);
    const json_t *first = json_array_get(content, 0);

    strbuf_appendf(&text, "EXECUTION RESULT of [%s]:\n", json_text_or(message, "name", ""));
    if (text_equal(json_text_or(first, "type", ""), "text")) {
        strbuf_append(&text, json_text_or(first, "text", ""));
        (void)json_array_remove(content, 0);
    }
    (void)json_array_insert_new(content, 0, text_part(text.text));
    json_put_text(copy, "role", "user");
    (void)json_object_del(copy, "tool_call_id");
    (void)json_object_del(copy, "name");
    return copy;
}

json_t *text_calls_message(const struct text_calls *calls, struct text_calls_end *end,
                           json_t *message)
{
    const char *role = json_text_or(message, "role", "");

    if (text_equal(role, "system"))
        return system_message(calls, end, message);
    if (text_equal(role, "assistant"))
        return assistant_message(end, message);
    if (text_equal(role, "tool"))
        return result_message(message);
    return user_message(calls, end, message);
}

json_t *text_calls_opening(const struct text_calls *calls, struct text_calls_end *end,
                           const json_t *message)
{
    json_auto_t *system = NULL;

    if (end->is_described || text_equal(json_text_or(message, "role", ""), "system"))
        return NULL;
    if (calls->description.len == 0)
        return NULL;
    system = json_object();
    json_put_text(system, "role", "system");
    return system_message(calls, end, system);
}

/* --- answers --- */

static void add_call(const struct text_calls_end *end, const struct text_call *call,
                     struct llm_reply *reply)
{
    CLEANUP(strbuf_done) struct strbuf id = STRBUF_INIT;

    strbuf_appendf(&id, "toolu_%02zu", end->n_calls + 1);
    reply->calls = mem_alloc_array(1, sizeof(*reply->calls));
    reply->n_calls = 1;
    reply->calls[0] = (struct llm_tool_call){
        .id = strbuf_take(&id),
        .name = mem_dup_text(call->name.text),
        .arguments = mem_dup_text(call->arguments.text),
    };
}

static void set_text(char **text, const struct strbuf *value)
{
    mem_free(*text);
    *text = mem_dup_text(value->text);
}

void text_calls_take(const struct text_calls *calls, const struct text_calls_end *end,
                     struct llm_reply *reply)
{
    CLEANUP(text_call_done) struct text_call call = TEXT_CALL_INIT;
    enum text_call_kind kind = TEXT_CALL_NONE;

    if (calls->functions == NULL || reply->n_calls > 0)
        return;
    kind = text_call_read(calls->functions, reply->text, strlen(reply->text), &call);
    /* An answer that reached its limit of tokens is continued. */
    if (kind == TEXT_CALL_CUT && text_equal(reply->finish_reason, "length"))
        return;
    if (kind == TEXT_CALL_CUT)
        strbuf_append(&call.problem, "The call is incomplete: it ends before its end tags.");
    if (call.problem.len > 0)
        set_text(&reply->call_problem, &call.problem);
    set_text(&reply->text, &call.words);
    if (kind == TEXT_CALL_READ)
        add_call(end, &call, reply);
}

/* --- requests --- */

json_t *text_calls_stop_words(const struct text_calls *calls)
{
    json_t *words = NULL;

    if (!calls->takes_stop_words || calls->description.len == 0)
        return NULL;
    words = json_array();
    json_push(words, json_text_of(TEXT_CALLS_STOP));
    return words;
}
