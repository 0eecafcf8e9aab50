#include "sandbox/http/file_path.h"

#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/http/server_request.h"

int file_path_read(const struct server_request *request, char **path_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    const char *given = server_request_query(request, "path");

    if (given == NULL && request->param[0] != '/')
        strbuf_append_char(&path, '/');
    strbuf_append(&path, given != NULL ? given : request->param);
    if (path.text[0] != '/')
        return error_set(err, ERROR_INVALID, "Path must be absolute");
    if (!utf8_is_valid(path.text, path.len))
        return error_set(err, ERROR_INVALID, "Path must be UTF-8");
    *path_out = strbuf_take(&path);
    return 0;
}

static bool is_plain_name(const char *name)
{
    for (; *name != '\0'; name++) {
        if ((unsigned char)*name < 0x20 || (unsigned char)*name > 0x7E || strchr("\"\\%", *name))
            return false;
    }
    return true;
}

/* Names that are not plain ASCII use the extended form. */
void file_name_append_disposition(const char *name, struct strbuf *out)
{
    if (is_plain_name(name)) {
        strbuf_appendf(out, "attachment; filename=\"%s\"", name);
        return;
    }
    strbuf_append(out, "attachment; filename*=utf-8''");
    percent_append(out, name);
}
