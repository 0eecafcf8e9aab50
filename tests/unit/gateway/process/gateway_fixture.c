#include "unit/gateway/process/gateway_fixture.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/secret.h"
#include "store/db/db.h"
#include "support/pg.h"
#include "support/sql.h"

static void add_rows(struct gateway_fixture *fixture)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    struct keyring keyring;
    struct error err = ERROR_INIT;

    secret_set(&key, HASH_KEY);
    assert_int_equal(keyring_init_hash(&keyring, &key, &err), 0);
    keyring_hash_token(&keyring, KEY, fixture->hash);
    fixture->user_id = test_user(fixture->db);
    fixture->conversation_id = uuid_random();
    strbuf_appendf(&sql,
                   "DELETE FROM api_keys;"
                   "INSERT INTO api_keys (user_id, name, key_hash) VALUES ('%s', 'k', '%s');"
                   "INSERT INTO conversations (id, user_id, runtime_kind, runtime_session, spec)"
                   " VALUES ('%s', '%s', 'local', 's-1', '{}')",
                   fixture->user_id.text, fixture->hash, fixture->conversation_id.text,
                   fixture->user_id.text);
    test_sql(sql.text);
    (void)snprintf(fixture->events, sizeof(fixture->events), "/sockets/events/%s",
                   fixture->conversation_id.text);
    (void)snprintf(fixture->session, sizeof(fixture->session), "/sockets/session/%s",
                   fixture->conversation_id.text);
    (void)snprintf(fixture->credential, sizeof(fixture->credential),
                   "X-Deft-Credential: key %s\r\n", fixture->hash);
}

/* Starts it and waits until it listens. */
static void start(struct gateway_fixture *fixture, const char *auth_ms)
{
    char path[] = DEFT_GATEWAY;
    struct stat facts = {0};

    (void)snprintf(fixture->socket, sizeof(fixture->socket), "/tmp/deft-gw-test.%d", (int)getpid());
    (void)unlink(fixture->socket);
    assert_int_equal(setenv("DEFT_GATEWAY_SOCKET", fixture->socket, 1), 0);
    assert_int_equal(setenv("DEFT_DATABASE_URL", test_database_url(), 1), 0);
    assert_int_equal(setenv("DEFT_HASH_KEY", HASH_KEY, 1), 0);
    assert_int_equal(setenv("DEFT_CATALOGUE_DIR", DEFT_TOP_SRCDIR "/catalogue", 1), 0);
    assert_int_equal(setenv("DEFT_GATEWAY_AUTH_MS", auth_ms, 1), 0);
    assert_int_equal(setenv("DEFT_GATEWAY_SUBSCRIBERS", "2", 1), 0);
    fixture->program = program_start((char *[]){path, NULL});
    assert_true(program_await(&fixture->program, "gateway.started"));
    assert_int_equal(stat(fixture->socket, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0660);
}

/* The signal ends it, not the end of its input. */
static void stop(struct gateway_fixture *fixture)
{
    CLEANUP(strbuf_done) struct strbuf rest = STRBUF_INIT;

    assert_int_equal(kill(fixture->program.pid, SIGTERM), 0);
    assert_true(program_await(&fixture->program, "gateway.stopped"));
    assert_int_equal(program_wait(&fixture->program, &rest, &rest), 0);
    (void)unlink(fixture->socket);
}

int gateway_set_up_with(void **state, const char *auth_ms)
{
    struct gateway_fixture *fixture = NEW(struct gateway_fixture);

    fixture->db = test_db_open(1);
    add_rows(fixture);
    start(fixture, auth_ms);
    *state = fixture;
    return 0;
}

int gateway_set_up(void **state)
{
    return gateway_set_up_with(state, "60000");
}

int gateway_tear_down(void **state)
{
    struct gateway_fixture *fixture = *state;

    stop(fixture);
    db_free(fixture->db);
    mem_free(fixture);
    return 0;
}

void attach(struct gateway_fixture *fixture, struct ws *ws, const char *path, struct strbuf *first)
{
    assert_int_equal(ws_open(ws, fixture->socket, path, fixture->credential), 101);
    assert_int_equal(ws_receive(ws, first), WS_TEXT);
}

void add_event(const struct gateway_fixture *fixture, int seq, const char *text)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, body)"
                   " VALUES ('%s', %d, gen_random_uuid(), 'MessageEvent', 'user',"
                   " '2026-01-01T00:00:%02d.000000', '{\"text\":\"%s\"}');"
                   "SELECT pg_notify('deft_events', '%s')",
                   fixture->conversation_id.text, seq, seq, text, fixture->conversation_id.text);
    test_sql(sql.text);
}
