#include "fcgi/core/router.h"

#include "web/url_path.h"

static bool is_better(const struct route *route, const struct route *best)
{
    return best == NULL ||
           url_pattern_literal_bytes(route->pattern) > url_pattern_literal_bytes(best->pattern);
}

/* The best row for the request's method; *methods_out: bits of all methods the path has. */
static const struct route *find_best(const struct request *request, const struct url_path *path,
                                     unsigned *methods_out)
{
    const struct route *best = NULL;

    *methods_out = 0;
    for (const struct route *const *table = route_tables; *table != NULL; table++) {
        for (const struct route *route = *table; route->handle != NULL; route++) {
            if ((route->origins & (unsigned)request->origin) == 0 ||
                !url_path_matches(path, route->pattern))
                continue;
            *methods_out |= 1U << route->method;
            if (route->method == request->method && is_better(route, best))
                best = route;
        }
    }
    return best;
}

static bool matches_with_other_slash(const struct request *request)
{
    struct url_path other = {.n_segments = 0};
    unsigned methods = 0;
    const struct route *route = NULL;

    if (request->path.n_segments == 0)
        return false;
    url_path_other_slash(&request->path, &other);
    route = find_best(request, &other, &methods);
    return route != NULL || methods != 0;
}

enum route_result route_find(struct request *request, unsigned *allowed_out)
{
    const struct route *route = find_best(request, &request->path, allowed_out);

    if (route != NULL) {
        request->route = route;
        url_path_take_params(&request->path, route->pattern, &request->params);
        return ROUTE_FOUND;
    }
    if (*allowed_out != 0)
        return ROUTE_OTHER_METHOD;
    return matches_with_other_slash(request) ? ROUTE_OTHER_SLASH : ROUTE_UNKNOWN;
}
