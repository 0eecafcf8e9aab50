#include "runtime/build/image_source.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/strbuf.h"
#include "base/text.h"

#define DEFAULT_REGISTRY "docker.io"

/* The first part names a registry if it cannot be part of a repository's name. */
static bool is_registry(const char *part, size_t len)
{
    if (len == strlen("localhost") && strncasecmp(part, "localhost", len) == 0)
        return true;
    for (size_t i = 0; i < len; i++) {
        if (strchr(".:[]@%", part[i]) != NULL || isupper((unsigned char)part[i]))
            return true;
    }
    return false;
}

void image_source_append(const char *image, struct strbuf *registry)
{
    size_t len = strcspn(image, "/");
    size_t begin = registry->len;

    if (image[len] == '\0' || !is_registry(image, len)) {
        strbuf_append(registry, DEFAULT_REGISTRY);
        return;
    }
    for (size_t i = 0; i < len; i++)
        strbuf_append_char(registry, (char)tolower((unsigned char)image[i]));
    if (text_equal(registry->text + begin, "index." DEFAULT_REGISTRY)) {
        strbuf_truncate(registry, begin);
        strbuf_append(registry, DEFAULT_REGISTRY);
    }
}

bool image_source_is_listed(const char *registries, const char *image)
{
    CLEANUP(strbuf_done) struct strbuf registry = STRBUF_INIT;
    const char *at = registries;

    image_source_append(image, &registry);
    for (;;) {
        size_t len = 0;

        at += strspn(at, " \t,");
        len = strcspn(at, " \t,");
        if (len == 0)
            return false;
        if (len == registry.len && strncasecmp(at, registry.text, len) == 0)
            return true;
        at += len;
    }
}
