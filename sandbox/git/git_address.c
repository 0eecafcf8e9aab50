#include "sandbox/git/git_address.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"

enum { MAX_ADDRESS_BYTES = 4096, MAX_REF_BYTES = 255, MAX_NAME_BYTES = 200 };

struct scheme {
    const char *prefix;
    const char *port; /* default port; NULL: no credential is sent */
};

static const struct scheme schemes[] = {
    {"https://", ":443"},
    {"http://", ":80"},
    {"git://", NULL},
    {"ssh://", NULL},
};

const char git_address_protocols[] = "https:http:git:ssh";

/* Excludes "@", which a password may precede, and characters special in git's configuration. */
static const char host_characters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                      "0123456789.-_:[]";

static bool has_control(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text <= ' ' || *text == '\x7f')
            return true;
    }
    return false;
}

/* "git@host:path": no slash before the colon, and a name before the "@". */
static bool is_scp_like(const char *address)
{
    const char *at = strchr(address, '@');
    const char *colon = strchr(address, ':');

    return address[0] != '-' && at != NULL && at > address && colon != NULL && at + 1 < colon &&
           at[1] != '-' && colon[1] != ':' && strcspn(address, "/") > (size_t)(colon - address);
}

static bool has_host(const char *address, const struct scheme *scheme)
{
    const char *host = address + strlen(scheme->prefix);

    return *host != '\0' && *host != '/' && *host != '-';
}

static const struct scheme *find_scheme(const char *address)
{
    for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
        if (text_starts_with(address, schemes[i].prefix))
            return &schemes[i];
    }
    return NULL;
}

bool git_address_is_remote(const char *address)
{
    const struct scheme *scheme = find_scheme(address);

    if (strlen(address) > MAX_ADDRESS_BYTES || has_control(address))
        return false;
    return scheme != NULL ? has_host(address, scheme) : is_scp_like(address);
}

bool git_address_is_ref(const char *ref)
{
    return ref[0] != '\0' && ref[0] != '-' && ref[0] != '+' && strlen(ref) <= MAX_REF_BYTES &&
           !has_control(ref) && strpbrk(ref, ":*?[^~\\") == NULL && strstr(ref, "..") == NULL &&
           strstr(ref, "@{") == NULL;
}

bool git_address_origin(const char *address, struct strbuf *out)
{
    const struct scheme *scheme = find_scheme(address);
    const char *host = NULL;
    size_t len = 0;
    size_t port_len = 0;

    if (scheme == NULL || scheme->port == NULL || !git_address_is_remote(address))
        return false;
    host = address + strlen(scheme->prefix);
    len = strcspn(host, "/?#");
    port_len = strlen(scheme->port);
    if (len == 0 || strspn(host, host_characters) < len)
        return false;
    if (len > port_len && strncmp(host + len - port_len, scheme->port, port_len) == 0)
        len -= port_len;
    strbuf_append(out, scheme->prefix);
    for (size_t i = 0; i < len; i++)
        strbuf_append_char(out, (char)tolower((unsigned char)host[i]));
    return true;
}

bool git_address_is_name(const char *name)
{
    return name[0] != '\0' && name[0] != '.' && name[0] != '-' && strchr(name, '/') == NULL &&
           strlen(name) <= MAX_NAME_BYTES && !has_control(name);
}

int git_address_name(const char *address, struct strbuf *out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    const char *end = address + strcspn(address, "?#");
    const char *begin = NULL;

    while (end > address && end[-1] == '/')
        end--;
    begin = end;
    while (begin > address && begin[-1] != '/' && begin[-1] != ':')
        begin--;
    strbuf_append_bytes(&name, begin, (size_t)(end - begin));
    if (text_ends_with(name.text, ".git"))
        strbuf_truncate(&name, name.len - strlen(".git"));
    if (!git_address_is_name(name.text))
        return error_set(err, ERROR_INVALID, "The URL does not end with a repository name");
    strbuf_append(out, name.text);
    return 0;
}
