#include "client/http1.h"

#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/text.h"

#define LINE_MAX_BYTES ((size_t)(64 * 1024))
/* Replies without a body, whatever their headers say. */
#define STATUS_NO_CONTENT 204
#define STATUS_NOT_MODIFIED 304
#define STATUS_SWITCHING 101
#define STATUS_LEAST_FINAL 200
#define STATUS_MOST 599

#define LENGTH_UNKNOWN (-1)

void http1_done(struct http1_reader *reader)
{
    if (reader == NULL)
        return;
    strbuf_done(&reader->line);
    *reader = (struct http1_reader)HTTP1_READER_INIT;
}

/* --- lines --- */

/*
 * Collects bytes of the input, which is not empty, up to the line's end; *whole_out once the line
 * is complete, with surrounding white space removed.
 */
static int take_line(struct http1_reader *reader, struct http1_input *input, bool *whole_out,
                     struct error *err)
{
    const char *end = memchr(input->bytes, '\n', input->len);
    size_t n = input->len;

    if (reader->is_line_used)
        strbuf_reset(&reader->line);
    reader->is_line_used = false;
    if (end != NULL)
        n = (size_t)(end - input->bytes) + 1;
    if (reader->line.len + n > LINE_MAX_BYTES)
        return error_set(err, ERROR_TOO_LARGE, "the response has a line that is too long");
    strbuf_append_bytes(&reader->line, input->bytes, n);
    input->bytes += n;
    input->len -= n;
    *whole_out = end != NULL;
    if (end == NULL)
        return 0;
    reader->is_line_used = true;
    while (reader->line.len > 0 &&
           strchr("\r\n \t", reader->line.text[reader->line.len - 1]) != NULL)
        strbuf_truncate(&reader->line, reader->line.len - 1);
    return 0;
}

/* HTTP/1.1 200 OK */
static int read_status(struct http1_reader *reader, struct error *err)
{
    const char *line = reader->line.text;
    int64_t status = 0;
    char digits[4] = "";

    if (!text_starts_with(line, "HTTP/1.") || reader->line.len < strlen("HTTP/1.1 200") ||
        line[8] != ' ')
        return error_set(err, ERROR_INVALID, "the response is not HTTP/1");
    memcpy(digits, line + 9, 3);
    if (strchr(" \r\t", line[12]) == NULL || text_parse_int(digits, 100, 999, &status, err) < 0)
        return error_set(err, ERROR_INVALID, "the response is not HTTP/1");
    if (status > STATUS_MOST || status == STATUS_SWITCHING)
        return error_set(err, ERROR_INVALID,
                         "the response has status %lld, which cannot be forwarded",
                         (long long)status);
    reader->status = (long)status;
    reader->left = LENGTH_UNKNOWN;
    reader->is_chunked = false;
    reader->chunks = (struct chunked){.state = CHUNKED_SIZE};
    reader->is_kept = line[7] != '0';
    reader->state = HTTP1_AT_HEADER;
    return 0;
}

/* The value if the line is a header of that name. */
static const char *value_of(const char *line, const char *name)
{
    size_t len = strlen(name);

    if (strncasecmp(line, name, len) != 0 || line[len] != ':')
        return NULL;
    line += len + 1;
    return line + strspn(line, " \t");
}

static int read_length(struct http1_reader *reader, const char *value, struct error *err)
{
    struct error ignored = ERROR_INIT;
    int64_t length = 0;

    if (text_parse_int(value, 0, INT64_MAX, &length, &ignored) < 0 ||
        (reader->left != LENGTH_UNKNOWN && reader->left != length))
        return error_set(err, ERROR_INVALID, "the response's Content-Length is not valid");
    reader->left = length;
    return 0;
}

/* Evaluates headers that determine where the reply ends. */
static int read_header(struct http1_reader *reader, struct error *err)
{
    const char *line = reader->line.text;
    const char *length = value_of(line, "Content-Length");
    const char *coding = value_of(line, "Transfer-Encoding");
    const char *connection = value_of(line, "Connection");

    if (connection != NULL && strcasestr(connection, "close") != NULL)
        reader->is_kept = false;
    if (coding != NULL && (reader->is_chunked || strcasecmp(coding, "chunked") != 0))
        return error_set(err, ERROR_INVALID, "the response's transfer coding is unknown");
    if (coding != NULL)
        reader->is_chunked = true;
    if (length != NULL)
        return read_length(reader, length, err);
    return 0;
}

