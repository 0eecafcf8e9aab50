#include "model/plugins/skill_file.h"

#include <stdbool.h>
#include <string.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/plugins/front_matter.h"

enum { NAME_MAX_CHARS = 64, DESCRIPTION_MAX_CHARS = 1024 };

struct memory_file {
    const char *file;
    const char *skill;
};

static const struct memory_file memory_files[] = {
    {"AGENTS.md", "agents"}, {"AGENT.md", "agents"},          {"CLAUDE.md", "claude"},
    {"GEMINI.md", "gemini"}, {".cursorrules", "cursorrules"},
};

/* Appends the last part of a path. */
static void append_last(const char *path, struct strbuf *out)
{
    const char *slash = strrchr(path, '/');

    strbuf_append(out, slash != NULL ? slash + 1 : path);
}

/* Appends the name of the folder that holds a file. */
static void append_folder(const char *path, struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;
    const char *slash = strrchr(path, '/');

    strbuf_append_bytes(&folder, path, slash != NULL ? (size_t)(slash - path) : 0);
    append_last(folder.text, out);
}

/* Appends a file's name without ".md". */
static void append_stem(const char *path, struct strbuf *out)
{
    append_last(path, out);
    if (out->len > 3 && text_equal_nocase(out->text + out->len - 3, ".md"))
        strbuf_truncate(out, out->len - 3);
}

static const char *memory_name(const char *path)
{
    CLEANUP(strbuf_done) struct strbuf file = STRBUF_INIT;

    append_last(path, &file);
    for (size_t i = 0; i < ARRAY_SIZE(memory_files); i++) {
        if (text_equal_nocase(memory_files[i].file, file.text))
            return memory_files[i].skill;
    }
    return NULL;
}

/* Returns a list of strings; a single string becomes a list. */
static json_t *texts_of(const json_t *value)
{
    json_t *list = json_array();
    json_t *item = NULL;
    size_t i = 0;

    if (json_is_string(value))
        json_push(list, json_text_of(json_string_value(value)));
    json_array_foreach (value, i, item) {
        if (json_is_string(item))
            json_push(list, json_incref(item));
    }
    return list;
}

static bool is_name(const char *name)
{
    size_t n = strlen(name);

    return n > 0 && n <= NAME_MAX_CHARS && strpbrk(name, "\r\n\t/") == NULL;
}

static json_t *cut_description(const char *text)
{
    return json_text(text, utf8_offset(text, strlen(text), DESCRIPTION_MAX_CHARS));
}

static const char *type_of(enum skill_form form, const json_t *triggers)
{
    if (form == SKILL_FOLDER)
        return "agentskills";
    return json_array_size(triggers) > 0 ? "knowledge" : "repo";
}

/* Returns the trigger words; a skill with inputs is also triggered by its name. */
static json_t *triggers_of(const json_t *head, const char *name)
{
    json_t *triggers = texts_of(json_object_get(head, "triggers"));

    if (json_object_get(head, "inputs") != NULL) {
        CLEANUP(strbuf_done) struct strbuf call = STRBUF_INIT;

        strbuf_appendf(&call, "/%s", name);
        json_push(triggers, json_text(call.text, call.len));
    }
    return triggers;
}

static json_t *make_skill(enum skill_form form, const char *name, const char *path,
                          const json_t *head, const char *body)
{
    json_auto_t *triggers = triggers_of(head, name);
    const char *description = json_text_or(head, "description", NULL);
    json_t *skill = json_object();

    json_put_text(skill, "name", name);
    json_put_text(skill, "type", type_of(form, triggers));
    json_put_text(skill, "content", body + strspn(body, "\r\n"));
    json_put(skill, "triggers", json_incref(triggers));
    json_put_text(skill, "source", path);
    json_put(skill, "description",
             description != NULL ? cut_description(description) : json_null());
    json_put(skill, "is_agentskills_format", json_boolean(form == SKILL_FOLDER));
    json_put(skill, "disable_model_invocation",
             json_boolean(json_bool_or(head, "disable-model-invocation", 0)));
    return skill;
}

static json_t *memory_from_file(const char *path, const char *text)
{
    json_auto_t *none = json_object();
    const char *known = memory_name(path);

    return known != NULL ? make_skill(SKILL_MEMORY, known, path, none, text) : NULL;
}

/* A folder of skills may hold texts for people. */
static bool is_for_people(enum skill_form form, const char *name)
{
    return form == SKILL_FILE &&
           (text_equal_nocase(name, "README") || text_equal_nocase(name, "SKILL"));
}

json_t *skill_from_file_whole(enum skill_form form, const char *path, const char *text,
                              const char **problem_out)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    json_auto_t *head = NULL;
    struct error err = ERROR_INIT;
    const char *body = text;
    json_t *skill = NULL;

    *problem_out = NULL;
    if (form == SKILL_MEMORY)
        return memory_from_file(path, text);
    if (form == SKILL_FOLDER)
        append_folder(path, &name);
    else
        append_stem(path, &name);
    if (is_for_people(form, name.text))
        return NULL;
    if (front_matter_read(text, &head, &body, &err) < 0) {
        *problem_out =
            err.code == ERROR_TOO_LARGE ? "its front matter is too large" : "it is not UTF-8 text";
        return NULL;
    }
    if (!is_name(json_text_or(head, "name", name.text))) {
        *problem_out = "its name is not valid";
        return NULL;
    }
    skill = make_skill(form, json_text_or(head, "name", name.text), path, head, body);
    json_put(skill, "paths", texts_of(json_object_get(head, "paths")));
    return skill;
}

json_t *skill_from_file(enum skill_form form, const char *path, const char *text)
{
    const char *ignored = NULL;
    json_t *skill = skill_from_file_whole(form, path, text, &ignored);

    if (skill != NULL)
        (void)json_object_del(skill, "paths");
    return skill;
}

json_t *sub_agent_from_file(const char *path, const char *text, const char *level)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    const char *body = text;
    json_auto_t *head = NULL;
    struct error ignored = ERROR_INIT;
    json_t *agent = NULL;

    if (front_matter_read(text, &head, &body, &ignored) < 0)
        return NULL;
    append_stem(path, &name);
    if (!is_name(json_text_or(head, "name", name.text)) || text_equal_nocase(name.text, "README"))
        return NULL;
    agent = json_object();
    json_put_text(agent, "name", json_text_or(head, "name", name.text));
    json_put_text(agent, "description", json_text_or(head, "description", ""));
    json_put_text(agent, "model", json_text_or(head, "model", "inherit"));
    json_put_text(agent, "color", json_text_or(head, "color", NULL));
    json_put(agent, "tools", texts_of(json_object_get(head, "tools")));
    json_put(agent, "skills", texts_of(json_object_get(head, "skills")));
    json_put_text(agent, "system_prompt", body + strspn(body, "\r\n"));
    json_put_text(agent, "source", path);
    json_put_text(agent, "level", level);
    json_put_text(agent, "permission_mode", json_text_or(head, "permission_mode", NULL));
    json_put(agent, "is_builtin", json_false());
    return agent;
}
