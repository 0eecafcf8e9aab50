#include "client/sigv4.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/crypto.h"
#include "base/encode.h"
#include "base/text.h"
#include "client/host_header.h"
#include "client/http.h"

#define ALGORITHM "AWS4-HMAC-SHA256"
#define SCOPE_END "aws4_request"
#define SIGNED_PREFIX "x-amz-"
#define DAY_BYTES 8

/* A header as it is signed. */
struct signed_header {
    const char *name;
    const char *value;
    size_t value_len;
};

/* Signed headers in the order of their names, in any case. */
struct signed_headers {
    struct signed_header items[SIGV4_HEADERS_MAX + 3];
    size_t n;
};

void sigv4_signature_done(struct sigv4_signature *signature)
{
    if (signature == NULL)
        return;
    explicit_bzero(signature->authorization.text, signature->authorization.len);
    strbuf_done(&signature->authorization);
}

/* --- the canonical request --- */

static const char *host_of(const char *url)
{
    const char *scheme = strstr(url, "://");

    return scheme != NULL ? scheme + strlen("://") : url;
}

static void push(struct signed_headers *headers, const char *name, const char *value, size_t len)
{
    if (headers->n < ARRAY_SIZE(headers->items))
        headers->items[headers->n++] = (struct signed_header){name, value, len};
}

static int compare(const void *left, const void *right)
{
    return strcasecmp(((const struct signed_header *)left)->name,
                      ((const struct signed_header *)right)->name);
}

static void collect(const struct sigv4_request *request, const struct strbuf *host,
                    const char *date, struct signed_headers *headers)
{
    push(headers, "host", host->text, host->len);
    push(headers, SIGNED_PREFIX "date", date, strlen(date));
    if (request->session_token[0] != '\0')
        push(headers, SIGNED_PREFIX "security-token", request->session_token,
             strlen(request->session_token));
    for (const struct http_header *header = request->headers; header->name != NULL; header++) {
        if (strncasecmp(header->name, SIGNED_PREFIX, strlen(SIGNED_PREFIX)) == 0)
            push(headers, header->name, header->value, strlen(header->value));
    }
    qsort(headers->items, headers->n, sizeof(headers->items[0]), compare);
}

static void append_lower(struct strbuf *out, const char *text)
{
    for (; *text != '\0'; text++)
        strbuf_append_char(out, (char)tolower((unsigned char)*text));
}

/* Without white space around it, and with one space for several. */
static void append_value(struct strbuf *out, const char *value, size_t len)
{
    size_t begin = out->len;

    for (size_t i = 0; i < len; i++) {
        bool is_space = value[i] == ' ' || value[i] == '\t';

        if (!is_space)
            strbuf_append_char(out, value[i]);
        else if (out->len > begin && out->text[out->len - 1] != ' ')
            strbuf_append_char(out, ' ');
    }
    if (out->len > begin && out->text[out->len - 1] == ' ')
        strbuf_truncate(out, out->len - 1);
}

static void append_names(struct strbuf *out, const struct signed_headers *headers)
{
    for (size_t i = 0; i < headers->n; i++) {
        if (i > 0)
            strbuf_append_char(out, ';');
        append_lower(out, headers->items[i].name);
    }
}

/* The path is encoded once more than it is sent, but for its slashes. */
static void append_path(struct strbuf *out, const char *url)
{
    const char *path = host_of(url);

    path += strcspn(path, "/?#");
    if (*path != '/')
        strbuf_append_char(out, '/');
    while (*path != '\0' && *path != '?' && *path != '#') {
        char segment[] = {*path, '\0'};

        if (*path == '/')
            strbuf_append_char(out, '/');
        else
            percent_append(out, segment);
        path++;
    }
}

