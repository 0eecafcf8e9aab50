#include "llm/route.h"

#include <stddef.h>
#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/llm_error.h"
#include "model/catalogue/catalogue.h"
#include "model/catalogue/model_table.h"

/* Of Azure's chats, unless the specification names one. */
#define API_VERSION_DEFAULT "2024-12-01-preview"

#define GEMINI_HOST "https://generativelanguage.googleapis.com"

#define CHAT(name, url) {.prefix = (name), .format = LLM_FORMAT_CHAT, .base_url = (url)}
#define NOT_YET(name) {.prefix = (name), .format = LLM_FORMAT_NONE}

/* The first is used for an unknown name with a base URL of the user's. */
static const struct route_provider providers[] = {
    {.prefix = "openai",
     .format = LLM_FORMAT_CHAT,
     .base_url = "https://api.openai.com/v1",
     .is_open = true,
     .has_responses = true},
    {.prefix = "openhands",
     .format = LLM_FORMAT_CHAT,
     .base_url = "https://llm-proxy.app.all-hands.dev",
     .is_open = true,
     .takes_litellm = true,
     .takes_cache_marks = true,
     .has_responses = true},
    {.prefix = "litellm_proxy",
     .format = LLM_FORMAT_CHAT,
     .is_open = true,
     .takes_litellm = true,
     .takes_cache_marks = true,
     .has_responses = true},
    {.prefix = "anthropic",
     .format = LLM_FORMAT_ANTHROPIC,
     .base_url = "https://api.anthropic.com",
     .takes_cache_marks = true,
     .has_version_path = true},
    {.prefix = "bedrock", .format = LLM_FORMAT_BEDROCK, .takes_cache_marks = true},
    {.prefix = "scripted", .format = LLM_FORMAT_SCRIPTED},
    {.prefix = "ollama",
     .format = LLM_FORMAT_CHAT,
     .base_url = "http://localhost:11434",
     .has_version_path = true},
    {.prefix = "ollama_chat",
     .format = LLM_FORMAT_CHAT,
     .base_url = "http://localhost:11434",
     .has_version_path = true},
    {.prefix = "openrouter",
     .format = LLM_FORMAT_CHAT,
     .base_url = "https://openrouter.ai/api/v1",
     .takes_cache_marks = true},
    {.prefix = "gemini",
     .format = LLM_FORMAT_GEMINI,
     .base_url = GEMINI_HOST "/v1beta",
     .has_chat = true,
     .takes_signatures = true},
    CHAT("mistral", "https://api.mistral.ai/v1"),
    CHAT("deepseek", "https://api.deepseek.com"),
    CHAT("groq", "https://api.groq.com/openai/v1"),
    CHAT("xai", "https://api.x.ai/v1"),
    CHAT("moonshot", "https://api.moonshot.ai/v1"),
    CHAT("minimax", "https://api.minimax.io/v1"),
    CHAT("zai", "https://api.z.ai/api/paas/v4"),
    CHAT("together_ai", "https://api.together.xyz/v1"),
    CHAT("fireworks_ai", "https://api.fireworks.ai/inference/v1"),
    CHAT("nvidia_nim", "https://integrate.api.nvidia.com/v1"),
    CHAT("cerebras", "https://api.cerebras.ai/v1"),
    CHAT("perplexity", "https://api.perplexity.ai"),
    CHAT("sambanova", "https://api.sambanova.ai/v1"),
    CHAT("lm_studio", NULL),
    CHAT("hosted_vllm", NULL),
    {.prefix = "azure",
     .format = LLM_FORMAT_CHAT,
     .key_header = "api-key",
     .has_responses = true,
     .has_deployments = true},
    /* By its compatible endpoint, with an access token as key. */
    {.prefix = "vertex_ai",
     .format = LLM_FORMAT_CHAT,
     .model_prefix = "google/",
     .takes_signatures = true},
    NOT_YET("huggingface"),
    NOT_YET("replicate"),
    NOT_YET("watsonx"),
    NOT_YET("sagemaker"),
};

