#include "client/sse.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"

enum { ID_MAX_BYTES = 1024, RETRY_MAX_DIGITS = 9, DECIMAL = 10 };

static const char BOM[] = "\xef\xbb\xbf";

void sse_done(struct sse *sse)
{
    if (sse == NULL)
        return;
    strbuf_done(&sse->line);
    strbuf_done(&sse->data);
    strbuf_done(&sse->name);
    strbuf_done(&sse->id);
    strbuf_done(&sse->last_id);
}

/* The value after "field:" with one space dropped, or NULL if the line is another field. */
static const char *field_value(const char *line, const char *field)
{
    size_t len = strlen(field);

    if (strncmp(line, field, len) != 0)
        return NULL;
    if (line[len] == '\0')
        return line + len;
    if (line[len] != ':')
        return NULL;
    return line[len + 1] == ' ' ? line + len + 2 : line + len + 1;
}

static int take_data(struct sse *sse, const char *value, size_t len, struct error *err)
{
    if (sse->data.len + len >= sse->max_bytes)
        return error_set(err, ERROR_TOO_LARGE, "an event is longer than %zu bytes", sse->max_bytes);
    if (sse->has_data)
        strbuf_append_char(&sse->data, '\n');
    strbuf_append_bytes(&sse->data, value, len);
    sse->has_data = true;
    return 0;
}

/* An id that could not be sent back in a header counts as none. */
static void take_id(struct sse *sse, const char *value, size_t len)
{
    if (memchr(value, '\0', len) != NULL)
        return;
    sse->has_new_id = true;
    strbuf_reset(&sse->id);
    if (len > ID_MAX_BYTES)
        return;
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)value[i] < ' ' || value[i] == '\x7f')
            return;
    }
    strbuf_append_bytes(&sse->id, value, len);
}

static void take_retry(struct sse *sse, const char *value, size_t len)
{
    int64_t ms = 0;

    if (len == 0 || len > RETRY_MAX_DIGITS)
        return;
    for (size_t i = 0; i < len; i++) {
        if (value[i] < '0' || value[i] > '9')
            return;
        ms = ms * DECIMAL + (value[i] - '0');
    }
    sse->retry_ms = ms;
}

static int take_field(struct sse *sse, struct error *err)
{
    const char *end = sse->line.text + sse->line.len;
    const char *value = field_value(sse->line.text, "data");

    if (value != NULL)
        return take_data(sse, value, (size_t)(end - value), err);
    value = field_value(sse->line.text, "event");
    if (value != NULL) {
        strbuf_reset(&sse->name);
        strbuf_append(&sse->name, value);
    }
    value = field_value(sse->line.text, "id");
    if (value != NULL)
        take_id(sse, value, (size_t)(end - value));
    value = field_value(sse->line.text, "retry");
    if (value != NULL)
        take_retry(sse, value, (size_t)(end - value));
    return 0;
}

static void forget_event(struct sse *sse)
{
    strbuf_reset(&sse->data);
    strbuf_reset(&sse->name);
    sse->has_data = false;
    sse->is_taken = false;
}

void sse_restart(struct sse *sse)
{
    forget_event(sse);
    strbuf_reset(&sse->line);
    strbuf_reset(&sse->id);
    strbuf_append(&sse->id, sse->last_id.text);
    sse->has_new_id = false;
    sse->was_cr = false;
    sse->has_begun = false;
}

/* Only if there is a new one: a stream may consist of line ends, each of which ends an event. */
static void keep_id(struct sse *sse)
{
    if (!sse->has_new_id)
        return;
    strbuf_reset(&sse->last_id);
    strbuf_append(&sse->last_id, sse->id.text);
    sse->has_new_id = false;
}

/* Processes a complete line; *is_event_out if it ends an event that has data. */
static int end_line(struct sse *sse, bool *is_event_out, struct error *err)
{
    size_t n_bom = 0;

    if (!sse->has_begun && text_starts_with(sse->line.text, BOM))
        n_bom = strlen(BOM);
    strbuf_remove_head(&sse->line, n_bom);
    sse->has_begun = true;
    *is_event_out = sse->line.len == 0 && sse->has_data;
    if (sse->line.len == 0)
        keep_id(sse);
    if (sse->line.len == 0 && !sse->has_data)
        forget_event(sse);
    if (sse->line.len > 0 && take_field(sse, err) < 0)
        return -1;
    strbuf_reset(&sse->line);
    return 0;
}

/* Appends bytes up to a line end to the line; *is_over_out if the line is complete. */
static int take_line(struct sse *sse, struct sse_input *input, bool *is_over_out, struct error *err)
{
    size_t n = 0;

    *is_over_out = false;
    if (sse->was_cr && input->len > 0) {
        n = input->bytes[0] == '\n' ? 1 : 0;
        input->bytes += n;
        input->len -= n;
        sse->was_cr = false;
    }
    for (n = 0; n < input->len && input->bytes[n] != '\n' && input->bytes[n] != '\r'; n++)
        ;
    if (sse->line.len + n > sse->max_bytes)
        return error_set(err, ERROR_TOO_LARGE, "a line is longer than %zu bytes", sse->max_bytes);
    strbuf_append_bytes(&sse->line, input->bytes, n);
    if (n < input->len) {
        sse->was_cr = input->bytes[n] == '\r';
        *is_over_out = true;
        n++;
    }
    input->bytes += n;
    input->len -= n;
    return 0;
}

int sse_next(struct sse *sse, struct sse_input *input, struct sse_event *event_out,
             struct error *err)
{
    bool is_over = false;
    bool is_event = false;

    *event_out = (struct sse_event){NULL, NULL, 0};
    if (sse->is_taken)
        forget_event(sse);
    while (input->len > 0) {
        if (take_line(sse, input, &is_over, err) < 0)
            return -1;
        if (is_over && end_line(sse, &is_event, err) < 0)
            return -1;
        if (is_over && is_event) {
            sse->is_taken = true;
            *event_out = (struct sse_event){.name = sse->name.len > 0 ? sse->name.text : "message",
                                            .data = sse->data.text,
                                            .len = sse->data.len};
            return 0;
        }
    }
    return 0;
}
