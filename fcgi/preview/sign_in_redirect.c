/*
 * From a preview origin to deft's page, and back with a cookie: a browser without one is redirected
 * to the page's origin with a state that it keeps in a cookie; there it gets a pass (pass.c), valid
 * once and only together with that state.
 */
#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/request.h"
#include "fcgi/preview/preview_check.h"
#include "fcgi/preview/preview_origin.h"

/* Only a top-level page can be redirected to sign in and come back. */
static bool can_leave(const struct request *request)
{
    const char *mode = request_param(request, "HTTP_SEC_FETCH_MODE");
    const char *method = request_param(request, "DEFT_PREVIEW_METHOD");

    if (method == NULL || !(text_equal(method, "GET") || text_equal(method, "HEAD")))
        return false;
    if (request_param(request, "HTTP_UPGRADE") != NULL)
        return false;
    return mode == NULL || text_equal(mode, "navigate");
}

static void append_pass_url(const struct request *request, const struct preview_origin *place,
                            const char *state, struct strbuf *url)
{
    const char *target = request_param(request, "DEFT_PREVIEW_TARGET");

    strbuf_appendf(url, "%s://%s/api/v1/preview?label=%s&sandbox=%s&state=%s&to=", place->scheme,
                   place->home, place->label, place->runtime_id, state);
    percent_append(url, target != NULL ? target : "/");
}

/* GET -> 303 to the page's origin | 401 a text page */
static int leave(const struct request *request, struct reply *reply, struct error *err)
{
    static const struct preview_words words = {
        401, "Not signed in",
        "This address shows a server in a sandbox. Open it in its own tab to sign in.", NULL};
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
    struct preview_origin place = {.label = NULL};
    char state[CRYPTO_TOKEN_BYTES] = "";

    (void)err;
    if (!preview_origin_read(request, &place) || !can_leave(request))
        return preview_page(reply, &words, NULL);
    /* Two tabs opened at the same time share one state. */
    if (!preview_read_state(request, state))
        crypto_random_token(state);
    preview_set_cookie(request, reply, PREVIEW_COOKIE_STATE, state);
    append_pass_url(request, &place, state, &url);
    reply_header(reply, "Location", url.text);
    return reply_empty(reply, 303);
}

static void append_target(const struct request *request, const struct preview_origin *place,
                          struct strbuf *out)
{
    const char *to = request_query(request, "to");

    strbuf_appendf(out, "%s://%s%s", place->scheme, place->authority,
                   to != NULL && to[0] == '/' ? to : "/");
}

static int use_pass(const struct request *request, const struct preview_origin *place,
                    char cookie[CRYPTO_TOKEN_BYTES], struct error *err)
{
    const struct fcgi_context *context = request->context;
    const struct preview_key key = {place->runtime_id, place->port};
    const char *pass = request_query(request, "pass");
    struct preview_tokens tokens = {.n = 0};
    struct preview_hashes states = {tokens.items, 0};
    char pass_hash[CRYPTO_HASH_HEX_BYTES] = "";
    char cookie_hash[CRYPTO_HASH_HEX_BYTES] = "";

    preview_read_tokens(request, PREVIEW_COOKIE_STATE, &tokens);
    states.n = tokens.n;
    crypto_random_token(cookie);
    keyring_hash_token(&context->keyring, pass != NULL ? pass : "", pass_hash);
    keyring_hash_token(&context->keyring, cookie, cookie_hash);
    return preview_store_use_pass(context->db, &key, pass_hash, &states, cookie_hash, err);
}

/* GET ?pass=&to= -> 303 to the requested page, with the cookie | 403 a text page */
static int enter(const struct request *request, struct reply *reply, struct error *err)
{
    static const struct preview_words words = {
        403, "This link cannot be used again",
        "It was already used, is older than a minute, or was made for another browser.",
        "Open the preview again"};
    CLEANUP(strbuf_done) struct strbuf target = STRBUF_INIT;
    struct preview_origin place = {.label = NULL};
    char cookie[CRYPTO_TOKEN_BYTES] = "";

    if (!preview_origin_read(request, &place))
        return preview_page(reply, &words, NULL);
    append_target(request, &place, &target);
    if (use_pass(request, &place, cookie, err) < 0)
        return err->code == ERROR_UNAUTHENTICATED ? preview_page(reply, &words, target.text) : -1;
    preview_set_cookie(request, reply, PREVIEW_COOKIE_SESSION, cookie);
    reply_header(reply, "Location", target.text);
    return reply_empty(reply, 303);
}

struct refusal_page {
    const char *why;
    struct preview_words words;
};

/* clang-format off */
static const struct refusal_page refusals[] = {
    {"port", {404, "This port cannot be shown",
              "The address has no port, or the port of the sandbox's own server.", NULL}},
    {"stranger", {403, "Request from another origin",
                  "A server in a sandbox can only be requested by its own pages. Open the address "
                  "in its own tab.", NULL}},
    {"stopped", {503, "The sandbox is stopped",
                 "It starts again with the next message to its conversation.",
                 "Go to the conversations"}},
    {"failed", {503, "The sandbox is not running",
                "It could not be started. Its conversation shows the reason.",
                "Go to the conversations"}},
    {"full", {429, "The sandbox is paused",
              "Its key has reached its limit of running sandboxes. It resumes when one of them is "
              "paused or stopped.", NULL}},
    {"address", {502, "The sandbox has no address",
                 "It cannot be reached at this address.", NULL}},
};
/* clang-format on */

/* GET -> the page for the keyword that /check returned */
static int refused(const struct request *request, struct reply *reply, struct error *err)
{
    const char *why = request_param(request, "DEFT_PREVIEW_WHY");
    CLEANUP(strbuf_done) struct strbuf home = STRBUF_INIT;
    struct preview_origin place = {.label = NULL};
    const struct preview_words *words = &refusals[0].words;

    (void)err;
    if (preview_origin_read(request, &place))
        strbuf_appendf(&home, "%s://%s/", place.scheme, place.home);
    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        if (why != NULL && text_equal(refusals[i].why, why))
            words = &refusals[i].words;
    }
    return preview_page(reply, words, home.len > 0 ? home.text : NULL);
}

/* GET -> 502 a text page */
static int silent(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct preview_words words = {502, "Nothing is listening there", "", NULL};
    struct preview_origin place = {.label = NULL};

    (void)err;
    if (preview_origin_read(request, &place))
        strbuf_appendf(&text,
                       "No program in the sandbox responds on port %d. It must listen on 0.0.0.0, "
                       "not only on localhost; then reload this page.",
                       place.port);
    words.words = text.len > 0 ? text.text : "";
    return preview_page(reply, &words, NULL);
}

const struct route preview_routes[] = {
    {HTTP_GET, "/check", ORIGIN_PREVIEW, ACCESS_PUBLIC, SANDBOX_OPEN, 0, preview_check},
    {HTTP_GET, "/leave", ORIGIN_PREVIEW, ACCESS_PUBLIC, SANDBOX_OPEN, 0, leave},
    {HTTP_GET, "/enter", ORIGIN_PREVIEW, ACCESS_PUBLIC, SANDBOX_OPEN, 0, enter},
    {HTTP_GET, "/refused", ORIGIN_PREVIEW, ACCESS_PUBLIC, SANDBOX_OPEN, 0, refused},
    {HTTP_GET, "/silent", ORIGIN_PREVIEW, ACCESS_PUBLIC, SANDBOX_OPEN, 0, silent},
    {.handle = NULL},
};
