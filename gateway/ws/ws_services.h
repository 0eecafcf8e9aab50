/*
 * The parts of the process that a client's socket uses; all are main()'s, and outlive the sockets.
 */
#ifndef DEFT_GATEWAY_WS_WS_SERVICES_H
#define DEFT_GATEWAY_WS_WS_SERVICES_H

#include <stdint.h>

#include "store/conversation/conversation_store.h"

struct bash_feeds;
struct catalogue;
struct db_async;
struct feed;
struct keyring;
struct revocation;
struct wrong_keys;

struct ws_services {
    struct db_async
        *live; /* for live data; its answers never show an older state than earlier ones */
    struct db_async *back; /* for longer queries: credentials, messages */
    const struct keyring *keyring;
    struct wrong_keys *wrong_keys;
    struct revocation *revocation;
    struct feed *feed;
    struct bash_feeds *bash_feeds;
    struct run_limits run_limits;
    const struct catalogue *catalogue;
    int64_t auth_timeout_ms;
};

#endif
