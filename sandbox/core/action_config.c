#include "sandbox/core/action_config.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sandbox_key.h"
#include "base/settings.h"
#include "base/text.h"

#define IDLE_TIMEOUT "OH_RUNTIME_IDLE_TIMEOUT_SECONDS"
#define RUN_SILENCE "NO_CHANGE_TIMEOUT_SECONDS"

const struct setting action_settings[] = {
    {"SESSION_API_KEY", SETTING_SECRET, "", offsetof(struct action_config, api_key),
     "API key of requests"},
    {"DEFT_ACTION_INIT_KEY", SETTING_SECRET, "", offsetof(struct action_config, init_key),
     "key of POST /api/init, which supplies the session key; other requests are refused until "
     "then"},
    {"DEFT_ACTION_OPEN", SETTING_BOOL, "0", offsetof(struct action_config, open),
     "1: serve requests without a key"},
    {"DEFT_ACTION_PORT", SETTING_COUNT, "8000", offsetof(struct action_config, port),
     "TCP port; 0: any free port"},
    {"DEFT_ACTION_BIND", SETTING_TEXT, "0.0.0.0", offsetof(struct action_config, bind),
     "IPv4 or IPv6 address to listen on; may be none with DEFT_ACTION_SOCKET"},
    {"DEFT_ACTION_SOCKET", SETTING_COUNT, "0", offsetof(struct action_config, socket),
     "descriptor of a listening socket, used in addition to address and port; 0: none"},
    {"DEFT_ACTION_PREVIEW_SOCKET", SETTING_COUNT, "0",
     offsetof(struct action_config, preview_socket),
     "descriptor of a listening socket for previews of programs; 0: none"},
    {"DEFT_ACTION_SERVER_UID", SETTING_COUNT, "0", offsetof(struct action_config, server_uid),
     "user that the server switches to if started as root; 0: no change"},
    {"DEFT_ACTION_COMMAND_UID", SETTING_COUNT, "0", offsetof(struct action_config, command_uid),
     "with DEFT_ACTION_SERVER_UID: user that runs commands and owns files"},
    {"DEFT_ACTION_GID", SETTING_COUNT, "0", offsetof(struct action_config, gid),
     "with DEFT_ACTION_SERVER_UID: group of both users"},
    {"DEFT_ACTION_ACCOUNT_UID", SETTING_COUNT, "0", offsetof(struct action_config, account_uid),
     "with DEFT_ACTION_SERVER_UID: image user whose account and home the command user takes over"},
    {"DEFT_ACTION_WORKSPACE", SETTING_TEXT, "/workspace/project",
     offsetof(struct action_config, workspace), "initial directory of shells; created if missing"},
    {"DEFT_ACTION_JOURNAL", SETTING_TEXT, "/.deft-j", offsetof(struct action_config, journal_dir),
     "directory of the action journal; kept in memory if not writable"},
    {"DEFT_ACTION_SAVE_DIR", SETTING_TEXT, "", offsetof(struct action_config, save_dir),
     "directory for full copies of truncated terminal output; unset: not saved"},
    {"DEFT_ACTION_NO_CHANGE_MS", SETTING_MS, "30000", offsetof(struct action_config, no_change_ms),
     "time without output after which a command is reported as still running"},
    {"DEFT_ACTION_JOB_WAIT_MS", SETTING_MS, "900", offsetof(struct action_config, job_wait_ms),
     "time that a command waits for the first output of a job that it puts into the background"},
    {"DEFT_ACTION_BROWSER", SETTING_TEXT, "", offsetof(struct action_config, browser),
     "path of the browser; unset: search for Chromium"},
    {"DEFT_ACTION_BROWSER_WAIT_MS", SETTING_MS, "30000",
     offsetof(struct action_config, browser_wait_ms), "time a page has to load or to respond"},
    {"DEFT_ACTION_BROWSER_TIMEOUT_MS", SETTING_MS, "300000",
     offsetof(struct action_config, browser_timeout_ms), "time limit of a browser tool call"},
    {"DEFT_ACTION_MCP_IDLE_MS", SETTING_MS, "1800000", offsetof(struct action_config, mcp_idle_ms),
     "time without a call after which an MCP server of a conversation is ended"},
    {IDLE_TIMEOUT, SETTING_TEXT, "", offsetof(struct action_config, idle_timeout),
     "idle limit of the sandbox; foreground commands with a longer timeout are refused"},
    {RUN_SILENCE, SETTING_TEXT, "", offsetof(struct action_config, run_silence),
     "like DEFT_ACTION_NO_CHANGE_MS, in seconds, for POST /execute_action; unset: 10"},
    {"LOG_LEVEL", SETTING_TEXT, "warning", offsetof(struct action_config, log_level),
     "debug, info, warning or error"},
};

