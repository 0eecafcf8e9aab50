#include "sandbox/http/http_route.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

/* True when path matches; *param is the start of the {…}'s value, *len its length. */
static bool path_matches(const char *pattern, const char *path, const char **param, size_t *len)
{
    const char *open = strchr(pattern, '{');
    const char *close = NULL;
    size_t fixed = open != NULL ? (size_t)(open - pattern) : 0;

    if (open == NULL)
        return text_equal(pattern, path);
    if (strncmp(pattern, path, fixed) != 0)
        return false;
    close = strchr(open, '}');
    assert(close != NULL); /* our own tables are well-formed */
    *param = path + fixed;
    *len = close[-1] == '*' ? strlen(*param) : strcspn(*param, "/");
    return *len > 0 && text_equal(close + 1, *param + *len);
}

const struct http_route *http_route_find(const struct http_route_table *table,
                                         enum request_method method, const char *path,
                                         char **param_out, struct error *err)
{
    bool has_path = false;

    for (size_t i = 0; i < table->n; i++) {
        const char *param = "";
        size_t len = 0;

        if (!path_matches(table->routes[i].path, path, &param, &len))
            continue;
        has_path = true;
        if (table->routes[i].method == method) {
            *param_out = mem_dup_bytes(param, len);
            return &table->routes[i];
        }
    }
    if (has_path)
        error_set(err, ERROR_UNSUPPORTED, "Method Not Allowed");
    else
        error_set(err, ERROR_NOT_FOUND, "Not Found");
    return NULL;
}
