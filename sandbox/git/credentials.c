#include "sandbox/git/credentials.h"

#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/limits.h"
#include "model/masking/masker.h"
#include "model/secrets/secret_length.h"

enum {
    MAX_ORIGINS = 32,
    MAX_HIDDEN = 64, /* each with and without its user name */
    MAX_TEXT_BYTES = 4096,
    /* Bytes per byte of a value in its longest common form: \u0041, or wrapped hexadecimal. */
    FORM_BYTES = 8,
};

struct credential {
    char *origin;
    struct secret username;
    struct secret password;
    int64_t due_ms; /* clock_monotonic_ms() */
};

struct credentials {
    struct credential items[MAX_ORIGINS];
    size_t n;
    struct secret hidden[MAX_HIDDEN]; /* a ring: the oldest goes first */
    size_t n_hidden;
    size_t next_hidden;
    struct masker *masker; /* of `hidden`; NULL: none */
};

struct credentials *credentials_new(void)
{
    return NEW(struct credentials);
}

static void credential_done(struct credential *credential)
{
    mem_free(credential->origin);
    secret_done(&credential->username);
    secret_done(&credential->password);
}

void credentials_free(struct credentials *credentials)
{
    if (credentials == NULL)
        return;
    for (size_t i = 0; i < credentials->n; i++)
        credential_done(&credentials->items[i]);
    for (size_t i = 0; i < credentials->n_hidden; i++)
        secret_done(&credentials->hidden[i]);
    masker_free(credentials->masker);
    mem_free(credentials);
}

/* git's credential protocol is line-based, without an escape for newlines. */
static bool has_line_end(const char *text)
{
    return strpbrk(text, "\r\n") != NULL;
}

static int check_order(const struct credential_order *order, struct error *err)
{
    if (!secret_is_masked(order->password) || strlen(order->password) > MAX_TEXT_BYTES ||
        has_line_end(order->password))
        return error_set(err, ERROR_INVALID, "A password must be one line of %d to %d characters",
                         SECRET_MASKED_MIN_CHARS, MAX_TEXT_BYTES);
    if (strlen(order->username) > MAX_TEXT_BYTES || has_line_end(order->username) ||
        strchr(order->username, ':') != NULL)
        return error_set(err, ERROR_INVALID, "A user name must be short and without a colon");
    return 0;
}

/* Rebuilds it from the remaining passwords, after the oldest was replaced. */
static void rebuild_masker(struct credentials *credentials)
{
    masker_free(credentials->masker);
    credentials->masker = masker_new();
    for (size_t i = 0; i < credentials->n_hidden; i++)
        masker_add(credentials->masker, secret_reveal(&credentials->hidden[i]));
}

static void hide(struct credentials *credentials, const char *text)
{
    for (size_t i = 0; i < credentials->n_hidden; i++) {
        if (text_equal(secret_reveal(&credentials->hidden[i]), text))
            return;
    }
    secret_set(&credentials->hidden[credentials->next_hidden], text);
    credentials->next_hidden = (credentials->next_hidden + 1) % MAX_HIDDEN;
    if (credentials->n_hidden < MAX_HIDDEN) {
        credentials->n_hidden++;
        if (credentials->masker == NULL)
            credentials->masker = masker_new();
        masker_add(credentials->masker, text);
        return;
    }
    rebuild_masker(credentials);
}

/* Also masks it with its user name: git's Authorization header is base64 of both. */
static void hide_both(struct credentials *credentials, const struct credential_order *order)
{
    CLEANUP(strbuf_done) struct strbuf pair = STRBUF_INIT;

    hide(credentials, order->password);
    strbuf_appendf(&pair, "%s:%s", order->username, order->password);
    hide(credentials, pair.text);
    explicit_bzero(pair.text, pair.len);
}

static struct credential *find_credential(const struct credentials *credentials, const char *origin)
{
    union {
        const struct credentials *borrowed;
        struct credentials *credentials;
    } same = {credentials};

    for (size_t i = 0; i < credentials->n; i++) {
        if (text_equal(credentials->items[i].origin, origin))
            return &same.credentials->items[i];
    }
    return NULL;
}

int credentials_keep(struct credentials *credentials, const struct credential_order *order,
                     struct error *err)
{
    struct credential *credential = find_credential(credentials, order->origin);

    if (check_order(order, err) < 0)
        return -1;
    if (credential == NULL && credentials->n == MAX_ORIGINS)
        return error_set(err, ERROR_RATE_LIMITED, "credentials for %d hosts are already stored",
                         MAX_ORIGINS);
    if (credential == NULL) {
        credential = &credentials->items[credentials->n++];
        credential->origin = mem_dup_text(order->origin);
    }
    secret_set(&credential->username, order->username);
    secret_set(&credential->password, order->password);
    credential->due_ms = clock_monotonic_ms() + order->lifetime_ms;
    hide_both(credentials, order);
    return 0;
}

struct credential_view credentials_find(const struct credentials *credentials, const char *origin)
{
    const struct credential *credential = find_credential(credentials, origin);

    if (credential == NULL)
        return (struct credential_view){CREDENTIAL_UNKNOWN, "", ""};
    if (clock_monotonic_ms() >= credential->due_ms)
        return (struct credential_view){CREDENTIAL_EXPIRED, "", ""};
    return (struct credential_view){CREDENTIAL_VALID, secret_reveal(&credential->username),
                                    secret_reveal(&credential->password)};
}

size_t credentials_longest(const struct credentials *credentials)
{
    size_t longest = 0;

    for (size_t i = 0; i < credentials->n_hidden; i++) {
        if (credentials->hidden[i].len > longest)
            longest = credentials->hidden[i].len;
    }
    return longest * FORM_BYTES;
}

void credentials_mask_append(const struct credentials *credentials, const char *text, size_t len,
                             struct strbuf *out)
{
    if (credentials->masker != NULL)
        masker_append(credentials->masker, text, len, out);
    else
        strbuf_append_bytes(out, text, len);
}

static void mask_string(const struct credentials *credentials, json_t *string)
{
    CLEANUP(strbuf_done) struct strbuf masked = STRBUF_INIT;
    size_t len = json_string_length(string);

    credentials_mask_append(credentials, json_string_value(string), len, &masked);
    if (masked.len == len && memcmp(masked.text, json_string_value(string), len) == 0)
        return;
    error_ignore(json_string_setn(string, masked.text, masked.len), "the text is valid UTF-8");
}

/* NOLINTNEXTLINE(misc-no-recursion): our own observations, a few levels deep */
void credentials_mask_json(const struct credentials *credentials, json_t *json)
{
    if (credentials->n_hidden == 0)
        return;
    if (json_is_string(json))
        mask_string(credentials, json);
    for (size_t i = 0; i < json_array_size(json); i++)
        credentials_mask_json(credentials, json_array_get(json, i));
    if (!json_is_object(json))
        return;
    for (void *at = json_object_iter(json); at != NULL; at = json_object_iter_next(json, at))
        credentials_mask_json(credentials, json_object_iter_value(at));
}
