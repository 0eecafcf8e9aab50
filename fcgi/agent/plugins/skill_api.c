/*
 * Skills: the user's installed ones, those in files of the caller's shared sandbox (the user's home
 * and a project), and those from sources that the client names. deft has none of its own.
 */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/plugins/installed.h"
#include "fcgi/agent/plugins/skill_sources.h"
#include "fcgi/agent/workspace/project_files.h"
#include "fcgi/core/reply.h"
#include "fcgi/sandbox/sandbox_request.h"
#include "model/plugins/project_files.h"
#include "model/plugins/project_skills.h"
#include "model/schema/object_schema.h"

static const struct field market_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "source", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "ref", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "repo_path", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "auto_load", .kind = FIELD_ANY, .fallback = "false"},
};
static const struct object_schema market_schema = SCHEMA(market_fields);

static const struct field organisation_fields[] = {
    {.name = "repository", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "provider", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "org_repo_url", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "org_name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema organisation_schema = SCHEMA(organisation_fields);

static const struct field url_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "url", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "port", .kind = FIELD_INT, .rules = FIELD_REQUIRED},
};
static const struct object_schema url_schema = SCHEMA(url_fields);

static const struct field sandbox_fields[] = {
    {.name = "exposed_urls", .kind = FIELD_OBJECTS, .fallback = "[]", .items = &url_schema},
};
static const struct object_schema sandbox_schema = SCHEMA(sandbox_fields);

static const struct field request_fields[] = {
    {.name = "load_public", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "load_user", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "load_project", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "load_org", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "marketplace_path", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "registered_marketplaces", .kind = FIELD_OBJECTS, .items = &market_schema},
    {.name = "project_dir", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "org_configs",
     .kind = FIELD_OBJECTS,
     .rules = FIELD_NULLABLE,
     .items = &organisation_schema},
    {.name = "sandbox_config",
     .kind = FIELD_OBJECT,
     .rules = FIELD_NULLABLE,
     .items = &sandbox_schema},
};
const struct object_schema skills_request_schema = SCHEMA(request_fields);

static int read_skills(const struct request *request, const struct project_question *question,
                       struct skill_set *set, struct error *err)
{
    json_auto_t *files = NULL;
    struct project_file file;
    const char *ignored = NULL;

    if (project_files_read(request, question, &files, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(files); i++) {
        json_t *skill = NULL;

        if (!project_files_get(question, files, i, &file))
            continue;
        skill = project_skill_read(&file, &ignored);
        if (skill == NULL)
            continue;
        (void)json_object_del(skill, "paths");
        skill_set_add(set, skill, file.is_users ? SKILL_OF_USER : SKILL_OF_PROJECT);
    }
    return 0;
}

static int add_installed(const struct request *request, struct skill_set *set, struct error *err)
{
    json_auto_t *skills = NULL;
    json_t *skill = NULL;
    size_t i = 0;

    if (installed_skills(request, &skills, err) < 0)
        return -1;
    json_array_foreach (skills, i, skill)
        skill_set_add(set, json_incref(skill), SKILL_OF_USER);
    return 0;
}

/* POST {"load_user","load_project","project_dir",…} -> 200 {"skills","sources"} | 422 */
static int list(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(skill_set_done) struct skill_set set = skill_set_new();
    json_auto_t *body = NULL;
    json_auto_t *answer = json_object();
    struct project_question question = {.places = skill_places, .n_places = skill_places_n};

    if (request_json_schema(request, &skills_request_schema, &body, err) < 0)
        return -1;
    question.with_user = json_bool_or(body, "load_user", 1) != 0;
    if (json_bool_or(body, "load_project", 1))
        question.project_dir = json_text_or(body, "project_dir", NULL);
    skill_sources_add(request, body, &set);
    if (question.with_user && add_installed(request, &set, err) < 0)
        return -1;
    if (read_skills(request, &question, &set, err) < 0)
        return sandbox_request_failed(reply, err);
    skill_sources_add_sandbox(body, &set);
    json_put(answer, "skills", skill_set_list(&set));
    json_put(answer, "sources", skill_set_count(&set));
    return reply_json(reply, 200, answer);
}

/* GET -> 200 {"skills":[skill and "origin"]}: the choices for a profile */
static int catalog(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(skill_set_done) struct skill_set set = skill_set_new();
    const struct project_question question = {
        .places = skill_places, .n_places = skill_places_n, .with_user = true};
    json_auto_t *answer = json_object();
    const char *name = NULL;
    json_t *skill = NULL;

    if (add_installed(request, &set, err) < 0)
        return -1;
    if (read_skills(request, &question, &set, err) < 0)
        return sandbox_request_failed(reply, err);
    json_object_foreach (set.skills, name, skill)
        json_put_text(skill, "origin", "user");
    json_put(answer, "skills", skill_set_list(&set));
    return reply_json(reply, 200, answer);
}

/* POST -> 200 {"status","message"} */
static int sync(const struct request *request, struct reply *reply, struct error *err)
{
    json_auto_t *answer = json_object();

    (void)request;
    (void)err;
    json_put_text(answer, "status", "success");
    json_put_text(answer, "message", "There is nothing to fetch: this server has no public skills");
    return reply_json(reply, 200, answer);
}

/* GET -> 200 {"skills":[]}: deft has no marketplace */
static int marketplace(const struct request *request, struct reply *reply, struct error *err)
{
    json_auto_t *answer = json_object();

    (void)request;
    (void)err;
    json_put(answer, "skills", json_array());
    return reply_json(reply, 200, answer);
}

#define ROUTE(method, pattern, sandbox, body_max_bytes, handler)                                   \
    {method, pattern, ORIGIN_BOTH, ACCESS_CALLER, sandbox, body_max_bytes, handler}

const struct route skill_routes[] = {
    ROUTE(HTTP_POST, "/api/skills", SANDBOX_DRIVES, BODY_LARGE_BYTES, list),
    ROUTE(HTTP_GET, "/api/skills/catalog", SANDBOX_REFUSED, 0, catalog),
    ROUTE(HTTP_POST, "/api/skills/sync", SANDBOX_REFUSED, BODY_SMALL_BYTES, sync),
    ROUTE(HTTP_GET, "/api/skills/marketplace", SANDBOX_REFUSED, 0, marketplace),
    {.handle = NULL},
};
