/*
 * The user's secrets that a sandbox may read with its own key; and the user's log of these reads.
 */
#include "base/error.h"
#include "base/text.h"
#include "fcgi/app/app.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/request.h"
#include "fcgi/core/request_defaults.h"
#include "fcgi/settings/user_documents.h"
#include "start/sandbox_secret.h"
#include "store/user/secret_read_store.h"

static int check_sandbox(const struct request *request, struct error *err)
{
    if (text_equal(request_path_text(request, "sandbox_id"), request->principal.runtime_id))
        return 0;
    return error_set(err, ERROR_FORBIDDEN, "Session API key does not match sandbox");
}

/* GET -> 200 {"secrets": [{"name", "description"}]} | 401 | 403 */
static int list(const struct request *request, struct reply *reply, struct error *err)
{
    return check_sandbox(request, err) < 0 ? -1 : user_documents_list_secrets(request, reply, err);
}

/* GET -> 200 the value as text | 401 | 403 | 404; the read is recorded */
static int get(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_done) struct document secret = DOCUMENT_INIT;
    const struct start_context context = request_start_context(request);

    if (check_sandbox(request, err) < 0)
        return -1;
    if (sandbox_secret_read(&context, request_path_text(request, "name"), &secret, err) < 0)
        return user_documents_secret_not_found(err);
    return user_documents_reply_secret(reply, &secret);
}

/* The last id of the previous page; 0 if absent or malformed. */
static int64_t read_cursor(const struct request *request)
{
    const char *text = request_query(request, "page_id");
    int64_t id = 0;

    struct error ignored = ERROR_INIT;

    if (text == NULL || text_parse_int(text, 1, INT64_MAX, &id, &ignored) < 0)
        return 0;
    return id;
}

/* Replies with a page of the sandbox's reads; of all sandboxes if runtime_id is NULL. */
static int reply_reads(const struct request *request, const char *runtime_id, struct reply *reply,
                       struct error *err)
{
    struct secret_read_query query = {.runtime_id = runtime_id, .before_id = read_cursor(request)};
    json_auto_t *page = NULL;

    if (request_query_limit(request, &query.limit, err) < 0 ||
        secret_read_store_list(request->context->db, &request->principal.user_id, &query, &page,
                               err) < 0)
        return -1;
    return reply_json(reply, 200, page);
}

/* GET ?page_id=&limit= -> 200 {"items": [{"id", "name", "sandbox_id", "read_at"}],
 * "next_page_id"} | 422 */
static int reads_of_sandbox(const struct request *request, struct reply *reply, struct error *err)
{
    return reply_reads(request, request_path_text(request, "sandbox_id"), reply, err);
}

/* The same over all sandboxes of the caller, including deleted ones. */
static int search_reads(const struct request *request, struct reply *reply, struct error *err)
{
    return reply_reads(request, NULL, reply, err);
}

/* Includes secrets that were deleted, or created again under other names. */
enum { LATEST_MAX = 2 * SECRETS_MAX };

/* GET -> 200 {"items": [{"name", "sandbox_id", "read_at"}]} */
static int latest_reads(const struct request *request, struct reply *reply, struct error *err)
{
    json_auto_t *list = NULL;

    if (secret_read_store_latest(request->context->db, &request->principal.user_id, LATEST_MAX,
                                 &list, err) < 0)
        return -1;
    return reply_json(reply, 200, list);
}

#define SECRETS SANDBOX_SECRETS_PATH
#define READS_OF_SANDBOX "/api/v1/sandboxes/{sandbox_id}/secret-reads"
#define READS "/api/v1/secret-reads"

const struct route sandbox_secret_routes[] = {
    {HTTP_GET, SECRETS, ORIGIN_APP, ACCESS_SANDBOX, SANDBOX_SECRETS, 0, list},
    {HTTP_GET, SECRETS "/{name}", ORIGIN_APP, ACCESS_SANDBOX, SANDBOX_SECRETS, 0, get},
    {HTTP_GET, READS_OF_SANDBOX, ORIGIN_APP, ACCESS_BEARER, SANDBOX_REFUSED, 0, reads_of_sandbox},
    {HTTP_GET, READS "/search", ORIGIN_APP, ACCESS_BEARER, SANDBOX_REFUSED, 0, search_reads},
    {HTTP_GET, READS "/latest", ORIGIN_APP, ACCESS_BEARER, SANDBOX_REFUSED, 0, latest_reads},
    {.handle = NULL},
};
