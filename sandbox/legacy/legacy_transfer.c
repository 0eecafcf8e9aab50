#include "sandbox/legacy/legacy_transfer.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/codec/multipart.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/uuid.h"
#include "base/zip.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/core/atomic_write.h"
#include "sandbox/core/textfile.h"
#include "sandbox/files/unzip.h"
#include "sandbox/http/file_path.h"
#include "sandbox/http/fork_request.h"
#include "sandbox/http/server_request.h"
#include "sandbox/legacy/legacy_reply.h"

enum { MAX_DEPTH = 128, PERMISSIONS = 07777 };

struct legacy_upload {
    struct atomic_write target;
    struct multipart multipart;
    int64_t size;
};

/* --- up --- */

static void legacy_upload_free(void *state)
{
    struct legacy_upload *upload = state;

    atomic_write_done(&upload->target);
    multipart_done(&upload->multipart);
    mem_free(upload);
}

static int write_piece(void *state, const char *bytes, size_t len, struct error *err)
{
    struct legacy_upload *upload = state;

    upload->size += (int64_t)len;
    if (upload->size > MAX_UPLOAD_BYTES)
        return error_set(err, ERROR_TOO_LARGE, "The file is larger than %lld bytes",
                         (long long)MAX_UPLOAD_BYTES);
    return fd_write_all(upload->target.fd, bytes, len, err);
}

static int take_piece(void *state, const char *bytes, size_t len, struct error *err)
{
    struct legacy_upload *upload = state;
    const struct multipart_target target = {.state = upload, .take = write_piece};

    return multipart_feed(&upload->multipart, bytes, len, &target, err);
}

static void answer_failure(struct server_request *request, int status, const char *why)
{
    CLEANUP(strbuf_done) struct strbuf detail = STRBUF_INIT;

    strbuf_appendf(&detail, "%d: %s", status, why);
    server_request_answer_detail(request, 500, detail.text);
}

static bool is_recursive(const struct server_request *request)
{
    const char *text = server_request_query(request, "recursive");

    return text != NULL && (text_equal_nocase(text, "true") || text_equal(text, "1"));
}

/* Starts the file under a random name: its own name arrives with its bytes. */
static int begin_upload(struct legacy_upload *upload, const char *type, const char *destination,
                        struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct uuid name = uuid_random();

    if (multipart_init(&upload->multipart, type, "file", err) < 0)
        return -1;
    strbuf_appendf(&path, "%s/", destination);
    if (textfile_make_parents(path.text, err) < 0)
        return -1;
    strbuf_append(&path, name.text);
    return atomic_write_begin(&upload->target, path.text, err);
}

void legacy_upload_begin(struct server_request *request)
{
    CLEANUP(mem_freep) char *type = server_request_header(request, "content-type");
    const char *destination = server_request_query(request, "destination");
    struct legacy_upload *upload = NULL;
    struct error err = ERROR_INIT;

    if (destination == NULL)
        destination = "/";
    if (destination[0] != '/') {
        answer_failure(request, 400, "Destination path must be absolute");
        return;
    }
    upload = NEW(struct legacy_upload);
    upload->target = (struct atomic_write)ATOMIC_WRITE_INIT;
    upload->multipart.pending = (struct strbuf)STRBUF_INIT;
    upload->multipart.filename = (struct strbuf)STRBUF_INIT;
    request->sink = (struct server_request_sink){upload, take_piece, legacy_upload_free};
    if (begin_upload(upload, type != NULL ? type : "", destination, &err) == 0)
        return;
    if (upload->multipart.delimiter_len == 0)
        legacy_reply_answer_invalid(request, err.message);
    else
        server_request_answer_detail(request, 500, err.message);
}

static json_t *description(const struct server_request *request, const struct legacy_upload *upload)
{
    json_t *body = json_object();
    const char *destination = server_request_query(request, "destination");

    json_put_text(body, "filename", upload->multipart.filename.text);
    json_put_text(body, "destination", destination != NULL ? destination : "/");
    json_put(body, "recursive", json_boolean(is_recursive(request)));
    return body;
}

/* The folder that holds the temporary file. */
static void append_folder(const struct legacy_upload *upload, struct strbuf *folder)
{
    const char *slash = strrchr(upload->target.path, '/');

    strbuf_append_bytes(folder, upload->target.path, (size_t)(slash - upload->target.path));
    if (folder->len == 0)
        strbuf_append_char(folder, '/');
}

static void unpack(const struct server_request *request, struct fork_reply *answer)
{
    const struct legacy_upload *upload = request->sink.state;
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;
    CLEANUP(fd_close) int fd = open(upload->target.temporary, O_RDONLY | O_CLOEXEC);
    struct error err = ERROR_INIT;

    append_folder(upload, &folder);
    (void)unlink(upload->target.temporary);
    if (unzip_into(fd, folder.text, &err) < 0) {
        fork_reply_error(answer, &err);
        answer->status = 500;
        return;
    }
    answer->body = description(request, upload);
}

/* Renames the file to its own name; an existing file's mode is kept. */
static int put_in_place(struct legacy_upload *upload, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct stat old;

    append_folder(upload, &path);
    strbuf_appendf(&path, "/%s", upload->multipart.filename.text);
    if (stat(path.text, &old) == 0 && S_ISREG(old.st_mode))
        (void)fchmod(upload->target.fd, old.st_mode & PERMISSIONS);
    mem_free(upload->target.path);
    upload->target.path = strbuf_take(&path);
    return atomic_write_commit(&upload->target, err);
}

