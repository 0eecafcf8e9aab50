#include "model/secrets/secret_reference.h"

#include <stdint.h>
#include <string.h>

#include "base/json.h"

enum { FALLBACK_MAX_BYTES = 1024 };

#define NAME_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789"

bool secret_reference_read(const char *at, struct secret_reference *reference_out)
{
    bool is_braced = at[1] == '{';
    struct secret_reference reference = {.name = at + 1 + is_braced};
    const char *end = NULL;

    reference.name_len = strspn(reference.name, NAME_BYTES);
    if (reference.name_len == 0 || (reference.name[0] >= '0' && reference.name[0] <= '9'))
        return false;
    end = reference.name + reference.name_len;
    if (is_braced && end[0] == ':' && end[1] == '-') {
        reference.fallback = end + 2;
        end = memchr(reference.fallback, '}', strnlen(reference.fallback, FALLBACK_MAX_BYTES + 1));
        if (end == NULL)
            return false;
        reference.fallback_len = (size_t)(end - reference.fallback);
    }
    if (is_braced && *end++ != '}')
        return false;
    reference.len = (size_t)(end - at);
    *reference_out = reference;
    return true;
}

static void add_names_of_text(const char *text, json_t *names)
{
    struct secret_reference reference = {.len = 0};

    for (const char *at = strchr(text, '$'); at != NULL; at = strchr(at + 1, '$')) {
        if (secret_reference_read(at, &reference))
            (void)json_object_setn_new(names, reference.name, reference.name_len, json_true());
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): json_parse() caps the depth */
void secret_reference_add_names(const json_t *value, json_t *names)
{
    const char *name = NULL;
    json_t *member = NULL;
    size_t i = 0;

    if (json_is_string(value))
        add_names_of_text(json_string_value(value), names);
    json_object_foreach ((json_t *)(uintptr_t)value, name, member)
        secret_reference_add_names(member, names);
    json_array_foreach (value, i, member)
        secret_reference_add_names(member, names);
}
