#include "runtime/core/start_spec.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/limits.h"

#define ENVIRONMENT_MAX 512
#define ENVIRONMENT_VALUE_MAX_BYTES (128UL * 1024)
#define SEAL_CONTEXT_BYTES 64
/* Image names may be from any registry, but contain only these characters. */
#define IMAGE_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@"
#define IMAGE_MAX_BYTES 255

void start_spec_done(struct start_spec *spec)
{
    mem_free(spec->session_id);
    mem_free(spec->tenant_session);
    mem_free(spec->image);
    mem_free(spec->working_dir);
    mem_free(spec->conversation_id);
    json_decref(spec->command);
    json_decref(spec->environment);
    *spec = (struct start_spec)START_SPEC_INIT;
}

static int check_session_id(const char *id, struct error *err)
{
    size_t len = strlen(id);

    if (len == 0 || len > SESSION_ID_MAX_BYTES)
        return error_set(err, ERROR_INVALID, "session_id: must have 1 to %d characters",
                         SESSION_ID_MAX_BYTES);
    for (size_t i = 0; i < len; i++) {
        if (!isgraph((unsigned char)id[i]))
            return error_set(err, ERROR_INVALID,
                             "session_id: only printable characters are allowed");
    }
    return 0;
}

int start_spec_check_image(const char *image, struct error *err)
{
    size_t len = strlen(image);

    /* The name becomes part of a URL path. */
    if (len == 0 || len > IMAGE_MAX_BYTES || strspn(image, IMAGE_CHARACTERS) != len ||
        strstr(image, "..") != NULL || strstr(image, "//") != NULL || image[0] == '/')
        return error_set(err, ERROR_INVALID, "image: '%.80s' is not an image name", image);
    return 0;
}

static bool is_variable_name(const char *name)
{
    if (!isalpha((unsigned char)name[0]) && name[0] != '_')
        return false;
    for (; *name != '\0'; name++) {
        if (!isalnum((unsigned char)*name) && *name != '_')
            return false;
    }
    return true;
}

static int check_environment(const json_t *environment, struct error *err)
{
    const char *name = NULL;
    json_t *value = NULL;

    if (json_object_size(environment) > ENVIRONMENT_MAX)
        return error_set(err, ERROR_INVALID, "environment: more than %d members", ENVIRONMENT_MAX);
    json_object_foreach ((json_t *)(uintptr_t)environment, name, value) {
        if (!is_variable_name(name))
            return error_set(err, ERROR_INVALID, "environment: '%.60s' is not a variable name",
                             name);
        if (!json_is_string(value))
            return error_set(err, ERROR_INVALID, "environment: %.60s must be text", name);
        if (json_string_length(value) > ENVIRONMENT_VALUE_MAX_BYTES)
            return error_set(err, ERROR_INVALID, "environment: %.60s is too long", name);
    }
    return 0;
}

static int read_environment(json_t *request, struct start_spec *spec, struct error *err)
{
    json_t *environment = json_object_get(request, "environment");

    if (environment == NULL || json_is_null(environment)) {
        spec->environment = json_object();
        return 0;
    }
    if (!json_is_object(environment))
        return error_set(err, ERROR_INVALID, "environment: must be an object");
    if (check_environment(environment, err) < 0)
        return -1;
    spec->environment = json_incref(environment);
    return 0;
}

static int read_command(json_t *request, struct start_spec *spec, struct error *err)
{
    json_t *command = json_object_get(request, "command");
    json_t *word = NULL;
    size_t i = 0;

    if (command == NULL || json_is_null(command))
        return 0;
    if (!json_is_string(command) && !json_is_array(command))
        return error_set(err, ERROR_INVALID, "command: must be a string or a list of strings");
    json_array_foreach (command, i, word) {
        if (!json_is_string(word))
            return error_set(err, ERROR_INVALID, "command: must be a string or a list of strings");
    }
    spec->command = json_incref(command);
    return 0;
}

struct number_rule {
    const char *name;
    int64_t min;
    int64_t max;
    int64_t fallback;
};

static int read_number(const json_t *request, const struct number_rule *rule, int64_t *value_out,
                       struct error *err)
{
    const json_t *member = json_object_get(request, rule->name);
    json_int_t value = 0;

    if (member == NULL || json_is_null(member)) {
        *value_out = rule->fallback;
        return 0;
    }
    value = json_integer_value(member);
    if (!json_is_integer(member) || value < rule->min || value > rule->max)
        return error_set(err, ERROR_INVALID, "%s: must be a whole number from %lld to %lld",
                         rule->name, (long long)rule->min, (long long)rule->max);
    *value_out = value;
    return 0;
}

/* resource_factor multiplies the defaults; explicit bytes and cores are taken as they are. */
static int read_resources(const json_t *request, const struct start_spec_limits *limits,
                          struct start_spec *spec, struct error *err)
{
    int64_t factor = 1;
    const struct number_rule factor_rule = {"resource_factor", 1, 64, 1};

