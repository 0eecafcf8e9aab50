#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "auth/credential.h"
#include "base/clock.h"
#include "base/crypto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "client/http.h"
#include "fcgi/core/dispatch.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/request.h"
#include "fcgi/core/router.h"
#include "fcgi/core/wait_slots.h"
#include "llm/llm.h"
#include "store/db/db.h"
#include "store/db/hints.h"
#include "store/user/user_store.h"
#include "support/pg.h"
#include "support/test_catalogue.h"
#include "web/reply_output.h"
#include "web/request_input.h"

enum { PARAMS_MAX = 32 };

static void must(int rc, const struct error *err)
{
    if (rc < 0)
        fail_msg("%s", err->message);
}

static struct uuid add_user(struct fixture *fixture, char key_out[64])
{
    struct error err = ERROR_INIT;
    struct uuid user = test_user(fixture->context.db);
    char token[CRYPTO_TOKEN_BYTES];
    char hash[CRYPTO_HASH_HEX_BYTES];

    crypto_random_token(token);
    (void)snprintf(key_out, 64, "%s%s", CREDENTIAL_KEY_PREFIX, token);
    keyring_hash_token(&fixture->context.keyring, key_out, hash);
    must(user_store_add_key(fixture->context.db, &user, "test", hash, &err), &err);
    return user;
}

int fixture_setup(void **state)
{
    struct fixture *fixture = NEW(struct fixture);
    struct fcgi_context *context = &fixture->context;
    struct error err = ERROR_INIT;

    log_setup("deft-fcgi-test", LOG_LEVEL_ERROR);
    fixture->settings = (struct fcgi_settings){.n_threads = 4,
                                               .run_limits = {10, 100},
                                               .runtime_url = "http://127.0.0.1:1",
                                               .runtime_socket = "",
                                               .sandbox_image = "test:1",
                                               .sandbox_most = 5,
                                               .sandbox_grace_s = 15,
                                               .default_runtime = "local",
                                               .model = "",
                                               .model_base_url = "",
                                               .scripted_dir = "",
                                               .mode = "local",
                                               .models_file = TEST_MODELS_FILE,
                                               .app_url = "http://localhost:3000",
                                               .agent_url = "http://localhost:8000",
                                               .session_cookie = "deft_session",
                                               .cors_origins = ""};
    secret_set(&fixture->settings.database_url, test_database_url());
    secret_set(&fixture->settings.secret_key,
               "0011223344556677889900112233445566778899001122334455667788990011");
    context->settings = &fixture->settings;
    context->routes = route_tables;
    context->started_ms = clock_monotonic_ms();
    context->started_at_us = clock_utc_us();
    context->last_active_ms = &fixture->last_active_ms;
    context->wait_slots = wait_slots_new((size_t)(fixture->settings.n_threads + 1) / 2);
    must(keyring_init(&context->keyring, &fixture->settings.secret_key, &err), &err);
    context->catalogue = test_catalogue();
    context->db = test_db_open(4);
    must(http_open(&context->http, &err), &err);
    http_trust_users(context->http);
    context->llm =
        llm_new(&(struct llm_options){.catalogue = context->catalogue, .http = context->http});
    must(hints_open(test_database_url(), "deft-test", 0, &context->hints, &err), &err);
    fixture->alice = add_user(fixture, fixture->alice_key);
    fixture->bob = add_user(fixture, fixture->bob_key);
    *state = fixture;
    return 0;
}

/* As many users as it takes, of whom each has one. */
static struct uuid waiter(size_t n)
{
    struct uuid user = {""};

    (void)snprintf(user.text, sizeof(user.text), "%zu", n);
    return user;
}

size_t test_take_waits(struct fixture *fixture)
{
    struct error ignored = ERROR_INIT;
    struct uuid user = waiter(0);
    size_t n = 0;

    while (wait_slot_take(fixture->context.wait_slots, &user, &ignored) == 0)
        user = waiter(++n);
    return n;
}

void test_give_waits(struct fixture *fixture, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct uuid user = waiter(i);

        wait_slot_return(fixture->context.wait_slots, &user);
    }
}

int fixture_teardown(void **state)
{
    struct fixture *fixture = *state;

    hints_free(fixture->context.hints);
    llm_free(fixture->context.llm);
    http_free(fixture->context.http);
    db_free(fixture->context.db);
    wait_slots_free(fixture->context.wait_slots);
    secret_done(&fixture->settings.database_url);
    secret_done(&fixture->settings.secret_key);
    mem_free(fixture);
    return 0;
}

void test_answer_done(struct test_answer *answer)
{
    strbuf_done(&answer->head);
    strbuf_done(&answer->body);
}

struct body_reader {
    const char *at;
    size_t left;
};

static int read_body(void *stream, char *buffer, int len)
{
    struct body_reader *reader = stream;
    size_t n = reader->left < (size_t)len ? reader->left : (size_t)len;

    memcpy(buffer, reader->at, n);
    reader->at += n;
    reader->left -= n;
    return (int)n;
}

static int collect(void *stream, const char *bytes, int len)
{
    strbuf_append_bytes(stream, bytes, (size_t)len);
    return 0;
}

