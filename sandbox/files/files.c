#include "sandbox/files/files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/codec/multipart.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/core/atomic_write.h"
#include "sandbox/core/textfile.h"
#include "sandbox/http/file_path.h"
#include "sandbox/http/server_request.h"
#include "sandbox/http/validation.h"

enum { WRITEBACK_BYTES = 8 * 1024 * 1024 };

struct upload {
    struct atomic_write target;
    struct multipart multipart;
    int64_t size;
    int64_t flushed;
};

static bool lacks_path(struct server_request *request)
{
    if (request->param[0] != '\0' || server_request_query(request, "path") != NULL)
        return false;
    validation_answer(request, "missing", "query", "path", "Field required");
    return true;
}

/* --- upload --- */

static void upload_free(void *state)
{
    struct upload *upload = state;

    atomic_write_done(&upload->target);
    multipart_done(&upload->multipart);
    mem_free(upload);
}

/* Starts writing back what has arrived, so that the sync at the end has little to do. */
static void write_back(struct upload *upload)
{
    if (upload->size - upload->flushed < WRITEBACK_BYTES)
        return;
    (void)sync_file_range(upload->target.fd, upload->flushed, upload->size - upload->flushed,
                          SYNC_FILE_RANGE_WRITE);
    upload->flushed = upload->size;
}

/* A full disk or a file size limit is the client's error, not an internal one. */
static int no_room(struct error *err)
{
    if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
        return error_set(err, ERROR_TOO_LARGE, "There is no space for the file: %m");
    return error_set(err, ERROR_INTERNAL, "%s", "no write permission");
}

static int upload_write(void *state, const char *bytes, size_t len, struct error *err)
{
    struct upload *upload = state;

    upload->size += (int64_t)len;
    if (upload->size > MAX_UPLOAD_BYTES)
        return error_set(err, ERROR_TOO_LARGE, "The file is larger than %lld bytes",
                         (long long)MAX_UPLOAD_BYTES);
    if (fd_write_all(upload->target.fd, bytes, len, err) < 0)
        return no_room(err);
    write_back(upload);
    return 0;
}

static int upload_take(void *state, const char *bytes, size_t len, struct error *err)
{
    struct upload *upload = state;
    const struct multipart_target target = {.state = upload, .take = upload_write};

    return multipart_feed(&upload->multipart, bytes, len, &target, err);
}

static int check_target(const char *path, struct error *err)
{
    struct stat info;

    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return error_set(err, ERROR_INVALID, "Path is a directory");
    if (text_ends_with(path, "/"))
        return error_set(err, ERROR_INVALID, "Path is a directory");
    if (textfile_make_parents(path, err) < 0) {
        if (err->code == ERROR_INVALID)
            return error_set(err, ERROR_INVALID, "A parent of the path is not a directory");
        return -1;
    }
    return 0;
}

static int begin_upload(struct server_request *request, struct upload *upload, const char *path,
                        struct error *err)
{
    CLEANUP(mem_freep) char *type = server_request_header(request, "content-type");

    if (multipart_init(&upload->multipart, type != NULL ? type : "", "file", err) < 0)
        return -1;
    if (check_target(path, err) < 0)
        return -1;
    return atomic_write_begin(&upload->target, path, err);
}

/* File system failures are reported to the client; only those that it caused are a 4xx. */
static void answer_upload_failure(struct server_request *request, const struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf detail = STRBUF_INIT;

    if (err->code == ERROR_INVALID || err->code == ERROR_TOO_LARGE ||
        err->code == ERROR_FORBIDDEN) {
        server_request_answer_error(request, err);
        return;
    }
    strbuf_appendf(&detail, "Failed to upload file: %s", err->message);
    server_request_answer_detail(request, 500, detail.text);
}

void files_begin_upload(struct server_request *request)
{
    CLEANUP(mem_freep) char *path = NULL;
    CLEANUP(mem_freep) char *type = server_request_header(request, "content-type");
    struct error err = ERROR_INIT;
    struct upload *upload = NULL;

    if (lacks_path(request))
        return;
    if (type == NULL ||
        strncasecmp(type, "multipart/form-data", strlen("multipart/form-data")) != 0) {
        validation_answer(request, "missing", "body", "file", "Field required");
        return;
    }
    if (file_path_read(request, &path, &err) < 0) {
        server_request_answer_error(request, &err);
        return;
    }
    upload = NEW(struct upload);
    upload->target = (struct atomic_write)ATOMIC_WRITE_INIT;
    upload->multipart.pending = (struct strbuf)STRBUF_INIT;
    upload->multipart.filename = (struct strbuf)STRBUF_INIT;
    request->sink = (struct server_request_sink){upload, upload_take, upload_free};
    if (begin_upload(request, upload, path, &err) < 0)
        answer_upload_failure(request, &err);
}

void files_handle_upload(struct server_request *request)
{
    struct upload *upload = request->sink.state;
    json_auto_t *body = json_object();
    struct error err = ERROR_INIT;

    if (!multipart_is_complete(&upload->multipart)) {
        validation_answer(request, "missing", "body", "file", "Field required");
        return;
    }
    if (atomic_write_commit(&upload->target, &err) < 0) {
        answer_upload_failure(request, &err);
        return;
    }
    json_put(body, "success", json_true());
    json_put(body, "file_size", json_integer(upload->size));
    server_request_answer_json(request, 200, body);
}

/* --- download --- */

