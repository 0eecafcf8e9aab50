#include "base/codec/multipart.h"

#include <string.h>
#include <strings.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/text.h"

enum { MAX_PART_HEADERS_BYTES = 16 * 1024, MAX_BOUNDARY_BYTES = 70 };

static const char end_of_headers[] = "\r\n\r\n";

int multipart_init(struct multipart *multipart, const char *content_type, const char *field,
                   struct error *err)
{
    const char *boundary = strcasestr(content_type, "boundary=");
    size_t len = 0;

    *multipart =
        (struct multipart){.field = field, .pending = STRBUF_INIT, .filename = STRBUF_INIT};
    if (strncasecmp(content_type, "multipart/form-data", strlen("multipart/form-data")) != 0 ||
        boundary == NULL)
        return error_set(err, ERROR_INVALID, "the body must be multipart/form-data");
    boundary += strlen("boundary=");
    if (*boundary == '"') {
        boundary++;
        len = strcspn(boundary, "\"");
    } else {
        len = strcspn(boundary, "; \t");
    }
    if (len == 0 || len > MAX_BOUNDARY_BYTES)
        return error_set(err, ERROR_INVALID, "the boundary must have 1 to %d characters",
                         MAX_BOUNDARY_BYTES);
    memcpy(multipart->delimiter, "\r\n--", 4);
    memcpy(multipart->delimiter + 4, boundary, len);
    multipart->delimiter_len = len + 4;
    /* The first delimiter has no line end before it. */
    strbuf_append(&multipart->pending, "\r\n");
    return 0;
}

void multipart_done(struct multipart *multipart)
{
    if (multipart == NULL)
        return;
    strbuf_done(&multipart->pending);
    strbuf_done(&multipart->filename);
}

bool multipart_is_complete(const struct multipart *multipart)
{
    return (multipart->found || multipart->field == NULL) && multipart->state == MULTIPART_END;
}

/* Appends the name in a Content-Disposition line; nothing where there is none. */
static void read_name(const char *headers, struct strbuf *name_out)
{
    const char *line = strcasestr(headers, "content-disposition:");
    const char *line_end = line != NULL ? line + strcspn(line, "\r") : NULL;
    const char *name = line;
    size_t len = 0;

    while (name != NULL) {
        name = strcasestr(name, "name=");
        if (name == NULL || name > line_end)
            return;
        if (strchr("; \t", name[-1]) != NULL)
            break;
        name++; /* filename= */
    }
    if (name == NULL)
        return;
    name += strlen("name=");
    if (*name != '"') {
        strbuf_append_bytes(name_out, name, strcspn(name, "\";\r \t"));
        return;
    }
    name++;
    len = strcspn(name, "\"\r");
    if (name[len] == '"')
        strbuf_append_bytes(name_out, name, len);
}

/* filename="x", or filename*=UTF-8''x with %XX (RFC 7578, section 4.2; RFC 8187). */
static void read_filename(const char *headers, struct strbuf *filename)
{
    const char *extended = strcasestr(headers, "filename*=");
    const char *plain = strcasestr(headers, "filename=");

    if (extended != NULL) {
        const char *value = strrchr(extended, '\'');

        if (value != NULL)
            percent_decode(filename, value + 1, strcspn(value + 1, ";\r\n"), '+');
        return;
    }
    if (plain == NULL)
        return;
    plain += strlen("filename=");
    plain += *plain == '"';
    strbuf_append_bytes(filename, plain, strcspn(plain, "\"\r\n"));
}

/* The state after a delimiter: another part, or the end. Needs two bytes. */
static int take_after_boundary(struct multipart *multipart, bool *more_out, struct error *err)
{
    struct strbuf *pending = &multipart->pending;

    if (pending->len < 2) {
        *more_out = true;
        return 0;
    }
    if (memcmp(pending->text, "--", 2) == 0) {
        multipart->state = MULTIPART_END;
    } else if (memcmp(pending->text, "\r\n", 2) == 0) {
        /* Headers may be absent: the empty line then follows at once. */
        multipart->state = MULTIPART_HEADERS;
        return 0;
    } else {
        return error_set(err, ERROR_INVALID, "the multipart body is malformed");
    }
    strbuf_remove_head(pending, 2);
    return 0;
}

