#include "sandbox/files/static_files.h"

#include <string.h>
#include <sys/stat.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/files/files.h"
#include "sandbox/http/path_scope.h"
#include "sandbox/http/server_request.h"

struct file_type {
    const char *ending;
    const char *type;
};

static const struct file_type types[] = {
    {".html", "text/html; charset=utf-8"},
    {".htm", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".mjs", "text/javascript; charset=utf-8"},
    {".json", "application/json"},
    {".map", "application/json"},
    {".txt", "text/plain; charset=utf-8"},
    {".md", "text/markdown; charset=utf-8"},
    {".log", "text/plain; charset=utf-8"},
    {".csv", "text/csv; charset=utf-8"},
    {".xml", "application/xml"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".jpg", "image/jpeg"},
    {".jpeg", "image/jpeg"},
    {".gif", "image/gif"},
    {".webp", "image/webp"},
    {".avif", "image/avif"},
    {".bmp", "image/bmp"},
    {".ico", "image/vnd.microsoft.icon"},
    {".pdf", "application/pdf"},
    {".wasm", "application/wasm"},
    {".woff", "font/woff"},
    {".woff2", "font/woff2"},
    {".ttf", "font/ttf"},
    {".mp3", "audio/mpeg"},
    {".wav", "audio/wav"},
    {".mp4", "video/mp4"},
    {".webm", "video/webm"},
    {".zip", "application/zip"},
    {".gz", "application/gzip"},
};

static const char *type_of(const char *path)
{
    const char *ending = strrchr(path, '.');

    for (size_t i = 0; ending != NULL && i < ARRAY_SIZE(types); i++) {
        if (text_equal_nocase(types[i].ending, ending))
            return types[i].type;
    }
    return "application/octet-stream";
}

static bool is_directory(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

void static_files_handle(struct server_request *request)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    const char *file = server_request_query(request, "file");
    struct opened_file opened = {.fd = -1};
    struct stat info;

    if (file == NULL || file[0] != '/') {
        server_request_answer_detail(request, 400, "Path must be absolute");
        return;
    }
    strbuf_append(&path, file);
    if (is_directory(path.text)) {
        strbuf_append(&path, "/index.html");
        if (stat(path.text, &info) < 0) {
            server_request_answer_detail(request, 404, "No index.html in directory");
            return;
        }
    }
    /* Checked last, since index.html may itself be a link. */
    if (!path_scope_allows(request, path.text)) {
        server_request_answer_detail(request, 400, "Path is outside the workspace");
        return;
    }
    if (files_open(request, path.text, &opened))
        files_answer(request, &opened, type_of(path.text));
}
