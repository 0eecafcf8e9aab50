#include "client/host_header.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PORT_HTTP = 80, PORT_HTTPS = 443 };

/* The colon before the port, or NULL; an IPv6 address has colons within its brackets. */
static const char *find_port(const char *host, size_t len)
{
    const char *colon = memrchr(host, ':', len);
    const char *bracket = memrchr(host, ']', len);

    return colon != NULL && (bracket == NULL || colon > bracket) ? colon : NULL;
}

void host_header_append(struct strbuf *out, const char *url)
{
    const char *scheme = strstr(url, "://");
    const char *host = scheme != NULL ? scheme + strlen("://") : url;
    size_t len = strcspn(host, "/?#");
    const char *colon = find_port(host, len);
    long own = strncasecmp(url, "https:", strlen("https:")) == 0 ? PORT_HTTPS : PORT_HTTP;
    long port = colon != NULL ? strtol(colon + 1, NULL, 10) : 0;

    strbuf_append_bytes(out, host, colon != NULL ? (size_t)(colon - host) : len);
    if (port > 0 && port != own)
        strbuf_appendf(out, ":%ld", port);
}
