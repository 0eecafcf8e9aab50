#include "fcgi/settings/user_documents.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/request_defaults.h"

enum { TRIES_MAX = 50, NAME_MAX_CHARS = 64 };

#define NAME_PATTERN "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"

static const char NAME_FIRST[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
static const char NAME_REST[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

bool user_documents_read_exposure(const struct request *request, enum exposure *exposure_out)
{
    const char *value = request_param(request, "HTTP_X_EXPOSE_SECRETS");

    *exposure_out = EXPOSE_MASKED;
    if (value == NULL)
        return true;
    if (text_equal_nocase(value, "plaintext"))
        *exposure_out = EXPOSE_PLAIN;
    else if (text_equal_nocase(value, "encrypted") || text_equal_nocase(value, "true"))
        *exposure_out = EXPOSE_SEALED;
    return *exposure_out != EXPOSE_MASKED;
}

int user_documents_refuse_exposure(struct reply *reply)
{
    return reply_detail(reply, 400, "X-Expose-Secrets must be 'encrypted' or 'plaintext'");
}

void user_documents_expose(const struct request *request, const struct secret_table *table,
                           json_t *object, const json_t *members, enum exposure exposure)
{
    if (exposure == EXPOSE_MASKED)
        return;
    secrets_restore(table, object, members);
    if (exposure == EXPOSE_SEALED)
        secrets_seal(table, object, request->context->keyring.fernet);
}

struct document_scope user_documents_scope(const struct request *request)
{
    return (struct document_scope){request->context->db, &request->context->keyring,
                                   request->principal.user_id};
}

const char *user_documents_llm_key(const struct request *request, const json_t *llm)
{
    const struct start_context context = request_start_context(request);

    return start_llm_key(&context.llm, llm);
}

static bool is_name(const char *text)
{
    size_t len = strlen(text);

    return len > 0 && len <= NAME_MAX_CHARS && strchr(NAME_FIRST, text[0]) != NULL &&
           strspn(text, NAME_REST) == len;
}

static int refuse_name(const struct request *request, const struct json_path *where,
                       const char *name, struct error *err)
{
    json_auto_t *input = json_text(name, strlen(name));
    json_t *ctx = json_object();

    json_put_text(ctx, "pattern", NAME_PATTERN);
    return request_problem(
        request, where,
        &(struct validation_error){"string_pattern_mismatch",
                                   "String should match pattern '" NAME_PATTERN "'", ctx},
        input, err);
}

int user_documents_path_name(const struct request *request, const char *part, const char **name_out,
                             struct error *err)
{
    const char *name = request_path_text(request, part);

    if (!is_name(name))
        return refuse_name(request, REQUEST_JSON_PATH("path", part), name, err);
    *name_out = name;
    return 0;
}

int user_documents_member_name(const struct request *request, json_t *body, const char *member,
                               const char **name_out, struct error *err)
{
    const struct text_rule rule = {1, NAME_MAX_CHARS, true};
    const char *name = NULL;

    if (request_member_text(request, body, member, &rule, &name, err) < 0)
        return -1;
    if (name == NULL || !is_name(name))
        return refuse_name(request, REQUEST_JSON_PATH("body", member), name != NULL ? name : "",
                           err);
    *name_out = name;
    return 0;
}

int user_documents_retry(const struct request *request, struct reply *reply,
                         int (*attempt)(const struct request *request, struct reply *reply,
                                        struct error *err),
                         struct error *err)
{
    int rc = attempt(request, reply, err);

    for (int i = 1; i < TRIES_MAX && rc < 0 && err->code == ERROR_STALE; i++)
        rc = attempt(request, reply, err);
    return rc;
}

int user_documents_save(const struct request *request, struct reply *reply,
                        const struct document_kind *kind, struct error *err)
{
    static const struct json_path body_place = {NULL, "body", 0};
    CLEANUP(document_done) struct document document = DOCUMENT_INIT;
    CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
    const struct document_scope scope = user_documents_scope(request);
    const char *name = NULL;
    json_auto_t *body = NULL;
    json_auto_t *read = NULL;

    if (user_documents_path_name(request, "name", &name, err) < 0 ||
        request_json_object(request, &body, err) < 0)
        return -1;
    read = kind->read(body, &body_place, request->problems);
    if (json_array_size(request->problems) > 0)
        return request_problems_noted(err);
    if (document_store_get_or_new(&scope, kind->collection, name, &document, err) < 0)
        return -1;
    json_decref(document.body);
    document.body = json_incref(read);
    if (document_store_put(&scope, &document, kind->max, err) < 0)
        return -1;
    strbuf_appendf(&message, "%s '%s' saved", kind->words, name);
    return user_documents_reply_message(reply, 201, name, message.text);
}

int user_documents_reply_message(struct reply *reply, int status, const char *name,
                                 const char *message)
{
    json_auto_t *json = json_object();

    json_put_text(json, "name", name);
    json_put_text(json, "message", message);
    return reply_json(reply, status, json);
}
