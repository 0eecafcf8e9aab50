#include "worker/agent/core/secret_list.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/event/event.h"
#include "model/masking/event_text.h"
#include "model/masking/masker.h"
#include "model/tools/tool_check.h"
#include "model/word_search.h"

void secret_list_done(struct secret_list *list)
{
    if (list == NULL)
        return;
    for (size_t i = 0; i < list->n; i++) {
        mem_free(list->items[i].name);
        secret_done(&list->items[i].value);
    }
    mem_free(list->items);
    masker_free(list->masker);
    *list = (struct secret_list)SECRET_LIST_INIT;
}

/* The value of a source, or "" if it has none of its own. */
static const char *source_value(const json_t *source)
{
    if (json_is_string(source))
        return json_string_value(source);
    return json_text_or(source, "value", "");
}

/* Gives a name to a retired item with this value. */
static bool name_again(struct secret_list *list, const char *name, const char *value)
{
    for (size_t i = 0; i < list->n_retired; i++) {
        struct named_secret *item = &list->items[i];

        if (item->name[0] != '\0' || !text_equal(secret_reveal(&item->value), value))
            continue;
        mem_free(item->name);
        item->name = mem_dup_text(name);
        return true;
    }
    return false;
}

void secret_list_hide(struct secret_list *list, const char *value)
{
    if (list->masker == NULL)
        list->masker = masker_new();
    masker_add(list->masker, value);
}

static void add(struct secret_list *list, const char *name, const char *value)
{
    if (name_again(list, name, value))
        return;
    list->items = mem_resize(list->items, (list->n + 1) * sizeof(*list->items));
    list->items[list->n] = (struct named_secret){mem_dup_text(name), SECRET_INIT};
    secret_set(&list->items[list->n].value, value);
    list->n++;
    secret_list_hide(list, value);
}

void secret_list_read(struct secret_list *list, const json_t *secrets)
{
    const char *name = NULL;
    json_t *source = NULL;

    if (!json_is_object(secrets) || json_object_size(secrets) == 0)
        return;
    for (void *at = json_object_iter((json_t *)(uintptr_t)secrets); at != NULL;
         at = json_object_iter_next((json_t *)(uintptr_t)secrets, at)) {
        name = json_object_iter_key(at);
        source = json_object_iter_value(at);
        if (source_value(source)[0] == '\0')
            continue;
        add(list, name, source_value(source));
    }
}

void secret_list_retire(struct secret_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        list->items[i].name[0] = '\0';
    list->n_retired = list->n;
}

void secret_list_set(struct secret_list *list, const char *name, const char *value)
{
    for (size_t i = 0; i < list->n; i++) {
        if (!text_equal(list->items[i].name, name))
            continue;
        if (text_equal(secret_reveal(&list->items[i].value), value))
            return;
        /* The old value loses its name, but stays masked. */
        list->items[i].name[0] = '\0';
    }
    add(list, name, value);
}

/* A shell accepts no other variable names. */
static bool is_shell_name(const char *name)
{
    size_t n_letters = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_");

    return n_letters > 0 &&
           name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789")] ==
               '\0';
}

bool secret_is_named(const char *name, const char *command)
{
    return strcasestr(command, name) != NULL;
}

json_t *secret_list_env(const struct secret_list *list, const char *command)
{
    CLEANUP(word_search_freep) struct word_search *search = word_search_new(command, WORD_ANYWHERE);
    json_t *env = NULL;

    for (size_t i = 0; i < list->n; i++)
        (void)word_search_add(search, list->items[i].name);
    for (size_t i = 0; i < list->n; i++) {
        if (!is_shell_name(list->items[i].name) || !word_search_has(search, i))
            continue;
        if (env == NULL)
            env = json_object();
        json_put_text(env, list->items[i].name, secret_reveal(&list->items[i].value));
    }
    return env;
}

void secret_list_mask_text(const struct secret_list *list, const char *text, struct strbuf *out)
{
    if (list->masker != NULL)
        masker_append(list->masker, text, strlen(text), out);
    else
        strbuf_append(out, text);
}