static void append_canonical(struct strbuf *out, const struct sigv4_request *request,
                             const struct signed_headers *headers)
{
    char hex[CRYPTO_HASH_HEX_BYTES];

    strbuf_append(out, request->method);
    strbuf_append_char(out, '\n');
    append_path(out, request->url);
    /* No query. */
    strbuf_append(out, "\n\n");
    for (size_t i = 0; i < headers->n; i++) {
        append_lower(out, headers->items[i].name);
        strbuf_append_char(out, ':');
        append_value(out, headers->items[i].value, headers->items[i].value_len);
        strbuf_append_char(out, '\n');
    }
    strbuf_append_char(out, '\n');
    append_names(out, headers);
    crypto_sha256_hex(request->body, request->body_len, hex);
    strbuf_appendf(out, "\n%s", hex);
}

/* --- the signature --- */

/* 2015-08-30T12:36:00.000000Z without its marks and its fraction. */
static void write_date(int64_t utc_us, char date[SIGV4_DATE_BYTES])
{
    char text[CLOCK_TEXT_BYTES];
    size_t n = 0;

    clock_format_z(utc_us, text);
    for (const char *at = text; *at != '.' && *at != '\0'; at++) {
        if (*at != '-' && *at != ':' && n < SIGV4_DATE_BYTES - 2)
            date[n++] = *at;
    }
    date[n++] = 'Z';
    date[n] = '\0';
}

/* The key for one day, region and service. */
static void derive_key(const struct sigv4_request *request, const char *day,
                       unsigned char key[CRYPTO_HASH_BYTES])
{
    CLEANUP(strbuf_done) struct strbuf first = STRBUF_INIT;
    const char *const parts[] = {request->region, request->service, SCOPE_END};
    unsigned char next[CRYPTO_HASH_BYTES];

    strbuf_appendf(&first, "AWS4%s", request->secret_access_key);
    crypto_hmac(first.text, first.len, day, key);
    explicit_bzero(first.text, first.len);
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        crypto_hmac(key, CRYPTO_HASH_BYTES, parts[i], next);
        memcpy(key, next, sizeof(next));
    }
    explicit_bzero(next, sizeof(next));
}

static void append_signature(struct strbuf *out, const struct sigv4_request *request,
                             const char *day, const char *to_sign)
{
    unsigned char key[CRYPTO_HASH_BYTES];
    unsigned char digest[CRYPTO_HASH_BYTES];
    char hex[CRYPTO_HASH_HEX_BYTES];

    derive_key(request, day, key);
    crypto_hmac(key, sizeof(key), to_sign, digest);
    explicit_bzero(key, sizeof(key));
    hex_encode(digest, sizeof(digest), hex);
    strbuf_append(out, hex);
}

void sigv4_sign(const struct sigv4_request *request, struct sigv4_signature *signature_out)
{
    CLEANUP(strbuf_done) struct strbuf canonical = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf to_sign = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf scope = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf host = STRBUF_INIT;
    struct signed_headers headers = {.n = 0};
    struct strbuf *out = &signature_out->authorization;
    char hex[CRYPTO_HASH_HEX_BYTES];
    char day[DAY_BYTES + 1] = "";

    write_date(request->utc_us, signature_out->date);
    memcpy(day, signature_out->date, DAY_BYTES);
    host_header_append(&host, request->url);
    collect(request, &host, signature_out->date, &headers);
    append_canonical(&canonical, request, &headers);
    crypto_sha256_hex(canonical.text, canonical.len, hex);
    strbuf_appendf(&scope, "%s/%s/%s/" SCOPE_END, day, request->region, request->service);
    strbuf_appendf(&to_sign, ALGORITHM "\n%s\n%s\n%s", signature_out->date, scope.text, hex);
    strbuf_reset(out);
    strbuf_appendf(out, ALGORITHM " Credential=%s/%s, SignedHeaders=", request->access_key_id,
                   scope.text);
    append_names(out, &headers);
    strbuf_append(out, ", Signature=");
    append_signature(out, request, day, to_sign.text);
    signature_out->session_token = request->session_token;
}