    if (read_number(request, &factor_rule, &factor, err) < 0)
        return -1;
    if (factor * limits->memory_bytes > limits->max_memory_bytes ||
        factor * limits->nano_cpus > limits->max_nano_cpus)
        return error_set(err, ERROR_INVALID, "resource_factor: %lld is above this host's limit",
                         (long long)factor);
    if (read_number(request,
                    &(struct number_rule){"memory_bytes", SANDBOX_MEMORY_MIN_BYTES,
                                          limits->max_memory_bytes, factor * limits->memory_bytes},
                    &spec->memory_bytes, err) < 0)
        return -1;
    return read_number(request,
                       &(struct number_rule){"nano_cpus", 10LL * 1000 * 1000, limits->max_nano_cpus,
                                             factor * limits->nano_cpus},
                       &spec->nano_cpus, err);
}

static int read_owner(const json_t *request, struct start_spec *spec, struct error *err)
{
    const char *owner = json_text_or(request, "owner_id", NULL);

    if (owner != NULL && !uuid_parse(owner, &spec->owner_id))
        return error_set(err, ERROR_INVALID, "owner_id: a UUID");
    return 0;
}

static int read_all(json_t *request, const struct start_spec_limits *limits,
                    struct start_spec *spec, struct error *err)
{
    const struct number_rule wait_rule = {"wait_ms", 0, WAIT_MAX_MS, 0};

    if (!json_is_object(request))
        return error_set(err, ERROR_INVALID, "the body must be an object");
    spec->session_id = mem_dup_text(json_text_or(request, "session_id", ""));
    spec->image = mem_dup_text(json_text_or(request, "image", limits->image));
    spec->working_dir = mem_dup_text(json_text_or(request, "working_dir", "/workspace/project"));
    spec->conversation_id = mem_dup_text(json_text_or(request, "conversation_id", ""));
    spec->is_doubted = json_is_true(json_object_get(request, "is_doubted"));
    spec->keeps_image = json_is_true(json_object_get(request, "keeps_image"));
    if (check_session_id(spec->session_id, err) < 0 ||
        start_spec_check_image(spec->image, err) < 0 || read_owner(request, spec, err) < 0 ||
        read_command(request, spec, err) < 0 || read_environment(request, spec, err) < 0 ||
        read_resources(request, limits, spec, err) < 0)
        return -1;
    return read_number(request, &wait_rule, &spec->wait_ms, err);
}

int start_spec_read(json_t *request, const struct start_spec_limits *limits,
                    struct start_spec *spec_out, struct error *err)
{
    struct start_spec spec = START_SPEC_INIT;

    if (read_all(request, limits, &spec, err) < 0) {
        start_spec_done(&spec);
        return -1;
    }
    *spec_out = spec;
    return 0;
}

static void seal_context(const char *runtime_id, char context[SEAL_CONTEXT_BYTES])
{
    (void)snprintf(context, SEAL_CONTEXT_BYTES, "runtimes.environment:%.16s", runtime_id);
}

static void seal_environment(const json_t *environment, const struct keyring *keyring,
                             const char *runtime_id, struct strbuf *sealed)
{
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    CLEANUP(mem_freep) char *text = json_to_text(environment);
    char context[SEAL_CONTEXT_BYTES] = "";

    seal_context(runtime_id, context);
    secret_set(&plain, text);
    keyring_seal(keyring, context, &plain, sealed);
}

json_t *start_spec_to_row(const struct start_spec *spec, const struct keyring *keyring,
                          const char *runtime_id, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf sealed = STRBUF_INIT;

    if (json_object_size(spec->environment) > 0)
        seal_environment(spec->environment, keyring, runtime_id, &sealed);
    return json_build(err, "{s:s, s:s, s:O?, s:s, s:I, s:I, s:b, s:s}", "working_dir",
                      spec->working_dir, "conversation_id", spec->conversation_id, "command",
                      spec->command, "environment", sealed.text, "memory_bytes",
                      (json_int_t)spec->memory_bytes, "nano_cpus", (json_int_t)spec->nano_cpus,
                      "keeps_image", (int)spec->keeps_image, "home", spec->home);
}

static int open_environment(const char *sealed, const struct keyring *keyring,
                            const char *runtime_id, json_t **environment_out, struct error *err)
{
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    char context[SEAL_CONTEXT_BYTES] = "";
    const char *text = NULL;

    if (sealed[0] == '\0') {
        *environment_out = json_object();
        return 0;
    }
    seal_context(runtime_id, context);
    if (keyring_open(keyring, context, sealed, &plain, err) < 0)
        return error_wrap(err, "environment of runtime %.16s", runtime_id);
    text = secret_reveal(&plain);
    return json_parse_own(text, strlen(text), environment_out, err);
}

int start_spec_from_row(json_t *row, const struct keyring *keyring, const char *runtime_id,
                        struct start_spec *spec_out, struct error *err)
{
    struct start_spec spec = START_SPEC_INIT;

    if (open_environment(json_text_or(row, "environment", ""), keyring, runtime_id,
                         &spec.environment, err) < 0)
        return -1;
    spec.working_dir = mem_dup_text(json_text_or(row, "working_dir", ""));
    spec.conversation_id = mem_dup_text(json_text_or(row, "conversation_id", ""));
    spec.command = json_incref(json_object_get(row, "command"));
    spec.memory_bytes = json_int_or(row, "memory_bytes", 0);
    spec.nano_cpus = json_int_or(row, "nano_cpus", 0);
    (void)snprintf(spec.home, sizeof(spec.home), "%s", json_text_or(row, "home", ""));
    *spec_out = spec;
    return 0;
}
