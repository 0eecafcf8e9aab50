/* Where Bedrock is called, and with which credentials (see bedrock.h). */
#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/encode.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/sigv4.h"
#include "llm/formats/bedrock.h"
#include "llm/llm.h"
#include "llm/llm_error.h"
#include "llm/llm_headers.h"
#include "llm/route.h"

#define SERVICE "bedrock"
#define HOST_BEGIN "bedrock-runtime"
#define ARN_BEGIN "arn:"
/* A part of names that means this format, which is the only one here. */
#define CONVERSE_PREFIX "converse/"

enum { ARN_REGION_INDEX = 3, REGION_MAX_BYTES = 32 };

/* "" for absent, null and blank members. */
static const char *member(const json_t *spec, const char *name)
{
    const char *text = json_text_or(spec, name, "");

    return text_is_blank(text) ? "" : text;
}

static bool is_set(const json_t *spec, const char *name)
{
    return member(spec, name)[0] != '\0';
}

/* --- the model's name: [converse/][region/]id, or an ARN --- */

/* us-east-1, us-gov-west-1: letters, digits and hyphens, and a digit at the end. */
static bool is_region(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (!islower((unsigned char)text[i]) && !isdigit((unsigned char)text[i]) && text[i] != '-')
            return false;
    }
    return len > 0 && len <= REGION_MAX_BYTES && memchr(text, '-', len) != NULL &&
           isdigit((unsigned char)text[len - 1]);
}

/* The region in a name; the length is 0 if there is none. *id_out: the rest of the name. */
static size_t read_region(const char *name, const char **id_out)
{
    size_t len = strcspn(name, "/");

    *id_out = name;
    if (name[len] != '/' || !is_region(name, len))
        return 0;
    *id_out = name + len + 1;
    return len;
}

static const char *skip_fields(const char *arn, size_t n)
{
    for (; n > 0 && *arn != '\0'; arn++)
        n -= *arn == ':';
    return arn;
}

/* The region in an ARN, arn:aws:bedrock:us-east-1:…; NULL if there is none. */
static char *region_of_arn(const char *arn)
{
    const char *region = skip_fields(arn, ARN_REGION_INDEX);
    size_t len = strcspn(region, ":");

    return is_region(region, len) ? mem_dup_bytes(region, len) : NULL;
}

/* Takes region and id from the name of a route's model. */
static int read_name(struct llm_route *route, struct llm_error *llm_error)
{
    const char *name = route->model;
    const char *id = NULL;
    size_t len = 0;
    char *own = NULL;

    if (text_starts_with(name, CONVERSE_PREFIX))
        name += strlen(CONVERSE_PREFIX);
    len = read_region(name, &id);
    if (id[0] == '\0' || (strchr(id, '/') != NULL && !text_starts_with(id, ARN_BEGIN)))
        return llm_error_set(llm_error, LLM_CAUSE_BAD_REQUEST,
                             "bedrock/%s is no model: after bedrock/, and a region if you like,"
                             " give the id of a model or of an inference profile, or an ARN.",
                             route->model);
    if (len > 0)
        route->region = mem_dup_bytes(name, len);
    else if (text_starts_with(id, ARN_BEGIN))
        route->region = region_of_arn(id);
    own = mem_dup_text(id);
    mem_free(route->model);
    route->model = own;
    return 0;
}

/* --- the address --- */

/* The region of a host such as bedrock-runtime.eu-west-1.amazonaws.com or …-fips.…; or NULL. */
static char *region_of_host(const char *url)
{
    const char *host = strstr(url, HOST_BEGIN);
    const char *label = host != NULL ? strchr(host, '.') : NULL;

    if (label == NULL || !is_region(label + 1, strcspn(label + 1, ".")))
        return NULL;
    return mem_dup_bytes(label + 1, strcspn(label + 1, "."));
}

/* aws_region_name comes first: a model may be called in another region than its profile's. */
static int choose_region(const json_t *spec, const char *base_url, struct llm_route *route,
                         struct llm_error *llm_error)
{
    const char *named = member(spec, "aws_region_name");

    if (named[0] != '\0' && !is_region(named, strlen(named)))
        return llm_error_set(llm_error, LLM_CAUSE_BAD_REQUEST,
                             "aws_region_name is no region of AWS: give one such as us-east-1.");
    if (named[0] != '\0') {
        mem_free(route->region);
        route->region = mem_dup_text(named);
    }
    if (route->region == NULL && base_url != NULL)
        route->region = region_of_host(base_url);
    if (route->region == NULL && base_url == NULL)
        return llm_error_set(llm_error, LLM_CAUSE_BAD_REQUEST,
                             "Models with the prefix bedrock/ need aws_region_name, such as"
                             " us-east-1.");
    return 0;
}

/* A name or a password before the host; a path may have an @. */
static bool has_userinfo(const char *url)
{
    const char *scheme = strstr(url, "://");
    const char *host = scheme != NULL ? scheme + strlen("://") : url;

    return memchr(host, '@', strcspn(host, "/")) != NULL;
}

