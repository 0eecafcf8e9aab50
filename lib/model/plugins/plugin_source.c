#include "model/plugins/plugin_source.h"

#include <stdbool.h>
#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"

enum { MAX_BYTES = 4096 };

/* Short forms and the URLs they expand to. */
struct forge_address {
    const char *prefix;
    const char *address;
    const char *page; /* the path between repository and ref in a page's URL */
};

static const struct forge_address forges[] = {
    {"github:", "https://github.com/", "/tree/"},
    {"gitlab:", "https://gitlab.com/", "/-/tree/"},
    {"bitbucket:", "https://bitbucket.org/", "/src/"},
};

void plugin_source_done(struct plugin_source *source)
{
    mem_free(source->address);
    mem_free(source->ref);
    mem_free(source->repo_path);
    mem_free(source->username);
    if (source->password != NULL)
        explicit_bzero(source->password, strlen(source->password));
    mem_free(source->password);
    *source = (struct plugin_source)PLUGIN_SOURCE_INIT;
}

static void replace(char **text, const char *bytes, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf copy = STRBUF_INIT;

    strbuf_append_bytes(&copy, bytes, len);
    mem_free(*text);
    *text = strbuf_take(&copy);
}

/* True for a normalized path that stays within the repository. */
static bool is_inside(const char *path)
{
    const char *part = path;

    for (;;) {
        size_t len = strcspn(part, "/");

        if (len == 0 || (len <= 2 && strspn(part, ".") == len))
            return false;
        if (part[len] == '\0')
            break;
        part += len + 1;
    }
    return strpbrk(path, "\\\r\n\t") == NULL && strlen(path) <= MAX_BYTES;
}

/* Reads "github:owner/name/folder": the URL of owner/name, and the folder. */
static int read_short(const struct forge_address *forge, const char *rest,
                      struct plugin_source *source, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf address = STRBUF_INIT;
    const char *name = strchr(rest, '/');
    size_t len = name != NULL ? strcspn(name + 1, "/") : 0;

    if (name == NULL || name == rest || len == 0 || strspn(rest, "./") > 0)
        return error_set(err, ERROR_INVALID, "a repository must have the form %sowner/name",
                         forge->prefix);
    strbuf_append(&address, forge->address);
    strbuf_append_bytes(&address, rest, (size_t)(name + 1 - rest) + len);
    if (!text_ends_with(address.text, ".git"))
        strbuf_append(&address, ".git");
    source->address = strbuf_take(&address);
    if (name[1 + len] == '/' && name[2 + len] != '\0')
        replace(&source->repo_path, name + 2 + len, strlen(name + 2 + len));
    return 0;
}

/* Reads the URL of a folder on a forge's website: "…/owner/name/tree/main/skills/one". */
static void read_page(struct plugin_source *source)
{
    for (size_t i = 0; i < ARRAY_SIZE(forges); i++) {
        const char *page = strstr(source->address, forges[i].page);
        const char *ref = page != NULL ? page + strlen(forges[i].page) : NULL;
        size_t len = ref != NULL ? strcspn(ref, "/") : 0;

        if (!text_starts_with(source->address, forges[i].address) || len == 0)
            continue;
        replace(&source->ref, ref, len);
        if (ref[len] == '/' && ref[len + 1] != '\0')
            replace(&source->repo_path, ref + len + 1, strcspn(ref + len + 1, "?#"));
        replace(&source->address, source->address, (size_t)(page - source->address));
        return;
    }
}

static void decode(char **text, const char *bytes, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT;

    percent_decode(&plain, bytes, len, '+');
    *text = strbuf_take(&plain);
}

/* "https://name:password@host/…": both are removed from the URL, which is shown. A token may be
 * given alone. */
static void take_credentials(struct plugin_source *source)
{
    CLEANUP(strbuf_done) struct strbuf address = STRBUF_INIT;
    const char *host = strstr(source->address, "://") + 3;
    size_t authority = strcspn(host, "/?#");
    const char *at = memrchr(host, '@', authority);
    const char *colon = at != NULL ? memchr(host, ':', (size_t)(at - host)) : NULL;

    if (at == NULL || !text_starts_with(source->address, "http"))
        return;
    if (colon != NULL) {
        decode(&source->username, host, (size_t)(colon - host));
        decode(&source->password, colon + 1, (size_t)(at - colon - 1));
    } else {
        decode(&source->password, host, (size_t)(at - host));
    }
    strbuf_append_bytes(&address, source->address, (size_t)(host - source->address));
    strbuf_append(&address, at + 1);
    mem_free(source->address);
    source->address = strbuf_take(&address);
}

static int read_text(const char *text, struct plugin_source *source, struct error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(forges); i++) {
        if (text_starts_with(text, forges[i].prefix))
            return read_short(&forges[i], text + strlen(forges[i].prefix), source, err);
    }
    source->address =
        mem_dup_text(text_starts_with(text, "file:///") ? text + strlen("file://") : text);
    if (strstr(text, "://") != NULL && source->address[0] != '/') {
        take_credentials(source);
        read_page(source);
        return 0;
    }
    if (source->address[0] == '/' || strchr(text, '@') != NULL)
        return 0;
    return error_set(err, ERROR_INVALID,
                     "The source must be github:owner/name, the address of a git repository, or an "
                     "absolute path");
}

int plugin_source_read(const char *text, const char *ref, const char *repo_path,
                       struct plugin_source *source_out, struct error *err)
{
    CLEANUP(plugin_source_done) struct plugin_source source = PLUGIN_SOURCE_INIT;

    if (strlen(text) > MAX_BYTES)
        return error_set(err, ERROR_INVALID, "The source is too long");
    if (read_text(text, &source, err) < 0)
        return -1;
    if (ref != NULL && ref[0] != '\0')
        replace(&source.ref, ref, strlen(ref));
    if (repo_path != NULL && repo_path[0] != '\0')
        replace(&source.repo_path, repo_path, strlen(repo_path));
    if (source.repo_path != NULL && text_ends_with(source.repo_path, "/"))
        source.repo_path[strlen(source.repo_path) - 1] = '\0';
    if (source.repo_path != NULL && !is_inside(source.repo_path))
        return error_set(err, ERROR_INVALID, "repo_path must be a path within the repository");
    *source_out = source;
    source = (struct plugin_source)PLUGIN_SOURCE_INIT;
    return 0;
}
