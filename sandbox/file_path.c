#include "sandbox/file_path.h"

#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/http.h"

int file_path_read(const struct request *request, char **path_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    const char *given = request_query(request, "path");

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
