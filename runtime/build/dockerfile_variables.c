#include "runtime/build/dockerfile_variables.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/build/dockerfile_text.h"

/* Maximum number of values of one name with variables. */
#define MEANINGS_MAX 32
#define EXPANSION_MAX_BYTES 1024
#define EXPANSION_MAX_DEPTH 8
/* Expanded variables in total; those in values of variables count at each use. */
#define EXPANSIONS_MAX 2000

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) != 0 || c == '_';
}

static bool has_text(const json_t *list, const char *text)
{
    const json_t *one = NULL;
    size_t i = 0;

    json_array_foreach (list, i, one) {
        if (text_equal(json_string_value(one), text))
            return true;
    }
    return false;
}

static void add_text(json_t *list, const char *text)
{
    if (!has_text(list, text))
        json_push(list, json_text_of(text));
}

/* A new reference. */
static json_t *list_of(const char *text)
{
    json_t *list = json_array();

    json_push(list, json_text_of(text));
    return list;
}

void dockerfile_variables_add(struct dockerfile_variables *variables,
                              enum dockerfile_position position, const char *word)
{
    json_t *arguments = position == DOCKERFILE_EARLY ? variables->early : variables->late;
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
    const char *equals = strchr(word, '=');
    json_t *values = NULL;

    if (equals == NULL)
        return;
    dockerfile_append_plain(&name, word, (size_t)(equals - word));
    dockerfile_append_plain(&value, equals + 1, strlen(equals + 1));
    if (name.len == 0)
        return;
    values = json_object_get(arguments, name.text);
    if (values == NULL) {
        values = json_array();
        json_put(arguments, name.text, values);
    }
    /* One value above the limit is kept, so that a use is refused. */
    if (json_array_size(values) <= MEANINGS_MAX)
        add_text(values, value.len > 0 ? value.text : "");
}

static int refuse_variable(const char *text, struct error *err)
{
    return error_set(err, ERROR_INVALID,
                     "Dockerfile: the image '%.100s' cannot be resolved; name it without variables",
                     text);
}

/* Combines each text with each ending. */
static int multiply(json_t **texts_io, const json_t *endings, const char *source, struct error *err)
{
    json_auto_t *texts = *texts_io;
    const json_t *text = NULL;
    size_t i = 0;

    *texts_io = json_array();
    json_array_foreach (texts, i, text) {
        const json_t *ending = NULL;
        size_t j = 0;

        json_array_foreach (endings, j, ending) {
            CLEANUP(strbuf_done) struct strbuf both = STRBUF_INIT;

            strbuf_appendf(&both, "%s%s", json_string_value(text), json_string_value(ending));
            add_text(*texts_io, both.text);
            if (both.len > EXPANSION_MAX_BYTES || json_array_size(*texts_io) > MEANINGS_MAX)
                return refuse_variable(source, err);
        }
    }
    return 0;
}

/* True unless an ARG after the first FROM adds a value. */
static bool is_settled(const struct dockerfile_variables *variables, const char *name)
{
    const json_t *before = json_object_get(variables->early, name);
    const json_t *value = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(variables->late, name), i, value) {
        if (!has_text(before, json_string_value(value)))
            return false;
    }
    return true;
}

static int expand(struct dockerfile_variables *variables, const char *text, int depth,
                  json_t **meanings_io, struct error *err);

/*
 * Possible values of "$NAME", "${NAME}", "${NAME-word}" or "${NAME:-word}" in FROM, where only ARGs
 * before the first FROM count. A name with another value later is refused, since builders and this
 * reader may disagree on which FROM is the first. *at_io moves past the variable.
 */
static int expand_variable(struct dockerfile_variables *variables, const char **at_io, int depth,
                           json_t **meanings_io, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf word = STRBUF_INIT;
    json_auto_t *endings = json_array();
    const json_t *values = NULL;
    const char *source = *at_io;
    const char *at = source + 1;
    bool has_brace = *at == '{';
    const json_t *value = NULL;
    size_t i = 0;

    at += has_brace;
    while (is_name_char(*at))
        strbuf_append_char(&name, *at++);
    if (name.len == 0 || ++variables->n_expansions > EXPANSIONS_MAX)
        return refuse_variable(source, err);
    if (has_brace && *at != '}') {
        size_t len = 0;

        at += *at == ':';
        len = *at == '-' ? strcspn(at + 1, "}") : 0;
        if (*at != '-' || at[1 + len] != '}' || memchr(at + 1, '$', len) != NULL)
            return refuse_variable(source, err);
        dockerfile_append_plain(&word, at + 1, len);
        at += 1 + len;
    }
    *at_io = at + has_brace;
    if (!is_settled(variables, name.text))
        return refuse_variable(source, err);
    /* Some forms treat an empty value as unset: the default word is another possible value. */
    values = json_object_get(variables->early, name.text);
    if (json_array_size(values) == 0 || has_text(values, ""))
        add_text(endings, word.text);
    json_array_foreach (values, i, value) {
        json_auto_t *texts = list_of("");

        if (expand(variables, json_string_value(value), depth + 1, &texts, err) < 0)
            return -1;
        if (json_array_extend(endings, texts) < 0)
            return error_set(err, ERROR_INTERNAL, "out of memory");
    }
    return multiply(meanings_io, endings, source, err);
}

static int expand(struct dockerfile_variables *variables, const char *text, int depth,
                  json_t **meanings_io, struct error *err)
{
    const char *at = text;

    if (depth > EXPANSION_MAX_DEPTH)
        return refuse_variable(text, err);
    while (*at != '\0') {
        CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT;
        size_t len = strcspn(at, "$");
        json_auto_t *ending = NULL;

        dockerfile_append_plain(&plain, at, len);
        ending = list_of(plain.len > 0 ? plain.text : "");
        at += len;
        if (multiply(meanings_io, ending, text, err) < 0 ||
            (*at == '$' && expand_variable(variables, &at, depth, meanings_io, err) < 0))
            return -1;
    }
    return 0;
}

int dockerfile_expand(struct dockerfile_variables *variables, const char *text,
                      json_t **meanings_out, struct error *err)
{
    json_auto_t *meanings = list_of("");

    if (expand(variables, text, 0, &meanings, err) < 0)
        return -1;
    *meanings_out = json_incref(meanings);
    return 0;
}

void dockerfile_variables_init(struct dockerfile_variables *variables)
{
    *variables = (struct dockerfile_variables){.early = json_object(), .late = json_object()};
}

void dockerfile_variables_done(struct dockerfile_variables *variables)
{
    json_decref(variables->early);
    json_decref(variables->late);
    *variables = (struct dockerfile_variables){.early = NULL};
}
