#include "fcgi/router.h"

#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"

/* One segment of a pattern, without its slash. */
struct piece {
    const char *text;
    size_t len;
};

static struct piece next_piece(const char **at)
{
    struct piece piece = {.text = *at + 1};

    piece.len = strcspn(piece.text, "/");
    *at = piece.text + piece.len;
    return piece;
}

static bool is_param(const struct piece *piece)
{
    return piece->len > 2 && piece->text[0] == '{' && piece->text[piece->len - 1] == '}';
}

static bool takes_rest(const struct piece *piece)
{
    return is_param(piece) && piece->text[piece->len - 2] == '*';
}

static bool is_literal_match(const struct piece *piece, const char *segment)
{
    return strlen(segment) == piece->len && strncmp(segment, piece->text, piece->len) == 0;
}

/* "." and ".." never match a name: resolving paths is left to the proxy. */
static bool is_dots(const char *segment)
{
    return text_equal(segment, ".") || text_equal(segment, "..");
}

static bool segment_matches(const struct piece *piece, const char *segment)
{
    if (is_dots(segment))
        return false;
    return is_param(piece) ? segment[0] != '\0' : is_literal_match(piece, segment);
}

static bool rest_matches(char *const *segments, size_t n_segments)
{
    for (size_t i = 0; i < n_segments; i++) {
        if (is_dots(segments[i]))
            return false;
    }
    return n_segments > 0 && (n_segments > 1 || segments[0][0] != '\0');
}

bool route_matches(const char *pattern, char *const *segments, size_t n_segments)
{
    const char *at = pattern;
    size_t i = 0;

    while (*at != '\0') {
        struct piece piece = next_piece(&at);

        if (takes_rest(&piece))
            return rest_matches(segments + i, n_segments - i);
        if (i == n_segments || !segment_matches(&piece, segments[i]))
            return false;
        i++;
    }
    return i == n_segments;
}

/* Number of literal bytes in the pattern: more means a better match. */
static size_t literal_bytes(const char *pattern)
{
    const char *at = pattern;
    size_t n = 0;

    while (*at != '\0') {
        struct piece piece = next_piece(&at);

        if (!is_param(&piece))
            n += piece.len + 1;
    }
    return n;
}

static bool is_better(const struct route *route, const struct route *best)
{
    return best == NULL || literal_bytes(route->pattern) > literal_bytes(best->pattern);
}

/* The best row for the request's method; *methods_out: bits of all methods the path has. */
static const struct route *find_best(const struct request *request, char *const *segments,
                                     size_t n_segments, unsigned *methods_out)
{
    const struct route *best = NULL;

    *methods_out = 0;
    for (const struct route *const *table = route_tables; *table != NULL; table++) {
        for (const struct route *route = *table; route->handle != NULL; route++) {
            if ((route->origins & (unsigned)request->origin) == 0 ||
                !route_matches(route->pattern, segments, n_segments))
                continue;
            *methods_out |= 1U << route->method;
            if (route->method == request->method && is_better(route, best))
                best = route;
        }
    }
    return best;
}

/* The same path with its last slash removed or added. */
static bool matches_with_other_slash(const struct request *request)
{
    char *segments[PATH_MAX_SEGMENTS + 1];
    char empty[1] = "";
    size_t n = request->n_segments;
    unsigned methods = 0;
    const struct route *route = NULL;

    if (n == 0)
        return false;
    memcpy(segments, request->segments, n * sizeof(segments[0]));
    if (segments[n - 1][0] == '\0')
        n--;
    else
        segments[n++] = empty;
    route = find_best(request, segments, n, &methods);
    return route != NULL || methods != 0;
}

static char *join(char *const *segments, size_t n)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            strbuf_append_char(&text, '/');
        strbuf_append(&text, segments[i]);
    }
    return strbuf_take(&text);
}

static void take_params(struct request *request, const char *pattern)
{
    const char *at = pattern;
    size_t i = 0;

    while (*at != '\0') {
        struct piece piece = next_piece(&at);
        struct path_param *param = &request->params[request->n_params];

        if (is_param(&piece) && request->n_params < PATH_MAX_PARAMS) {
            *param = (struct path_param){piece.text + 1, piece.len - 2, request->segments[i]};
            request->n_params++;
        }
        if (takes_rest(&piece)) {
            request->tail = join(request->segments + i, request->n_segments - i);
            param->name_len--;
            param->value = request->tail;
            return;
        }
        i++;
    }
}

enum route_result route_find(struct request *request, unsigned *allowed_out)
{
    const struct route *route =
        find_best(request, request->segments, request->n_segments, allowed_out);

    if (route != NULL) {
        request->route = route;
        take_params(request, route->pattern);
        return ROUTE_FOUND;
    }
    if (*allowed_out != 0)
        return ROUTE_OTHER_METHOD;
    return matches_with_other_slash(request) ? ROUTE_OTHER_SLASH : ROUTE_UNKNOWN;
}
