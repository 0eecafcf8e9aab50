/* Configures the libcurl handle of a call: options, callbacks and headers (see http_call.h). */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "client/address_filter.h"
#include "client/http.h"
#include "client/http_call.h"
#include "client/transport.h"

/*
 * Small, because a worker holds hundreds of waiting calls; SSL_read() returns at most 16 KB anyway.
 */
#define RECEIVE_BUFFER_BYTES 4096L
#define CONNECT_TIMEOUT_MS 15000L

/* --- libcurl callbacks, on the transport's thread --- */

static size_t on_header(char *line, size_t one, size_t len, void *context)
{
    struct http_call *call = context;
    long status = 0;

    (void)one;
    (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(call->easy, CURLINFO_SIZE_UPLOAD_T, &call->n_moved);
    return http_call_take_line(call, status, line, len) ? len : 0;
}

static size_t on_body(char *bytes, size_t one, size_t len, void *context)
{
    (void)one;
    switch (http_call_take_bytes(context, bytes, len)) {
    case HTTP_TAKE_ALL:
        return len;
    case HTTP_TAKE_LATER:
        return CURL_WRITEFUNC_PAUSE;
    case HTTP_TAKE_NEVER:
        break;
    }
    return CURL_WRITEFUNC_ERROR;
}

static size_t on_send(char *buffer, size_t one, size_t size, void *context)
{
    struct http_call *call = context;
    size_t n = 0;

    lock_take(&call->lock);
    n = call->sending.len < one * size ? call->sending.len : one * size;
    if (call->is_over) {
        n = CURL_READFUNC_ABORT;
    } else if (n > 0) {
        memcpy(buffer, call->sending.text, n);
        strbuf_remove_head(&call->sending, n);
        condition_wake_all(&call->changed);
    } else if (!call->is_sending_over) {
        call->is_sending_paused = true;
        n = CURL_READFUNC_PAUSE;
    }
    lock_release(&call->lock);
    return n;
}

/* A given body is freed with its last byte: no call but the retry of this one would need it. */
static size_t on_read_given(char *buffer, size_t one, size_t size, void *context)
{
    struct http_call *call = context;
    size_t n = call->request_body_len - call->n_given;

    if (n > one * size)
        n = one * size;
    if (n > 0)
        memcpy(buffer, call->request_body + call->n_given, n);
    call->n_given += n;
    if (n > 0 && call->n_given == call->request_body_len) {
        mem_free(TAKE_PTR(call->request_body));
        transport_note_read(call);
    }
    return n;
}

/* Called before libcurl sends the request again, on another connection. */
static int on_seek_given(void *context, curl_off_t offset, int origin)
{
    struct http_call *call = context;

    if (call->request_body != NULL && offset == 0 && origin == SEEK_SET) {
        call->n_given = 0;
        return CURL_SEEKFUNC_OK;
    }
    lock_take(&call->lock);
    call->has_lost_body = true;
    lock_release(&call->lock);
    return CURL_SEEKFUNC_FAIL;
}

static curl_socket_t on_open_socket(void *context, curlsocktype purpose,
                                    struct curl_sockaddr *address)
{
    struct http_call *call = context;
    bool is_allowed = call->is_unix ? address->family == AF_UNIX
                                    : address_filter_allows(&address->addr, call->allow_private);

    (void)purpose;
    if (!is_allowed) {
        call->is_refused = true;
        return CURL_SOCKET_BAD;
    }
    /* Only the connection on which the server has proven its identity. */
    if (secret_is_set(&call->proof_key))
        return fd_take(&call->proof_fd);
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static int on_socket_open(void *context, curl_socket_t fd, curlsocktype purpose)
{
    const struct http_call *call = context;

    (void)fd;
    (void)purpose;
    return secret_is_set(&call->proof_key) ? CURL_SOCKOPT_ALREADY_CONNECTED : CURL_SOCKOPT_OK;
}

/* The connection may have been opened by a call with more rights: check its address again. */
/* NOLINTNEXTLINE(readability-non-const-parameter): libcurl's prototype */
static int on_connected(void *context, char *remote_ip, char *local_ip, int remote_port,
                        int local_port)
{
    struct http_call *call = context;

    (void)local_ip;
    (void)remote_port;
    (void)local_port;
    if (call->is_unix || address_filter_allows_text(remote_ip, call->allow_private))
        return CURL_PREREQFUNC_OK;
    call->is_refused = true;
    return CURL_PREREQFUNC_ABORT;
}

/* --- a call's handle --- */

static const struct {
    CURLoption option;
    long value;
} number_options[] = {
    {CURLOPT_NOSIGNAL, 1},
    {CURLOPT_QUICK_EXIT, 1}, /* cancelling does not wait for the name server */
    {CURLOPT_FOLLOWLOCATION, 0},
    {CURLOPT_HTTP09_ALLOWED, 0},
    {CURLOPT_DISALLOW_USERNAME_IN_URL, 1},
    {CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2},
    {CURLOPT_TCP_KEEPALIVE, 1},
    {CURLOPT_BUFFERSIZE, RECEIVE_BUFFER_BYTES},
    {CURLOPT_UPLOAD_BUFFERSIZE, HTTP_SEND_BUFFER_BYTES},
    {CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS},
    {CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS},
    {CURLOPT_NETRC, CURL_NETRC_IGNORED},
};

static const struct {
    CURLoption option;
    const char *value;
} text_options[] = {
    {CURLOPT_PROTOCOLS_STR, "http,https"},
    {CURLOPT_REDIR_PROTOCOLS_STR, "http,https"},
    {CURLOPT_PROXY, ""},
    {CURLOPT_USERAGENT, "deft"},
    /*
     * One bundle that libcurl parses once and caches, instead of a directory for each connection.
     */
    {CURLOPT_CAPATH, NULL},
};

static CURLcode set_fixed_options(CURL *easy)
{
    CURLcode rc = CURLE_OK;

    for (size_t i = 0; i < ARRAY_SIZE(number_options) && rc == CURLE_OK; i++)
        rc = curl_easy_setopt(easy, number_options[i].option, number_options[i].value);
    for (size_t i = 0; i < ARRAY_SIZE(text_options) && rc == CURLE_OK; i++)
        rc = curl_easy_setopt(easy, text_options[i].option, text_options[i].value);
    return rc;
}

/* These cannot fail: they only store a pointer. */
static void set_callbacks(struct http_call *call)
{
    CURL *easy = call->easy;

    (void)curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->why);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
    (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, call);
    (void)curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket_open);
    (void)curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, call);
    (void)curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_connected);
    (void)curl_easy_setopt(easy, CURLOPT_PREREQDATA, call);
    if (call->sends_stream) {
        (void)curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_send);
        (void)curl_easy_setopt(easy, CURLOPT_READDATA, call);
        /*
         * A streamed body cannot be sent again: do not use a connection that the peer may have
         * closed.
         */
        (void)curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
    }
}

