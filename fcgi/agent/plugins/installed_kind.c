#include "fcgi/agent/plugins/installed_kind.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/router.h"
#include "fcgi/settings/user_documents.h"

static const struct installed_kind kinds[] = {
    {"/api/skills/", "Skill", "skills", "skill", "skill_name", COLLECTION_INSTALLED_SKILLS,
     plugin_folder_read_skill},
    {"/api/plugins/", "Plugin", "plugins", "plugin", "plugin_name", COLLECTION_INSTALLED_PLUGINS,
     plugin_folder_read_plugin},
};

const struct installed_kind *installed_kind_of(const struct request *request)
{
    return &kinds[text_starts_with(request->route->pattern, kinds[0].routes) ? 0 : 1];
}

json_t *installed_summaries(const json_t *skills)
{
    json_t *list = json_array();
    const json_t *skill = NULL;
    size_t i = 0;

    json_array_foreach (skills, i, skill) {
        json_t *summary = json_object();

        json_put_text(summary, "name", json_text_or(skill, "name", ""));
        json_put(summary, "description", json_incref(json_object_get(skill, "description")));
        json_push(list, summary);
    }
    return list;
}

json_t *installed_to_json(const struct installed_kind *kind, const struct document *document)
{
    static const char *const members[] = {"version",      "description",  "enabled",
                                          "source",       "resolved_ref", "repo_path",
                                          "installed_at", "install_path"};
    json_t *json = json_object();

    json_put_text(json, "name", document->name);
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        json_put(json, members[i], json_incref(json_object_get(document->body, members[i])));
    if (kind->collection != COLLECTION_INSTALLED_PLUGINS)
        return json;
    json_put(json, "skills", installed_summaries(json_object_get(document->body, "skills")));
    json_put(json, "files", json_incref(json_object_get(document->body, "files")));
    return json;
}

int installed_answer(const struct installed_kind *kind, const struct document *document,
                     struct reply *reply)
{
    json_auto_t *json = installed_to_json(kind, document);

    return reply_json(reply, 200, json);
}

int installed_path_name(const struct request *request, const char **name_out, struct error *err)
{
    const struct installed_kind *kind = installed_kind_of(request);
    static const struct validation_error problem = {
        "string_pattern_mismatch", "String should match pattern '^[a-z0-9]+(-[a-z0-9]+)*$'", NULL};

    json_auto_t *input = NULL;

    *name_out = request_path_text(request, kind->param);
    if (plugin_name_is_valid(*name_out))
        return 0;
    input = json_text_of(*name_out);
    return request_problem(request, REQUEST_JSON_PATH("path", kind->param), &problem, input, err);
}

int installed_not_found(const struct installed_kind *kind, const char *name, struct error *err)
{
    if (err->code != ERROR_NOT_FOUND)
        return -1;
    return error_set(err, ERROR_NOT_FOUND, "%s '%s' is not installed", kind->word, name);
}

int installed_load(const struct request *request, struct document *document_out, struct error *err)
{
    const struct installed_kind *kind = installed_kind_of(request);
    const struct document_scope scope = user_documents_scope(request);
    const char *name = NULL;

    if (installed_path_name(request, &name, err) < 0)
        return -1;
    if (document_store_get(&scope, kind->collection, name, document_out, err) < 0)
        return installed_not_found(kind, name, err);
    return 0;
}
