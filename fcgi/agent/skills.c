/*
 * Skills: those that lie in the caller's shared sandbox, in the user's home and in a project. deft
 * keeps no skills of its own and installs none.
 */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/agent/agent.h"
#include "fcgi/agent/installed.h"
#include "fcgi/agent/project_files.h"
#include "fcgi/reply.h"
#include "fcgi/sandbox_ask.h"
#include "model/shape.h"
#include "model/skill_file.h"

static const char *const folder_names[] = {"SKILL.md", NULL};
static const char *const file_names[] = {"*.md", NULL};
static const char *const memory_names[] = {"AGENTS.md", "AGENT.md",     "CLAUDE.md",
                                           "GEMINI.md", ".cursorrules", NULL};

/* A later one of the same name wins. */
static const struct file_place places[] = {
    {".openhands/microagents", file_names, 1, SKILL_FILE},
    {".openhands/skills", file_names, 1, SKILL_FILE},
    {".openhands/skills", folder_names, 2, SKILL_FOLDER},
    {".agents/skills", file_names, 1, SKILL_FILE},
    {".agents/skills", folder_names, 2, SKILL_FOLDER},
    {"", memory_names, 1, SKILL_MEMORY},
};

static const struct field request_fields[] = {
    {.name = "load_public", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "load_user", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "load_project", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "load_org", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "marketplace_path", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "registered_marketplaces", .kind = FIELD_LIST},
    {.name = "project_dir", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "org_configs", .kind = FIELD_LIST, .rules = FIELD_NULLABLE},
    {.name = "sandbox_config", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
};
const struct shape skills_request_shape = SHAPE(request_fields);

/* Memory files are a repository's; in a home they are for other programs. */
static json_t *read_skill(const struct project_file *file)
{
    if (file->is_users && file->place->form == SKILL_MEMORY)
        return NULL;
    return skill_from_file((enum skill_form)file->place->form, file->path, file->text);
}

/* Name → skill, and name → true for those of the project. */
struct skill_set {
    json_t *skills;
    json_t *of_project;
};

static void skill_set_done(struct skill_set *set)
{
    json_decref(set->skills);
    json_decref(set->of_project);
}

static int read_skills(const struct request *request, const struct project_question *question,
                       struct skill_set *set, struct error *err)
{
    json_auto_t *files = NULL;
    struct project_file file;

    if (project_files_read(request, question, &files, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(files); i++) {
        json_t *skill = NULL;

        if (!project_files_get(question, files, i, &file))
            continue;
        skill = read_skill(&file);
        if (skill == NULL)
            continue;
        if (!file.is_users)
            json_put(set->of_project, json_text_or(skill, "name", ""), json_true());
        json_put(set->skills, json_text_or(skill, "name", ""), skill);
    }
    return 0;
}

static json_t *skill_list(const struct skill_set *set)
{
    json_t *list = json_array();
    const char *name = NULL;
    json_t *skill = NULL;

    json_object_foreach (set->skills, name, skill)
        json_push(list, json_incref(skill));
    return list;
}

static json_t *count_sources(const struct skill_set *set)
{
    size_t n_project = json_object_size(set->of_project);
    json_t *sources = json_object();

    json_put(sources, "sandbox", json_integer(0));
    json_put(sources, "registered_marketplaces", json_integer(0));
    json_put(sources, "sdk_base",
             json_integer((json_int_t)(json_object_size(set->skills) - n_project)));
    json_put(sources, "org", json_integer(0));
    json_put(sources, "project", json_integer((json_int_t)n_project));
    return sources;
}

/* POST {"load_user","load_project","project_dir",…} -> 200 {"skills","sources"} | 422 */
static int list(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(skill_set_done) struct skill_set set = {json_object(), json_object()};
    json_auto_t *body = NULL;
    json_auto_t *answer = json_object();
    struct project_question question = {.places = places, .n_places = ARRAY_SIZE(places)};

    if (request_json_shape(request, &skills_request_shape, &body, err) < 0)
        return -1;
    question.with_user = json_bool_or(body, "load_user", 1) != 0;
    if (json_bool_or(body, "load_project", 1))
        question.project_dir = json_text_or(body, "project_dir", NULL);
    if (read_skills(request, &question, &set, err) < 0)
        return sandbox_ask_failed(reply, err);
    json_put(answer, "skills", skill_list(&set));
    json_put(answer, "sources", count_sources(&set));
    return reply_json(reply, 200, answer);
}

/* GET -> 200 {"skills":[skill and "origin"]}: what a profile can choose from */
static int catalog(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(skill_set_done) struct skill_set set = {json_object(), json_object()};
    const struct project_question question = {
        .places = places, .n_places = ARRAY_SIZE(places), .with_user = true};
    json_auto_t *answer = json_object();
    const char *name = NULL;
    json_t *skill = NULL;

    if (read_skills(request, &question, &set, err) < 0)
        return sandbox_ask_failed(reply, err);
    json_object_foreach (set.skills, name, skill)
        json_put_text(skill, "origin", "user");
    json_put(answer, "skills", skill_list(&set));
    return reply_json(reply, 200, answer);
}

/* POST -> 200 {"status","message"} */
static int sync(const struct request *request, struct reply *reply, struct error *err)
{
    json_auto_t *answer = json_object();

    (void)request;
    (void)err;
    json_put_text(answer, "status", "success");
    json_put_text(answer, "message",
                  "There is nothing to fetch: this server keeps no public skills");
    return reply_json(reply, 200, answer);
}

static const struct installed_kind kind = {"Skill", "skills", "skill_name"};

static int installed(const struct request *request, struct reply *reply, struct error *err)
{
    (void)request;
    (void)err;
    return installed_list(&kind, reply);
}

static int unknown(const struct request *request, struct reply *reply, struct error *err)
{
    (void)reply;
    return installed_unknown(&kind, request, err);
}

#define ROUTE(method, pattern, body_max_bytes, handler)                                            \
    {method, pattern, ORIGIN_BOTH, ACCESS_CALLER, body_max_bytes, handler}

const struct route skill_routes[] = {
    ROUTE(HTTP_POST, "/api/skills", BODY_LARGE_BYTES, list),
    ROUTE(HTTP_GET, "/api/skills/catalog", 0, catalog),
    ROUTE(HTTP_POST, "/api/skills/sync", BODY_SMALL_BYTES, sync),
    ROUTE(HTTP_GET, "/api/skills/marketplace", 0, installed),
    ROUTE(HTTP_GET, "/api/skills/installed", 0, installed),
    ROUTE(HTTP_GET, "/api/skills/installed/{skill_name}", 0, unknown),
    ROUTE(HTTP_PATCH, "/api/skills/installed/{skill_name}", BODY_SMALL_BYTES, unknown),
    ROUTE(HTTP_DELETE, "/api/skills/installed/{skill_name}", 0, unknown),
    ROUTE(HTTP_POST, "/api/skills/installed/{skill_name}/refresh", BODY_SMALL_BYTES, unknown),
    {.handle = NULL},
};
