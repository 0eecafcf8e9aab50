#include "model/prompt/prompt_context.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/catalogue/catalogue.h"
#include "model/conversation/conversation.h"

enum {
    REPOSITORY_MAX_BYTES = 96 * 1024,
    MEMORY_MAX_CHARS = 6000, /* of both memories */
    SOUL_MAX_CHARS = 8000,
    LISTED_MAX = 200,
    LISTED_MAX_BYTES = 64 * 1024,
};

/* A context being put together; findings: NULL at the conversation's start. */
struct context_parts {
    const struct catalogue *catalogue;
    const struct conversation *conversation;
    const json_t *context; /* the agent's */
    const struct prompt_findings *findings;
    struct strbuf *out;
};

static void append_gap(struct strbuf *out)
{
    if (out->len > 0)
        strbuf_append(out, "\n\n");
}

static void append_tagged(struct strbuf *out, const char *tag, const char *text)
{
    append_gap(out);
    strbuf_appendf(out, "<%s>\n%s\n</%s>", tag, text, tag);
}

bool prompt_skill_is_disabled(const struct conversation *conversation, const char *skill)
{
    const json_t *context = json_object_get(conversation_agent(conversation), "agent_context");
    json_t *name = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(context, "disabled_skills"), i, name) {
        if (json_is_string(name) && text_equal(json_string_value(name), skill))
            return true;
    }
    return false;
}

/* --- texts of the repository --- */

/*
 * Appends a text of the workspace. A closing tag in it must not end the section that warns of it.
 */
static void append_foreign(struct strbuf *out, const char *text)
{
    static const char *const tags[] = {"</REPO_CONTEXT", "</MEMORY_CONTEXT", "</UNTRUSTED_CONTENT",
                                       "</SKILLS"};
    const char *at = text;

    for (const char *slash = strstr(at, "</"); slash != NULL; slash = strstr(at, "</")) {
        bool is_tag = false;

        for (size_t i = 0; i < ARRAY_SIZE(tags); i++)
            is_tag = is_tag || text_starts_with(slash, tags[i]);
        strbuf_append_bytes(out, at, (size_t)(slash - at));
        strbuf_append(out, is_tag ? "<\\/" : "</");
        at = slash + 2;
    }
    strbuf_append(out, at);
}

static bool has_trigger(const json_t *skill)
{
    const json_t *trigger = json_object_get(skill, "trigger");

    return trigger != NULL && !json_is_null(trigger);
}

static bool is_listed(const json_t *skill)
{
    return json_bool_or(skill, "is_agentskills_format", 0) != 0;
}

static void append_repository_skill(const json_t *skill, struct strbuf *text)
{
    const char *name = json_text_or(skill, "name", "");

    strbuf_appendf(text, "\n\n[BEGIN %s]\n", name);
    append_foreign(text, json_text_or(skill, "content", ""));
    strbuf_appendf(text, "\n[END %s]", name);
}

/* The creator's skills that are always active. */
static void append_given_repository(const struct context_parts *parts, struct strbuf *text)
{
    json_t *skill = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(parts->context, "skills"), i, skill) {
        const char *name = json_text_or(skill, "name", "");
        bool is_replaced =
            parts->findings != NULL &&
            (json_object_get(parts->findings->skills, name) != NULL || is_listed(skill));

        if (has_trigger(skill) || json_text_or(skill, "content", "")[0] == '\0' || is_replaced ||
            prompt_skill_is_disabled(parts->conversation, name))
            continue;
        append_repository_skill(skill, text);
    }
}

static void skip_for_room(const json_t *skill, json_t *skipped)
{
    json_t *entry = json_object();

    json_put_text(entry, "path", json_text_or(skill, "source", ""));
    json_put_text(entry, "reason", "there is no room for it in the prompt");
    json_push(skipped, entry);
}

static void append_found_repository(const struct context_parts *parts, struct strbuf *text)
{
    const char *name = NULL;
    json_t *skill = NULL;

    json_object_foreach (parts->findings->skills, name, skill) {
        const char *content = json_text_or(skill, "content", "");

        if (has_trigger(skill) || is_listed(skill) ||
            json_array_size(json_object_get(skill, "paths")) > 0 || text_is_blank(content))
            continue;
        if (text->len + strlen(content) > REPOSITORY_MAX_BYTES)
            skip_for_room(skill, parts->findings->skipped);
        else
            append_repository_skill(skill, text);
    }
}

static void append_repository(const struct context_parts *parts)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    append_given_repository(parts, &text);
    if (parts->findings != NULL)
        append_found_repository(parts, &text);
    if (text.len == 0)
        return;
    append_gap(parts->out);
    strbuf_appendf(parts->out, "<REPO_CONTEXT>\n%s%s\n</REPO_CONTEXT>",
                   catalogue_text(parts->catalogue, TEXT_UNTRUSTED), text.text);
}