/* Names recognized without a prefix. */
static const struct {
    const char *begin;
    const char *prefix;
} bare_names[] = {
    {"gpt-", "openai"},     {"o1", "openai"},         {"o3", "openai"},      {"o4", "openai"},
    {"chatgpt-", "openai"}, {"claude-", "anthropic"}, {"gemini-", "gemini"},
};

static const struct route_provider *find_provider(const char *prefix, size_t len)
{
    for (size_t i = 0; i < ARRAY_SIZE(providers); i++) {
        if (strlen(providers[i].prefix) == len && memcmp(providers[i].prefix, prefix, len) == 0)
            return &providers[i];
    }
    return NULL;
}

static const struct route_provider *find_by_bare_name(const char *model)
{
    for (size_t i = 0; i < ARRAY_SIZE(bare_names); i++) {
        if (text_starts_with(model, bare_names[i].begin))
            return find_provider(bare_names[i].prefix, strlen(bare_names[i].prefix));
    }
    return NULL;
}

/* The provider; *rest_out is the provider's name for the model. */
static const struct route_provider *choose(const char *model, const char *base_url,
                                           const char **rest_out)
{
    const char *slash = strchr(model, '/');
    const struct route_provider *provider = NULL;

    *rest_out = model;
    if (slash == NULL)
        provider = find_by_bare_name(model);
    else
        provider = find_provider(model, (size_t)(slash - model));
    if (provider != NULL && slash != NULL)
        *rest_out = slash + 1;
    if (provider == NULL && base_url != NULL)
        provider = &providers[0];
    return provider;
}

static void trim_slashes(struct strbuf *url)
{
    while (url->len > 0 && url->text[url->len - 1] == '/')
        strbuf_truncate(url, url->len - 1);
}

/*
 * The newer form of the API, /openai/v1, has neither deployments nor versions. The default version
 * is older than Responses at Azure, so they are called by that form unless a version is named
 * (learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle).
 */
static void append_deployment(struct strbuf *url, const struct llm_route *route,
                              const char *api_version)
{
    const char *path = llm_format_of(route->format)->path;
    bool is_v1 = text_ends_with(url->text, "/openai/v1");

    if (!is_v1 && !text_ends_with(url->text, "/openai"))
        strbuf_append(url, "/openai");
    if (!is_v1 && api_version == NULL && route->format == LLM_FORMAT_RESPONSES) {
        strbuf_append(url, "/v1");
        is_v1 = true;
    }
    if (is_v1) {
        strbuf_append(url, path);
        return;
    }
    if (route->format == LLM_FORMAT_CHAT) {
        strbuf_append(url, "/deployments/");
        percent_append(url, route->model);
    }
    strbuf_appendf(url, "%s?api-version=", path);
    percent_append(url, api_version != NULL ? api_version : API_VERSION_DEFAULT);
}

/* --- Gemini --- */

static bool is_googles(const char *url)
{
    return text_starts_with(url, GEMINI_HOST "/") || text_equal(url, GEMINI_HOST);
}

/* Google's compatible endpoint, or a proxy's: such base URLs end in the version of OpenAI's API. */
static bool is_compatible(const char *url)
{
    return text_ends_with(url, "/openai") ||
           text_ends_with(url, llm_format_of(LLM_FORMAT_CHAT)->path) ||
           (text_ends_with(url, "/v1") && !is_googles(url));
}

static bool has_gemini_version(const char *url)
{
    return text_ends_with(url, "/v1beta") || text_ends_with(url, "/v1alpha") ||
           text_ends_with(url, "/v1");
}

/* What an endpoint follows from, besides the model. */
struct base {
    const char *url;         /* NULL: none */
    const char *api_version; /* NULL: the specification names none */
    bool is_stream;
};

/* A tuned model has a resource name of its own. */
static void append_method(struct strbuf *url, const struct llm_route *route,
                          const struct base *base)
{
    const char *rest = route->model;
    const char *slash = strchr(rest, '/');

    if (slash == NULL)
        strbuf_append(url, "models/");
    for (; slash != NULL; slash = strchr(rest, '/')) {
        percent_append_bytes(url, rest, (size_t)(slash - rest));
        strbuf_append_char(url, '/');
        rest = slash + 1;
    }
    percent_append(url, rest);
    strbuf_append(url, base->is_stream ? ":streamGenerateContent?alt=sse" : ":generateContent");
}

