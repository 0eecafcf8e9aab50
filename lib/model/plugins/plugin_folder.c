#include "model/plugins/plugin_folder.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/plugins/front_matter.h"
#include "model/plugins/skill_file.h"

enum { NAME_MAX_CHARS = 255 };

static const char *const manifests[] = {".plugin/plugin.json", ".claude-plugin/plugin.json",
                                        "plugin.json"};
static const char *const markets[] = {".plugin/marketplace.json", ".claude-plugin/marketplace.json",
                                      "marketplaces/default.json", "marketplace.json"};

/* Folders that hold skills: each skill is a file, or a folder with SKILL.md. */
static const char *const skill_folders[] = {"skills/", ".openhands/skills/", ".agents/skills/",
                                            "microagents/", ".openhands/microagents/"};

bool plugin_name_is_valid(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && len <= NAME_MAX_CHARS && name[0] != '-' && name[len - 1] != '-' &&
           strstr(name, "--") == NULL &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

/* Returns the text of a file, or NULL. Borrowed. */
static const char *text_of(const struct plugin_folder *folder, const char *path)
{
    const json_t *file = NULL;
    size_t i = 0;

    json_array_foreach (folder->files, i, file) {
        if (text_equal(json_text_or(file, "path", ""), path))
            return json_text_or(file, "text", NULL);
    }
    return NULL;
}

/* Returns the first of several files that is a JSON object, or NULL. A new reference. */
static json_t *first_object(const struct plugin_folder *folder, const char *const *paths, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct error ignored = ERROR_INIT;
        const char *text = text_of(folder, paths[i]);
        json_auto_t *json = NULL;

        if (text != NULL && json_parse(text, strlen(text), &json, &ignored) == 0 &&
            json_is_object(json))
            return json_incref(json);
    }
    return NULL;
}

static json_t *skill_of(const struct plugin_folder *folder, enum skill_form form, const char *path,
                        const char *text)
{
    CLEANUP(strbuf_done) struct strbuf whole = STRBUF_INIT;

    strbuf_appendf(&whole, "%s/%s", folder->path, path);
    return skill_from_file(form, whole.text, text);
}

static int refuse_name(const char *what, const char *name, struct error *err)
{
    return error_set(
        err, ERROR_INVALID,
        "The name of a %s may contain only lower-case letters, digits and single dashes, not '%s'",
        what, name);
}

int plugin_folder_read_skill(const struct plugin_folder *folder, json_t **package_out,
                             struct error *err)
{
    const char *text = text_of(folder, "SKILL.md");
    json_auto_t *skill = NULL;
    json_auto_t *head = NULL;
    const char *body = NULL;
    json_t *package = NULL;
    json_t *skills = NULL;

    if (text != NULL && front_matter_read(text, &head, &body, err) < 0)
        return error_wrap(err, "SKILL.md");
    if (text != NULL)
        skill = skill_of(folder, SKILL_FOLDER, "SKILL.md", text);
    if (skill == NULL)
        return error_set(err, ERROR_INVALID, "There is no SKILL.md with a valid skill");
    if (!plugin_name_is_valid(json_text_or(skill, "name", "")))
        return refuse_name("skill", json_text_or(skill, "name", ""), err);
    package = json_object();
    skills = json_array();
    json_push(skills, json_incref(skill));
    json_put_text(package, "name", json_text_or(skill, "name", ""));
    json_put_text(package, "version", json_text_or(head, "version", ""));
    json_put_text(package, "description", json_text_or(skill, "description", ""));
    json_put(package, "skills", skills);
    *package_out = package;
    return 0;
}

/* Gives the form of a file in a skills folder; false if it is not a skill. */
static bool form_of(const char *rest, enum skill_form *form_out)
{
    const char *slash = strchr(rest, '/');

    if (slash == NULL && !text_equal(rest, "SKILL.md")) {
        *form_out = SKILL_FILE;
        return text_ends_with(rest, ".md");
    }
    *form_out = SKILL_FOLDER;
    return slash == NULL || text_equal(slash + 1, "SKILL.md");
}

