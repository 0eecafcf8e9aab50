/* Decides which requests can be made directly, and writes their heads (see direct_connections.h).
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/direct_connections.h"
#include "client/host_header.h"
#include "client/http.h"
#include "client/http_call.h"

#define SCHEME "http://"
#define PORT_MAX 65535
#define DEFAULT_PORT 80
#define HEAD_USUAL_BYTES 500
#define HOST_MAX_BYTES (INET_ADDRSTRLEN + sizeof(":65535"))

/* Headers that are set by the client itself or affect message framing. */
static const char *const reserved_headers[] = {
    "Accept", "Connection", "Content-Length",    "Content-Type", "Expect",     "Host",
    "TE",     "Trailer",    "Transfer-Encoding", "Upgrade",      "User-Agent",
};

/* No characters that need escaping, and no path segments that need resolving. */
static bool is_plain_url(const char *url)
{
    for (const char *at = url; *at != '\0'; at++) {
        if (*at <= ' ' || *at > '~' || *at == '#' || *at == '@')
            return false;
    }
    return strstr(url, "/.") == NULL;
}

static bool read_host(const char *text, struct sockaddr_in *address_out)
{
    char host[HOST_MAX_BYTES] = "";
    struct error ignored = ERROR_INIT;
    int64_t port = DEFAULT_PORT;
    char *colon = NULL;

    memcpy(host, text, strnlen(text, sizeof(host) - 1));
    host[strcspn(host, "/?")] = '\0';
    colon = strchr(host, ':');
    if (colon != NULL) {
        *colon = '\0';
        if (!isdigit((unsigned char)colon[1]) ||
            text_parse_int(colon + 1, 1, PORT_MAX, &port, &ignored) < 0)
            return false;
    }
    *address_out = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    return inet_pton(AF_INET, host, &address_out->sin_addr) == 1;
}

/* Accepts any path: a request whose path has dots goes through libcurl, but to this address. */
bool direct_request_read_address(const char *url, struct sockaddr_in *address_out)
{
    return text_starts_with(url, SCHEME) && read_host(url + strlen(SCHEME), address_out);
}

static bool is_plain_header(const struct http_header *header)
{
    for (size_t i = 0; i < ARRAY_SIZE(reserved_headers); i++) {
        if (strcasecmp(header->name, reserved_headers[i]) == 0)
            return false;
    }
    return http_header_is_clean(header->name, header->value);
}

static bool has_plain_headers(const struct http_request *request)
{
    const struct http_header *header = request->headers;

    for (; header != NULL && header->name != NULL; header++) {
        if (!is_plain_header(header))
            return false;
    }
    return request->content_type == NULL || http_text_is_clean(request->content_type);
}

bool direct_request_is_possible(const struct http_request *request,
                                struct direct_target *target_out)
{
    const char *host = request->url + strlen(SCHEME);

    if (!text_starts_with(request->url, SCHEME) || !is_plain_url(request->url) ||
        request->unix_socket != NULL || request->send_stream ||
        text_equal(request->method, "HEAD") || !has_plain_headers(request))
        return false;
    target_out->path = host + strcspn(host, "/?");
    return target_out->path[0] != '?' && read_host(host, &target_out->address);
}

static bool has_body(const struct http_request *request)
{
    return request->body != NULL || request->given_body != NULL;
}

void direct_request_append_head(const struct http_request *request,
                                const struct direct_target *target, struct strbuf *out)
{
    const struct http_header *header = request->headers;
    const char *type = request->content_type;
    const char *path = target->path[0] != '\0' ? target->path : "/";

    strbuf_reserve(out, HEAD_USUAL_BYTES);
    strbuf_appendf(out, "%s %s HTTP/1.1\r\nHost: ", request->method, path);
    host_header_append(out, request->url);
    strbuf_append(out, "\r\nUser-Agent: deft\r\nAccept: */*\r\n");
    for (; header != NULL && header->name != NULL; header++)
        strbuf_appendf(out, "%s: %s\r\n", header->name, header->value);
    if (type == NULL && has_body(request))
        type = "application/json";
    if (type != NULL)
        strbuf_appendf(out, "Content-Type: %s\r\n", type);
    if (has_body(request) || text_equal(request->method, "POST"))
        strbuf_appendf(out, "Content-Length: %zu\r\n", request->body_len);
    strbuf_append(out, "\r\n");
}