static void mask_logged(const void *context, const char *text, struct strbuf *out)
{
    secret_list_mask_text(context, text, out);
}

/* NOLINTNEXTLINE(misc-no-recursion): json_parse() caps the depth */
json_t *secret_list_mask_json(const struct secret_list *list, const json_t *value)
{
    json_t *copy = NULL;
    const char *name = NULL;
    json_t *member = NULL;
    size_t i = 0;

    if (json_is_string(value)) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

        secret_list_mask_text(list, json_string_value(value), &text);
        return json_text(text.text, text.len);
    }
    if (!json_is_object(value) && !json_is_array(value))
        return json_deep_copy(value);
    copy = json_is_object(value) ? json_object() : json_array();
    json_object_foreach ((json_t *)(uintptr_t)value, name, member)
        json_put(copy, name, secret_list_mask_json(list, member));
    json_array_foreach (value, i, member)
        json_push(copy, secret_list_mask_json(list, member));
    return copy;
}

void secret_list_mask_log(const struct secret_list *list)
{
    log_mask_set(mask_logged, list);
}

void secret_list_unmask_log(void)
{
    log_mask_set(NULL, NULL);
}

static bool mask_string(void *context, json_t *string)
{
    CLEANUP(strbuf_done) struct strbuf masked = STRBUF_INIT;

    secret_list_mask_text(context, json_string_value(string), &masked);
    if (text_equal(masked.text, json_string_value(string)))
        return false;
    error_ignore(json_string_setn(string, masked.text, masked.len), "the text is valid UTF-8");
    return true;
}

void secret_list_mask_events(const struct secret_list *list, struct event_list *events)
{
    const struct text_visitor visitor = {mask_string, (void *)(uintptr_t)list};

    if (list->masker == NULL)
        return;
    for (size_t i = 0; i < events->n; i++)
        event_texts_visit(events->items[i].json, &visitor);
}

/* Masks the strings in the parsed arguments, so that the text stays valid JSON. */
static void mask_arguments(const struct tool_call_check *check, char **arguments,
                           const struct conversation *conversation,
                           const struct text_visitor *visitor)
{
    json_auto_t *parsed = NULL;
    struct error err = ERROR_INIT;

    if (json_parse(*arguments, strlen(*arguments), &parsed, &err) < 0) {
        mem_free(*arguments);
        *arguments = mem_dup_text("{}");
        return;
    }
    if (!arguments_texts_visit(parsed, check->action, conversation, visitor))
        return;
    mem_free(*arguments);
    *arguments = json_to_text(parsed);
}

static void mask_text(const struct secret_list *list, char **text)
{
    CLEANUP(strbuf_done) struct strbuf masked = STRBUF_INIT;

    if (*text == NULL)
        return;
    secret_list_mask_text(list, *text, &masked);
    mem_free(*text);
    *text = strbuf_take(&masked);
}

json_t *secret_list_mask_call(const struct secret_list *list,
                              const struct conversation *conversation,
                              struct tool_call_check *check)
{
    const struct text_visitor visitor = {mask_string, (void *)(uintptr_t)list};
    json_auto_t *action = NULL;
    json_t *original = check->action;

    if (list->masker == NULL)
        return NULL;
    mask_arguments(check, &check->arguments, conversation, &visitor);
    mask_text(list, &check->summary);
    action = json_deep_copy(check->action);
    if (action == NULL || !action_texts_visit(action, conversation, &visitor))
        return NULL;
    check->action = json_incref(action);
    return original;
}

/* NOLINTNEXTLINE(misc-no-recursion): json_parse() caps the depth */
bool secret_list_is_masked(const json_t *action)
{
    json_t *value = (json_t *)(uintptr_t)action;

    if (json_is_string(value))
        return strstr(json_string_value(value), MASKER_HIDDEN) != NULL;
    for (size_t i = 0; i < json_array_size(value); i++) {
        if (secret_list_is_masked(json_array_get(value, i)))
            return true;
    }
    for (void *at = json_object_iter(value); at != NULL; at = json_object_iter_next(value, at)) {
        if (secret_list_is_masked(json_object_iter_value(at)))
            return true;
    }
    return false;
}
