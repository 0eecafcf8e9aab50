/*
 * A deft-gateway as a process, with a database, for tests: a user with a key and a conversation.
 *
 * Ownership: a fixture of a test each; the programs run one at a time.
 */
#ifndef DEFT_TESTS_UNIT_GATEWAY_PROCESS_GATEWAY_FIXTURE_H
#define DEFT_TESTS_UNIT_GATEWAY_PROCESS_GATEWAY_FIXTURE_H

#include "base/attr.h"
#include "base/uuid.h"
#include "support/program.h"
#include "unit/gateway/process/websocket.h"

#ifndef DEFT_GATEWAY /* for tools that read this file alone */
#define DEFT_GATEWAY "./deft-gateway"
#endif

#define HASH_KEY "00112233445566778899001122334455667788990011223344556677889900ff"
#define KEY "the-key-of-a-user"
#define AUTH_OF_KEY "{\"type\":\"auth\",\"session_api_key\":\"" KEY "\"}"

struct db;
struct strbuf;
struct test_server;

struct gateway_fixture {
    struct program program;
    struct db *db;
    struct test_server *runtime_api; /* NULL: none */
    char socket[64];
    char events[96];      /* path of the conversation's socket */
    char session[96];     /* the same, with envelopes */
    char hash[80];        /* of the user's key */
    char credential[160]; /* header of the user's key */
    struct uuid conversation_id;
    struct uuid user_id;
};

/* Starts it and waits until it listens. */
int gateway_set_up(void **state);
/* As above; a silent client is closed after that time. */
int gateway_set_up_with(void **state, const char *auth_ms);
/* Ends it in order. */
int gateway_tear_down(void **state);

/* Attaches with the user's key; its first frame is in `first`. */
void attach(struct gateway_fixture *fixture, struct ws *ws, const char *path,
            struct strbuf *first) NONNULL;
/* Stores an event, and tells the gateway. */
void add_event(const struct gateway_fixture *fixture, int seq, const char *text) NONNULL;

#endif
