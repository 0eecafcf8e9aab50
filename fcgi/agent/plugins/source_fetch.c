#include "fcgi/agent/plugins/source_fetch.h"

#include <string.h>

#include "base/crypto.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/request.h"
#include "fcgi/sandbox/sandbox_request.h"

/* On the workspace's volume, so that the copies outlive a sandbox's container. */
#define COPIES "/workspace/.openhands/fetched/"

enum { NAME_CHARS = 32, MS_PER_S = 1000, SLACK_MS = 10000 };

/* The secret names by which clients pass a forge's token, and the username to use with it. */
struct forge_token {
    const char *address;
    const char *secret;
    const char *username;
};

static const struct forge_token forge_tokens[] = {
    {"https://github.com/", "GITHUB_TOKEN", "x-access-token"},
    {"https://gitlab.com/", "GITLAB_TOKEN", "oauth2"},
    {"https://bitbucket.org/", "BITBUCKET_TOKEN", "x-token-auth"},
};

void fetched_done(struct fetched *fetched)
{
    plugin_source_done(&fetched->source);
    json_decref(fetched->answer);
    *fetched = (struct fetched)FETCHED_INIT;
}

/* The source with each "${NAME}" replaced, percent-encoded for a URL. */
static int expand(const struct source_fetch *fetch, struct strbuf *out, struct error *err)
{
    const char *rest = fetch->source;
    const char *open = strstr(rest, "${");

    for (; open != NULL; open = strstr(rest, "${")) {
        CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
        size_t len = strcspn(open + 2, "}");

        strbuf_append_bytes(out, rest, (size_t)(open - rest));
        strbuf_append_bytes(&name, open + 2, len);
        if (open[2 + len] == '\0' || json_text_or(fetch->secrets, name.text, NULL) == NULL)
            return error_set(err, ERROR_INVALID,
                             "The source refers to a secret that was not given: %s", name.text);
        percent_append(out, json_text_or(fetch->secrets, name.text, ""));
        rest = open + 2 + len + 1;
    }
    strbuf_append(out, rest);
    return 0;
}

/* Adds credentials stored earlier, or a token for the forge of the URL. */
static void add_credentials(const struct source_fetch *fetch, struct plugin_source *source)
{
    const char *kept = json_text_or(fetch->credentials, "password", NULL);

    if (source->password == NULL && kept != NULL) {
        const char *username = json_text_or(fetch->credentials, "username", NULL);

        source->username = username != NULL ? mem_dup_text(username) : NULL;
        source->password = mem_dup_text(kept);
    }
    for (size_t i = 0; i < ARRAY_SIZE(forge_tokens) && source->password == NULL; i++) {
        const char *token = json_text_or(fetch->secrets, forge_tokens[i].secret, NULL);

        if (token == NULL || !text_starts_with(source->address, forge_tokens[i].address))
            continue;
        source->username = mem_dup_text(forge_tokens[i].username);
        source->password = mem_dup_text(token);
    }
}

static int read_source(const struct source_fetch *fetch, struct plugin_source *source_out,
                       struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    int rc = expand(fetch, &text, err);

    if (rc == 0)
        rc = plugin_source_read(text.text, fetch->ref, fetch->repo_path, source_out, err);
    explicit_bzero(text.text, text.len);
    if (rc == 0)
        add_credentials(fetch, source_out);
    return rc;
}

/* One folder per URL and ref: fetching it again updates it. */
static void put_folder(json_t *order, const struct plugin_source *source)
{
    CLEANUP(strbuf_done) struct strbuf what = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;
    char hash[CRYPTO_HASH_HEX_BYTES];

    strbuf_appendf(&what, "%s\n%s", source->address, source->ref != NULL ? source->ref : "");
    crypto_sha256_hex(what.text, what.len, hash);
    strbuf_append(&folder, COPIES);
    strbuf_append_bytes(&folder, hash, NAME_CHARS);
    json_put_text(order, "folder", folder.text);
}

static json_t *order_of(const struct plugin_source *source, int64_t timeout_s)
{
    json_t *order = json_object();
    json_t *credentials = json_object();

    json_put_text(credentials, "username", source->username);
    json_put_text(credentials, "password", source->password);
    json_put(order, "credentials", credentials);
    json_put_text(order, "source", source->address);
    json_put_text(order, "ref", source->ref);
    json_put_text(order, "repo_path", source->repo_path);
    json_put(order, "timeout_ms", json_integer(timeout_s * MS_PER_S));
    put_folder(order, source);
    return order;
}

int source_fetch_run(const struct request *request, const struct source_fetch *fetch,
                     struct fetched *fetched_out, struct error *err)
{
    CLEANUP(fetched_done) struct fetched fetched = FETCHED_INIT;
    json_auto_t *order = NULL;
    const char *unreachable = NULL;

    if (read_source(fetch, &fetched.source, err) < 0)
        return -1;
    order = order_of(&fetched.source, fetch->timeout_s);
    if (sandbox_request_send(
            request->context,
            &(struct sandbox_request){.owner = {&request->principal, NULL},
                                      .path = "/repositories/fetch",
                                      .body = order,
                                      .timeout_ms = fetch->timeout_s * MS_PER_S + SLACK_MS},
            &fetched.answer, err) < 0)
        return -1;
    unreachable = json_text_or(fetched.answer, "unreachable", NULL);
    if (unreachable != NULL)
        return error_set(err, ERROR_NOT_FOUND, "%s", unreachable);
    if (json_text_or(fetched.answer, "path", "")[0] != '/' ||
        !json_is_array(json_object_get(fetched.answer, "files")))
        return error_set(err, ERROR_UNAVAILABLE, "the sandbox's reply is not valid");
    *fetched_out = fetched;
    fetched = (struct fetched)FETCHED_INIT;
    return 0;
}

struct plugin_folder fetched_folder(const struct fetched *fetched)
{
    return (struct plugin_folder){json_text_or(fetched->answer, "path", ""),
                                  json_object_get(fetched->answer, "files")};
}

json_t *fetched_ref(const struct fetched *fetched)
{
    const char *ref = json_text_or(fetched->answer, "resolved_ref", NULL);

    return json_text_of(ref);
}

const char *fetched_source(const struct fetched *fetched, const struct source_fetch *fetch)
{
    return strstr(fetch->source, "://") != NULL && fetched->source.password != NULL
               ? fetched->source.address
               : fetch->source;
}