/* The empty line after the headers: determines the next state. */
static void end_headers(struct http1_reader *reader)
{
    if (reader->status < STATUS_LEAST_FINAL)
        reader->state = HTTP1_AT_STATUS;
    else if (reader->status == STATUS_NO_CONTENT || reader->status == STATUS_NOT_MODIFIED)
        reader->state = HTTP1_AT_END;
    else if (reader->is_chunked)
        reader->state = HTTP1_IN_BODY;
    else
        reader->state = reader->left == 0 ? HTTP1_AT_END : HTTP1_IN_BODY;
    if (http1_ends_with_connection(reader))
        reader->is_kept = false;
}

/* Processes a complete line; *is_header_out if the caller gets it too. */
static int read_line(struct http1_reader *reader, bool *is_header_out, struct error *err)
{
    bool is_empty = reader->line.len == 0;

    *is_header_out = false;
    switch (reader->state) {
    case HTTP1_AT_STATUS:
        *is_header_out = true;
        return read_status(reader, err);
    case HTTP1_AT_HEADER:
        *is_header_out = !is_empty;
        if (!is_empty)
            return read_header(reader, err);
        end_headers(reader);
        return 0;
    case HTTP1_IN_BODY:
    case HTTP1_AT_END:
        break;
    }
    return 0;
}

/* --- pieces --- */

static void take_body(struct http1_reader *reader, struct http1_input *input,
                      struct http1_piece *piece_out)
{
    size_t n = input->len;

    if (reader->left != LENGTH_UNKNOWN && (uint64_t)reader->left < n)
        n = (size_t)reader->left;
    *piece_out = (struct http1_piece){HTTP1_BYTES, input->bytes, n};
    input->bytes += n;
    input->len -= n;
    if (reader->left == LENGTH_UNKNOWN)
        return;
    reader->left -= (int64_t)n;
    if (reader->left == 0)
        reader->state = HTTP1_AT_END;
}

/* The next data of a chunked body; none when the input is used up, or at the body's end. */
static int take_chunks(struct http1_reader *reader, struct http1_input *input,
                       struct http1_piece *piece_out, struct error *err)
{
    struct chunked_input chunks = {input->bytes, input->len};
    const char *data = NULL;
    size_t len = 0;

    if (chunked_next(&reader->chunks, &chunks, &data, &len, err) < 0)
        return -1;
    *input = (struct http1_input){chunks.bytes, chunks.len};
    if (len > 0)
        *piece_out = (struct http1_piece){HTTP1_BYTES, data, len};
    if (reader->chunks.state == CHUNKED_OVER)
        reader->state = HTTP1_AT_END;
    return 0;
}

int http1_next(struct http1_reader *reader, struct http1_input *input,
               struct http1_piece *piece_out, struct error *err)
{
    bool is_whole = true;
    bool is_header = false;

    *piece_out = (struct http1_piece){HTTP1_NONE, NULL, 0};
    while (reader->state != HTTP1_AT_END && input->len > 0) {
        if (reader->state == HTTP1_IN_BODY && reader->is_chunked) {
            if (take_chunks(reader, input, piece_out, err) < 0)
                return -1;
            if (piece_out->kind == HTTP1_BYTES)
                return 0;
            continue;
        }
        if (reader->state == HTTP1_IN_BODY) {
            take_body(reader, input, piece_out);
            return 0;
        }
        if (take_line(reader, input, &is_whole, err) < 0)
            return -1;
        if (!is_whole)
            return 0;
        if (read_line(reader, &is_header, err) < 0)
            return -1;
        if (!is_header)
            continue;
        *piece_out = (struct http1_piece){HTTP1_LINE, reader->line.text, reader->line.len};
        return 0;
    }
    if (reader->state == HTTP1_AT_END)
        piece_out->kind = HTTP1_END;
    return 0;
}

bool http1_ends_with_connection(const struct http1_reader *reader)
{
    return reader->state == HTTP1_IN_BODY && !reader->is_chunked && reader->left == LENGTH_UNKNOWN;
}
