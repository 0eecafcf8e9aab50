#include "model/plugins/repository.h"

#include <string.h>

#include "base/crypto.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/plugins/plugin_source.h"
#include "model/schema/object_schema.h"

enum { ID_HASH_CHARS = 24, MS_PER_S = 1000 };

#define DEFAULT_LIFETIME "3600"

static const struct field credentials_fields[] = {
    {.name = "provider",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE,
     .words = "github|gitlab|bitbucket"},
    {.name = "username", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE, .max_chars = 255},
    {.name = "token", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED | FIELD_FILLED},
    {.name = "expires_in_s",
     .kind = FIELD_INT,
     .rules = FIELD_FROM_1,
     .fallback = DEFAULT_LIFETIME},
};
const struct object_schema repository_credentials_schema = CLOSED_SCHEMA(credentials_fields);

static const struct field request_fields[] = {
    {.name = "url", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "branch", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "setup_timeout_s", .kind = FIELD_INT, .rules = FIELD_FROM_1, .fallback = "600"},
    {.name = "credentials",
     .kind = FIELD_OBJECT,
     .rules = FIELD_NULLABLE,
     .items = &repository_credentials_schema},
};
const struct object_schema repository_request_schema = CLOSED_SCHEMA(request_fields);

static const struct field credentials_request_fields[] = {
    {.name = "url", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "credentials",
     .kind = FIELD_OBJECT,
     .rules = FIELD_REQUIRED,
     .items = &repository_credentials_schema},
};
const struct object_schema repository_credentials_request_schema =
    CLOSED_SCHEMA(credentials_request_fields);

/* The user name that a forge expects with a token. */
struct forge_account {
    const char *provider;
    const char *address;
    const char *username;
};

static const struct forge_account forges[] = {
    {"github", "https://github.com/", "x-access-token"},
    {"gitlab", "https://gitlab.com/", "oauth2"},
    {"bitbucket", "https://bitbucket.org/", "x-token-auth"},
};

void repository_spec_done(struct repository_spec *spec)
{
    if (spec == NULL)
        return;
    mem_free(spec->url);
    mem_free(spec->name);
    mem_free(spec->branch);
    mem_free(spec->username);
    secret_done(&spec->token);
    *spec = (struct repository_spec)REPOSITORY_SPEC_INIT;
}

static char *dup_or_null(const char *text)
{
    return text != NULL && text[0] != '\0' ? mem_dup_text(text) : NULL;
}

static const char *username_of(const char *provider, const char *url)
{
    for (size_t i = 0; i < ARRAY_SIZE(forges); i++) {
        if (provider != NULL ? text_equal(provider, forges[i].provider)
                             : text_starts_with(url, forges[i].address))
            return forges[i].username;
    }
    return forges[0].username;
}

/* Bitbucket's app passwords are passed as "user:password" in the token. */
static void read_credentials(const json_t *credentials, struct repository_spec *spec)
{
    const char *provider = json_text_or(credentials, "provider", NULL);
    const char *username = json_text_or(credentials, "username", NULL);
    const char *token = json_text_or(credentials, "token", "");
    const char *colon = strchr(token, ':');

    mem_free(spec->username);
    if (username == NULL && provider != NULL && text_equal(provider, "bitbucket") &&
        colon != NULL) {
        spec->username = mem_dup_bytes(token, (size_t)(colon - token));
        token = colon + 1;
    } else {
        spec->username =
            mem_dup_text(username != NULL ? username : username_of(provider, spec->url));
    }
    secret_set(&spec->token, token);
    spec->expires_in_s = json_int_or(credentials, "expires_in_s", 0);
}

static int read_url(const char *text, struct repository_spec *spec, struct error *err)
{
    CLEANUP(plugin_source_done) struct plugin_source source = PLUGIN_SOURCE_INIT;

    if (plugin_source_read(text, NULL, NULL, &source, err) < 0)
        return -1;
    spec->url = TAKE_PTR(source.address);
    spec->branch = dup_or_null(source.ref);
    if (source.password == NULL)
        return 0;
    spec->username = mem_dup_text(source.username != NULL && source.username[0] != '\0'
                                      ? source.username
                                      : username_of(NULL, spec->url));
    secret_set(&spec->token, source.password);
    return 0;
}

int repository_spec_read(const json_t *request, struct repository_spec *spec_out, struct error *err)
{
    CLEANUP(repository_spec_done) struct repository_spec spec = REPOSITORY_SPEC_INIT;
    const char *url = json_text_or(request, "url", NULL);
    const char *branch = json_text_or(request, "branch", NULL);
    const json_t *credentials = json_object_get(request, "credentials");

    if (url != NULL && read_url(url, &spec, err) < 0)
        return -1;
    if (branch != NULL) {
        mem_free(spec.branch);
        spec.branch = dup_or_null(branch);
    }
    spec.name = dup_or_null(json_text_or(request, "name", NULL));
    spec.setup_timeout_s = json_int_or(request, "setup_timeout_s", REPOSITORY_SETUP_S);
    if (spec.setup_timeout_s > REPOSITORY_SETUP_S)
        return error_set(err, ERROR_INVALID, "setup_timeout_s must be at most %d",
                         REPOSITORY_SETUP_S);
    if (json_is_object(credentials) && spec.url == NULL)
        return error_set(err, ERROR_INVALID, "credentials need a url");
    if (json_is_object(credentials))
        read_credentials(credentials, &spec);
    *spec_out = spec;
    spec = (struct repository_spec)REPOSITORY_SPEC_INIT;
    return 0;
}