/* --- identity and memories --- */

static void append_cut(const struct catalogue *catalogue, const char *text, size_t max_chars,
                       struct strbuf *out)
{
    size_t len = strlen(text);
    size_t kept = utf8_offset(text, len, max_chars);

    strbuf_append_bytes(out, text, kept);
    if (kept < len)
        strbuf_appendf(out, "\n%s", catalogue_text(catalogue, TEXT_CUT));
}

static void append_soul(const struct context_parts *parts)
{
    CLEANUP(strbuf_done) struct strbuf soul = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    if (parts->findings->soul == NULL || text_is_blank(parts->findings->soul))
        return;
    append_cut(parts->catalogue, parts->findings->soul, SOUL_MAX_CHARS, &soul);
    catalogue_append(parts->catalogue, TEXT_OWN_SOUL, "", &(struct text_value){"soul", soul.text},
                     1, &text);
    append_tagged(parts->out, "SOUL", text.text);
}

/* The newest lines of a memory are its last ones: whole lines are dropped from the top. */
static const char *newest_lines(const char *memory, size_t max_chars)
{
    size_t len = strlen(memory);
    size_t n = utf8_length(memory, len);
    const char *at = memory;
    const char *line = NULL;

    if (n <= max_chars)
        return memory;
    at = memory + utf8_offset(memory, len, n - max_chars);
    if (at[-1] == '\n')
        return at;
    line = strchr(at, '\n');
    return line != NULL ? line + 1 : memory + len;
}

static void append_memory(const struct context_parts *parts, const char *part, const char *memory,
                          size_t max_chars, struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const char *kept = NULL;

    if (memory == NULL || text_is_blank(memory))
        return;
    kept = newest_lines(memory, max_chars);
    if (kept != memory) {
        catalogue_append(parts->catalogue, TEXT_MEMORY_CONTEXT, "cut", NULL, 0, &text);
        strbuf_append_char(&text, '\n');
    }
    append_foreign(&text, kept);
    while (text.len > 0 && text.text[text.len - 1] == '\n')
        strbuf_truncate(&text, text.len - 1);
    if (out->len > 0)
        strbuf_append(out, "\n\n");
    catalogue_append(parts->catalogue, TEXT_MEMORY_CONTEXT, part,
                     &(struct text_value){"memory", text.text}, 1, out);
}

static size_t memory_length(const char *memory)
{
    return memory != NULL && !text_is_blank(memory) ? utf8_length(memory, strlen(memory)) : 0;
}

/* The share of one memory: half, and what the other leaves of its half. */
static size_t memory_share(const char *other)
{
    size_t half = MEMORY_MAX_CHARS / 2;
    size_t n = memory_length(other);

    return MEMORY_MAX_CHARS - (n < half ? n : half);
}

static void append_memories(const struct context_parts *parts)
{
    const struct prompt_findings *findings = parts->findings;
    CLEANUP(strbuf_done) struct strbuf memories = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    append_memory(parts, "user", findings->user_memory, memory_share(findings->project_memory),
                  &memories);
    append_memory(parts, "project", findings->project_memory, memory_share(findings->user_memory),
                  &memories);
    if (memories.len == 0)
        return;
    catalogue_append(parts->catalogue, TEXT_MEMORY_CONTEXT, "",
                     &(struct text_value){"memories", memories.text}, 1, &text);
    append_tagged(parts->out, "MEMORY_CONTEXT", text.text);
}

/* --- skills to open on demand --- */

static void append_escaped(struct strbuf *out, const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '<')
            strbuf_append(out, "&lt;");
        else if (*at == '&')
            strbuf_append(out, "&amp;");
        else
            strbuf_append_char(out, *at);
    }
}

static void list_skill(const struct context_parts *parts, const json_t *skill, size_t *n_listed_io,
                       struct strbuf *list)
{
    if (!is_listed(skill) || json_bool_or(skill, "disable_model_invocation", 0) != 0 ||
        prompt_skill_is_disabled(parts->conversation, json_text_or(skill, "name", "")))
        return;
    if (++*n_listed_io > LISTED_MAX || list->len > LISTED_MAX_BYTES) {
        skip_for_room(skill, parts->findings->skipped);
        return;
    }
    strbuf_appendf(list, "%s<skill><name>", list->len > 0 ? "\n" : "");
    append_escaped(list, json_text_or(skill, "name", ""));
    strbuf_append(list, "</name><description>");
    append_escaped(list, json_text_or(skill, "description", ""));
    strbuf_append(list, "</description></skill>");
}

