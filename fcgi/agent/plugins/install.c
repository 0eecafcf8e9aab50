/*
 * Installs skills and plugins from repositories as a user's documents.
 */
#include <stdbool.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/plugins/installed_kind.h"
#include "fcgi/agent/plugins/source_fetch.h"
#include "fcgi/core/reply.h"
#include "fcgi/sandbox/sandbox_request.h"
#include "fcgi/settings/user_documents.h"
#include "model/schema/object_schema.h"
#include "start/installed_skills.h"

enum { INSTALLED_MAX = 50, PACKAGE_MAX_BYTES = 1024 * 1024, KEEP_TRIES = 10 };

static const struct field install_fields[] = {
    {.name = "source", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED, .max_chars = 4096},
    {.name = "ref", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE, .max_chars = 255},
    {.name = "repo_path", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE, .max_chars = 1024},
    {.name = "force", .kind = FIELD_BOOL, .fallback = "false"},
};
static const struct object_schema install_schema = SCHEMA(install_fields);

/* Installed packages are all read together, often: hence the limit. */
static int check_size(const struct request *request, const json_t *package, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    json_append_text(&text, package);
    if (text.len > PACKAGE_MAX_BYTES)
        return error_set(err, ERROR_INVALID, "the texts of a %s may have at most %d KiB",
                         installed_kind_of(request)->word, (int)PACKAGE_MAX_BYTES / 1024);
    return 0;
}

/* A fetched package and its source: the content of the document. */
struct install_result {
    json_t *package;
    json_t *credentials;
};

/* clang-format off */
#define ARRIVAL_INIT {NULL, NULL}
/* clang-format on */

static void arrival_done(struct install_result *result)
{
    json_decref(result->package);
    json_decref(result->credentials);
}

static void note_origin(const struct fetched *fetched, const struct source_fetch *fetch,
                        struct install_result *result)
{
    json_t *package = result->package;
    const struct plugin_source *source = &fetched->source;
    char now[CLOCK_TEXT_BYTES];

    clock_format_z(clock_utc_us(), now);
    json_put_text(package, "source", fetched_source(fetched, fetch));
    json_put(package, "ref", json_text_of(source->ref));
    json_put(package, "repo_path", json_text_of(source->repo_path));
    json_put(package, "resolved_ref", fetched_ref(fetched));
    json_put_text(package, "install_path", json_text_or(fetched->answer, "path", ""));
    json_put_text(package, "installed_at", now);
    json_put(package, "enabled", json_true());
    result->credentials = json_object();
    json_put_text(result->credentials, "username", source->username);
    json_put_text(result->credentials, "password", source->password);
}

/*
 * Fetches and reads. A failure of the source is answered at once with 400, one of the package with
 * 422; *is_answered then says so.
 */
static int arrive(const struct request *request, const struct source_fetch *fetch,
                  struct reply *reply, struct install_result *result, bool *is_answered,
                  struct error *err)
{
    CLEANUP(fetched_done) struct fetched fetched = FETCHED_INIT;
    struct plugin_folder folder = {NULL, NULL};

    *is_answered = true;
    if (source_fetch_run(request, fetch, &fetched, err) < 0) {
        if (err->code == ERROR_INVALID || err->code == ERROR_NOT_FOUND)
            return reply_detail(reply, 400, err->message);
        return sandbox_request_failed(reply, err);
    }
    *is_answered = false;
    folder = fetched_folder(&fetched);
    if (installed_kind_of(request)->read(&folder, &result->package, err) < 0 ||
        check_size(request, result->package, err) < 0)
        return -1;
    note_origin(&fetched, fetch, result);
    return 0;
}

enum replacing { REPLACE_NEVER, REPLACE_ALWAYS };

/* Stores a result as a new document, or over an existing one. */
static int put(const struct request *request, const struct install_result *result,
               enum replacing replacing, struct document *document_out, struct error *err)
{
    CLEANUP(document_done) struct document document = DOCUMENT_INIT;
    const struct installed_kind *kind = installed_kind_of(request);
    const struct document_scope scope = user_documents_scope(request);
    const char *name = json_text_or(result->package, "name", "");