static int choose_base(const json_t *spec, const char **base_url, struct llm_error *llm_error)
{
    const char *endpoint = member(spec, "aws_bedrock_runtime_endpoint");

    if (endpoint[0] != '\0' && *base_url != NULL && !text_equal(endpoint, *base_url))
        return llm_error_set(llm_error, LLM_CAUSE_BAD_REQUEST,
                             "base_url and aws_bedrock_runtime_endpoint name two servers: clear one"
                             " of them.");
    if (endpoint[0] != '\0')
        *base_url = endpoint;
    if (*base_url != NULL && strpbrk(*base_url, "?#") != NULL)
        return llm_error_set(llm_error, LLM_CAUSE_BAD_REQUEST,
                             "The base URL of Bedrock must not have a query.");
    if (*base_url != NULL && has_userinfo(*base_url))
        return llm_error_set(llm_error, LLM_CAUSE_BAD_REQUEST,
                             "The base URL of Bedrock must not have a name or password: give"
                             " credentials by aws_access_key_id and aws_secret_access_key, or"
                             " api_key.");
    return 0;
}

static char *url_of(const json_t *spec, const char *base_url, const struct llm_route *route)
{
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;

    if (base_url != NULL)
        strbuf_append(&url, base_url);
    else
        strbuf_appendf(&url, "https://" HOST_BEGIN ".%s.amazonaws.com%s", route->region,
                       text_starts_with(route->region, "cn-") ? ".cn" : "");
    while (url.len > 0 && url.text[url.len - 1] == '/')
        strbuf_truncate(&url, url.len - 1);
    strbuf_append(&url, "/model/");
    percent_append(&url, route->model);
    strbuf_append(&url,
                  json_bool_or(spec, "stream", false) != 0 ? "/converse-stream" : "/converse");
    return strbuf_take(&url);
}

/* deft has no files of AWS profiles, and does not assume roles. */
static int refuse_others(const json_t *spec, struct llm_error *llm_error)
{
    static const char *const members[] = {"aws_profile_name", "aws_role_name", "aws_session_name"};

    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        if (is_set(spec, members[i]))
            return llm_error_set(llm_error, LLM_CAUSE_UNSUPPORTED,
                                 "deft does not support %s: give aws_access_key_id and"
                                 " aws_secret_access_key (with aws_session_token for a role), or a"
                                 " Bedrock API key as api_key.",
                                 members[i]);
    }
    return 0;
}

int bedrock_locate(const json_t *spec, const char *base_url, struct llm_route *route,
                   struct llm_error *llm_error)
{
    if (refuse_others(spec, llm_error) < 0 || read_name(route, llm_error) < 0 ||
        choose_base(spec, &base_url, llm_error) < 0 ||
        choose_region(spec, base_url, route, llm_error) < 0)
        return -1;
    route->url = url_of(spec, base_url, route);
    return 0;
}

/* --- credentials --- */

static bool has_key(const struct llm_request *request)
{
    return request->api_key != NULL && secret_is_set(request->api_key) &&
           !text_is_blank(secret_reveal(request->api_key));
}

int bedrock_check(const struct llm_request *request, const struct llm_route *route,
                  struct llm_error *llm_error)
{
    const json_t *spec = request->spec;
    bool has_id = is_set(spec, "aws_access_key_id");
    bool has_secret = is_set(spec, "aws_secret_access_key");
    bool has_any = has_id || has_secret || is_set(spec, "aws_session_token");

    if (has_key(request) && has_any)
        return llm_error_set(llm_error, LLM_CAUSE_BAD_REQUEST,
                             "Bedrock takes an API key or AWS credentials, not both: clear api_key,"
                             " or aws_access_key_id, aws_secret_access_key and aws_session_token.");
    if (has_key(request))
        return 0;
    if (!has_id || !has_secret)
        return llm_error_set(llm_error, LLM_CAUSE_BAD_REQUEST, "Bedrock needs credentials: %s.",
                             has_any ? "aws_access_key_id and aws_secret_access_key, both"
                                     : "a Bedrock API key as api_key, or aws_access_key_id and"
                                       " aws_secret_access_key");
    if (route->region == NULL)
        return llm_error_set(llm_error, LLM_CAUSE_BAD_REQUEST,
                             "A call with AWS credentials needs aws_region_name, such as"
                             " us-east-1: the base URL does not tell it.");
    return 0;
}

void bedrock_add_headers(const struct llm_request *request, const struct llm_route *route,
                         struct llm_headers *headers)
{
    (void)route;
    if (!has_key(request))
        return;
    strbuf_appendf(&headers->key, "Bearer %s", secret_reveal(request->api_key));
    llm_headers_add(headers, "Authorization", headers->key.text);
}

void bedrock_sign(const struct llm_request *request, const struct llm_route *route,
                  const char *body, struct llm_headers *headers)
{
    struct sigv4_signature *signature = &headers->signature;
    const struct sigv4_request signed_request = {
        .access_key_id = member(request->spec, "aws_access_key_id"),
        .secret_access_key = member(request->spec, "aws_secret_access_key"),
        .session_token = member(request->spec, "aws_session_token"),
        .region = route->region,
        .service = SERVICE,
        .method = "POST",
        .url = route->url,
        .headers = headers->items,
        .body = body,
        .body_len = strlen(body),
        .utc_us = clock_utc_us(),
    };

    if (has_key(request))
        return;
    sigv4_sign(&signed_request, signature);
    llm_headers_add(headers, "X-Amz-Date", signature->date);
    if (signature->session_token[0] != '\0')
        llm_headers_add(headers, "X-Amz-Security-Token", signature->session_token);
    llm_headers_add(headers, "Authorization", signature->authorization.text);
}