static void append_gemini(struct strbuf *url, const struct llm_route *route,
                          const struct base *base)
{
    const char *path = llm_format_of(route->format)->path;
    bool is_native = route->format == LLM_FORMAT_GEMINI;

    if (!is_native && !is_googles(url->text) && !text_ends_with(url->text, "/v1beta")) {
        strbuf_append(url, path);
        return;
    }
    if (!has_gemini_version(url->text))
        strbuf_append(url, "/v1beta");
    if (!is_native) {
        strbuf_appendf(url, "/openai%s", path);
        return;
    }
    strbuf_append_char(url, '/');
    append_method(url, route, base);
}

/* Its own format, unless the base URL or the mode is for the compatible one. */
static int choose_gemini(struct llm_route *route, const char *base_url, const char *mode,
                         struct llm_error *llm_error)
{
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;

    if (!route->provider->has_chat || base_url == NULL)
        return 0;
    if (text_equal(mode, "responses"))
        return llm_error_set(llm_error, LLM_CAUSE_BAD_REQUEST,
                             "Gemini models cannot be called by OpenAI's Responses: set api_mode to"
                             " \"auto\" or \"chat\".");
    strbuf_append(&url, base_url);
    trim_slashes(&url);
    if (text_equal(mode, "chat") || is_compatible(url.text))
        route->format = LLM_FORMAT_CHAT;
    return 0;
}

/* --- the endpoint --- */

static char *endpoint(const struct llm_route *route, const struct base *base)
{
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
    const char *path = llm_format_of(route->format)->path;

    strbuf_append(&url, base->url);
    trim_slashes(&url);
    if (route->provider->has_chat && !is_compatible(url.text)) {
        append_gemini(&url, route, base);
        return strbuf_take(&url);
    }
    if (text_ends_with(url.text, path))
        return strbuf_take(&url);
    if (route->provider->has_deployments) {
        append_deployment(&url, route, base->api_version);
        return strbuf_take(&url);
    }
    if (text_equal(url.text, "https://api.openai.com"))
        strbuf_append(&url, "/v1");
    if (route->provider->has_version_path && !text_ends_with(url.text, "/v1"))
        strbuf_append(&url, "/v1");
    strbuf_append(&url, path);
    return strbuf_take(&url);
}

void llm_route_done(struct llm_route *route)
{
    if (route == NULL)
        return;
    mem_free(route->model);
    mem_free(route->url);
    mem_free(route->region);
    *route = (struct llm_route)LLM_ROUTE_INIT;
}

static char *model_name(const struct route_provider *provider, const char *rest)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;

    if (provider->model_prefix != NULL && strchr(rest, '/') == NULL)
        strbuf_append(&name, provider->model_prefix);
    strbuf_append(&name, rest);
    return strbuf_take(&name);
}

/* Sets all but the URL; *base_url_out is the base to use, or NULL. */
static int find(const char *model, const char *base_url, struct llm_route *route_out,
                const char **base_url_out, struct llm_error *llm_error)
{
    const char *rest = NULL;
    const struct route_provider *provider = NULL;

    if (base_url != NULL && text_is_blank(base_url))
        base_url = NULL;
    provider = choose(model, base_url, &rest);
    if (provider == NULL)
        return llm_error_set(llm_error, LLM_CAUSE_BAD_REQUEST,
                             "LLM provider not provided: the model \"%s\" needs a prefix such as"
                             " openai/ or ollama/, or a base URL.",
                             model);
    if (provider->format == LLM_FORMAT_NONE)
        return llm_error_set(llm_error, LLM_CAUSE_UNSUPPORTED,
                             "deft does not speak the format of %s yet. Reach the model through"
                             " litellm_proxy/, openrouter/ or another OpenAI-compatible server.",
                             provider->prefix);
    if (rest[0] == '\0')
        return llm_error_set(llm_error, LLM_CAUSE_BAD_REQUEST,
                             "The model's name is missing after %s/.", provider->prefix);
    if (base_url == NULL)
        base_url = provider->base_url;
    if (provider->format == LLM_FORMAT_SCRIPTED)
        base_url = NULL;
    else if (base_url == NULL && llm_format_of(provider->format)->locate == NULL)
        return llm_error_set(llm_error, LLM_CAUSE_BAD_REQUEST,
                             "Models with the prefix %s/ need a base URL.", provider->prefix);
    route_out->provider = provider;
    route_out->format = provider->format;
    route_out->model = model_name(provider, rest);
    *base_url_out = base_url;
    return 0;
}

