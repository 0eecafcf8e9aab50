/*
 * Preview origins: access control for what a sandbox serves. nginx asks `/check` before it forwards
 * a request, and gets the address and the headers to use; requests that it must not forward are
 * answered by `/leave`, `/enter`, `/refused` and `/silent`. These paths are internal to nginx:
 * clients can reach only `/enter` by name.
 *
 * Ownership: struct preview_origin borrows from the request.
 */
#ifndef DEFT_FCGI_PREVIEW_PREVIEW_ORIGIN_H
#define DEFT_FCGI_PREVIEW_PREVIEW_ORIGIN_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/crypto.h"
#include "fcgi/core/router.h"
#include "store/user/preview_store.h"

struct error;
struct reply;
struct request;
struct strbuf;

extern const struct route preview_routes[];
extern const struct route preview_pass_routes[];

enum { PREVIEW_TOKENS_MAX = 8, PREVIEW_PASS_VALID_S = 60 };

/* The origin that a request is for, as nginx split the host's name. */
struct preview_origin {
    const char *label;      /* "8080", "vscode" */
    const char *runtime_id; /* 16 letters */
    const char *authority;  /* "8080-….sandbox.localhost:3000" */
    const char *home;   /* the host of deft's own page: "localhost:3000"; the end of authority */
    const char *scheme; /* http or https */
    int port;           /* the label's port; 0: none */
};

/* False when the name is not one of ours; nginx rejects those before. */
bool preview_origin_read(const struct request *request,
                         struct preview_origin *place_out) NONNULL MUST_CHECK;
/* "http" or "https", as the browser sees this origin. */
const char *preview_scheme(const struct request *request) NONNULL MUST_CHECK;
/* True when `url` is a page of the same sandbox, on any port, or begins with its origin. */
bool preview_is_own_origin(const struct preview_origin *place, const char *url) NONNULL MUST_CHECK;

/* Appends the origin of a sandbox's port, below the host of this request. */
void preview_append_origin(const struct request *request, const char *runtime_id, int port,
                           struct strbuf *out) NONNULL;

enum preview_cookie { PREVIEW_COOKIE_SESSION, PREVIEW_COOKIE_STATE, PREVIEW_N_COOKIES };

/* Access to an editor; borrows. */
struct preview_editor {
    const char *token; /* "": it needs none */
    const char *folder;
};

/* Appends the URL of a sandbox's editor: only for callers who may have the sandbox's key. */
void preview_append_editor(const struct request *request, const char *runtime_id,
                           const struct preview_editor *editor, struct strbuf *out) NONNULL;
/* Pushes {"name","url","port"}. */
void preview_push_url(json_t *list, const char *name, const char *url, int port) NONNULL;
/* Pushes the agent origin's entry, and those of a sandbox's named ports. */
void preview_push_named(const struct request *request, const char *runtime_id,
                        const struct preview_editor *editor, json_t *list) NONNULL;

/*
 * Hashes of all values that a browser sent for a cookie: a page of a sibling origin may have set
 * more of them for all origins below the same host; only ours is ever valid.
 */
struct preview_tokens {
    char hashes[PREVIEW_TOKENS_MAX][CRYPTO_HASH_HEX_BYTES];
    const char *items[PREVIEW_TOKENS_MAX];
    size_t n;
};
void preview_read_tokens(const struct request *request, enum preview_cookie cookie,
                         struct preview_tokens *tokens_out) NONNULL;
/* The first value of the state cookie that has our format; false when there is none. */
bool preview_read_state(const struct request *request,
                        char state_out[CRYPTO_TOKEN_BYTES]) NONNULL MUST_CHECK;
void preview_set_cookie(const struct request *request, struct reply *reply,
                        enum preview_cookie cookie, const char *value) NONNULL;
/* Appends the request's cookies except deft's own. */
void preview_append_foreign_cookies(const struct request *request, struct strbuf *out) NONNULL;

/* Replies with a text page; link NULL: none. Always returns 0. */
struct preview_words {
    int status;
    const char *title;
    const char *words;
    const char *link_text;
};
int preview_page(struct reply *reply, const struct preview_words *words, const char *link)
    __attribute__((nonnull(1, 2)));

#endif
