/* Values of statements and results (db_query.h): parameters as text, cells, arrays, times. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "store/db/db_query.h"

struct db_int db_int(int64_t value)
{
    struct db_int number = {""};

    (void)snprintf(number.text, sizeof(number.text), "%" PRId64, value);
    return number;
}

const char *db_flag(bool value)
{
    return value ? "true" : "false";
}

char *db_json_text(const json_t *json)
{
    return json != NULL ? json_to_text(json) : NULL;
}

const char *db_uuid(const struct uuid *uuid)
{
    return uuid_is_set(uuid) ? uuid->text : NULL;
}

void db_rows_done(PGresult **rows)
{
    PQclear(*rows);
    *rows = NULL;
}

const char *db_text(const PGresult *rows, int row, int column)
{
    return PQgetisnull(rows, row, column) ? NULL : PQgetvalue(rows, row, column);
}

int64_t db_number(const PGresult *rows, int row, int column)
{
    return strtoll(PQgetvalue(rows, row, column), NULL, 10);
}

bool db_bool(const PGresult *rows, int row, int column)
{
    return PQgetvalue(rows, row, column)[0] == 't';
}

struct uuid db_cell_uuid(const PGresult *rows, int row, int column)
{
    struct uuid uuid = UUID_INIT;

    if (!uuid_parse(PQgetvalue(rows, row, column), &uuid))
        return (struct uuid)UUID_INIT;
    return uuid;
}

char *db_dup(const PGresult *rows, int row, int column)
{
    if (PQgetisnull(rows, row, column))
        return NULL;
    return mem_dup_text(PQgetvalue(rows, row, column));
}

int db_json(const PGresult *rows, int row, int column, json_t **json_out, struct error *err)
{
    const char *text = PQgetvalue(rows, row, column);

    if (json_parse_own(text, strlen(text), json_out, err) < 0)
        return error_wrap(err, "column %s", PQfname(rows, column));
    return 0;
}

int db_read_time(const char *text, int64_t *utc_us_out, struct error *err)
{
    if (clock_parse(text, utc_us_out, err) == 0)
        return 0;
    err->code = ERROR_INTERNAL;
    return error_wrap(err, "a stored time");
}

void db_array_begin(struct strbuf *array)
{
    strbuf_append_char(array, '{');
}

void db_array_add(struct strbuf *array, const char *text)
{
    if (array->text[array->len - 1] != '{')
        strbuf_append_char(array, ',');
    if (text == NULL) {
        strbuf_append(array, "NULL");
        return;
    }
    strbuf_append_char(array, '"');
    while (*text != '\0') {
        size_t n_plain = strcspn(text, "\"\\");

        strbuf_append_bytes(array, text, n_plain);
        text += n_plain;
        if (*text == '\0')
            break;
        strbuf_append_char(array, '\\');
        strbuf_append_char(array, *text++);
    }
    strbuf_append_char(array, '"');
}

void db_array_end(struct strbuf *array)
{
    strbuf_append_char(array, '}');
}