static bool is_file_name(const char *name)
{
    return name[0] != '\0' && strchr(name, '/') == NULL && !text_equal(name, ".") &&
           !text_equal(name, "..");
}

void legacy_upload_handle(struct server_request *request)
{
    struct legacy_upload *upload = request->sink.state;
    const char *name = upload->multipart.filename.text;
    json_auto_t *body = NULL;
    struct error err = ERROR_INIT;

    if (!multipart_is_complete(&upload->multipart)) {
        legacy_reply_answer_invalid(request, "file: Field required");
    } else if (!is_file_name(name)) {
        answer_failure(request, 400, "The file needs a name without slashes");
    } else if (text_ends_with(name, ".zip")) {
        fork_request_start(request, &(struct fork_request_spec){.work = unpack, .result = -1});
    } else if (is_recursive(request)) {
        answer_failure(request, 400, "Recursive uploads must be zip files");
    } else if (put_in_place(upload, &err) < 0) {
        server_request_answer_detail(request, 500, err.message);
    } else {
        body = description(request, upload);
        server_request_answer_json(request, 200, body);
    }
}

/* --- down --- */

static int write_result(void *state, const char *bytes, size_t len, struct error *err)
{
    const struct fork_reply *answer = state;

    return fd_write_all(answer->result, bytes, len, err);
}

/* Unreadable files are left out. */
static int add_file(struct zip *zip, const char *path, const char *name, struct error *err)
{
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat info;
    char *bytes = NULL;
    int rc = 0;

    if (fd < 0 || fstat(fd, &info) < 0 || !S_ISREG(info.st_mode))
        return 0;
    if (info.st_size == 0)
        return zip_add(zip, name, "", 0, err);
    bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return error_set(err, ERROR_UNAVAILABLE, "reading %s: %m", path);
    rc = zip_add(zip, name, bytes, (size_t)info.st_size, err);
    (void)munmap(bytes, (size_t)info.st_size);
    return rc;
}

static int is_inner(const struct dirent *entry)
{
    return !text_equal(entry->d_name, ".") && !text_equal(entry->d_name, "..");
}

/* A folder below the one being sent; below: "" or its path with a slash. */
struct download_folder {
    const char *root;
    const char *below;
    int depth;
};

static int add_folder(struct zip *zip, const struct download_folder *folder, struct error *err);

/* Follows links to files, but not to folders. */
/* NOLINTNEXTLINE(misc-no-recursion): at most MAX_DEPTH */
static int add_entry(struct zip *zip, const struct download_folder *folder, const char *name,
                     struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf inner = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct stat info;

    strbuf_appendf(&inner, "%s%s", folder->below, name);
    strbuf_appendf(&path, "%s/%s", folder->root, inner.text);
    if (lstat(path.text, &info) == 0 && S_ISDIR(info.st_mode)) {
        strbuf_append_char(&inner, '/');
        return add_folder(
            zip, &(struct download_folder){folder->root, inner.text, folder->depth + 1}, err);
    }
    return add_file(zip, path.text, inner.text, err);
}

/* NOLINTNEXTLINE(misc-no-recursion): at most MAX_DEPTH */
static int add_folder(struct zip *zip, const struct download_folder *folder, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct dirent **entries = NULL;
    int rc = 0;
    int n = 0;

    if (folder->depth > MAX_DEPTH)
        return error_set(err, ERROR_TOO_LARGE, "folders are nested more than %d deep", MAX_DEPTH);
    strbuf_appendf(&path, "%s/%s", folder->root, folder->below);
    n = scandir(path.text, &entries, is_inner, alphasort);
    for (int i = 0; i < n; i++) {
        if (rc == 0)
            rc = add_entry(zip, folder, entries[i]->d_name, err);
        free(entries[i]);
    }
    free(entries);
    return rc;
}

static void name_archive(const char *path, struct fork_reply *answer)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
    size_t end = strlen(path);
    size_t start = 0;

    while (end > 1 && path[end - 1] == '/')
        end--;
    for (start = end; start > 0 && path[start - 1] != '/'; start--)
        ;
    strbuf_append_bytes(&name, path + start, end - start);
    strbuf_append(&name, ".zip");
    file_name_append_disposition(name.text, &value);
    json_put_text(answer->headers, "content-disposition", value.text);
}

static void pack(const struct server_request *request, struct fork_reply *answer)
{
    CLEANUP(zip_done) struct zip zip = ZIP_INIT(answer, write_result);
    const struct download_folder folder = {server_request_query(request, "path"), "", 0};
    struct error err = ERROR_INIT;

    if (add_folder(&zip, &folder, &err) < 0 || zip_finish(&zip, &err) < 0) {
        fork_reply_error(answer, &err);
        answer->status = 500;
        return;
    }
    answer->content_type = "application/zip";
    name_archive(folder.root, answer);
}

/* An unnamed file, on disk if possible, since it may be large. */
static int open_result(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);

    return fd >= 0 ? fd : open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
}

void legacy_download_handle(struct server_request *request)
{
    const char *path = server_request_query(request, "path");
    struct stat info;

    if (path == NULL)
        legacy_reply_answer_invalid(request, "path: Field required");
    else if (path[0] != '/')
        answer_failure(request, 400, "Path must be absolute");
    else if (stat(path, &info) < 0)
        answer_failure(request, 404, "File not found");
    else
        fork_request_start(request,
                           &(struct fork_request_spec){.work = pack, .result = open_result(path)});
}
