#include "fcgi/agent/plugins/skill_sources.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/agent/plugins/source_fetch.h"
#include "fcgi/core/request.h"

/* Limits per request, since the client waits for it. */
enum { MAX_FETCHES = 10, FETCH_S = 20 };

static const char *const origin_names[SKILL_N_ORIGINS] = {
#define X(constant, text) [constant] = (text),
    SKILL_ORIGINS(X)
#undef X
};

struct skill_set skill_set_new(void)
{
    return (struct skill_set){json_object(), json_object()};
}

void skill_set_done(struct skill_set *set)
{
    json_decref(set->skills);
    json_decref(set->origins);
}

void skill_set_add(struct skill_set *set, json_t *skill, enum skill_origin origin)
{
    const char *name = json_text_or(skill, "name", "");

    json_put(set->origins, name, json_integer(origin));
    json_put(set->skills, name, skill);
}

json_t *skill_set_list(const struct skill_set *set)
{
    json_t *list = json_array();
    const char *name = NULL;
    json_t *skill = NULL;

    json_object_foreach (set->skills, name, skill)
        json_push(list, json_incref(skill));
    return list;
}

json_t *skill_set_count(const struct skill_set *set)
{
    json_int_t n[SKILL_N_ORIGINS] = {0};
    json_t *counts = json_object();
    const char *name = NULL;
    json_t *origin = NULL;

    json_object_foreach (set->origins, name, origin)
        n[json_integer_value(origin)]++;
    for (int i = 0; i < SKILL_N_ORIGINS; i++)
        json_put(counts, origin_names[i], json_integer(n[i]));
    return counts;
}

/* --- fetched sources --- */

/* The fetches of one request, whose number is limited. */
struct fetch_batch {
    const struct request *request;
    struct skill_set *set;
    int n_fetches;
};

static bool fetch_or_report(struct fetch_batch *batch, const struct source_fetch *fetch,
                            struct fetched *fetched)
{
    struct error err = ERROR_INIT;

    if (++batch->n_fetches > MAX_FETCHES)
        error_set(&err, ERROR_RATE_LIMITED, "a request may name %d sources", (int)MAX_FETCHES);
    else if (source_fetch_run(batch->request, fetch, fetched, &err) == 0)
        return true;
    log_warning("skills.source_skipped", LOG_ERROR(&err));
    return false;
}

static void add_all(struct fetch_batch *batch, const struct fetched *fetched, const char *below,
                    enum skill_origin origin)
{
    const struct plugin_folder folder = fetched_folder(fetched);
    json_auto_t *skills = plugin_folder_read_skills(&folder, below);
    json_t *skill = NULL;
    size_t i = 0;

    json_array_foreach (skills, i, skill)
        skill_set_add(batch->set, json_incref(skill), origin);
}

static void add_organisation(struct fetch_batch *batch, const json_t *config)
{
    CLEANUP(fetched_done) struct fetched fetched = FETCHED_INIT;
    const struct source_fetch fetch = {.source = json_text_or(config, "org_repo_url", ""),
                                       .timeout_s = FETCH_S};

    if (fetch_or_report(batch, &fetch, &fetched))
        add_all(batch, &fetched, "", SKILL_OF_ORGANISATION);
}

/* "auto_load": true for a whole marketplace, or a list of names. */
static bool is_loaded(const json_t *market, const char *name)
{
    const json_t *wanted = json_object_get(market, "auto_load");
    const json_t *one = NULL;
    size_t i = 0;

    if (json_is_true(wanted))
        return true;
    json_array_foreach (wanted, i, one) {
        if (json_is_string(one) && text_equal(json_string_value(one), name))
            return true;
    }
    return false;
}

/*
 * Appends a source as text; it may also be {"source": "github", "repo": "owner/name"} or similar.
 */
