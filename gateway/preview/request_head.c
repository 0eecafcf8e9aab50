#include "gateway/preview/request_head.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"

#define HEAD_END "\r\n\r\n"
#define ADDRESS_LINE "\r\nX-Deft-Address: "
#define UPGRADE_LINE "\r\nUpgrade: websocket\r\n"

enum { ADDRESS_MAX_BYTES = INET_ADDRSTRLEN + 6 };

bool preview_request_is_whole(const struct strbuf *bytes)
{
    return memmem(bytes->text, bytes->len, HEAD_END, strlen(HEAD_END)) != NULL;
}

static int read_address(const char *value, size_t len, struct sockaddr_in *address,
                        struct error *err)
{
    char text[ADDRESS_MAX_BYTES] = "";
    char *colon = NULL;
    int64_t port = 0;

    if (len >= sizeof(text))
        return error_set(err, ERROR_INVALID, "the address header is too long");
    memcpy(text, value, len);
    colon = strchr(text, ':');
    if (colon == NULL)
        return error_set(err, ERROR_INVALID, "%s: no port", text);
    *colon = '\0';
    if (text_parse_int(colon + 1, 1, UINT16_MAX, &port, err) < 0)
        return -1;
    address->sin_family = AF_INET;
    address->sin_port = htons((uint16_t)port);
    if (inet_pton(AF_INET, text, &address->sin_addr) != 1)
        return error_set(err, ERROR_INVALID, "%s: no address", text);
    return 0;
}

static void cut(struct strbuf *bytes, size_t at, size_t n)
{
    memmove(bytes->text + at, bytes->text + at + n, bytes->len - at - n);
    strbuf_truncate(bytes, bytes->len - n);
}

int preview_request_take(struct strbuf *bytes, struct preview_request *request_out,
                         struct error *err)
{
    const char *head_end = memmem(bytes->text, bytes->len, HEAD_END, strlen(HEAD_END));
    size_t n_head = head_end != NULL ? (size_t)(head_end - bytes->text) + strlen("\r\n") : 0;
    const char *line = memmem(bytes->text, n_head, ADDRESS_LINE, strlen(ADDRESS_LINE));
    const char *value = line != NULL ? line + strlen(ADDRESS_LINE) : NULL;
    const char *end = NULL;

    if (value == NULL)
        return error_set(err, ERROR_INVALID, "the request has no address header");
    end = memchr(value, '\r', n_head - (size_t)(value - bytes->text));
    if (end == NULL || read_address(value, (size_t)(end - value), &request_out->address, err) < 0)
        return -1;
    request_out->asks_upgrade =
        memmem(bytes->text, n_head, UPGRADE_LINE, strlen(UPGRADE_LINE)) != NULL;
    cut(bytes, (size_t)(line - bytes->text), (size_t)(end - line));
    return 0;
}