static int set_url(const json_t *spec, const struct base *base, struct llm_route *route,
                   struct llm_error *llm_error)
{
    const struct llm_format *format = llm_format_of(route->format);

    if (format->locate != NULL && format->locate(spec, base->url, route, llm_error) < 0) {
        llm_route_done(route);
        return -1;
    }
    if (format->locate == NULL && base->url != NULL)
        route->url = endpoint(route, base);
    return 0;
}

int llm_route_find(const char *model, const char *base_url, struct llm_route *route_out,
                   struct llm_error *llm_error)
{
    struct base base = {.url = base_url};

    if (find(model, base_url, route_out, &base.url, llm_error) < 0)
        return -1;
    error_ignore(choose_gemini(route_out, base.url, "auto", llm_error), "this mode is for all");
    return set_url(NULL, &base, route_out, llm_error);
}

/* --- Responses --- */

/* A table that knows the model decides; else its name does. */
static bool is_known_for_responses(const struct catalogue *catalogue, const json_t *spec)
{
    const char *model = catalogue_model_name(spec);
    const struct model_facts *facts = catalogue_find_model(catalogue, model);

    if (facts != NULL)
        return facts->speaks_responses;
    return catalogue_ask_feature(catalogue, MODEL_RESPONSES, model) == MODEL_YES;
}

static bool wants_responses(const struct catalogue *catalogue, const json_t *spec,
                            const struct llm_route *route, const char *base_url)
{
    const char *mode = json_text_or(spec, "api_mode", "auto");
    const json_t *overrides = json_object_get(spec, "capability_overrides");
    bool is_chat = route->format == LLM_FORMAT_CHAT;

    if (!is_chat || text_equal(mode, "chat"))
        return false;
    if (text_equal(mode, "responses"))
        return true;
    if (base_url != NULL && text_ends_with(base_url, llm_format_of(LLM_FORMAT_CHAT)->path))
        return false;
    return json_bool_or(overrides, "supports_responses_api",
                        route->provider->has_responses &&
                            is_known_for_responses(catalogue, spec)) != 0;
}

int llm_route_choose(const struct catalogue *catalogue, const json_t *spec,
                     struct llm_route *route_out, struct llm_error *llm_error)
{
    const char *base_url = json_text_or(spec, "base_url", NULL);
    struct base base = {.api_version = json_text_or(spec, "api_version", NULL),
                        .is_stream = json_bool_or(spec, "stream", false) != 0};

    if (find(json_text_or(spec, "model", ""), base_url, route_out, &base.url, llm_error) < 0)
        return -1;
    if (choose_gemini(route_out, base.url, json_text_or(spec, "api_mode", "auto"), llm_error) < 0) {
        llm_route_done(route_out);
        return -1;
    }
    if (wants_responses(catalogue, spec, route_out, base.url))
        route_out->format = LLM_FORMAT_RESPONSES;
    return set_url(spec, &base, route_out, llm_error);
}

void llm_route_explain(const struct llm_route *route, struct llm_error *llm_error)
{
    if (!route->provider->has_deployments || llm_error->cause != LLM_CAUSE_NOT_FOUND)
        return;
    if (strstr(llm_error->detail, "DeploymentNotFound") != NULL)
        llm_error_add(llm_error,
                      " The name after %s/ must be that of a deployment: \"%s\" is none.",
                      route->provider->prefix, route->model);
    else
        llm_error_add(llm_error, " Is base_url the address of the resource, such as"
                                 " https://RESOURCE.openai.azure.com, and api_version one that"
                                 " Azure knows?");
}

bool llm_model_is_scripted(const char *model)
{
    return text_starts_with(model, "scripted/");
}
