#include "support/fastcgi_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"

/* Records of the protocol (FastCGI 1.0, section 8). */
enum { BEGIN_REQUEST = 1, PARAMS = 4, STDIN = 5, STDOUT = 6, HEAD_BYTES = 8 };

static void append_record(struct strbuf *out, int type, const char *content, size_t len)
{
    const char head[] = {1, (char)type, 0, 1, (char)(len >> 8U), (char)(len & 0xffU), 0, 0};

    strbuf_append_bytes(out, head, sizeof(head));
    strbuf_append_bytes(out, content, len);
}

static void append_param(struct strbuf *out, const char *param)
{
    const char *value = strchr(param, '=');

    assert_non_null(value);
    strbuf_append_char(out, (char)(value - param));
    strbuf_append_char(out, (char)strlen(value + 1));
    strbuf_append_bytes(out, param, (size_t)(value - param));
    strbuf_append(out, value + 1);
}

static void append_head(struct strbuf *out, const char *const *params)
{
    static const char begin[] = {0, 1, 0, 0, 0, 0, 0, 0};
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    append_record(out, BEGIN_REQUEST, begin, sizeof(begin));
    for (size_t i = 0; params[i] != NULL; i++)
        append_param(&text, params[i]);
    append_record(out, PARAMS, text.text, text.len);
    append_record(out, PARAMS, "", 0);
}

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        fail_msg("%s: %m", path);
    return fd;
}

int fastcgi_begin(const char *path, const char *const *params)
{
    CLEANUP(strbuf_done) struct strbuf records = STRBUF_INIT;
    struct error err = ERROR_INIT;
    int fd = connect_to(path);

    append_head(&records, params);
    assert_int_equal(fd_write_all(fd, records.text, records.len, &err), 0);
    return fd;
}

void fastcgi_send_body(int fd, const char *bytes, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf records = STRBUF_INIT;
    struct error err = ERROR_INIT;

    append_record(&records, STDIN, bytes, len);
    assert_int_equal(fd_write_all(fd, records.text, records.len, &err), 0);
}

void fastcgi_read_answer(int fd, struct strbuf *answer)
{
    char bytes[4096];
    ssize_t n = 0;

    for (n = read(fd, bytes, sizeof(bytes)); n > 0; n = read(fd, bytes, sizeof(bytes)))
        strbuf_append_bytes(answer, bytes, (size_t)n);
    (void)close(fd);
}

void fastcgi_read_output(int fd, struct strbuf *output)
{
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;
    size_t at = 0;

    fastcgi_read_answer(fd, &answer);
    while (at + HEAD_BYTES <= answer.len) {
        const unsigned char *head = (const unsigned char *)answer.text + at;
        size_t len = (size_t)head[4] << 8U | head[5];

        assert_true(at + HEAD_BYTES + len <= answer.len);
        if (head[1] == STDOUT)
            strbuf_append_bytes(output, answer.text + at + HEAD_BYTES, len);
        at += HEAD_BYTES + len + head[6];
    }
}
