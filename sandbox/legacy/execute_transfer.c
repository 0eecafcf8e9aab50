#include "sandbox/legacy/execute_transfer.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/uuid.h"
#include "base/zip.h"
#include "sandbox/core/limits.h"
#include "sandbox/core/replace.h"
#include "sandbox/core/textfile.h"
#include "sandbox/files/unzip.h"
#include "sandbox/http/file_path.h"
#include "sandbox/http/job.h"
#include "sandbox/http/multipart.h"
#include "sandbox/http/request.h"
#include "sandbox/legacy/execute_reply.h"

enum { MAX_DEPTH = 128, PERMISSIONS = 07777 };

struct arrival {
    struct replace replace;
    struct multipart multipart;
    int64_t size;
};

/* --- up --- */

static void arrival_free(void *state)
{
    struct arrival *arrival = state;

    replace_done(&arrival->replace);
    multipart_done(&arrival->multipart);
    mem_free(arrival);
}

static int write_piece(void *state, const char *bytes, size_t len, struct error *err)
{
    struct arrival *arrival = state;

    arrival->size += (int64_t)len;
    if (arrival->size > MAX_UPLOAD_BYTES)
        return error_set(err, ERROR_TOO_LARGE, "The file is larger than %lld bytes",
                         (long long)MAX_UPLOAD_BYTES);
    return fd_write_all(arrival->replace.fd, bytes, len, err);
}

static int take_piece(void *state, const char *bytes, size_t len, struct error *err)
{
    struct arrival *arrival = state;
    const struct multipart_target target = {arrival, write_piece};

    return multipart_feed(&arrival->multipart, bytes, len, &target, err);
}

static void fail(struct request *request, int status, const char *why)
{
    CLEANUP(strbuf_done) struct strbuf detail = STRBUF_INIT;

    strbuf_appendf(&detail, "%d: %s", status, why);
    request_answer_detail(request, 500, detail.text);
}

static bool is_recursive(const struct request *request)
{
    const char *text = request_query(request, "recursive");

    return text != NULL && (text_equal_nocase(text, "true") || text_equal(text, "1"));
}

/* Starts the file under a random name: its own name arrives with its bytes. */
static int begin(struct arrival *arrival, const char *type, const char *destination,
                 struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct uuid name = uuid_random();

    if (multipart_init(&arrival->multipart, type, "file", err) < 0)
        return -1;
    strbuf_appendf(&path, "%s/", destination);
    if (textfile_make_parents(path.text, err) < 0)
        return -1;
    strbuf_append(&path, name.text);
    return replace_begin(&arrival->replace, path.text, err);
}

void execute_upload_begin(struct request *request)
{
    CLEANUP(mem_freep) char *type = request_header(request, "content-type");
    const char *destination = request_query(request, "destination");
    struct arrival *arrival = NULL;
    struct error err = ERROR_INIT;

    if (destination == NULL)
        destination = "/";
    if (destination[0] != '/') {
        fail(request, 400, "Destination path must be absolute");
        return;
    }
    arrival = NEW(struct arrival);
    arrival->replace = (struct replace)REPLACE_INIT;
    arrival->multipart.pending = (struct strbuf)STRBUF_INIT;
    arrival->multipart.filename = (struct strbuf)STRBUF_INIT;
    request->sink = (struct request_sink){arrival, take_piece, arrival_free};
    if (begin(arrival, type != NULL ? type : "", destination, &err) == 0)
        return;
    if (arrival->multipart.delimiter_len == 0)
        execute_answer_invalid(request, err.message);
    else
        request_answer_detail(request, 500, err.message);
}

static json_t *description(const struct request *request, const struct arrival *arrival)
{
    json_t *body = json_object();
    const char *destination = request_query(request, "destination");

    json_put_text(body, "filename", arrival->multipart.filename.text);
    json_put_text(body, "destination", destination != NULL ? destination : "/");
    json_put(body, "recursive", json_boolean(is_recursive(request)));
    return body;
}

/* The folder that holds the temporary file. */
static void append_folder(const struct arrival *arrival, struct strbuf *folder)
{
    const char *slash = strrchr(arrival->replace.path, '/');

    strbuf_append_bytes(folder, arrival->replace.path, (size_t)(slash - arrival->replace.path));
    if (folder->len == 0)
        strbuf_append_char(folder, '/');
}

static void unpack(const struct request *request, struct job_answer *answer)
{
    const struct arrival *arrival = request->sink.state;
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;
    CLEANUP(fd_close) int fd = open(arrival->replace.temporary, O_RDONLY | O_CLOEXEC);
    struct error err = ERROR_INIT;

    append_folder(arrival, &folder);
    (void)unlink(arrival->replace.temporary);
    if (unzip_into(fd, folder.text, &err) < 0) {
        job_answer_error(answer, &err);
        answer->status = 500;
        return;
    }
    answer->body = description(request, arrival);
}

