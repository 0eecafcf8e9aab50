#include "sandbox/terminal/env_script.h"

#include <ctype.h>
#include <stdbool.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "sandbox/core/action_limits.h"

static bool is_name(const char *name)
{
    if (!isalpha((unsigned char)*name) && *name != '_')
        return false;
    while (isalnum((unsigned char)*name) || *name == '_')
        name++;
    return *name == '\0';
}

/* json_object_foreach() needs a non-const object. */
static void *first_member(const json_t *object)
{
    union {
        const json_t *borrowed;
        json_t *object;
    } same = {object};

    return json_object_iter(same.object);
}

static void *next_member(const json_t *object, void *at)
{
    union {
        const json_t *borrowed;
        json_t *object;
    } same = {object};

    return json_object_iter_next(same.object, at);
}

int env_script_check(const json_t *env, struct error *err)
{
    if (env == NULL || json_is_null(env))
        return 0;
    if (!json_is_object(env) || json_object_size(env) > MAX_ENV_NAMES)
        return error_set(err, ERROR_INVALID, "env must be an object of at most %d variables",
                         MAX_ENV_NAMES);
    for (void *at = first_member(env); at != NULL; at = next_member(env, at)) {
        if (!is_name(json_object_iter_key(at)) || !json_is_string(json_object_iter_value(at)))
            return error_set(err, ERROR_INVALID, "env must map variable names to strings");
    }
    return 0;
}

void env_script_append(struct strbuf *out, const json_t *env)
{
    if (!json_is_object(env))
        return;
    for (void *at = first_member(env); at != NULL; at = next_member(env, at)) {
        const char *value = json_string_value(json_object_iter_value(at));

        if (!is_name(json_object_iter_key(at)) || value == NULL)
            continue;
        strbuf_appendf(out, "export %s=", json_object_iter_key(at));
        shell_word_append(out, value);
        strbuf_append_char(out, '\n');
    }
}
