#include "worker/agent/mask.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/event.h"
#include "model/event_text.h"
#include "model/secret_registry.h"

#define HIDDEN "<secret-hidden>"

void secret_list_done(struct secret_list *list)
{
    if (list == NULL)
        return;
    for (size_t i = 0; i < list->n; i++) {
        mem_free(list->items[i].name);
        secret_done(&list->items[i].value);
    }
    mem_free(list->items);
    *list = (struct secret_list)SECRET_LIST_INIT;
}

/* The value of a source, or "" when it has none here. */
static const char *source_value(const json_t *source)
{
    if (json_is_string(source))
        return json_string_value(source);
    return json_text_or(source, "value", "");
}

void secret_list_read(struct secret_list *list, const json_t *secrets)
{
    const char *name = NULL;
    json_t *source = NULL;

    if (!json_is_object(secrets) || json_object_size(secrets) == 0)
        return;
    list->items = mem_alloc_array(json_object_size(secrets), sizeof(*list->items));
    for (void *at = json_object_iter((json_t *)(uintptr_t)secrets); at != NULL;
         at = json_object_iter_next((json_t *)(uintptr_t)secrets, at)) {
        name = json_object_iter_key(at);
        source = json_object_iter_value(at);
        if (source_value(source)[0] == '\0')
            continue;
        list->items[list->n].name = mem_dup_text(name);
        secret_set(&list->items[list->n].value, source_value(source));
        list->n++;
    }
}

void secret_list_set(struct secret_list *list, const char *name, const char *value)
{
    for (size_t i = 0; i < list->n; i++) {
        if (!text_equal(list->items[i].name, name))
            continue;
        if (text_equal(secret_reveal(&list->items[i].value), value))
            return;
        /* The old value has no name any more, but stays hidden. */
        list->items[i].name[0] = '\0';
    }
    list->items = mem_resize(list->items, (list->n + 1) * sizeof(*list->items));
    list->items[list->n] = (struct named_secret){mem_dup_text(name), SECRET_INIT};
    secret_set(&list->items[list->n].value, value);
    list->n++;
}

/* A shell takes no other names. */
static bool is_shell_name(const char *name)
{
    size_t n_letters = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_");

    return n_letters > 0 &&
           name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789")] ==
               '\0';
}

bool secret_is_named(const char *name, const char *command)
{
    size_t len = strlen(name);

    for (const char *at = command; *at != '\0'; at++) {
        if (strncasecmp(at, name, len) == 0)
            return true;
    }
    return false;
}

json_t *secret_list_env(const struct secret_list *list, const char *command)
{
    json_t *env = NULL;

    for (size_t i = 0; i < list->n; i++) {
        if (!is_shell_name(list->items[i].name) || !secret_is_named(list->items[i].name, command))
            continue;
        if (env == NULL)
            env = json_object();
        json_put_text(env, list->items[i].name, secret_reveal(&list->items[i].value));
    }
    return env;
}

/* The longest secret that text begins with: one value may be the start of another. */
static size_t secret_length_at(const struct secret_list *list, const char *text)
{
    size_t longest = 0;

    for (size_t i = 0; i < list->n; i++) {
        const struct secret *value = &list->items[i].value;

        if (secret_is_masked(secret_reveal(value)) && value->len > longest &&
            text_starts_with(text, secret_reveal(value)))
            longest = value->len;
    }
    return longest;
}

void mask_append(const struct secret_list *list, const char *text, struct strbuf *out)
{
    const char *from = text;

    for (const char *at = text; *at != '\0';) {
        size_t len = secret_length_at(list, at);

        if (len == 0) {
            at++;
            continue;
        }
        strbuf_append_bytes(out, from, (size_t)(at - from));
        strbuf_append(out, HIDDEN);
        at += len;
        from = at;
    }
    strbuf_append(out, from);
}

/* Whether text is the beginning of a secret that goes on behind it. */
static bool may_become_secret(const struct secret_list *list, const char *text)
{
    size_t len = strlen(text);

    for (size_t i = 0; i < list->n; i++) {
        const struct secret *value = &list->items[i].value;

        if (secret_is_masked(secret_reveal(value)) && value->len > len &&
            text_starts_with(secret_reveal(value), text))
            return true;
    }
    return false;
}

size_t mask_settled_length(const struct secret_list *list, const char *text)
{
    size_t at = 0;

    while (list->n > 0 && text[at] != '\0') {
        size_t len = secret_length_at(list, text + at);

        if (may_become_secret(list, text + at))
            return at;
        at += len > 0 ? len : 1;
    }
    return at + strlen(text + at);
}

static bool mask_string(void *context, json_t *string)
{
    CLEANUP(strbuf_done) struct strbuf masked = STRBUF_INIT;

    mask_append(context, json_string_value(string), &masked);
    if (text_equal(masked.text, json_string_value(string)))
        return false;
    error_ignore(json_string_setn(string, masked.text, masked.len),
                 "what was valid UTF-8 is still, and memory does not run out");
    return true;
}

void mask_events(const struct secret_list *list, struct event_list *events)
{
    const struct text_visitor visitor = {mask_string, (void *)(uintptr_t)list};

    if (list->n == 0)
        return;
    for (size_t i = 0; i < events->n; i++)
        event_texts_visit(events->items[i].json, &visitor);
}
