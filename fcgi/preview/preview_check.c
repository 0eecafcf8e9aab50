/*
 * The check that nginx makes before it forwards a request to a sandbox: 204 with the address and
 * headers to use, 401 when the browser has no cookie for this origin, 403 with a keyword for
 * /refused.
 */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/request.h"
#include "fcgi/core/wait_slots.h"
#include "fcgi/preview/preview_check.h"
#include "fcgi/preview/preview_origin.h"
#include "fcgi/sandbox/sandbox_locate.h"
#include "model/conversation/preview.h"

/* True for a navigation by the user: a link or the address bar. */
static bool is_navigation(const struct request *request)
{
    const char *mode = request_param(request, "HTTP_SEC_FETCH_MODE");
    const char *dest = request_param(request, "HTTP_SEC_FETCH_DEST");
    const char *method = request_param(request, "DEFT_PREVIEW_METHOD");

    return mode != NULL && text_equal(mode, "navigate") && dest != NULL &&
           text_equal(dest, "document") && method != NULL &&
           (text_equal(method, "GET") || text_equal(method, "HEAD"));
}

/*
 * Another sandbox's page is same-site, so that its requests carry this origin's cookie, whatever
 * SameSite says. The browser's headers tell where they come from.
 */
static bool comes_from_stranger(const struct request *request, const struct preview_origin *place)
{
    const char *origin = request_param(request, "HTTP_ORIGIN");
    const char *site = request_param(request, "HTTP_SEC_FETCH_SITE");
    const char *referer = request_param(request, "HTTP_REFERER");

    if (origin != NULL)
        return !preview_is_own_origin(place, origin);
    if (site == NULL || text_equal(site, "same-origin") || text_equal(site, "none"))
        return false;
    if (is_navigation(request))
        return false;
    return referer == NULL || !preview_is_own_origin(place, referer);
}

/* "http://10.1.2.3:8000"; false for anything that cannot be a sandbox's address. */
static bool read_address(const char *url, struct in_addr *address_out, long *port_out)
{
    char address[INET_ADDRSTRLEN] = "";
    static const char scheme[] = "http://";
    struct in_addr parsed = {0};
    const char *host = url + strlen(scheme);
    size_t len = 0;

    if (!text_starts_with(url, scheme))
        return false;
    len = strcspn(host, ":/");
    if (len >= INET_ADDRSTRLEN)
        return false;
    memcpy(address, host, len);
    address[len] = '\0';
    if (inet_pton(AF_INET, address, &parsed) != 1)
        return false;
    *address_out = parsed;
    *port_out = host[len] == ':' ? strtol(host + len + 1, NULL, 10) : 0;
    return ntohl(parsed.s_addr) >> 24 != 0 && ntohl(parsed.s_addr) >> 16 != 0xa9fe;
}

/*
 * A sandbox with an address of its own is reached there. One reached through the host's loopback
 * has its preview listener at PREVIEW_LOOPBACK; other services of the host cannot be addressed.
 */
static bool name_target(const char *url, int port, struct reply *reply)
{
    char target[INET_ADDRSTRLEN + 8] = "";
    char text[INET_ADDRSTRLEN] = "";
    char inner[8] = "";
    struct in_addr address = {0};
    const struct in_addr door = {.s_addr = htonl(PREVIEW_LOOPBACK)};
    long own_port = 0;
    bool has_door = false;

    if (!read_address(url, &address, &own_port))
        return false;
    has_door = address.s_addr == htonl(INADDR_LOOPBACK) && own_port > 0 && own_port <= UINT16_MAX;
    if (ntohl(address.s_addr) >> 24 == 127 && !has_door)
        return false;
    (void)inet_ntop(AF_INET, has_door ? &door : &address, text, sizeof(text));
    (void)snprintf(target, sizeof(target), "%s:%d", text, has_door ? (int)own_port : port);
    (void)snprintf(inner, sizeof(inner), "%d", port);
    reply_header(reply, "X-Deft-Address", target);
    if (has_door)
        reply_header(reply, "X-Deft-Port", inner);
    return true;
}

/*
 * A development server expects localhost: it gets that name, as from a browser in the sandbox. An
 * editor builds URLs from the name, and so needs the real one.
 */
