#include "fcgi/settings/keep.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/context.h"
#include "fcgi/reply.h"

enum { TRIES_MAX = 50, NAME_MAX_CHARS = 64 };

#define NAME_PATTERN "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"

static const char NAME_FIRST[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
static const char NAME_REST[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

bool keep_exposure(const struct request *request, enum exposure *exposure_out)
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

int keep_refuse_exposure(struct reply *reply)
{
    return reply_detail(reply, 400, "X-Expose-Secrets must be 'encrypted' or 'plaintext'");
}

void keep_expose(const struct request *request, const struct secret_table *table, json_t *object,
                 const json_t *members, enum exposure exposure)
{
    if (exposure == EXPOSE_MASKED)
        return;
    secrets_restore(table, object, members);
    if (exposure == EXPOSE_SEALED)
        secrets_seal(table, object, request->context->keyring.fernet);
}

struct shelf keep_shelf(const struct request *request)
{
    return (struct shelf){request->context->db, &request->context->keyring,
                          request->principal.user_id};
}

/* True when a value is absent, or the server's own. */
static bool is_servers(const char *value, const char *own)
{
    return value[0] == '\0' || text_equal(value, own);
}

const char *keep_llm_key(const struct request *request, const json_t *llm)
{
    const struct fcgi_settings *own = request->context->settings;
    const char *key = json_text_or(llm, "api_key", "");

    if (!text_is_blank(key))
        return key;
    return is_servers(json_text_or(llm, "model", ""), own->model) &&
                   is_servers(json_text_or(llm, "base_url", ""), own->model_base_url)
               ? secret_reveal(&own->model_key)
               : "";
}

static bool is_name(const char *text)
{
    size_t len = strlen(text);

    return len > 0 && len <= NAME_MAX_CHARS && strchr(NAME_FIRST, text[0]) != NULL &&
           strspn(text, NAME_REST) == len;
}

static int refuse_name(const struct request *request, const struct place *place, const char *name,
                       struct error *err)
{
    json_auto_t *input = json_text(name, strlen(name));
    json_t *ctx = json_object();

    json_put_text(ctx, "pattern", NAME_PATTERN);
    return request_problem(request, place,
                           &(struct problem){"string_pattern_mismatch",
                                             "String should match pattern '" NAME_PATTERN "'", ctx},
                           input, err);
}

int keep_path_name(const struct request *request, const char *part, const char **name_out,
                   struct error *err)
{
    const char *name = request_path_text(request, part);

    if (!is_name(name))
        return refuse_name(request, REQUEST_PLACE("path", part), name, err);
    *name_out = name;
    return 0;
}

int keep_member_name(const struct request *request, json_t *body, const char *member,
                     const char **name_out, struct error *err)
{
    const struct text_rule rule = {1, NAME_MAX_CHARS, true};
    const char *name = NULL;

    if (request_member_text(request, body, member, &rule, &name, err) < 0)
        return -1;
    if (name == NULL || !is_name(name))
        return refuse_name(request, REQUEST_PLACE("body", member), name != NULL ? name : "", err);
    *name_out = name;
    return 0;
}

int keep_retry(const struct request *request, struct reply *reply,
               int (*attempt)(const struct request *request, struct reply *reply,
                              struct error *err),
               struct error *err)
{
    int rc = attempt(request, reply, err);

    for (int i = 1; i < TRIES_MAX && rc < 0 && err->code == ERROR_STALE; i++)
        rc = attempt(request, reply, err);
    return rc;
}

int keep_save(const struct request *request, struct reply *reply, const struct keep_kind *kind,
              struct error *err)
{
    static const struct place body_place = {NULL, "body", 0};
    CLEANUP(document_done) struct document document = DOCUMENT_INIT;
    CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
    const struct shelf shelf = keep_shelf(request);
    const char *name = NULL;
    json_auto_t *body = NULL;
    json_auto_t *read = NULL;

    if (keep_path_name(request, "name", &name, err) < 0 ||
        request_json_object(request, &body, err) < 0)
        return -1;
    read = kind->read(body, &body_place, request->problems);
    if (json_array_size(request->problems) > 0)
        return request_problems_noted(err);
    if (document_store_get_or_new(&shelf, kind->collection, name, &document, err) < 0)
        return -1;
    json_decref(document.body);
    document.body = json_incref(read);
    if (document_store_put(&shelf, &document, kind->max, err) < 0)
        return -1;
    strbuf_appendf(&message, "%s '%s' saved", kind->words, name);
    return keep_reply_message(reply, 201, name, message.text);
}

int keep_reply_message(struct reply *reply, int status, const char *name, const char *message)
{
    json_auto_t *json = json_object();

    json_put_text(json, "name", name);
    json_put_text(json, "message", message);
    return reply_json(reply, status, json);
}