static CURLcode set_target(struct http_call *call, const struct http_request *request)
{
    CURLcode rc = curl_easy_setopt(call->easy, CURLOPT_URL, request->url);
    /* A reused connection may lead to a server that has proven nothing. */
    bool owns_connection = request->own_connection || secret_is_set(&call->proof_key);

    if (rc == CURLE_OK && request->unix_socket != NULL)
        rc = curl_easy_setopt(call->easy, CURLOPT_UNIX_SOCKET_PATH, request->unix_socket);
    if (rc == CURLE_OK && call->http->ca_file != NULL)
        rc = curl_easy_setopt(call->easy, CURLOPT_CAINFO, call->http->ca_file);
    if (rc == CURLE_OK && owns_connection)
        rc = curl_easy_setopt(call->easy, CURLOPT_FRESH_CONNECT, 1L);
    if (rc == CURLE_OK && owns_connection)
        rc = curl_easy_setopt(call->easy, CURLOPT_FORBID_REUSE, 1L);
    /* Calls to one host share a connection where the protocol multiplexes. */
    if (rc == CURLE_OK && text_starts_with(request->url, "https:"))
        rc = curl_easy_setopt(call->easy, CURLOPT_PIPEWAIT, 1L);
    return rc;
}

/* len 0: unknown. */
static CURLcode set_upload(CURL *easy, size_t len)
{
    CURLcode rc = curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);

    if (rc == CURLE_OK && len > 0)
        rc = curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)len);
    return rc;
}

