/*
 * A WebSocket client as nginx passes it on, for tests: one connection at the gateway's Unix socket.
 *
 * Ownership: ws_done() closes it.
 * Source:    RFC 6455
 */
#ifndef DEFT_TESTS_UNIT_GATEWAY_PROCESS_WEBSOCKET_H
#define DEFT_TESTS_UNIT_GATEWAY_PROCESS_WEBSOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/strbuf.h"

enum { WS_CONTINUATION = 0, WS_TEXT = 1, WS_CLOSE = 8, WS_PING = 9, WS_PONG = 10 };

struct ws {
    int fd; /* -1: closed */
    struct strbuf in;
};

/* clang-format off */
#define WS_INIT {-1, STRBUF_INIT}
/* clang-format on */

/* Sends the head of an upgrade (lines: further headers, each with CR LF); returns the status. */
int ws_open(struct ws *ws, const char *socket_path, const char *path, const char *lines) NONNULL;
void ws_done(struct ws *ws) NONNULL;
/* Any bytes, as an HTTP client that is none of WebSockets. */
int ws_open_plain(struct ws *ws, const char *socket_path, const char *head) NONNULL;

void ws_send(struct ws *ws, int opcode, const char *bytes, size_t len) NONNULL;
/* A fragment that further ones follow. */
void ws_send_part(struct ws *ws, int opcode, const char *text) NONNULL;
void ws_send_text(struct ws *ws, const char *text) NONNULL;
/* A frame without a mask, which clients must not send. */
void ws_send_unmasked(struct ws *ws, const char *text) NONNULL;
/* Waits for the next frame; the opcode, or -1 when the connection ended. Fails after a minute. */
int ws_receive(struct ws *ws, struct strbuf *text) NONNULL;
/* Fails unless the next frame closes the socket with that code and reason. */
void assert_closed(struct ws *ws, int code, const char *reason) NONNULL;

#endif