static void append_source(struct strbuf *out, const json_t *source)
{
    const char *kind = json_text_or(source, "source", "");

    if (json_is_string(source))
        strbuf_append(out, json_string_value(source));
    else if (text_equal(kind, "github"))
        strbuf_appendf(out, "github:%s", json_text_or(source, "repo", ""));
    else
        strbuf_append(out, json_text_or(source, "url", ""));
}

/* A marketplace's offer is in the marketplace's repository, or in one of its own. */
static void add_offer(struct fetch_batch *batch, const struct fetched *market, const json_t *offer)
{
    CLEANUP(fetched_done) struct fetched fetched = FETCHED_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const json_t *source = json_object_get(offer, "source");
    struct source_fetch fetch = {.ref = json_text_or(source, "ref", NULL),
                                 .repo_path = json_text_or(source, "path", NULL),
                                 .timeout_s = FETCH_S};

    append_source(&text, source);
    if (strchr(text.text, ':') == NULL && text.text[0] != '/') {
        const char *below = text_starts_with(text.text, "./") ? text.text + 2 : text.text;

        add_all(batch, market, text_equal(below, ".") ? "" : below, SKILL_OF_MARKET);
        return;
    }
    fetch.source = text.text;
    if (fetch_or_report(batch, &fetch, &fetched))
        add_all(batch, &fetched, "", SKILL_OF_MARKET);
}

static void add_market(struct fetch_batch *batch, const json_t *market)
{
    CLEANUP(fetched_done) struct fetched fetched = FETCHED_INIT;
    const json_t *wanted = json_object_get(market, "auto_load");
    const struct source_fetch fetch = {.source = json_text_or(market, "source", ""),
                                       .ref = json_text_or(market, "ref", NULL),
                                       .repo_path = json_text_or(market, "repo_path", NULL),
                                       .timeout_s = FETCH_S};
    struct plugin_folder folder = {NULL, NULL};
    json_auto_t *offers = NULL;
    json_t *offer = NULL;
    size_t i = 0;

    if (!json_is_true(wanted) && json_array_size(wanted) == 0)
        return;
    if (!fetch_or_report(batch, &fetch, &fetched))
        return;
    folder = fetched_folder(&fetched);
    offers = plugin_folder_read_market(&folder, NULL);
    json_array_foreach (offers, i, offer) {
        if (is_loaded(market, json_text_or(offer, "name", "")))
            add_offer(batch, &fetched, offer);
    }
}

void skill_sources_add(const struct request *request, const json_t *body, struct skill_set *set)
{
    struct fetch_batch batch = {.request = request, .set = set};
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(body, "registered_marketplaces"), i, item)
        add_market(&batch, item);
    if (!json_bool_or(body, "load_org", 1))
        return;
    json_array_foreach (json_object_get(body, "org_configs"), i, item)
        add_organisation(&batch, item);
}

/* --- the sandbox --- */

void skill_sources_add_sandbox(const json_t *body, struct skill_set *set)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const json_t *urls = json_object_get(json_object_get(body, "sandbox_config"), "exposed_urls");
    const json_t *url = NULL;
    json_t *skill = NULL;
    size_t i = 0;

    if (json_array_size(urls) == 0)
        return;
    strbuf_append(&text, "The user reaches servers in this sandbox from outside at these addresses."
                         " A server must listen on the port, on all interfaces:\n");
    json_array_foreach (urls, i, url)
        strbuf_appendf(&text, "\n- %s: %s (port %lld)", json_text_or(url, "name", ""),
                       json_text_or(url, "url", ""), (long long)json_int_or(url, "port", 0));
    skill = json_object();
    json_put_text(skill, "name", "sandbox_addresses");
    json_put_text(skill, "type", "repo");
    json_put_text(skill, "content", text.text);
    json_put(skill, "triggers", json_array());
    json_put(skill, "source", json_null());
    json_put_text(skill, "description", "Addresses of servers in this sandbox");
    json_put(skill, "is_agentskills_format", json_false());
    json_put(skill, "disable_model_invocation", json_false());
    skill_set_add(set, skill, SKILL_OF_SANDBOX);
}