static void append_http_date(struct strbuf *out, time_t when)
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct tm parts = {0};

    if (gmtime_r(&when, &parts) == NULL)
        return;
    strbuf_appendf(out, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[parts.tm_wday], parts.tm_mday,
                   months[parts.tm_mon], parts.tm_year + 1900, parts.tm_hour, parts.tm_min,
                   parts.tm_sec);
}

static void add_disposition(struct server_request *request, const char *path)
{
    CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;

    file_name_append_disposition(strrchr(path, '/') + 1, &value);
    server_request_add_header(request, "content-disposition", value.text);
}

static void append_etag(struct strbuf *etag, const struct stat *info)
{
    strbuf_appendf(etag, "\"%llx-%llx-%llx\"", (unsigned long long)info->st_ino,
                   (unsigned long long)info->st_size,
                   (unsigned long long)info->st_mtim.tv_sec * 1000000000ULL +
                       (unsigned long long)info->st_mtim.tv_nsec);
}

struct byte_range {
    int64_t at;
    int64_t end;
};

/* A number too large is beyond any file's end, as the largest one is. */
static bool read_number(const char **text, int64_t *number)
{
    CLEANUP(strbuf_done) struct strbuf digits = STRBUF_INIT;
    size_t len = strspn(*text, "0123456789");
    struct error ignored = ERROR_INIT;

    strbuf_append_bytes(&digits, *text, len);
    *text += len;
    if (len > 0 && text_parse_int(digits.text, 0, INT64_MAX, number, &ignored) < 0)
        *number = INT64_MAX;
    return len > 0;
}

/*
 * Parses one range of bytes (RFC 9110, section 14.1.2). Returns 206, 416, or 200 for unsupported
 * ones, e.g. several ranges.
 */
static int parse_range(const char *text, int64_t size, struct byte_range *range)
{
    int64_t first = 0;
    int64_t last = size - 1;
    bool has_first = false;

    *range = (struct byte_range){0, size};
    if (!text_starts_with(text, "bytes="))
        return 200;
    text += strlen("bytes=");
    has_first = read_number(&text, &first);
    if (*text++ != '-')
        return 200;
    if (!read_number(&text, &last) && !has_first)
        return 200;
    if (*text != '\0')
        return 200;
    if (!has_first) {
        first = last < size ? size - last : 0;
        last = size - 1;
    }
    if (first >= size || (has_first && last < first))
        return 416;
    range->at = first;
    range->end = last < size ? last + 1 : size;
    return 206;
}

static bool range_still_holds(const struct server_request *request, const char *etag,
                              const char *modified)
{
    CLEANUP(mem_freep) char *condition = server_request_header(request, "if-range");

    return condition == NULL || text_equal(condition, etag) || text_equal(condition, modified);
}

static int choose_range(struct server_request *request, const struct stat *info,
                        struct byte_range *range)
{
    CLEANUP(mem_freep) char *wanted = server_request_header(request, "range");
    CLEANUP(strbuf_done) struct strbuf etag = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf modified = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf content_range = STRBUF_INIT;
    int status = 200;

    append_etag(&etag, info);
    append_http_date(&modified, info->st_mtim.tv_sec);
    server_request_add_header(request, "etag", etag.text);
    server_request_add_header(request, "last-modified", modified.text);
    server_request_add_header(request, "accept-ranges", "bytes");
    *range = (struct byte_range){0, info->st_size};
    if (wanted != NULL && range_still_holds(request, etag.text, modified.text))
        status = parse_range(wanted, info->st_size, range);
    if (status == 206)
        strbuf_appendf(&content_range, "bytes %lld-%lld/%lld", (long long)range->at,
                       (long long)range->end - 1, (long long)info->st_size);
    if (status == 416)
        strbuf_appendf(&content_range, "bytes */%lld", (long long)info->st_size);
    if (content_range.len > 0)
        server_request_add_header(request, "content-range", content_range.text);
    return status;
}

static int open_for_download(const char *path, int *fd_out, struct stat *info, struct error *err)
{
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0 && (errno == EACCES || errno == EPERM))
        return error_set(err, ERROR_FORBIDDEN, "Permission denied");
    if (fd < 0 && errno != ENXIO)
        return error_set(err, ERROR_NOT_FOUND, "File not found");
    if (fd < 0 || fstat(fd, info) < 0 || !S_ISREG(info->st_mode))
        return error_set(err, ERROR_INVALID, "Path is not a file");
    *fd_out = fd_take(&fd);
    return 0;
}

bool files_open(struct server_request *request, const char *path, struct opened_file *file_out)
{
    struct error err = ERROR_INIT;

    if (open_for_download(path, &file_out->fd, &file_out->info, &err) == 0)
        return true;
    server_request_answer_error(request, &err);
    return false;
}

void files_answer(struct server_request *request, const struct opened_file *file,
                  const char *content_type)
{
    struct byte_range range = {0, 0};
    CLEANUP(fd_close) int fd = file->fd;
    int status = choose_range(request, &file->info, &range);

    if (status == 416) {
        server_request_answer_detail(request, status, "Range Not Satisfiable");
        return;
    }
    server_request_answer_file(
        request, status,
        &(struct server_request_file){fd_take(&fd), range.at, range.end, content_type});
}

void files_handle_download(struct server_request *request)
{
    CLEANUP(mem_freep) char *path = NULL;
    struct opened_file file = {.fd = -1};
    struct error err = ERROR_INIT;

    if (lacks_path(request))
        return;
    if (file_path_read(request, &path, &err) < 0) {
        server_request_answer_error(request, &err);
        return;
    }
    if (!files_open(request, path, &file))
        return;
    add_disposition(request, path);
    files_answer(request, &file, "application/octet-stream");
}
