#include "fcgi/agent/plugins/installed.h"

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/plugins/installed_kind.h"
#include "fcgi/core/reply.h"
#include "fcgi/settings/user_documents.h"
#include "model/schema/object_schema.h"
#include "start/installed_skills.h"

/* --- what others need of it --- */

static int add_skills(const struct request *request, enum collection collection, json_t *skills,
                      struct error *err)
{
    const struct document_scope scope = user_documents_scope(request);

    if (request->principal.kind == PRINCIPAL_SANDBOX_KEY)
        return 0;
    return installed_skills_add(&scope, collection, skills, err);
}

int installed_skills(const struct request *request, json_t **skills_out, struct error *err)
{
    json_auto_t *skills = json_array();

    if (add_skills(request, COLLECTION_INSTALLED_PLUGINS, skills, err) < 0 ||
        add_skills(request, COLLECTION_INSTALLED_SKILLS, skills, err) < 0)
        return -1;
    *skills_out = json_incref(skills);
    return 0;
}

int installed_plugins(const struct request *request, json_t **plugins_out, struct error *err)
{
    CLEANUP(document_list_done) struct document_list list = DOCUMENT_LIST_INIT;
    const struct document_scope scope = user_documents_scope(request);
    json_auto_t *plugins = json_array();

    if (request->principal.kind != PRINCIPAL_SANDBOX_KEY &&
        document_store_list(&scope, COLLECTION_INSTALLED_PLUGINS, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < list.n; i++) {
        const json_t *body = list.items[i].body;
        json_t *plugin = NULL;

        if (!installed_is_on(&list.items[i]))
            continue;
        plugin = json_object();
        json_put_text(plugin, "name", list.items[i].name);
        json_put_text(plugin, "version", json_text_or(body, "version", ""));
        json_put_text(plugin, "description", json_text_or(body, "description", ""));
        json_put_text(plugin, "path", json_text_or(body, "install_path", ""));
        json_put(plugin, "skills", installed_summaries(json_object_get(body, "skills")));
        json_put(plugin, "files", json_incref(json_object_get(body, "files")));
        json_push(plugins, plugin);
    }
    *plugins_out = json_incref(plugins);
    return 0;
}

/* --- the routes --- */

/* GET -> 200 {list} */
static int list(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_list_done) struct document_list documents = DOCUMENT_LIST_INIT;
    const struct installed_kind *kind = installed_kind_of(request);
    const struct document_scope scope = user_documents_scope(request);
    json_auto_t *answer = json_object();
    json_t *items = json_array();

    json_put(answer, kind->list, items);
    if (document_store_list(&scope, kind->collection, &documents, err) < 0)
        return -1;
    for (size_t i = 0; i < documents.n; i++)
        json_push(items, installed_to_json(kind, &documents.items[i]));
    return reply_json(reply, 200, answer);
}

/* GET -> 200 | 404 */
static int get(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_done) struct document document = DOCUMENT_INIT;
    const struct installed_kind *kind = installed_kind_of(request);

    if (installed_load(request, &document, err) < 0)
        return -1;
    return installed_answer(kind, &document, reply);
}

static const struct field state_fields[] = {
    {.name = "enabled", .kind = FIELD_BOOL, .rules = FIELD_REQUIRED},
};
static const struct object_schema state_schema = SCHEMA(state_fields);

static int try_toggle(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_done) struct document document = DOCUMENT_INIT;
    const struct document_scope scope = user_documents_scope(request);
    json_auto_t *body = NULL;
    json_auto_t *answer = json_object();

    if (request_json_schema(request, &state_schema, &body, err) < 0 ||
        installed_load(request, &document, err) < 0)
        return -1;
    json_put(document.body, "enabled", json_incref(json_object_get(body, "enabled")));
    if (document_store_put(&scope, &document, 0, err) < 0)
        return -1;
    json_put_text(answer, "name", document.name);
    json_put(answer, "enabled", json_incref(json_object_get(body, "enabled")));
    return reply_json(reply, 200, answer);
}

/* PATCH {"enabled"} -> 200 {"name","enabled"} | 404 | 422 */
static int toggle(const struct request *request, struct reply *reply, struct error *err)
{
    return user_documents_retry(request, reply, try_toggle, err);
}

/*
 * DELETE -> 200 {"message"} | 404. The copy in the sandbox stays: other packages may be from the
 * same repository.
 */
static int uninstall(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
    const struct installed_kind *kind = installed_kind_of(request);
    const struct document_scope scope = user_documents_scope(request);
    json_auto_t *answer = json_object();
    const char *name = NULL;

    if (installed_path_name(request, &name, err) < 0)
        return -1;
    if (document_store_delete(&scope, kind->collection, name, err) < 0)
        return installed_not_found(kind, name, err);
    strbuf_appendf(&message, "%s '%s' is uninstalled", kind->word, name);
    json_put_text(answer, "message", message.text);
    return reply_json(reply, 200, answer);
}

#define ROUTE(method, pattern, body_max_bytes, handler)                                            \
    {method, pattern, ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, body_max_bytes, handler}
#define FAMILY(prefix, param)                                                                      \
    ROUTE(HTTP_GET, prefix "/installed", 0, list),                                                 \
        ROUTE(HTTP_GET, prefix "/installed/" param, 0, get),                                       \
        ROUTE(HTTP_PATCH, prefix "/installed/" param, BODY_SMALL_BYTES, toggle),                   \
        ROUTE(HTTP_DELETE, prefix "/installed/" param, 0, uninstall)

const struct route installed_routes[] = {
    FAMILY("/api/skills", "{skill_name}"),
    FAMILY("/api/plugins", "{plugin_name}"),
    {.handle = NULL},
};
