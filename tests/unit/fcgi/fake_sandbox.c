#include "fake_sandbox.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/crypto.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "model/conversation/conversation.h"
#include "support/sql.h"

/* A runtime's id of sixteen letters that no other test has. */
static void random_letters(char id_out[17])
{
    crypto_random(id_out, 16);
    for (int i = 0; i < 16; i++)
        id_out[i] = (char)('a' + (unsigned char)id_out[i] % 26);
    id_out[16] = '\0';
}

void test_add_sandbox(void *state, const char *session, const char *url)
{
    struct fixture *fixture = state;
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf sealed = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    char *id = fixture->sandbox_id;
    char context[64];

    random_letters(id);
    secret_set(&key, "sandbox-key");
    (void)snprintf(context, sizeof(context), "runtimes.session_key:%s", id);
    keyring_seal(&fixture->context.keyring, context, &key, &sealed);
    strbuf_appendf(&sql, "DELETE FROM runtimes WHERE session_id = '%s'", session);
    test_sql(sql.text);
    strbuf_reset(&sql);
    strbuf_appendf(&sql,
                   "INSERT INTO runtimes (id, session_id, owner_id, status, image, spec, url,"
                   " session_key, session_key_hash, proves) VALUES ('%s', '%s', '%s', 'running',"
                   " 'i', '{}', '%s', '%s', '%s', false)",
                   id, session, fixture->alice.text, url, sealed.text, id);
    test_sql(sql.text);
}

const char *test_alices_session(void *state, char session_out[40])
{
    struct fixture *fixture = state;
    char hex[UUID_HEX_BYTES];

    uuid_to_hex(&fixture->alice, hex);
    (void)snprintf(session_out, 40, "u-%s", hex);
    return session_out;
}

void test_remove_sandbox(void *state)
{
    char session[40];
    char sql[120];

    (void)snprintf(sql, sizeof(sql), "DELETE FROM runtimes WHERE session_id = '%s'",
                   test_alices_session(state, session));
    test_sql(sql);
}

struct test_server *test_start_sandbox_of(void *state, const char *session,
                                          const struct test_reply *replies, size_t n)
{
    struct test_server *server = test_server_start(replies, n, NULL);

    test_add_sandbox(state, session, test_server_url(server, ""));
    return server;
}

struct test_server *test_start_sandbox(void *state, const struct test_reply *replies, size_t n)
{
    char session[40];

    return test_start_sandbox_of(state, test_alices_session(state, session), replies, n);
}

struct test_server *test_start_runtime_api(void *state, const struct test_reply *replies, size_t n)
{
    struct fixture *fixture = state;
    struct test_server *server = test_server_start(replies, n, NULL);

    fixture->settings.runtime_url = test_server_url(server, "");
    return server;
}

void test_stop_runtime_api(void *state, struct test_server *server)
{
    struct fixture *fixture = state;

    fixture->settings.runtime_url = "http://127.0.0.1:1";
    test_server_stop(server);
}

static const char *asked(struct test_server *server, size_t i)
{
    if (test_server_n_requests(server) <= i)
        fail_msg("request %zu did not come", i);
    return test_server_request(server, i);
}

void assert_asked(struct test_server *server, size_t i, const char *text)
{
    const char *request = asked(server, i);

    if (strstr(request, text) == NULL)
        fail_msg("request %zu lacks %s: %.400s", i, text, request);
}

void assert_not_asked(struct test_server *server, size_t i, const char *text)
{
    const char *request = asked(server, i);

    if (strstr(request, text) != NULL)
        fail_msg("request %zu has %s: %.400s", i, text, request);
}

const char *test_asked_body(struct test_server *server, size_t i)
{
    const char *end = strstr(asked(server, i), "\r\n\r\n");

    if (end == NULL)
        fail_msg("request %zu has no body", i);
    return end + 4;
}

struct test_path test_docker_conversation(void *state, char session_out[80])
{
    CLEANUP(test_answer_done) struct test_answer created =
        test_dispatch(state, ALICE, "POST", "/api/conversations",
                      START_BODY("\"conversation_runtime\":\"docker\","));
    json_auto_t *info = answer_json(&created);
    const struct fixture *fixture = state;
    struct test_path path = {.text = ""};
    CLEANUP(mem_freep) char *session = NULL;

    assert_true(uuid_parse(json_text_or(info, "id", ""), &path.id));
    session = conversation_own_session(&fixture->alice, &path.id);
    (void)snprintf(session_out, 80, "%s", session);
    return path;
}
