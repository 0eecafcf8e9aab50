/*
 * git in a sandbox: changes, files before and after, commits; and the repositories of a provider.
 */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/workspace/sandbox_path.h"
#include "fcgi/core/reply.h"

enum { SHA_MIN_DIGITS = 4, SHA_MAX_DIGITS = 64 };

static const char *const changes_params[] = {"ref", NULL};
static const char *const diff_params[] = {"ref", "commit", NULL};
static const char *const commits_params[] = {"limit", NULL};

/* GET ?path=&ref= -> 200 [{"status","path"}] | 400 | 422 */
static int changes(const struct request *request, struct reply *reply, struct error *err)
{
    return sandbox_path_call(request, reply,
                             &(struct path_call){"/api/git/changes", changes_params}, err);
}

static bool is_sha(const char *text)
{
    size_t len = strlen(text);

    return len >= SHA_MIN_DIGITS && len <= SHA_MAX_DIGITS &&
           strspn(text, "0123456789abcdefABCDEF") == len;
}

static int check_sha(const struct request *request, const char *part, const char *name,
                     const char *sha, struct error *err)
{
    static const struct validation_error problem = {
        "string_pattern_mismatch", "String should match pattern '^[0-9a-fA-F]{4,64}$'", NULL};

    json_auto_t *input = NULL;

    if (is_sha(sha))
        return 0;
    input = json_text_of(sha);
    return request_problem(request, REQUEST_JSON_PATH(part, name), &problem, input, err);
}

/* GET ?path=&ref=|commit= -> 200 {"modified","original"} | 400 | 422 */
static int diff(const struct request *request, struct reply *reply, struct error *err)
{
    const char *commit = request_query(request, "commit");

    if (commit != NULL && check_sha(request, "query", "commit", commit, err) < 0)
        return -1;
    return sandbox_path_call(request, reply, &(struct path_call){"/api/git/diff", diff_params},
                             err);
}

/* GET ?path=&limit= -> 200 {"commits","has_more"} | 400 | 422 */
static int commits(const struct request *request, struct reply *reply, struct error *err)
{
    const struct int_range range = {1, 200};
    int64_t limit = 0;

    if (request_query_int(request, "limit", &range, &limit, err) < 0)
        return -1;
    return sandbox_path_call(request, reply,
                             &(struct path_call){"/api/git/commits", commits_params}, err);
}

/* GET ?path= -> 200 [{"status","path"}] | 400 | 422 */
static int commit_changes(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    const char *sha = request_path_text(request, "sha");

    if (check_sha(request, "path", "sha", sha, err) < 0)
        return -1;
    strbuf_appendf(&path, "/api/git/commits/%s/changes", sha);
    return sandbox_path_call(request, reply, &(struct path_call){path.text, NULL}, err);
}

/* No provider tokens are stored yet, so there is nothing to search with. */
static int search_repositories(const struct request *request, struct reply *reply,
                               struct error *err)
{
    static const char *const providers[] = {"github", "gitlab", "bitbucket", "azure_devops", NULL};
    const struct int_range range = {1, 100};
    json_auto_t *page = NULL;
    int64_t limit = 0;
    size_t provider = 0;

    if (request_query(request, "provider") == NULL)
        return request_problem(request, REQUEST_JSON_PATH("query", "provider"),
                               &(struct validation_error){"missing", "Field required", NULL}, NULL,
                               err);
    if (request_query_choice(request, "provider", providers, &provider, err) < 0 ||
        request_query_int(request, "limit", &range, &limit, err) < 0)
        return -1;
    page = json_object();
    json_put(page, "items", json_array());
    json_put(page, "next_page_id", json_null());
    json_put(page, "missing_token", json_true());
    return reply_json(reply, 200, page);
}

#define SHARED "/api/git"
#define SCOPED "/api/conversations/{runtime_conversation_id}/git"
#define ROUTE(pattern, sandbox, handler)                                                           \
    {HTTP_GET, pattern, ORIGIN_BOTH, ACCESS_CALLER, sandbox, 0, handler}

const struct route git_routes[] = {
    ROUTE(SHARED "/changes", SANDBOX_ITSELF, changes),
    ROUTE(SHARED "/changes/{path*}", SANDBOX_ITSELF, changes),
    ROUTE(SHARED "/diff", SANDBOX_ITSELF, diff),
    ROUTE(SHARED "/diff/{path*}", SANDBOX_ITSELF, diff),
    ROUTE(SHARED "/commits", SANDBOX_ITSELF, commits),
    ROUTE(SHARED "/commits/{sha}/changes", SANDBOX_ITSELF, commit_changes),
    ROUTE(SHARED "/repositories/search", SANDBOX_ITSELF, search_repositories),
    ROUTE(SCOPED "/changes", SANDBOX_READS, changes),
    ROUTE(SCOPED "/diff", SANDBOX_READS, diff),
    ROUTE(SCOPED "/commits", SANDBOX_READS, commits),
    ROUTE(SCOPED "/commits/{sha}/changes", SANDBOX_READS, commit_changes),
    {.handle = NULL},
};
