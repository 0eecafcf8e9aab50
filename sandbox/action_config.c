#include "sandbox/action_config.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/settings.h"
#include "base/text.h"

#define IDLE_TIMEOUT "OH_RUNTIME_IDLE_TIMEOUT_SECONDS"

const struct setting action_settings[] = {
    {"SESSION_API_KEY", SETTING_SECRET, "", offsetof(struct config, api_key),
     "key that requests must show"},
    {"DEFT_ACTION_INIT_KEY", SETTING_SECRET, "", offsetof(struct config, init_key),
     "key of POST /api/init, which brings the session key later; nothing is served before"},
    {"DEFT_ACTION_OPEN", SETTING_BOOL, "0", offsetof(struct config, open),
     "1: serve without a key"},
    {"DEFT_ACTION_PORT", SETTING_COUNT, "8000", offsetof(struct config, port),
     "TCP port; 0 takes a free one"},
    {"DEFT_ACTION_BIND", SETTING_TEXT, "0.0.0.0", offsetof(struct config, bind),
     "IPv4 or IPv6 address to listen on"},
    {"DEFT_ACTION_WORKSPACE", SETTING_TEXT, "/workspace/project",
     offsetof(struct config, workspace), "where shells begin; made when possible"},
    {"DEFT_ACTION_JOURNAL", SETTING_TEXT, "/.deft-j", offsetof(struct config, journal_dir),
     "directory of the action journal; memory only when it cannot be written"},
    {"DEFT_ACTION_NO_CHANGE_MS", SETTING_MS, "30000", offsetof(struct config, no_change_ms),
     "silence after which a running command is reported as still running"},
    {IDLE_TIMEOUT, SETTING_TEXT, "", offsetof(struct config, idle_timeout),
     "idle limit of the sandbox; longer foreground commands are refused"},
    {"LOG_LEVEL", SETTING_TEXT, "warning", offsetof(struct config, log_level),
     "debug, info, warning or error"},
};

const size_t action_settings_n = ARRAY_SIZE(action_settings);

enum { MAX_PORT = 65535 };

static bool has_text(const struct secret *secret)
{
    return secret_reveal(secret)[0] != '\0';
}

int config_check(struct config *config, struct error *err)
{
    if (config->port > MAX_PORT)
        return error_set(err, ERROR_INVALID, "DEFT_ACTION_PORT: not a port");
    if (!has_text(&config->api_key) && !has_text(&config->init_key) && !config->open)
        return error_set(err, ERROR_INVALID,
                         "SESSION_API_KEY is not set; DEFT_ACTION_OPEN=1 serves without a key");
    crypto_random_token(config->command_key);
    return 0;
}

bool config_is_dormant(const struct config *config)
{
    return !config->open && !has_text(&config->api_key);
}

void config_take_key(struct config *config, const char *key)
{
    secret_set(&config->api_key, key);
    secret_done(&config->init_key);
}

/* The one setting that is a sandbox's own. */
static void take_idle_timeout(struct config *config, const char *value)
{
    mem_freep((char **)(void *)&config->idle_timeout);
    config->idle_timeout = mem_dup_text(value);
}

void config_take_environment(struct config *config, json_t *environment)
{
    const char *name = NULL;
    const json_t *value = NULL;

    json_object_foreach (environment, name, value) {
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
        (void)setenv(name, json_string_value(value), 1);
        if (text_equal(name, IDLE_TIMEOUT))
            take_idle_timeout(config, json_string_value(value));
    }
}

void config_done(struct config *config)
{
    if (config == NULL)
        return;
    secret_done(&config->api_key);
    secret_done(&config->init_key);
    for (size_t i = 0; i < ARRAY_SIZE(action_settings); i++) {
        const struct setting *setting = &action_settings[i];

        if (setting->kind == SETTING_TEXT)
            mem_freep((char **)((char *)config + setting->offset));
    }
}

double config_foreground_cap_s(const struct config *config)
{
    char *end = NULL;
    double idle_s = strtod(config->idle_timeout, &end);

    if (end == config->idle_timeout || *end != '\0' || !isfinite(idle_s) || idle_s <= 0)
        return 0;
    return 0.9 * idle_s;
}
