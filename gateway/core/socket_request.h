/*
 * A client's request for a socket, from its URL.
 */
#ifndef DEFT_GATEWAY_CORE_SOCKET_REQUEST_H
#define DEFT_GATEWAY_CORE_SOCKET_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/uuid.h"

enum socket_kind { SOCKET_EVENTS, SOCKET_SESSION, SOCKET_BASH, SOCKET_N_KINDS };

enum resend { RESEND_NONE, RESEND_ALL, RESEND_SINCE };

struct socket_request {
    enum socket_kind kind;
    struct uuid conversation_id; /* not on SOCKET_BASH */
    enum resend resend;
    char since[32];           /* naive timestamp for RESEND_SINCE; "": none */
    int64_t after_seq;        /* session: as on the wire; -2: not given */
    bool wants_tool_progress; /* session */
    char address[46];         /* of the client; "": not known */
};

#endif
