/*
 * Copies JSON with the values replaced that look like secrets, by member name or by prefix.
 */
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "model/schema/validation_error.h"

static const char HIDDEN[] = "<redacted>";

enum { TEXT_MAX_CHARS = 1000 };

/* Words in a member's name that mark its value as secret. */
static const char *const secret_names[] = {"authorization", "cookie",   "credential",
                                           "key",           "password", "secret",
                                           "session",       "token",    "value"};
/* Members whose values are all secret. */
static const char *const secret_maps[] = {"env", "environment", "headers", "extra_headers"};
/* Prefixes of known services' keys. */
static const char *const secret_heads[] = {"sk-",     "gsk_",        "hf_",    "tgp_v1_", "ghp_",
                                           "gho_",    "github_pat_", "glpat-", "ctx7sk-", "cla_",
                                           "sntryu_", "lin_api_",    "tvly-",  "ATATT3x", "xoxb-",
                                           "xoxp-",   "AKIA",        "Bearer "};

static bool contains_nocase(const char *text, const char *word)
{
    size_t len = strlen(word);

    /* The terminator matches no letter, so p[i] stays within the text. */
    for (const char *p = text; *p != '\0'; p++) {
        size_t i = 0;

        while (i < len && (p[i] | 0x20) == word[i])
            i++;
        if (i == len)
            return true;
    }
    return false;
}

bool redact_is_secret_name(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(secret_names); i++) {
        if (contains_nocase(name, secret_names[i]))
            return true;
    }
    return false;
}

static bool is_secret_map(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(secret_maps); i++) {
        if (text_equal_nocase(name, secret_maps[i]))
            return true;
    }
    return false;
}

static bool is_secret_text(const char *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(secret_heads); i++) {
        if (text_starts_with(text, secret_heads[i]))
            return true;
    }
    return false;
}

static json_t *copy_text(json_t *value, bool is_hidden)
{
    const char *text = json_string_value(value);
    size_t len = json_string_length(value);

    if (is_hidden || is_secret_text(text))
        return json_text_of(HIDDEN);
    return json_text(text, utf8_offset(text, len, TEXT_MAX_CHARS));
}

/* NOLINTNEXTLINE(misc-no-recursion): json_parse() caps the depth */
static json_t *copy_value(json_t *value, bool is_hidden)
{
    json_t *copy = NULL;
    const char *name = NULL;
    json_t *member = NULL;
    size_t i = 0;

    if (json_is_string(value))
        return copy_text(value, is_hidden);
    if (json_is_array(value)) {
        copy = json_array();
        json_array_foreach (value, i, member)
            json_push(copy, copy_value(member, is_hidden));
        return copy;
    }
    if (!json_is_object(value))
        return json_deep_copy(value);
    copy = json_object();
    json_object_foreach (value, name, member) {
        bool is_secret = is_hidden || redact_is_secret_name(name) || is_secret_map(name);

        json_put(copy, name, copy_value(member, is_secret));
    }
    return copy;
}

json_t *redact_copy(json_t *value)
{
    return copy_value(value, false);
}
