#include "runtime/backend/seccomp_filter.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include <jansson.h>
#include <seccomp.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

#define ARGUMENTS_MAX 6

struct action_word {
    const char *name;
    uint32_t value;
};

static const struct action_word comparisons[] = {
    {"SCMP_CMP_NE", SCMP_CMP_NE},
    {"SCMP_CMP_LT", SCMP_CMP_LT},
    {"SCMP_CMP_LE", SCMP_CMP_LE},
    {"SCMP_CMP_EQ", SCMP_CMP_EQ},
    {"SCMP_CMP_GE", SCMP_CMP_GE},
    {"SCMP_CMP_GT", SCMP_CMP_GT},
    {"SCMP_CMP_MASKED_EQ", SCMP_CMP_MASKED_EQ},
};

static const char *const rule_members[] = {"action", "names", "args", "errnoRet", "comment"};

static int read_action(const json_t *holder, const char *member, uint32_t *action_out,
                       struct error *err)
{
    const char *name = json_text_or(holder, member, "");

    if (text_equal(name, "SCMP_ACT_ALLOW"))
        *action_out = SCMP_ACT_ALLOW;
    else if (text_equal(name, "SCMP_ACT_ERRNO"))
        *action_out = SCMP_ACT_ERRNO((uint32_t)json_int_or(holder, "errnoRet", EPERM));
    else
        return error_set(err, ERROR_INVALID, "seccomp profile: '%.40s' is not a supported action",
                         name);
    return 0;
}

static int read_argument(const json_t *holder, struct scmp_arg_cmp *argument_out, struct error *err)
{
    const char *name = json_text_or(holder, "op", "");
    json_int_t index = json_int_or(holder, "index", -1);

    if (index < 0 || index >= ARGUMENTS_MAX)
        return error_set(err, ERROR_INVALID, "seccomp profile: there is no argument %lld",
                         (long long)index);
    for (size_t i = 0; i < ARRAY_SIZE(comparisons); i++) {
        if (!text_equal(comparisons[i].name, name))
            continue;
        *argument_out =
            (struct scmp_arg_cmp){.arg = (unsigned)index,
                                  .op = (enum scmp_compare)comparisons[i].value,
                                  .datum_a = (uint64_t)json_int_or(holder, "value", 0),
                                  .datum_b = (uint64_t)json_int_or(holder, "valueTwo", 0)};
        return 0;
    }
    return error_set(err, ERROR_INVALID, "seccomp profile: '%.40s' is not a comparison", name);
}

/* Ignoring an unknown condition could allow more than the profile does. */
static int check_members(const json_t *rule, struct error *err)
{
    json_t *members = json_incref((json_t *)(uintptr_t)rule);
    size_t n_known = 0;
    int rc = 0;

    for (size_t i = 0; i < ARRAY_SIZE(rule_members); i++)
        n_known += json_object_get(members, rule_members[i]) != NULL;
    if (json_object_size(members) != n_known)
        rc = error_set(err, ERROR_INVALID, "seccomp profile: a rule has unsupported members");
    json_decref(members);
    return rc;
}

static int add_rule(scmp_filter_ctx filter, const json_t *rule, struct error *err)
{
    struct scmp_arg_cmp arguments[ARGUMENTS_MAX] = {{.arg = 0}};
    const json_t *args = json_object_get(rule, "args");
    const json_t *name = NULL;
    uint32_t action = 0;
    size_t i = 0;

    if (check_members(rule, err) < 0 || read_action(rule, "action", &action, err) < 0)
        return -1;
    if (json_array_size(args) > ARGUMENTS_MAX)
        return error_set(err, ERROR_INVALID, "seccomp profile: a rule has too many arguments");
    for (i = 0; i < json_array_size(args); i++) {
        if (read_argument(json_array_get(args, i), &arguments[i], err) < 0)
            return -1;
    }
    json_array_foreach (json_object_get(rule, "names"), i, name) {
        int number = seccomp_syscall_resolve_name(json_string_value(name));
        int rc = 0;

        if (number == __NR_SCMP_ERROR)
            continue;
        rc = seccomp_rule_add_array(filter, action, number, (unsigned)json_array_size(args),
                                    arguments);
        /* EDOM: not a call of this processor; EACCES: same as the default action. */
        if (rc < 0 && rc != -EDOM && rc != -EACCES)
            return error_set(err, ERROR_INVALID, "seccomp profile: %.40s: %s",
                             json_string_value(name), strerrordesc_np(-rc));
    }
    return 0;
}

static int fill(scmp_filter_ctx filter, const json_t *profile, struct error *err)
{
    const json_t *rule = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(profile, "syscalls"), i, rule) {
        if (add_rule(filter, rule, err) < 0)
            return -1;
    }
    return 0;
}

int seccomp_filter_write(const char *profile, int fd, struct error *err)
{
    json_auto_t *json = NULL;
    scmp_filter_ctx filter = NULL;
    uint32_t action = 0;
    int rc = 0;

    if (json_parse(profile, strlen(profile), &json, err) < 0 ||
        read_action(json, "defaultAction", &action, err) < 0)
        return -1;
    filter = seccomp_init(action);
    if (filter == NULL)
        return error_set(err, ERROR_INVALID,
                         "seccomp profile: a filter cannot have its default action");
    rc = fill(filter, json, err);
    if (rc == 0 && seccomp_export_bpf(filter, fd) < 0)
        rc = error_set(err, ERROR_UNAVAILABLE, "the seccomp filter cannot be written");
    seccomp_release(filter);
    return rc;
}