static int begin_part(struct multipart *multipart, const struct multipart_target *target,
                      const char *headers, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;

    read_name(headers, &name);
    multipart->state = MULTIPART_SKIPPED;
    if (multipart->field == NULL) {
        multipart->state = MULTIPART_FIELD;
        return target->begin(target->state, name.text, err);
    }
    if (!multipart->found && text_equal(name.text, multipart->field)) {
        multipart->found = true;
        read_filename(headers, &multipart->filename);
        multipart->state = MULTIPART_FIELD;
    }
    return 0;
}

static int take_headers(struct multipart *multipart, const struct multipart_target *target,
                        bool *more_out, struct error *err)
{
    struct strbuf *pending = &multipart->pending;
    size_t from = multipart->n_searched;
    char *end = memmem(pending->text + from, pending->len - from, end_of_headers, 4);

    multipart->n_searched = 0;
    if (end == NULL) {
        *more_out = true;
        multipart->n_searched = pending->len > 3 ? pending->len - 3 : 0;
        if (pending->len > MAX_PART_HEADERS_BYTES)
            return error_set(err, ERROR_INVALID, "a part's headers are too long");
        return 0;
    }
    if (memmem(pending->text, (size_t)(end - pending->text), multipart->delimiter,
               multipart->delimiter_len) != NULL)
        return error_set(err, ERROR_INVALID, "a part's headers are not terminated");
    *end = '\0';
    if (begin_part(multipart, target, pending->text, err) < 0)
        return -1;
    /* The CRLF that ends the headers may be the one that begins the next delimiter. */
    strbuf_remove_head(pending, (size_t)(end - pending->text) + 4);
    return 0;
}

/* Passes on content up to the next delimiter; holds back a possible beginning of one. */
static int take_content(struct multipart *multipart, const struct multipart_target *target,
                        bool *more_out, struct error *err)
{
    struct strbuf *pending = &multipart->pending;
    const char *end =
        memmem(pending->text, pending->len, multipart->delimiter, multipart->delimiter_len);
    size_t len = 0;

    if (end != NULL)
        len = (size_t)(end - pending->text);
    else if (pending->len >= multipart->delimiter_len)
        len = pending->len - (multipart->delimiter_len - 1);
    if (multipart->state == MULTIPART_FIELD && len > 0 &&
        target->take(target->state, pending->text, len, err) < 0)
        return -1;
    *more_out = end == NULL;
    if (end != NULL && multipart->state == MULTIPART_FIELD && multipart->field == NULL &&
        target->end(target->state, err) < 0)
        return -1;
    if (end != NULL) {
        multipart->state = MULTIPART_AFTER_BOUNDARY;
        len += multipart->delimiter_len;
    }
    strbuf_remove_head(pending, len);
    return 0;
}

static int parse_next(struct multipart *multipart, const struct multipart_target *target,
                      bool *more_out, struct error *err)
{
    switch (multipart->state) {
    case MULTIPART_AFTER_BOUNDARY:
        return take_after_boundary(multipart, more_out, err);
    case MULTIPART_HEADERS:
        return take_headers(multipart, target, more_out, err);
    case MULTIPART_PREAMBLE:
    case MULTIPART_FIELD:
    case MULTIPART_SKIPPED:
        return take_content(multipart, target, more_out, err);
    case MULTIPART_END:
        strbuf_reset(&multipart->pending);
        *more_out = true;
        return 0;
    }
    return 0;
}

int multipart_feed(struct multipart *multipart, const char *bytes, size_t len,
                   const struct multipart_target *target, struct error *err)
{
    bool needs_more = false;

    strbuf_append_bytes(&multipart->pending, bytes, len);
    while (!needs_more) {
        if (parse_next(multipart, target, &needs_more, err) < 0)
            return -1;
    }
    return 0;
}