static struct test_answer split_answer(const struct strbuf *sent)
{
    struct test_answer answer = {.head = STRBUF_INIT, .body = STRBUF_INIT};
    static const char status[] = "Status: ";
    const char *end = strstr(sent->text, "\r\n\r\n");

    if (end == NULL || strncmp(sent->text, status, strlen(status)) != 0)
        fail_msg("no head in: %.100s", sent->text);
    answer.status = (int)strtol(sent->text + strlen(status), NULL, 10);
    strbuf_append_bytes(&answer.head, sent->text, (size_t)(end + 2 - sent->text));
    strbuf_append_bytes(&answer.body, end + 4, sent->len - (size_t)(end + 4 - sent->text));
    return answer;
}

static char *format_param(const char *name, const char *value)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    strbuf_appendf(&text, "%s=%s", name, value);
    return strbuf_take(&text);
}

struct test_answer test_dispatch_with(void *state, const char *const *params, const char *method,
                                      const char *path, const char *body)
{
    struct fixture *fixture = state;
    struct body_reader reader = {body != NULL ? body : "", body != NULL ? strlen(body) : 0};
    CLEANUP(strbuf_done) struct strbuf sent = STRBUF_INIT;
    CLEANUP(reply_done) struct reply reply = REPLY_INIT;
    const struct reply_output output = {.write = collect, .stream = &sent};
    char *all[PARAMS_MAX] = {NULL};
    const struct request_input input = {all, read_body, &reader};
    bool has_type = false;
    bool has_length = false;
    char length[24];
    size_t n = 0;

    (void)snprintf(length, sizeof(length), "%zu", reader.left);
    all[n++] = format_param("REQUEST_METHOD", method);
    all[n++] = format_param("REQUEST_URI", path);
    for (size_t i = 0; params[i] != NULL; i++) {
        has_type = has_type || text_starts_with(params[i], "CONTENT_TYPE=");
        has_length = has_length || text_starts_with(params[i], "CONTENT_LENGTH=");
        all[n++] = mem_dup_text(params[i]);
    }
    if (!has_length)
        all[n++] = format_param("CONTENT_LENGTH", body != NULL ? length : "");
    if (body != NULL && !has_type)
        all[n++] = format_param("CONTENT_TYPE", "application/json");
    reply.output = &output;
    dispatch(&fixture->context, &input, &reply);
    for (size_t i = 0; i < n; i++)
        mem_free(all[i]);
    return split_answer(&sent);
}

struct test_answer test_dispatch(void *state, enum caller caller, const char *method,
                                 const char *path, const char *body)
{
    struct fixture *fixture = state;
    char key[128] = "";
    const char *params[] = {"DEFT_ORIGIN=agent", key, NULL};

    if (caller == NOBODY)
        params[1] = NULL;
    else
        (void)snprintf(key, sizeof(key), "HTTP_X_SESSION_API_KEY=%s",
                       caller == ALICE ? fixture->alice_key : fixture->bob_key);
    return test_dispatch_with(state, params, method, path, body);
}

void assert_answer(const struct test_answer *answer, int status, const char *text)
{
    if (answer->status != status || strstr(answer->body.text, text) == NULL)
        fail_msg("expected %d with %s, got %d: %.300s", status, text, answer->status,
                 answer->body.text);
}

void assert_answer_json(const struct test_answer *answer, int status, const char *expected)
{
    json_error_t problem = {.text = ""};
    json_auto_t *ours = json_loadb(answer->body.text, answer->body.len, JSON_DECODE_ANY, &problem);
    json_auto_t *theirs = json_loads(expected, JSON_DECODE_ANY, &problem);

    assert_non_null(theirs);
    if (answer->status != status || ours == NULL || !json_equal(ours, theirs))
        fail_msg("expected %d with %s, got %d: %.300s", status, expected, answer->status,
                 answer->body.text);
}

void assert_answer_member(const struct test_answer *answer, int status, const char *name,
                          const char *text)
{
    json_auto_t *body = answer_json(answer);
    const char *member = json_string_value(json_object_get(body, name));

    if (answer->status != status || member == NULL || !text_equal(member, text))
        fail_msg("expected %d with %s \"%s\", got %d: %.300s", status, name, text, answer->status,
                 answer->body.text);
}

json_t *answer_json(const struct test_answer *answer)
{
    struct error err = ERROR_INIT;
    json_t *json = NULL;

    must(json_parse(answer->body.text, answer->body.len, &json, &err), &err);
    return json;
}

struct test_path test_conversation(void *state)
{
    CLEANUP(test_answer_done) struct test_answer answer =
        test_dispatch(state, ALICE, "POST", "/api/conversations", START_BODY(""));
    json_auto_t *info = NULL;
    struct test_path path = {.text = ""};

    assert_answer(&answer, 201, "execution_status");
    info = answer_json(&answer);
    assert_true(uuid_parse(json_text_or(info, "id", ""), &path.id));
    (void)test_under(&path, "");
    return path;
}

const char *test_under(struct test_path *path, const char *rest)
{
    (void)snprintf(path->text, sizeof(path->text), "/api/conversations/%s%s", path->id.text, rest);
    return path->text;
}