/* libcurl reads it by a callback; of POSTFIELDS it would keep a copy until the reply's end. */
static CURLcode set_given_body(struct http_call *call)
{
    CURL *easy = call->easy;

    (void)curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read_given);
    (void)curl_easy_setopt(easy, CURLOPT_READDATA, call);
    (void)curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_seek_given);
    (void)curl_easy_setopt(easy, CURLOPT_SEEKDATA, call);
    return set_upload(easy, call->request_body_len);
}

static CURLcode set_body(struct http_call *call, const struct http_request *request)
{
    CURL *easy = call->easy;
    CURLcode rc = CURLE_OK;

    if (text_equal(request->method, "HEAD"))
        return curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    if (call->sends_stream) {
        rc = set_upload(easy, request->body_len);
    } else if (call->is_body_given) {
        rc = set_given_body(call);
    } else if (call->request_body != NULL || text_equal(request->method, "POST")) {
        rc =
            curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->request_body_len);
        if (rc == CURLE_OK)
            rc = curl_easy_setopt(easy, CURLOPT_POSTFIELDS,
                                  call->request_body != NULL ? call->request_body : "");
    }
    if (rc == CURLE_OK)
        rc = curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
    return rc;
}

/* --- headers --- */

static int add_header(struct http_call *call, const char *name, const char *value,
                      struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    struct curl_slist *longer = NULL;

    if (!http_header_is_clean(name, value))
        return error_set(err, ERROR_INVALID, "header %s cannot be sent", name);
    /* libcurl's syntax for a header with an empty value. */
    if (value[0] == '\0')
        strbuf_appendf(&line, "%s;", name);
    else
        strbuf_appendf(&line, "%s: %s", name, value);
    longer = curl_slist_append(call->headers, line.text);
    explicit_bzero(line.text, line.len);
    if (longer == NULL)
        return error_set(err, ERROR_INTERNAL, "out of memory");
    call->headers = longer;
    return 0;
}

static int set_headers(struct http_call *call, const struct http_request *request,
                       struct error *err)
{
    const struct http_header *header = request->headers;
    const char *type = request->content_type;
    struct curl_slist *longer = NULL;

    for (; header != NULL && header->name != NULL; header++) {
        if (add_header(call, header->name, header->value, err) < 0)
            return -1;
    }
    if (type == NULL && call->request_body != NULL)
        type = "application/json";
    if (type != NULL && add_header(call, "Content-Type", type, err) < 0)
        return -1;
    /* Without a value libcurl omits the header: no wait for 100-continue. */
    longer = curl_slist_append(call->headers, "Expect:");
    if (longer == NULL)
        return error_set(err, ERROR_INTERNAL, "out of memory");
    call->headers = longer;
    if (curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers) != CURLE_OK)
        return error_set(err, ERROR_INTERNAL, "headers cannot be set");
    return 0;
}

static bool is_web_url(const char *url)
{
    return strncasecmp(url, "http://", strlen("http://")) == 0 ||
           strncasecmp(url, "https://", strlen("https://")) == 0;
}

int http_setup(struct http_call *call, const struct http_request *request, struct error *err)
{
    CURLcode rc = CURLE_OK;

    if (!http_text_is_clean(request->url) || strchr(request->url, ' ') != NULL)
        return error_set(err, ERROR_INVALID,
                         "the URL has characters that are not allowed in a URL");
    if (!is_web_url(request->url))
        return error_set(err, ERROR_INVALID, "the URL must begin with http:// or https://");
    set_callbacks(call);
    rc = set_fixed_options(call->easy);
    if (rc == CURLE_OK)
        rc = set_target(call, request);
    if (rc == CURLE_OK)
        rc = set_body(call, request);
    if (rc != CURLE_OK)
        return error_set(err, ERROR_INTERNAL, "the call cannot be set up: %s",
                         curl_easy_strerror(rc));
    return set_headers(call, request, err);
}
