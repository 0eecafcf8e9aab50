#include "fcgi/agent/installed.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "fcgi/reply.h"
#include "fcgi/request.h"

enum { NAME_MAX_CHARS = 255 };

int installed_list(const struct installed_kind *kind, struct reply *reply)
{
    json_auto_t *answer = json_object();

    json_put(answer, kind->member, json_array());
    return reply_json(reply, 200, answer);
}

/* Words of lower-case letters and digits, with single dashes between them. */
static bool is_name(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && len <= NAME_MAX_CHARS && name[0] != '-' && name[len - 1] != '-' &&
           strstr(name, "--") == NULL &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

int installed_unknown(const struct installed_kind *kind, const struct request *request,
                      struct error *err)
{
    static const struct problem problem = {
        "string_pattern_mismatch", "String should match pattern '^[a-z0-9]+(-[a-z0-9]+)*$'", NULL};
    const char *name = request_path_text(request, kind->param);

    if (!is_name(name))
        return request_problem(request, REQUEST_PLACE("path", kind->param), &problem,
                               json_string(name), err);
    return error_set(err, ERROR_NOT_FOUND, "%s '%s' is not installed", kind->word, name);
}