static void say_names(const struct request *request, struct reply *reply,
                      const struct preview_origin *place)
{
    CLEANUP(strbuf_done) struct strbuf host = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf origin = STRBUF_INIT;
    const char *sent = request_param(request, "HTTP_ORIGIN");
    CLEANUP(strbuf_done) struct strbuf own = STRBUF_INIT;

    strbuf_appendf(&own, "%s://%s", place->scheme, place->authority);
    if (place->port == PREVIEW_EDITOR_PORT)
        strbuf_append(&host, place->authority);
    else
        strbuf_appendf(&host, "localhost:%d", place->port);
    /*
     * Requests from another port of the sandbox are subject to its CORS rules, so it gets the real
     * origin.
     */
    if (sent != NULL && text_equal(sent, own.text) && place->port != PREVIEW_EDITOR_PORT)
        strbuf_appendf(&origin, "http://%s", host.text);
    else if (sent != NULL)
        strbuf_append(&origin, sent);
    reply_header(reply, "X-Deft-Host", host.text);
    reply_header(reply, "X-Deft-Sent-Origin", origin.text);
}

static int answer_address(const struct request *request, struct reply *reply,
                          const struct preview_origin *place, const char *url)
{
    CLEANUP(strbuf_done) struct strbuf cookies = STRBUF_INIT;

    if (!name_target(url, place->port, reply))
        return preview_refuse(reply, "address");
    preview_start_editor(request, place);
    preview_append_foreign_cookies(request, &cookies);
    reply_header(reply, "X-Deft-Cookie", cookies.len > 0 ? cookies.text : "");
    say_names(request, reply, place);
    return reply_empty(reply, 204);
}

int preview_refuse(struct reply *reply, const char *why)
{
    reply_header(reply, "X-Deft-Why", why);
    return reply_empty(reply, 403);
}

static bool is_awake(const struct preview_sandbox *sandbox)
{
    return sandbox->status == RUNTIME_RUNNING && sandbox->desired == DESIRED_RUNNING &&
           sandbox->url != NULL;
}

/* A sandbox that a user stopped is not started by viewing it. */
static const char *why_asleep(const struct preview_sandbox *sandbox)
{
    if (sandbox->desired == DESIRED_STOPPED || sandbox->desired == DESIRED_DELETED ||
        sandbox->status == RUNTIME_STOPPED)
        return "stopped";
    return sandbox->status == RUNTIME_ERROR ? "failed" : NULL;
}

static int wake(const struct request *request, const struct preview_key *key,
                const struct preview_hashes *cookies, struct preview_sandbox *sandbox,
                struct error *err)
{
    int rc = 0;

    if (wait_slot_take(request->context->wait_slots, &request->principal.user_id, err) < 0)
        return -1;
    rc = sandbox_wake(request->context, key->runtime_id, err);
    wait_slot_return(request->context->wait_slots, &request->principal.user_id);
    if (rc < 0)
        return -1;
    return preview_store_find(request->context->db, key, cookies, sandbox, err);
}

static int answer_known(const struct request *request, struct reply *reply,
                        const struct preview_origin *place, const struct preview_hashes *cookies,
                        struct error *err)
{
    CLEANUP(preview_sandbox_done) struct preview_sandbox sandbox = PREVIEW_SANDBOX_INIT;
    const struct preview_key key = {place->runtime_id, place->port};
    struct error why = ERROR_INIT;

    if (preview_store_find(request->context->db, &key, cookies, &sandbox, err) < 0)
        return -1;
    if (is_awake(&sandbox))
        return answer_address(request, reply, place, sandbox.url);
    if (why_asleep(&sandbox) != NULL)
        return preview_refuse(reply, why_asleep(&sandbox));
    if (wake(request, &key, cookies, &sandbox, &why) < 0) {
        log_warning("preview.wake_failed", LOG_STR("runtime_id", key.runtime_id), LOG_ERROR(&why));
        return preview_refuse(reply, why.code == ERROR_RATE_LIMITED ? "full" : "failed");
    }
    if (!is_awake(&sandbox))
        return preview_refuse(reply, "failed");
    return answer_address(request, reply, place, sandbox.url);
}

int preview_check(const struct request *request, struct reply *reply, struct error *err)
{
    struct preview_origin place = {.label = NULL};
    struct preview_tokens tokens = {.n = 0};
    struct preview_hashes cookies = {tokens.items, 0};

    if (!preview_origin_read(request, &place) || !preview_port_is_allowed(place.port))
        return preview_refuse(reply, "port");
    if (comes_from_stranger(request, &place))
        return preview_refuse(reply, "stranger");
    preview_read_tokens(request, PREVIEW_COOKIE_SESSION, &tokens);
    cookies.n = tokens.n;
    if (tokens.n == 0)
        return reply_empty(reply, 401);
    if (answer_known(request, reply, &place, &cookies, err) == 0)
        return 0;
    return err->code == ERROR_UNAUTHENTICATED ? reply_empty(reply, 401) : -1;
}