    if (document_store_get(&scope, kind->collection, name, &document, err) < 0) {
        if (err->code != ERROR_NOT_FOUND)
            return -1;
        document = document_new(kind->collection, name);
    } else if (replacing == REPLACE_NEVER) {
        return error_set(err, ERROR_CONFLICT, "%s '%s' is already installed", kind->word, name);
    }
    json_decref(document.body);
    json_decref(document.secrets);
    document.body = json_incref(result->package);
    document.secrets = json_incref(result->credentials);
    if (document_store_put(&scope, &document, INSTALLED_MAX, err) < 0)
        return -1;
    *document_out = document;
    document = (struct document)DOCUMENT_INIT;
    return 0;
}

static int store_result(const struct request *request, const struct install_result *result,
                        enum replacing replacing, struct document *document_out, struct error *err)
{
    int rc = put(request, result, replacing, document_out, err);

    for (int i = 1; i < KEEP_TRIES && rc < 0 && err->code == ERROR_STALE; i++)
        rc = put(request, result, replacing, document_out, err);
    return rc;
}

/* POST {"source","ref","repo_path","force"} -> 200 | 400 source | 409 there already | 422 */
static int install(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(arrival_done) struct install_result result = ARRIVAL_INIT;
    CLEANUP(document_done) struct document document = DOCUMENT_INIT;
    json_auto_t *body = NULL;
    struct source_fetch fetch = {.timeout_s = FETCH_DEFAULT_S};
    bool is_answered = false;

    if (request_json_schema(request, &install_schema, &body, err) < 0)
        return -1;
    fetch.source = json_text_or(body, "source", "");
    fetch.ref = json_text_or(body, "ref", NULL);
    fetch.repo_path = json_text_or(body, "repo_path", NULL);
    if (arrive(request, &fetch, reply, &result, &is_answered, err) < 0)
        return -1;
    if (is_answered)
        return 0;
    if (store_result(request, &result,
                     json_bool_or(body, "force", 0) ? REPLACE_ALWAYS : REPLACE_NEVER, &document,
                     err) < 0)
        return -1;
    return installed_answer(installed_kind_of(request), &document, reply);
}

static int answer_refreshed(const struct installed_kind *kind, const struct document *document,
                            struct reply *reply)
{
    CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
    json_auto_t *answer = json_object();

    strbuf_appendf(&message, "%s '%s' is refreshed", kind->word, document->name);
    json_put_text(answer, "message", message.text);
    json_put(answer, kind->single, installed_to_json(kind, document));
    return reply_json(reply, 200, answer);
}

/* POST -> 200 {"message", kind: installed} | 400 source | 404 | 422 */
static int refresh(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(arrival_done) struct install_result result = ARRIVAL_INIT;
    CLEANUP(document_done) struct document old = DOCUMENT_INIT;
    CLEANUP(document_done) struct document fresh = DOCUMENT_INIT;
    const struct installed_kind *kind = installed_kind_of(request);
    struct source_fetch fetch = {.timeout_s = FETCH_DEFAULT_S};
    bool is_answered = false;

    if (installed_load(request, &old, err) < 0)
        return -1;
    fetch.source = json_text_or(old.body, "source", "");
    fetch.ref = json_text_or(old.body, "ref", NULL);
    fetch.repo_path = json_text_or(old.body, "repo_path", NULL);
    fetch.credentials = old.secrets;
    if (arrive(request, &fetch, reply, &result, &is_answered, err) < 0)
        return -1;
    if (is_answered)
        return 0;
    if (!text_equal(json_text_or(result.package, "name", ""), old.name))
        return error_set(err, ERROR_INVALID, "The source now contains a different one, '%s'",
                         json_text_or(result.package, "name", ""));
    json_put(result.package, "enabled", json_boolean(installed_is_on(&old)));
    if (store_result(request, &result, REPLACE_ALWAYS, &fresh, err) < 0)
        return -1;
    return answer_refreshed(kind, &fresh, reply);
}

#define ROUTE(pattern, handler)                                                                    \
    {HTTP_POST, pattern, ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, BODY_SMALL_BYTES, handler}

const struct route install_routes[] = {
    ROUTE("/api/skills/install", install),
    ROUTE("/api/skills/installed/{skill_name}/refresh", refresh),
    ROUTE("/api/plugins/install", install),
    ROUTE("/api/plugins/installed/{plugin_name}/refresh", refresh),
    {.handle = NULL},
};
