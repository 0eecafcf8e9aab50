/*
 * Reads the upgrade request of a WebSocket: path, query, and the credential that nginx had checked.
 *
 * Source: RFC 6455, section 4.2; the wire contract's handshake table.
 */
#ifndef DEFT_GATEWAY_WS_UPGRADE_REQUEST_H
#define DEFT_GATEWAY_WS_UPGRADE_REQUEST_H

#include <stdbool.h>

#include "base/attr.h"
#include "gateway/core/socket_request.h"
#include "store/conversation/async_store.h"

struct error;

/* The request's parts as decoded text; "" when absent. */
struct upgrade_fields {
    const char *path;
    const char *websocket_key;
    const char *resend_all;
    const char *resend_mode;
    const char *after_timestamp;
    const char *after_seq;
    const char *tool_progress;
    const char *credential; /* CREDENTIAL_HEADER, set by nginx */
    const char *address;    /* X-Real-IP, set by nginx */
};

struct upgrade_request {
    struct socket_request request;
    bool has_credential;        /* otherwise the first frame must bring it */
    struct caller_query caller; /* its kind and hash: a query ready to send */
};

/* On any error the request is refused with 403 before the upgrade. */
int upgrade_request_read(const struct upgrade_fields *fields, struct upgrade_request *upgrade_out,
                         struct error *err) NONNULL MUST_CHECK;

#endif
