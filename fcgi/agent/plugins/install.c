/*
 * Installs skills and plugins from repositories as a user's documents.
 */
#include <stdbool.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/agent/agent.h"
#include "fcgi/agent/plugins/fetch.h"
#include "fcgi/agent/plugins/installed_kind.h"
#include "fcgi/reply.h"
#include "fcgi/sandbox_ask.h"
#include "fcgi/settings/keep.h"
#include "model/schema/shape.h"

enum { INSTALLED_MAX = 50, PACKAGE_MAX_BYTES = 1024 * 1024, KEEP_TRIES = 10 };

static const struct field install_fields[] = {
    {.name = "source", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED, .max_chars = 4096},
    {.name = "ref", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE, .max_chars = 255},
    {.name = "repo_path", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE, .max_chars = 1024},
    {.name = "force", .kind = FIELD_BOOL, .fallback = "false"},
};
static const struct shape install_shape = SHAPE(install_fields);

/* Installed packages are all read together, often: hence the limit. */
static int check_size(const struct request *request, const json_t *package, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    json_append_text(&text, package);
    if (text.len > PACKAGE_MAX_BYTES)
        return error_set(err, ERROR_INVALID, "%s texts are more than %d KiB",
                         installed_kind_of(request)->word, (int)PACKAGE_MAX_BYTES / 1024);
    return 0;
}

/* A fetched package and its source: the content of the document. */
struct arrival {
    json_t *package;
    json_t *credentials;
};

/* clang-format off */
#define ARRIVAL_INIT {NULL, NULL}
/* clang-format on */

static void arrival_done(struct arrival *arrival)
{
    json_decref(arrival->package);
    json_decref(arrival->credentials);
}

static void note_origin(const struct fetched *fetched, const struct fetch_wish *wish,
                        struct arrival *arrival)
{
    json_t *package = arrival->package;
    const struct source *source = &fetched->source;
    char now[CLOCK_TEXT_BYTES];

    clock_format_z(clock_utc_us(), now);
    json_put_text(package, "source", fetched_source(fetched, wish));
    json_put(package, "ref", json_text_of(source->ref));
    json_put(package, "repo_path", json_text_of(source->repo_path));
    json_put(package, "resolved_ref", fetched_ref(fetched));
    json_put_text(package, "install_path", json_text_or(fetched->answer, "path", ""));
    json_put_text(package, "installed_at", now);
    json_put(package, "enabled", json_true());
    arrival->credentials = json_object();
    json_put_text(arrival->credentials, "username", source->username);
    json_put_text(arrival->credentials, "password", source->password);
}

/*
 * Fetches and reads. A failure of the source is answered at once with 400, one of the package with
 * 422; *is_answered then says so.
 */
static int arrive(const struct request *request, const struct fetch_wish *wish, struct reply *reply,
                  struct arrival *arrival, bool *is_answered, struct error *err)
{
    CLEANUP(fetched_done) struct fetched fetched = FETCHED_INIT;
    struct package_folder folder = {NULL, NULL};

    *is_answered = true;
    if (fetch_run(request, wish, &fetched, err) < 0) {
        if (err->code == ERROR_INVALID || err->code == ERROR_NOT_FOUND)
            return reply_detail(reply, 400, err->message);
        return sandbox_ask_failed(reply, err);
    }
    *is_answered = false;
    folder = fetched_folder(&fetched);
    if (installed_kind_of(request)->read(&folder, &arrival->package, err) < 0 ||
        check_size(request, arrival->package, err) < 0)
        return -1;
    note_origin(&fetched, wish, arrival);
    return 0;
}

enum replacing { REPLACE_NEVER, REPLACE_ALWAYS };

/* Stores an arrival as a new document, or over an existing one. */
static int put(const struct request *request, const struct arrival *arrival,
               enum replacing replacing, struct document *document_out, struct error *err)
{
    CLEANUP(document_done) struct document document = DOCUMENT_INIT;
    const struct installed_kind *kind = installed_kind_of(request);
    const struct shelf shelf = keep_shelf(request);
    const char *name = json_text_or(arrival->package, "name", "");

    if (document_store_get(&shelf, kind->collection, name, &document, err) < 0) {
        if (err->code != ERROR_NOT_FOUND)
            return -1;
        document = document_new(kind->collection, name);
    } else if (replacing == REPLACE_NEVER) {
        return error_set(err, ERROR_CONFLICT, "%s '%s' is already installed", kind->word, name);
    }
    json_decref(document.body);
    json_decref(document.secrets);
    document.body = json_incref(arrival->package);
    document.secrets = json_incref(arrival->credentials);
    if (document_store_put(&shelf, &document, INSTALLED_MAX, err) < 0)
        return -1;
    *document_out = document;
    document = (struct document)DOCUMENT_INIT;
    return 0;
}

static int keep_arrival(const struct request *request, const struct arrival *arrival,
                        enum replacing replacing, struct document *document_out, struct error *err)
{
    int rc = put(request, arrival, replacing, document_out, err);

    for (int i = 1; i < KEEP_TRIES && rc < 0 && err->code == ERROR_STALE; i++)
        rc = put(request, arrival, replacing, document_out, err);
    return rc;
}

/* POST {"source","ref","repo_path","force"} -> 200 | 400 source | 409 there already | 422 */
static int install(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(arrival_done) struct arrival arrival = ARRIVAL_INIT;
    CLEANUP(document_done) struct document document = DOCUMENT_INIT;
    json_auto_t *body = NULL;
    struct fetch_wish wish = {.timeout_s = FETCH_DEFAULT_S};
    bool is_answered = false;

    if (request_json_shape(request, &install_shape, &body, err) < 0)
        return -1;
    wish.source = json_text_or(body, "source", "");
    wish.ref = json_text_or(body, "ref", NULL);
    wish.repo_path = json_text_or(body, "repo_path", NULL);
    if (arrive(request, &wish, reply, &arrival, &is_answered, err) < 0)
        return -1;
    if (is_answered)
        return 0;
    if (keep_arrival(request, &arrival,
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
    CLEANUP(arrival_done) struct arrival arrival = ARRIVAL_INIT;
    CLEANUP(document_done) struct document old = DOCUMENT_INIT;
    CLEANUP(document_done) struct document fresh = DOCUMENT_INIT;
    const struct installed_kind *kind = installed_kind_of(request);
    struct fetch_wish wish = {.timeout_s = FETCH_DEFAULT_S};
    bool is_answered = false;

    if (installed_load(request, &old, err) < 0)
        return -1;
    wish.source = json_text_or(old.body, "source", "");
    wish.ref = json_text_or(old.body, "ref", NULL);
    wish.repo_path = json_text_or(old.body, "repo_path", NULL);
    wish.credentials = old.secrets;
    if (arrive(request, &wish, reply, &arrival, &is_answered, err) < 0)
        return -1;
    if (is_answered)
        return 0;
    if (!text_equal(json_text_or(arrival.package, "name", ""), old.name))
        return error_set(err, ERROR_INVALID, "The source holds another one now, '%s'",
                         json_text_or(arrival.package, "name", ""));
    json_put(arrival.package, "enabled", json_boolean(installed_is_on(&old)));
    if (keep_arrival(request, &arrival, REPLACE_ALWAYS, &fresh, err) < 0)
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
