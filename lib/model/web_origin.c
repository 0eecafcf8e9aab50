#include "model/web_origin.h"

#include <string.h>

#include "base/text.h"

enum { PORT_HTTP = 80, PORT_HTTPS = 443, PORT_MAX = 65535, PORT_MAX_DIGITS = 5 };

static const char http[] = "http://";
static const char https[] = "https://";

/* Length in bytes of "host" or "[address]"; 0 if it is neither. */
static size_t host_length(const char *text)
{
    static const char address[] = "0123456789abcdefABCDEF:.";
    static const char name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    size_t n = 0;

    if (text[0] != '[')
        return strspn(text, name);
    n = strspn(text + 1, address);
    return n > 0 && text[1 + n] == ']' ? n + 2 : 0;
}

/* Reads "" or ":8443"; false for anything else. */
static bool read_port(const char *text, size_t len, int *port_io)
{
    int port = 0;

    if (len == 0)
        return true;
    if (text[0] != ':' || len < 2 || len > PORT_MAX_DIGITS + 1)
        return false;
    for (size_t i = 1; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        port = 10 * port + (text[i] - '0');
    }
    *port_io = port;
    return port > 0 && port <= PORT_MAX;
}

/* Reads "host:port" of len bytes. */
static bool read_authority(bool is_https, const char *text, size_t len,
                           struct web_origin *origin_out)
{
    struct web_origin origin = {.is_https = is_https, .port = is_https ? PORT_HTTPS : PORT_HTTP};
    size_t n = host_length(text);

    if (n == 0 || n > len || n >= sizeof(origin.host) ||
        !read_port(text + n, len - n, &origin.port))
        return false;
    for (size_t i = 0; i < n; i++)
        origin.host[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] | 0x20 : text[i]);
    *origin_out = origin;
    return true;
}

/* Returns the text after the scheme; NULL if it is not http or https. */
static const char *skip_scheme(const char *text, bool *is_https_out)
{
    *is_https_out = text_starts_with(text, https);
    if (*is_https_out)
        return text + strlen(https);
    return text_starts_with(text, http) ? text + strlen(http) : NULL;
}

bool web_origin_read(const char *text, struct web_origin *origin_out)
{
    bool is_https = false;
    const char *authority = skip_scheme(text, &is_https);

    return authority != NULL && read_authority(is_https, authority, strlen(authority), origin_out);
}

bool web_origin_equal(const struct web_origin *a, const struct web_origin *b)
{
    return a->is_https == b->is_https && a->port == b->port && text_equal(a->host, b->host);
}

bool web_origin_is_loopback(const struct web_origin *origin)
{
    static const char *const hosts[] = {"localhost", "127.0.0.1", "[::1]"};

    for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
        if (text_equal(origin->host, hosts[i]))
            return true;
    }
    return false;
}

bool web_origin_of_request(const char *app_url, bool is_tls, const char *host,
                           struct web_origin *origin_out)
{
    if (!read_authority(is_tls, host, strlen(host), origin_out))
        return false;
    if (is_tls || !text_starts_with(app_url, https) || web_origin_is_loopback(origin_out))
        return true;
    return read_authority(true, host, strlen(host), origin_out);
}
