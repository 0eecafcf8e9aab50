/*
 * Preview origins: who may see what a sandbox serves. nginx asks here before it passes a request on
 * (`/check`), and learns the address to pass it to and what is to be said there; what it may not
 * pass on, it has answered here (`/leave`, `/enter`, `/refused`, `/silent`). The paths are nginx's
 * own: no client reaches them by name, but for `/enter`.
 *
 * Ownership: struct preview_place borrows from the request.
 */
#ifndef DEFT_FCGI_PREVIEW_PREVIEW_H
#define DEFT_FCGI_PREVIEW_PREVIEW_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/crypto.h"
#include "fcgi/router.h"
#include "store/user/preview_store.h"

struct error;
struct reply;
struct request;
struct strbuf;

extern const struct route preview_routes[];
extern const struct route preview_pass_routes[];

enum { PREVIEW_TOKENS_MAX = 8, PREVIEW_PASS_VALID_S = 60 };

/* Which origin a request is for, as nginx took the host's name apart. */
struct preview_place {
    const char *label;      /* "8080", "vscode" */
    const char *runtime_id; /* 16 letters */
    const char *authority;  /* "8080-….sandbox.localhost:3000" */
    const char *home;       /* of the page: "localhost:3000"; the end of authority */
    const char *scheme;     /* http or https */
    int port;               /* that the label means; 0: none */
};

/* False when the name is not one of ours; nginx lets none such pass. */
bool preview_place_read(const struct request *request,
                        struct preview_place *place_out) NONNULL MUST_CHECK;
/* "http" or "https", as the browser sees this origin. */
const char *preview_scheme(const struct request *request) NONNULL MUST_CHECK;
/* True when `url` is a page of the same sandbox, on whichever port; or begins with its origin. */
bool preview_is_own_origin(const struct preview_place *place, const char *url) NONNULL MUST_CHECK;

/* Appends the origin of a port of a sandbox, below the host that this request came to. */
void preview_append_origin(const struct request *request, const char *runtime_id, int port,
                           struct strbuf *out) NONNULL;

enum preview_cookie { PREVIEW_COOKIE_SESSION, PREVIEW_COOKIE_STATE, PREVIEW_N_COOKIES };

/* What opens an editor; borrows. */
struct preview_editor {
    const char *token; /* "": it asks for none */
    const char *folder;
};

/* Appends the address of a sandbox's editor: for those alone who may have the sandbox's key. */
void preview_append_editor(const struct request *request, const char *runtime_id,
                           const struct preview_editor *editor, struct strbuf *out) NONNULL;
/* Pushes {"name","url","port"}. */
void preview_push_url(json_t *list, const char *name, const char *url, int port) NONNULL;
/* Pushes that of the agent origin, and those of a sandbox's ports that have a name. */
void preview_push_named(const struct request *request, const char *runtime_id,
                        const struct preview_editor *editor, json_t *list) NONNULL;

/* Hashes of all values that a browser sent of a cookie: a page beside this one may have set more of
 * them, for all origins below the same host; only ours is ever valid. */
struct preview_tokens {
    char hashes[PREVIEW_TOKENS_MAX][CRYPTO_HASH_HEX_BYTES];
    const char *items[PREVIEW_TOKENS_MAX];
    size_t n;
};
void preview_read_tokens(const struct request *request, enum preview_cookie cookie,
                         struct preview_tokens *tokens_out) NONNULL;
/* The first value of the state cookie that looks like one of ours; false when there is none. */
bool preview_read_state(const struct request *request,
                        char state_out[CRYPTO_TOKEN_BYTES]) NONNULL MUST_CHECK;
void preview_set_cookie(const struct request *request, struct reply *reply,
                        enum preview_cookie cookie, const char *value) NONNULL;
/* Appends the request's cookies but for those of deft's own. */
void preview_append_foreign_cookies(const struct request *request, struct strbuf *out) NONNULL;

/* A page in words; link NULL: none. Always returns 0. */
struct preview_words {
    int status;
    const char *title;
    const char *words;
    const char *link_text;
};
int preview_page(struct reply *reply, const struct preview_words *words, const char *link)
    __attribute__((nonnull(1, 2)));

#endif