/* Returns the part of a path after a skills folder below the given folder; NULL if it is in none.
 * The given folder may itself be a skill. */
static const char *rest_of(const char *path, const char *below)
{
    size_t len = strlen(below);

    if (len > 0 && (strncmp(path, below, len) != 0 || path[len] != '/'))
        return NULL;
    path += len > 0 ? len + 1 : 0;
    if (text_equal(path, "SKILL.md"))
        return path;
    for (size_t i = 0; i < ARRAY_SIZE(skill_folders); i++) {
        if (text_starts_with(path, skill_folders[i]))
            return path + strlen(skill_folders[i]);
    }
    return NULL;
}

json_t *plugin_folder_read_skills(const struct plugin_folder *folder, const char *below)
{
    json_t *skills = json_array();
    const json_t *file = NULL;
    size_t i = 0;

    json_array_foreach (folder->files, i, file) {
        const char *path = json_text_or(file, "path", "");
        const char *text = json_text_or(file, "text", NULL);
        const char *rest = rest_of(path, below);
        enum skill_form form = SKILL_FILE;
        json_t *skill = NULL;

        if (text == NULL || rest == NULL || !form_of(rest, &form))
            continue;
        skill = skill_of(folder, form, path, text);
        if (skill != NULL)
            json_push(skills, skill);
    }
    return skills;
}

static json_t *names_of_commands(const struct plugin_folder *folder)
{
    static const char place[] = "commands/";
    json_t *names = json_array();
    const json_t *file = NULL;
    size_t i = 0;

    json_array_foreach (folder->files, i, file) {
        const char *path = json_text_or(file, "path", "");
        const char *name = path + strlen(place);

        if (text_starts_with(path, place) && strchr(name, '/') == NULL &&
            text_ends_with(name, ".md"))
            json_push(names, json_text(name, strlen(name) - 3));
    }
    return names;
}

static json_t *names_of_files(const struct plugin_folder *folder)
{
    json_t *names = json_array();
    const json_t *file = NULL;
    size_t i = 0;

    json_array_foreach (folder->files, i, file) {
        const char *path = json_text_or(file, "path", "");

        json_push(names, json_text(path, strlen(path)));
    }
    return names;
}

int plugin_folder_read_plugin(const struct plugin_folder *folder, json_t **package_out,
                              struct error *err)
{
    json_auto_t *manifest = first_object(folder, manifests, ARRAY_SIZE(manifests));
    const char *slash = strrchr(folder->path, '/');
    const char *name = NULL;
    json_t *package = NULL;

    if (manifest == NULL)
        return error_set(err, ERROR_INVALID, "There is no plugin manifest (.plugin/plugin.json)");
    name = json_text_or(manifest, "name", slash != NULL ? slash + 1 : folder->path);
    if (!plugin_name_is_valid(name))
        return refuse_name("plugin", name, err);
    package = json_object();
    json_put_text(package, "name", name);
    json_put_text(package, "version", json_text_or(manifest, "version", ""));
    json_put_text(package, "description", json_text_or(manifest, "description", ""));
    json_put(package, "manifest", json_incref(manifest));
    json_put(package, "skills", plugin_folder_read_skills(folder, ""));
    json_put(package, "commands", names_of_commands(folder));
    json_put(package, "files", names_of_files(folder));
    *package_out = package;
    return 0;
}

json_t *plugin_folder_read_market(const struct plugin_folder *folder, const char *path)
{
    json_auto_t *named = path != NULL ? first_object(folder, &path, 1) : NULL;
    json_auto_t *market =
        named != NULL ? json_incref(named) : first_object(folder, markets, ARRAY_SIZE(markets));
    json_t *list = json_object_get(market, "plugins");

    if (!json_is_array(list))
        list = json_object_get(market, "skills");
    return json_is_array(list) ? json_incref(list) : NULL;
}
