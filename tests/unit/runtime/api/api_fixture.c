#include "unit/runtime/api/api_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crypto.h"
#include "base/secret.h"
#include "base/text.h"
#include "runtime/api/http_front.h"
#include "runtime/core/tenant.h"
#include "support/json_path.h"
#include "support/sql.h"
#include "web/reply_output.h"
#include "web/request_input.h"

enum { PARAM_BYTES = 2000, N_PARAMS = 9 };

int api_set_up(void **state)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct service_fixture *fixture = NULL;
    char hash[CRYPTO_HASH_HEX_BYTES] = "";

    if (service_set_up(state) < 0)
        return -1;
    fixture = *state;
    secret_set(&fixture->settings.api_key, HOUSE_KEY);
    secret_set(&fixture->settings.admin_key, ADMIN_KEY);
    secret_set(&fixture->settings.admin_password, ADMIN_PASSWORD);
    keyring_hash_token(&fixture->service.keyring, TENANT_KEY, hash);
    service_add_runtime(fixture, &(struct test_runtime){.id = OURS});
    service_add_runtime(fixture, &(struct test_runtime){.id = THEIRS});
    service_seal_key(fixture, OURS, "session-key-of-ours");
    service_seal_key(fixture, THEIRS, "session-key-of-theirs");
    strbuf_appendf(&sql,
                   "INSERT INTO runtime_keys (user_id, name, key_hash) VALUES ('%s', 'one', '%s');"
                   "WITH other AS (INSERT INTO runtime_keys (user_id, name, key_hash)"
                   " VALUES ('%s', 'two', 'hash of two') RETURNING id)"
                   " UPDATE runtimes SET tenant_id = other.id FROM other"
                   " WHERE runtimes.id = '" THEIRS "'",
                   fixture->owner_id.text, hash, fixture->owner_id.text);
    test_sql(sql.text);
    return 0;
}

int api_tear_down(void **state)
{
    struct service_fixture *fixture = *state;

    secret_done(&fixture->settings.api_key);
    secret_done(&fixture->settings.admin_key);
    secret_done(&fixture->settings.admin_password);
    test_sql("DELETE FROM runtimes; DELETE FROM runtime_keys; DELETE FROM admin_logins;"
             "DELETE FROM image_builds");
    return service_tear_down(state);
}

void api_add_tenants(struct service_fixture *fixture)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct tenant tenant = TENANT_INIT;
    struct error err = ERROR_INIT;
    char name[TENANT_SESSION_BYTES] = "";

    assert_int_equal(tenant_find(&fixture->service, TENANT_KEY, &tenant, &err), 0);
    tenant_name_session(&fixture->service.keyring, &tenant, "mine", name);
    service_add_runtime(fixture, &(struct test_runtime){.id = TENANTS});
    service_seal_key(fixture, TENANTS, "session-key-of-tenants");
    strbuf_appendf(&sql,
                   "UPDATE runtimes SET tenant_id = '%s', tenant_session = 'mine',"
                   " session_id = '%s' WHERE id = '" TENANTS "'",
                   tenant.id.text, name);
    test_sql(sql.text);
}

/* --- asking --- */

/* What is left of a body. */
struct body_source {
    const char *bytes;
    size_t len;
};

static int read_body(void *stream, char *buffer, int len)
{
    struct body_source *source = stream;
    size_t n = source->len < (size_t)len ? source->len : (size_t)len;

    memcpy(buffer, source->bytes, n);
    source->bytes += n;
    source->len -= n;
    return (int)n;
}

static int collect(void *stream, const char *bytes, int len)
{
    strbuf_append_bytes(stream, bytes, (size_t)len);
    return 0;
}

static void put_param(char **params, char texts[N_PARAMS][PARAM_BYTES], const char *name,
                      const char *value)
{
    size_t n = 0;

    if (value == NULL)
        return;
    while (params[n] != NULL)
        n++;
    (void)snprintf(texts[n], PARAM_BYTES, "%s=%s", name, value);
    params[n] = texts[n];
}

int api_ask(struct service_fixture *fixture, const struct asked *asked, struct strbuf *reply)
{
    static const char status[] = "Status: ";
    char texts[N_PARAMS][PARAM_BYTES];
    char *params[N_PARAMS + 1] = {NULL};
    struct body_source source = {asked->body, asked->body != NULL ? strlen(asked->body) : 0};
    const struct request_input input = {params, read_body, &source};
    const struct reply_output output = {.write = collect, .stream = reply};
    const char *query = strchr(asked->path, '?');
    char length[24] = "";

    (void)snprintf(length, sizeof(length), "%zu", source.len);
    put_param(params, texts, "REQUEST_METHOD", asked->method);
    put_param(params, texts, "REQUEST_URI", asked->path);
    put_param(params, texts, "QUERY_STRING", query != NULL ? query + 1 : NULL);
    put_param(params, texts, "HTTP_X_API_KEY", asked->key);
    put_param(params, texts, "DEFT_ORIGIN", asked->is_outside ? "outside" : NULL);
    put_param(params, texts, "CONTENT_LENGTH", asked->body != NULL ? length : NULL);
    put_param(params, texts, "CONTENT_TYPE", asked->type);
    put_param(params, texts, "HTTP_AUTHORIZATION", asked->authorization);
    put_param(params, texts, "REMOTE_ADDR", asked->address);
    strbuf_reset(reply);
    front_serve(&fixture->service, &input, &output);
    assert_int_equal(strncmp(reply->text, status, strlen(status)), 0);
    return (int)strtol(reply->text + strlen(status), NULL, 10);
}

const char *api_body(const struct strbuf *reply)
{
    const char *end = strstr(reply->text, "\r\n\r\n");

    assert_non_null(end);
    return end + 4;
}

void assert_status(struct service_fixture *fixture, const struct asked *asked, int status)
{
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;
    int seen = api_ask(fixture, asked, &reply);

    if (seen != status)
        fail_msg("%s %s: %d %s", asked->method, asked->path, seen, reply.text);
}

void assert_refused(struct service_fixture *fixture, const struct asked *asked, int status,
                    const char *detail)
{
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf quoted = STRBUF_INIT;
    int seen = api_ask(fixture, asked, &reply);

    if (seen != status)
        fail_msg("%s %s: %d %s", asked->method, asked->path, seen, reply.text);
    strbuf_appendf(&quoted, "{\"detail\":\"%s\"}", detail);
    assert_json_at(api_body(&reply), "", quoted.text);
}

void assert_replied(struct service_fixture *fixture, const struct asked *asked, const char *path,
                    const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;
    int seen = api_ask(fixture, asked, &reply);

    if (seen != 200)
        fail_msg("%s %s: %d %s", asked->method, asked->path, seen, reply.text);
    assert_json_at(api_body(&reply), path, expected);
}