const size_t action_settings_n = ARRAY_SIZE(action_settings);

enum { MAX_UID = 0x7ffffffe };
enum { MAX_PORT = 65535, RUN_SILENCE_MS = 10000, MS_PER_S = 1000, MAX_SILENCE_S = 86400 };

static bool has_text(const struct secret *secret)
{
    return secret_reveal(secret)[0] != '\0';
}

static bool is_uid(int64_t number)
{
    return number > 0 && number <= MAX_UID;
}

static int check_users(const struct action_config *config, struct error *err)
{
    if (config->server_uid == 0 && config->command_uid == 0)
        return 0;
    if (!is_uid(config->server_uid) || !is_uid(config->command_uid) || !is_uid(config->gid) ||
        config->server_uid == config->command_uid)
        return error_set(err, ERROR_INVALID,
                         "DEFT_ACTION_SERVER_UID, DEFT_ACTION_COMMAND_UID and DEFT_ACTION_GID: "
                         "must be two different users and their group, none of them 0");
    return 0;
}

int action_config_check(struct action_config *config, struct error *err)
{
    if (check_users(config, err) < 0)
        return -1;
    if (config->port > MAX_PORT)
        return error_set(err, ERROR_INVALID, "DEFT_ACTION_PORT: not a valid port");
    if (!has_text(&config->api_key) && !has_text(&config->init_key) && !config->open)
        return error_set(err, ERROR_INVALID,
                         "SESSION_API_KEY is not set; DEFT_ACTION_OPEN=1 serves without a key");
    crypto_random_token(config->command_key);
    if (has_text(&config->api_key))
        sandbox_key_derive(secret_reveal(&config->api_key), SANDBOX_KEY_PROOF, &config->proof_key);
    else if (has_text(&config->init_key))
        sandbox_key_derive(secret_reveal(&config->init_key), SANDBOX_KEY_PROOF, &config->proof_key);
    return 0;
}

bool action_config_is_dormant(const struct action_config *config)
{
    return !config->open && !has_text(&config->api_key);
}

void action_config_take_keys(struct action_config *config, const char *key, const char *proof_key)
{
    secret_set(&config->api_key, key);
    secret_done(&config->init_key);
    if (proof_key != NULL)
        secret_set(&config->proof_key, proof_key);
    else
        sandbox_key_derive(key, SANDBOX_KEY_PROOF, &config->proof_key);
}

static void take_setting(const char **setting, const char *value)
{
    mem_freep((char **)(void *)setting);
    *setting = mem_dup_text(value);
}

void action_config_take_environment(struct action_config *config, json_t *environment)
{
    const char *name = NULL;
    const json_t *value = NULL;

    json_object_foreach (environment, name, value) {
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
        (void)setenv(name, json_string_value(value), 1);
        if (text_equal(name, IDLE_TIMEOUT))
            take_setting(&config->idle_timeout, json_string_value(value));
        if (text_equal(name, RUN_SILENCE))
            take_setting(&config->run_silence, json_string_value(value));
    }
}

void action_config_done(struct action_config *config)
{
    if (config == NULL)
        return;
    secret_done(&config->api_key);
    secret_done(&config->init_key);
    secret_done(&config->proof_key);
    for (size_t i = 0; i < ARRAY_SIZE(action_settings); i++) {
        const struct setting *setting = &action_settings[i];

        if (setting->kind == SETTING_TEXT)
            mem_freep((char **)((char *)config + setting->offset));
    }
}

/* A positive number of seconds; 0 for anything else. */
static double seconds_of(const char *text)
{
    char *end = NULL;
    double seconds = strtod(text, &end);

    if (end == text || *end != '\0' || !isfinite(seconds) || seconds <= 0)
        return 0;
    return seconds;
}

double action_config_foreground_cap_s(const struct action_config *config)
{
    return 0.9 * seconds_of(config->idle_timeout);
}

int64_t action_config_run_silence_ms(const struct action_config *config)
{
    double seconds = seconds_of(config->run_silence);

    if (seconds <= 0)
        return RUN_SILENCE_MS;
    return (int64_t)((seconds < MAX_SILENCE_S ? seconds : MAX_SILENCE_S) * MS_PER_S);
}
