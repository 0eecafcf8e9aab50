#include "unit/gateway/process/websocket.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cmocka.h>

#include "base/file.h"

enum { PATIENCE_MS = 60000, READ_BYTES = 65536, MASK_BYTES = 4 };

/* False at the end of the connection. */
static bool read_more(struct ws *ws)
{
    struct pollfd polled = {.fd = ws->fd, .events = POLLIN};
    char bytes[READ_BYTES];
    ssize_t n = 0;

    assert_int_equal(poll(&polled, 1, PATIENCE_MS), 1);
    n = recv(ws->fd, bytes, sizeof(bytes), 0);
    if (n > 0)
        strbuf_append_bytes(&ws->in, bytes, (size_t)n);
    return n > 0;
}

static void send_all(const struct ws *ws, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(ws->fd, bytes, len, MSG_NOSIGNAL);

        if (n <= 0)
            return; /* the other end's answer says why */
        bytes += n;
        len -= (size_t)n;
    }
}

int ws_open_plain(struct ws *ws, const char *socket_path, const char *head)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *end = NULL;
    int status = 0;

    memcpy(address.sun_path, socket_path, strlen(socket_path));
    ws->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(ws->fd, (struct sockaddr *)&address, sizeof(address)), 0);
    send_all(ws, head, strlen(head));
    while (end == NULL) {
        if (!read_more(ws))
            return 0;
        end = strstr(ws->in.text, "\r\n\r\n");
    }
    status = (int)strtol(ws->in.text + strlen("HTTP/1.1 "), NULL, 10);
    strbuf_remove_head(&ws->in, (size_t)(end - ws->in.text) + 4);
    return status;
}

int ws_open(struct ws *ws, const char *socket_path, const char *path, const char *lines)
{
    CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;

    strbuf_appendf(&head,
                   "GET %s HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                   "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n"
                   "%s\r\n",
                   path, lines);
    return ws_open_plain(ws, socket_path, head.text);
}

void ws_done(struct ws *ws)
{
    fd_close(&ws->fd);
    strbuf_done(&ws->in);
}

/* --- frames --- */

enum { FIN = 0x80 };

static void append_head(struct strbuf *frame, int first, size_t len, int mask)
{
    strbuf_append_char(frame, (char)first);
    if (len < 126) {
        strbuf_append_char(frame, (char)(mask | (int)len));
        return;
    }
    strbuf_append_char(frame, (char)(mask | 127));
    for (int shift = 56; shift >= 0; shift -= 8)
        strbuf_append_char(frame, (char)((uint64_t)len >> shift));
}

static void send_frame(struct ws *ws, int first, const char *bytes, size_t len)
{
    static const char mask[MASK_BYTES] = {0x12, 0x34, 0x56, 0x78};
    CLEANUP(strbuf_done) struct strbuf frame = STRBUF_INIT;

    append_head(&frame, first, len, 0x80);
    strbuf_append_bytes(&frame, mask, sizeof(mask));
    for (size_t i = 0; i < len; i++)
        strbuf_append_char(&frame, (char)(bytes[i] ^ mask[i % MASK_BYTES]));
    send_all(ws, frame.text, frame.len);
}

void ws_send(struct ws *ws, int opcode, const char *bytes, size_t len)
{
    send_frame(ws, FIN | opcode, bytes, len);
}

void ws_send_part(struct ws *ws, int opcode, const char *text)
{
    send_frame(ws, opcode, text, strlen(text));
}

void ws_send_text(struct ws *ws, const char *text)
{
    ws_send(ws, WS_TEXT, text, strlen(text));
}

void ws_send_unmasked(struct ws *ws, const char *text)
{
    CLEANUP(strbuf_done) struct strbuf frame = STRBUF_INIT;

    append_head(&frame, FIN | WS_TEXT, strlen(text), 0);
    strbuf_append(&frame, text);
    send_all(ws, frame.text, frame.len);
}

/* The length of the head and of the payload; false while the head is not whole. */
static bool read_head(const struct strbuf *in, size_t *head_out, size_t *len_out)
{
    const unsigned char *bytes = (const unsigned char *)in->text;
    size_t n_more = 0;

    if (in->len < 2)
        return false;
    *len_out = bytes[1] & 0x7f;
    if (*len_out >= 126) {
        n_more = *len_out == 126 ? 2 : 8;
        *len_out = 0;
    }
    *head_out = 2 + n_more;
    if (in->len < *head_out)
        return false;
    for (size_t i = 0; i < n_more; i++)
        *len_out = *len_out << 8 | bytes[2 + i];
    return true;
}

int ws_receive(struct ws *ws, struct strbuf *text)
{
    size_t head = 0;
    size_t len = 0;
    int opcode = 0;

    while (!read_head(&ws->in, &head, &len) || ws->in.len < head + len) {
        if (!read_more(ws))
            return -1;
    }
    opcode = ws->in.text[0] & 0x0f;
    strbuf_reset(text);
    strbuf_append_bytes(text, ws->in.text + head, len);
    strbuf_remove_head(&ws->in, head + len);
    return opcode;
}

void assert_closed(struct ws *ws, int code, const char *reason)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    int opcode = ws_receive(ws, &text);

    if (opcode != WS_CLOSE)
        fail_msg("%d %s", opcode, text.text);
    assert_true(text.len >= 2);
    assert_int_equal((unsigned char)text.text[0] << 8 | (unsigned char)text.text[1], code);
    assert_string_equal(text.text + 2, reason);
}
