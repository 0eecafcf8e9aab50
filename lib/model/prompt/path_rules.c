#include "model/prompt/path_rules.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/catalogue/catalogue.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/prompt/skills.h"
#include "model/schema/regex.h"

/* Of one file; a further one waits for the next call. */
enum { RULES_MAX = 5, PATTERN_MAX_BYTES = 1024 };

/* --- patterns of files --- */

/* Appends one element of a pattern of files as a regular expression; returns what follows it. */
static const char *append_element(const char *at, struct strbuf *out)
{
    if (text_starts_with(at, "**/")) {
        strbuf_append(out, "(?:.*/)?");
        return at + 3;
    }
    if (text_starts_with(at, "**")) {
        strbuf_append(out, ".*");
        return at + 2;
    }
    if (*at == '*')
        strbuf_append(out, "[^/]*");
    else if (*at == '?')
        strbuf_append(out, "[^/]");
    else if (strchr("\\^$.|()[]{}+#", *at) != NULL)
        strbuf_appendf(out, "\\%c", *at);
    else
        strbuf_append_char(out, *at);
    return at + 1;
}

static bool matches(const char *pattern, const char *path)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(regex_freep) struct regex *regex = NULL;
    struct error ignored = ERROR_INIT;

    if (strlen(pattern) > PATTERN_MAX_BYTES)
        return false;
    strbuf_append(&text, "(?s)");
    for (const char *at = pattern; *at != '\0';)
        at = append_element(at, &text);
    strbuf_append(&text, "\\z");
    return regex_new(text.text, &regex, &ignored) == 0 && regex_matches(regex, path);
}

/* A pattern without a slash is one of names in any folder. */
static bool matches_below(const char *base, size_t base_len, const char *pattern, const char *path)
{
    if (strncmp(path, base, base_len) != 0 || path[base_len] != '/')
        return false;
    path += base_len + 1;
    if (strchr(pattern, '/') == NULL && strrchr(path, '/') != NULL)
        path = strrchr(path, '/') + 1;
    return matches(text_starts_with(pattern, "./") ? pattern + 2 : pattern, path);
}

/* The length of the path of the folder whose rules a skill's file holds; 0: unknown. */
static size_t base_length(const char *source)
{
    static const char *const folders[] = {"/.openhands/", "/.agents/"};

    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        const char *found = strstr(source, folders[i]);

        if (found != NULL)
            return (size_t)(found - source);
    }
    return 0;
}

static bool is_for_path(const json_t *skill, const char *working_dir, const char *path)
{
    const char *source = json_text_or(skill, "source", "");
    size_t base_len = base_length(source);
    json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(skill, "paths"), i, item) {
        const char *pattern = json_is_string(item) ? json_string_value(item) : "";

        if (pattern[0] == '/' ? matches(pattern, path)
                              : (base_len > 0 && matches_below(source, base_len, pattern, path)) ||
                                    matches_below(working_dir, strlen(working_dir), pattern, path))
            return true;
    }
    return false;
}

/* --- rules --- */

static bool has_name(const json_t *names, const char *name)
{
    json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (names, i, item) {
        if (json_is_string(item) && text_equal(json_string_value(item), name))
            return true;
    }
    return false;
}

static void add_rule(const struct catalogue *catalogue, const json_t *skill, const char *path,
                     struct skill_texts *texts)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const struct text_value values[] = {{"path", path},
                                        {"source", json_text_or(skill, "source", "")},
                                        {"content", json_text_or(skill, "content", "")}};

    catalogue_append(catalogue, TEXT_PATH_RULE, "", values, ARRAY_SIZE(values), &text);
    json_push(texts->names, json_text_of(json_text_or(skill, "name", "")));
    json_push(texts->parts, text_content(text.text));
}

static void append_absolute(const char *working_dir, const char *path, struct strbuf *out)
{
    if (path[0] == '/')
        strbuf_append(out, path);
    else
        strbuf_appendf(out, "%s/%s", working_dir, path);
}

void path_rules_for_call(const struct catalogue *catalogue, const struct conversation *conversation,
                         const json_t *action, struct skill_texts *texts_out)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    const json_t *known = json_object_get(conversation->agent_state, AGENT_STATE_PATH_RULES);
    const char *working_dir = conversation_working_dir(conversation);
    const char *named = json_text_or(action, "path", "");
    json_t *skill = NULL;
    size_t i = 0;

    *texts_out = (struct skill_texts){json_array(), json_array()};
    if (named[0] == '\0')
        return;
    append_absolute(working_dir, named, &path);
    json_array_foreach (json_object_get(conversation->spec, PROJECT_SKILLS), i, skill) {
        if (json_array_size(texts_out->names) < RULES_MAX &&
            !has_name(known, json_text_or(skill, "name", "")) &&
            is_for_path(skill, working_dir, path.text))
            add_rule(catalogue, skill, path.text, texts_out);
    }
}
