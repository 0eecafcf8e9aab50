#include "web/url_path.h"

#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"

/* One segment of a pattern, without its slash. */
struct pattern_segment {
    const char *text;
    size_t len;
};

static struct pattern_segment next_piece(const char **at)
{
    struct pattern_segment piece = {.text = *at + 1};

    piece.len = strcspn(piece.text, "/");
    *at = piece.text + piece.len;
    return piece;
}

static bool is_param(const struct pattern_segment *piece)
{
    return piece->len > 2 && piece->text[0] == '{' && piece->text[piece->len - 1] == '}';
}

static bool takes_rest(const struct pattern_segment *piece)
{
    return is_param(piece) && piece->text[piece->len - 2] == '*';
}

static bool is_literal_match(const struct pattern_segment *piece, const char *segment)
{
    return strlen(segment) == piece->len && strncmp(segment, piece->text, piece->len) == 0;
}

/* "." and ".." never match a name: resolving paths is left to the proxy. */
static bool is_dots(const char *segment)
{
    return text_equal(segment, ".") || text_equal(segment, "..");
}

static bool segment_matches(const struct pattern_segment *piece, const char *segment)
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

bool url_path_matches(const struct url_path *path, const char *pattern)
{
    const char *at = pattern;
    size_t i = 0;

    while (*at != '\0') {
        struct pattern_segment piece = next_piece(&at);

        if (takes_rest(&piece))
            return rest_matches(path->segments + i, path->n_segments - i);
        if (i == path->n_segments || !segment_matches(&piece, path->segments[i]))
            return false;
        i++;
    }
    return i == path->n_segments;
}

size_t url_pattern_literal_bytes(const char *pattern)
{
    const char *at = pattern;
    size_t n = 0;

    while (*at != '\0') {
        struct pattern_segment piece = next_piece(&at);

        if (!is_param(&piece))
            n += piece.len + 1;
    }
    return n;
}

void url_path_done(struct url_path *path)
{
    if (path == NULL)
        return;
    for (size_t i = 0; i < path->n_segments; i++)
        mem_free(path->segments[i]);
    path->n_segments = 0;
}

void path_params_done(struct path_params *params)
{
    if (params == NULL)
        return;
    mem_free(params->tail);
    *params = (struct path_params){.n = 0};
}

static int decode(const char *text, size_t len, char **text_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf decoded = STRBUF_INIT;

    percent_decode(&decoded, text, len, '+');
    if (memchr(decoded.text, '\0', decoded.len) != NULL ||
        !utf8_is_valid(decoded.text, decoded.len))
        return error_set(err, ERROR_INVALID, "the address is not UTF-8");
    *text_out = strbuf_take(&decoded);
    return 0;
}

int url_path_read(struct url_path *path, const char *target, struct error *err)
{
    const char *at = target;

    *path = (struct url_path){.n_segments = 0};
    while (*at == '/') {
        size_t len = strcspn(at + 1, "/?");

        if (path->n_segments == PATH_MAX_SEGMENTS)
            return error_set(err, ERROR_INVALID, "the path has too many parts");
        if (decode(at + 1, len, &path->segments[path->n_segments], err) < 0)
            return -1;
        path->n_segments++;
        at += 1 + len;
    }
    return 0;
}

void url_path_other_slash(const struct url_path *path, struct url_path *other_out)
{
    *other_out = *path;
    if (path->n_segments > 0 && path->segments[path->n_segments - 1][0] == '\0')
        other_out->n_segments--;
    else
        other_out->segments[other_out->n_segments++] = other_out->empty;
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

void url_path_take_params(const struct url_path *path, const char *pattern,
                          struct path_params *params_out)
{
    const char *at = pattern;
    size_t i = 0;

    *params_out = (struct path_params){.n = 0};
    while (*at != '\0') {
        struct pattern_segment piece = next_piece(&at);
        struct path_param *param = &params_out->items[params_out->n];

        if (is_param(&piece) && params_out->n < PATH_MAX_PARAMS) {
            *param = (struct path_param){piece.text + 1, piece.len - 2, path->segments[i]};
            params_out->n++;
        }
        if (takes_rest(&piece)) {
            params_out->tail = join(path->segments + i, path->n_segments - i);
            param->name_len--;
            param->value = params_out->tail;
            return;
        }
        i++;
    }
}

const char *path_params_text(const struct path_params *params, const char *name)
{
    for (size_t i = 0; i < params->n; i++) {
        const struct path_param *param = &params->items[i];

        if (param->name_len == strlen(name) && strncmp(param->name, name, param->name_len) == 0)
            return param->value;
    }
    return "";
}