json_t *repository_credentials(const struct repository_spec *spec)
{
    json_t *body = json_object();

    json_put_text(body, "url", spec->url);
    json_put_text(body, "username", spec->username);
    json_put_text(body, "password", secret_reveal(&spec->token));
    if (spec->expires_in_s > 0)
        json_put(body, "expires_in_s", json_integer(spec->expires_in_s));
    return body;
}

const char *repository_status(enum repository_step step)
{
    switch (step) {
    case REPOSITORY_CLONE:
        return "PREPARING_REPOSITORY";
    case REPOSITORY_SETUP:
    case REPOSITORY_STOP:
    case REPOSITORY_RESET:
        return "RUNNING_SETUP_SCRIPT";
    case REPOSITORY_HOOKS:
        return "SETTING_UP_GIT_HOOKS";
    }
    return "";
}

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

void repository_append_id(const struct repository_spec *spec, const struct uuid *conversation,
                          enum repository_step step, int attempt, struct strbuf *out)
{
    static const char *const names[] = {"clone", "setup", "stop", "reset", "hooks"};
    CLEANUP(strbuf_done) struct strbuf what = STRBUF_INIT;
    char hash[CRYPTO_HASH_HEX_BYTES];

    strbuf_appendf(&what, "%s\n%s\n%s\n%s", conversation->text, or_empty(spec->url),
                   or_empty(spec->name), or_empty(spec->branch));
    crypto_sha256_hex(what.text, what.len, hash);
    strbuf_appendf(out, "repository:%.*s:%s:%d", ID_HASH_CHARS, hash, names[step], attempt);
}

/* Runs in the repository, in the conversation's shell, which then returns to its directory. */
static void append_setup(struct strbuf *out, const char *working_dir, const char *path)
{
    strbuf_append(out, "cd ");
    shell_word_append(out, path);
    strbuf_append(out, " && chmod +x .openhands/setup.sh && . ./.openhands/setup.sh; "
                       "_setup_status=$?; cd ");
    shell_word_append(out, working_dir);
    strbuf_append(out, "; (exit $_setup_status)");
}

static json_t *clone_args(const struct repository_spec *spec)
{
    json_t *args = json_object();

    if (spec->url == NULL) {
        json_put_text(args, "step", "init");
        return args;
    }
    json_put_text(args, "step", "clone");
    json_put_text(args, "url", spec->url);
    if (spec->name != NULL)
        json_put_text(args, "name", spec->name);
    if (spec->branch != NULL)
        json_put_text(args, "branch", spec->branch);
    json_put(args, "timeout_ms", json_integer((json_int_t)REPOSITORY_CLONE_S * MS_PER_S));
    return args;
}

static json_t *terminal_args(const char *command, int64_t timeout_s)
{
    json_t *args = json_object();

    json_put_text(args, "command", command);
    json_put(args, "timeout", json_integer(timeout_s));
    return args;
}

static json_t *args_of(const struct repository_spec *spec, enum repository_step step,
                       const char *working_dir, const char *path)
{
    CLEANUP(strbuf_done) struct strbuf command = STRBUF_INIT;
    json_t *args = NULL;

    switch (step) {
    case REPOSITORY_CLONE:
        return clone_args(spec);
    case REPOSITORY_SETUP:
        append_setup(&command, working_dir, path);
        return terminal_args(command.text, spec->setup_timeout_s);
    case REPOSITORY_STOP:
        args = terminal_args("C-c", REPOSITORY_STOP_S);
        json_put(args, "is_input", json_true());
        return args;
    case REPOSITORY_RESET:
        args = terminal_args("", REPOSITORY_STOP_S);
        json_put(args, "reset", json_true());
        return args;
    case REPOSITORY_HOOKS:
        args = json_object();
        json_put_text(args, "step", "hooks");
        return args;
    }
    return json_object();
}

json_t *repository_action(const struct repository_spec *spec, enum repository_step step,
                          const char *working_dir, const char *path)
{
    json_t *action = json_object();
    bool is_tool = step == REPOSITORY_CLONE || step == REPOSITORY_HOOKS;

    json_put_text(action, "tool", is_tool ? "repository" : "terminal");
    json_put(action, "args", args_of(spec, step, working_dir, path));
    json_put_text(action, "working_dir", step == REPOSITORY_HOOKS ? path : working_dir);
    return action;
}