/* Renames the file to its own name; an existing file's mode is kept. */
static int put_in_place(struct arrival *arrival, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct stat old;

    append_folder(arrival, &path);
    strbuf_appendf(&path, "/%s", arrival->multipart.filename.text);
    if (stat(path.text, &old) == 0 && S_ISREG(old.st_mode))
        (void)fchmod(arrival->replace.fd, old.st_mode & PERMISSIONS);
    mem_free(arrival->replace.path);
    arrival->replace.path = strbuf_take(&path);
    return replace_commit(&arrival->replace, err);
}

static bool is_file_name(const char *name)
{
    return name[0] != '\0' && strchr(name, '/') == NULL && !text_equal(name, ".") &&
           !text_equal(name, "..");
}

void execute_upload_handle(struct request *request)
{
    struct arrival *arrival = request->sink.state;
    const char *name = arrival->multipart.filename.text;
    json_auto_t *body = NULL;
    struct error err = ERROR_INIT;

    if (!multipart_is_complete(&arrival->multipart)) {
        execute_answer_invalid(request, "file: Field required");
    } else if (!is_file_name(name)) {
        fail(request, 400, "The file needs a name without slashes");
    } else if (text_ends_with(name, ".zip")) {
        job_start(request, &(struct job_order){.work = unpack, .result = -1});
    } else if (is_recursive(request)) {
        fail(request, 400, "Recursive uploads must be zip files");
    } else if (put_in_place(arrival, &err) < 0) {
        request_answer_detail(request, 500, err.message);
    } else {
        body = description(request, arrival);
        request_answer_json(request, 200, body);
    }
}

/* --- down --- */

static int write_result(void *state, const char *bytes, size_t len, struct error *err)
{
    const struct job_answer *answer = state;

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
struct place {
    const char *root;
    const char *below;
    int depth;
};

static int add_folder(struct zip *zip, const struct place *place, struct error *err);

/* Follows links to files, but not to folders. */
/* NOLINTNEXTLINE(misc-no-recursion): at most MAX_DEPTH */
static int add_entry(struct zip *zip, const struct place *place, const char *name,
                     struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf inner = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct stat info;

    strbuf_appendf(&inner, "%s%s", place->below, name);
    strbuf_appendf(&path, "%s/%s", place->root, inner.text);
    if (lstat(path.text, &info) == 0 && S_ISDIR(info.st_mode)) {
        strbuf_append_char(&inner, '/');
        return add_folder(zip, &(struct place){place->root, inner.text, place->depth + 1}, err);
    }
    return add_file(zip, path.text, inner.text, err);
}

/* NOLINTNEXTLINE(misc-no-recursion): at most MAX_DEPTH */
static int add_folder(struct zip *zip, const struct place *place, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct dirent **entries = NULL;
    int rc = 0;
    int n = 0;

    if (place->depth > MAX_DEPTH)
        return error_set(err, ERROR_TOO_LARGE, "folders are more than %d deep", MAX_DEPTH);
    strbuf_appendf(&path, "%s/%s", place->root, place->below);
    n = scandir(path.text, &entries, is_inner, alphasort);
    for (int i = 0; i < n; i++) {
        if (rc == 0)
            rc = add_entry(zip, place, entries[i]->d_name, err);
        free(entries[i]);
    }
    free(entries);
    return rc;
}

static void name_archive(const char *path, struct job_answer *answer)
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

static void pack(const struct request *request, struct job_answer *answer)
{
    CLEANUP(zip_done) struct zip zip = ZIP_INIT(answer, write_result);
    const struct place place = {request_query(request, "path"), "", 0};
    struct error err = ERROR_INIT;

    if (add_folder(&zip, &place, &err) < 0 || zip_finish(&zip, &err) < 0) {
        job_answer_error(answer, &err);
        answer->status = 500;
        return;
    }
    answer->content_type = "application/zip";
    name_archive(place.root, answer);
}

/* An unnamed file, on disk if possible, since it may be large. */
static int open_result(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);

    return fd >= 0 ? fd : open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
}

void execute_download_handle(struct request *request)
{
    const char *path = request_query(request, "path");
    struct stat info;

    if (path == NULL)
        execute_answer_invalid(request, "path: Field required");
    else if (path[0] != '/')
        fail(request, 400, "Path must be absolute");
    else if (stat(path, &info) < 0)
        fail(request, 404, "File not found");
    else
        job_start(request, &(struct job_order){.work = pack, .result = open_result(path)});
}
