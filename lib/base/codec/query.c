#include "base/codec/query.h"

#include <string.h>

#include "base/encode.h"
#include "base/strbuf.h"
#include "base/text.h"

static void append_item(const char *item, size_t len, struct strbuf *name, struct strbuf *value)
{
    const char *equals = memchr(item, '=', len);
    size_t name_len = equals != NULL ? (size_t)(equals - item) : len;

    percent_decode(name, item, name_len, ' ');
    if (equals != NULL)
        percent_decode(value, equals + 1, len - name_len - 1, ' ');
}

bool query_next(struct query_reader *reader, struct strbuf *name, struct strbuf *value)
{
    const char *item = reader->at + strspn(reader->at, "&");
    size_t len = strcspn(item, "&");

    reader->at = item + len;
    if (len == 0)
        return false;
    append_item(item, len, name, value);
    return true;
}

void query_append_value(const char *query, const char *name, struct strbuf *value)
{
    struct query_reader reader = {query};

    for (;;) {
        CLEANUP(strbuf_done) struct strbuf item_name = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf item_value = STRBUF_INIT;

        if (!query_next(&reader, &item_name, &item_value))
            return;
        if (item_name.len == strlen(name) && text_equal(item_name.text, name)) {
            strbuf_append_bytes(value, item_value.text, item_value.len);
            return;
        }
    }
}
