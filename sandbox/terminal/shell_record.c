#include "sandbox/terminal/shell_record.h"

#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"

/* No program starts with a PATH of more than 128 KiB (Linux's MAX_ARG_STRLEN). */
enum { N_FIELDS = 5, MAX_RECORD_BYTES = 1024 * 1024, MAX_PID = INT32_MAX };

enum record_field { FIELD_KEY, FIELD_EXIT_CODE, FIELD_PID, FIELD_CWD, FIELD_PATH };

static int number_or(const char *text, int fallback)
{
    struct error ignored = ERROR_INIT;
    int64_t value = 0;

    if (text_parse_int(text, -1, MAX_PID, &value, &ignored) < 0)
        return fallback;
    return (int)value;
}

/* Splits the buffered bytes; false when fields are missing. *len_out: offset after the record. */
static bool split_fields(const struct strbuf *bytes, size_t start, const char *fields[N_FIELDS],
                         size_t *len_out)
{
    size_t at = start;

    for (size_t i = 0; i < N_FIELDS; i++) {
        const char *end = memchr(bytes->text + at, '\0', bytes->len - at);

        if (end == NULL)
            return false;
        fields[i] = bytes->text + at;
        at = (size_t)(end - bytes->text) + 1;
    }
    *len_out = at;
    return true;
}

static void fill(struct shell_record *record, struct strbuf *kept, const char *fields[N_FIELDS])
{
    size_t cwd_len = strlen(fields[FIELD_CWD]);

    strbuf_reset(kept);
    strbuf_append_bytes(kept, fields[FIELD_CWD], cwd_len + 1);
    strbuf_append(kept, fields[FIELD_PATH]);
    record->exit_code = number_or(fields[FIELD_EXIT_CODE], SHELL_EXIT_UNKNOWN);
    record->background_pid = number_or(fields[FIELD_PID], -1);
    record->cwd = kept->text;
    record->path = kept->text + cwd_len + 1;
}

bool shell_record_next(struct strbuf *bytes, const char *key, struct strbuf *kept,
                       struct shell_record *record_out)
{
    const char *fields[N_FIELDS] = {NULL};
    size_t key_len = strlen(key);
    const char *found = NULL;
    size_t used = 0;

    if (bytes->len > MAX_RECORD_BYTES)
        strbuf_remove_head(bytes, bytes->len - MAX_RECORD_BYTES);
    found = memmem(bytes->text, bytes->len, key, key_len + 1);
    if (found == NULL || !split_fields(bytes, (size_t)(found - bytes->text), fields, &used))
        return false;
    fill(record_out, kept, fields);
    strbuf_remove_head(bytes, used);
    return true;
}