static void append_skills(const struct context_parts *parts)
{
    CLEANUP(strbuf_done) struct strbuf list = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_t *found = parts->findings->skills;
    const char *name = NULL;
    json_t *skill = NULL;
    size_t n_listed = 0;
    size_t i = 0;

    json_array_foreach (json_object_get(parts->context, "skills"), i, skill) {
        if (json_object_get(found, json_text_or(skill, "name", "")) == NULL)
            list_skill(parts, skill, &n_listed, &list);
    }
    json_object_foreach (found, name, skill)
        list_skill(parts, skill, &n_listed, &list);
    if (list.len == 0)
        return;
    catalogue_append(parts->catalogue, TEXT_AVAILABLE_SKILLS, "",
                     &(struct text_value){"skills", list.text}, 1, &text);
    append_tagged(parts->out, "SKILLS", text.text);
}

/* --- the rest --- */

static void append_suffix(const struct context_parts *parts)
{
    const char *suffix = json_text_or(parts->context, "system_message_suffix", "");

    if (text_is_blank(suffix))
        return;
    append_gap(parts->out);
    strbuf_append(parts->out, suffix);
}

static void append_secrets(const struct context_parts *parts)
{
    CLEANUP(strbuf_done) struct strbuf list = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_t *registry = json_object_get(parts->conversation->spec, "secret_registry");
    json_t *sources = json_object_get(registry, "secret_sources");
    const char *name = NULL;
    json_t *source = NULL;

    if (json_object_size(sources) == 0)
        return;
    json_object_foreach (sources, name, source) {
        const char *description = json_text_or(source, "description", "");

        strbuf_appendf(&list, "%s- `$%s`%s%s", list.len > 0 ? "\n" : "", name,
                       description[0] != '\0' ? ": " : "", description);
    }
    catalogue_append(parts->catalogue, TEXT_CUSTOM_SECRETS, "",
                     &(struct text_value){"secrets", list.text}, 1, &text);
    append_tagged(parts->out, "CUSTOM_SECRETS", text.text);
}

#define EGRESS_LIST "list "

/* A part of the text for the environment; none without a value. */
static void append_environment_part(const struct context_parts *parts, const char *name,
                                    const char *value, struct strbuf *out)
{
    if (value[0] == '\0')
        return;
    if (out->len > 0)
        strbuf_append_char(out, '\n');
    catalogue_append(parts->catalogue, TEXT_ENVIRONMENT, name, &(struct text_value){"value", value},
                     1, out);
}

/* Words other than the runtime's are the sandbox's own, and left out. */
static void append_egress(const struct context_parts *parts, struct strbuf *out)
{
    const char *egress = json_text_or(parts->findings->environment, "egress", "");

    if (text_equal(egress, "internet"))
        append_environment_part(parts, "egress_internet", egress, out);
    if (text_equal(egress, "none"))
        append_environment_part(parts, "egress_none", egress, out);
    if (text_starts_with(egress, EGRESS_LIST))
        append_environment_part(parts, "egress_list", egress + strlen(EGRESS_LIST), out);
}

static void append_environment(const struct context_parts *parts)
{
    static const char *const members[] = {"working_dir", "repository", "branch", "commit", "image"};
    const json_t *environment = parts->findings->environment;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        append_environment_part(parts, members[i], json_text_or(environment, members[i], ""),
                                &text);
    append_egress(parts, &text);
    append_environment_part(parts, "ports", json_text_or(environment, "ports", ""), &text);
    append_environment_part(parts, "system", json_text_or(environment, "system", ""), &text);
    if (text.len > 0)
        append_tagged(parts->out, "ENVIRONMENT", text.text);
}

static void append_context(const struct context_parts *parts)
{
    const char *now = json_text_or(parts->context, "current_datetime", NULL);

    if (parts->findings != NULL)
        append_soul(parts);
    append_repository(parts);
    if (parts->findings != NULL) {
        append_memories(parts);
        append_skills(parts);
    }
    append_suffix(parts);
    append_secrets(parts);
    if (parts->findings != NULL)
        append_environment(parts);
    if (now != NULL)
        append_tagged(parts->out, "CURRENT_DATETIME", now);
}

/* findings: NULL at the conversation's start. */
static void build_context(const struct catalogue *catalogue,
                          const struct conversation *conversation,
                          const struct prompt_findings *findings, struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const struct context_parts parts = {
        .catalogue = catalogue,
        .conversation = conversation,
        .context = json_object_get(conversation_agent(conversation), "agent_context"),
        .findings = findings,
        .out = &text,
    };

    append_context(&parts);
    strbuf_append_bytes(out, text.text, text.len);
}

void prompt_append_context(const struct catalogue *catalogue,
                           const struct conversation *conversation, struct strbuf *out)
{
    build_context(catalogue, conversation, NULL, out);
}

void prompt_append_found_context(const struct catalogue *catalogue,
                                 const struct conversation *conversation,
                                 const struct prompt_findings *findings, struct strbuf *out)
{
    build_context(catalogue, conversation, findings, out);
}
