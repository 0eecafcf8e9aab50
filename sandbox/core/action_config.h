/*
 * Settings of deft-action, read once at start.
 */
#ifndef DEFT_SANDBOX_CORE_ACTION_CONFIG_H
#define DEFT_SANDBOX_CORE_ACTION_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/crypto.h"
#include "base/secret.h"
#include "base/settings.h"

struct error;
struct strbuf;

struct action_config {
    struct secret api_key;  /* unset with `open`, and while dormant */
    struct secret init_key; /* of POST /api/init; wiped by it */
    /* Key with which this server proves itself; unset if no other key is set. */
    struct secret proof_key;
    /* Lets commands of /api/bash call this server's own /api routes; valid for nothing else. */
    char command_key[CRYPTO_TOKEN_BYTES];
    int64_t open;
    int64_t port;
    int64_t socket;         /* 0: none */
    int64_t preview_socket; /* 0: none */
    int64_t server_uid;     /* 0: the server keeps the user it was started as */
    int64_t command_uid;
    int64_t gid;
    int64_t account_uid; /* uid of the image's account; 0: none */
    const char *bind;
    const char *workspace;
    const char *journal_dir;
    const char *save_dir; /* for output that is too long; "": nowhere */
    const char *log_level;
    const char *idle_timeout; /* seconds; an invalid value turns it off */
    const char *run_silence;  /* the same, for the older action API */
    int64_t no_change_ms;
    int64_t job_wait_ms; /* for the first output of a new background job */
    const char *browser; /* path of its program; "": the one in the image */
    int64_t browser_wait_ms;
    int64_t browser_timeout_ms;
    int64_t mcp_idle_ms; /* after which an MCP server without a call is ended */
};

/* The settings of struct action_config. */
extern const struct setting action_settings[];
extern const size_t action_settings_n;

/*
 * Checks the settings and fills in those that were not given. ERROR_INVALID names the variable that
 * is wrong.
 */
int action_config_check(struct action_config *config, struct error *err) NONNULL MUST_CHECK;
/* True while the server waits for POST /api/init to bring its key: nothing else is served. */
bool action_config_is_dormant(const struct action_config *config) NONNULL MUST_CHECK;
/*
 * Ends the dormant state: from now on requests must show `key`, and the init key is no longer
 * valid. proof_key: as in base/sandbox_key.h; NULL: derived from `key`.
 */
void action_config_take_keys(struct action_config *config, const char *key, const char *proof_key)
    __attribute__((nonnull(1, 2)));
/*
 * Sets variables for all programs started from now on, as if the server had been started with them;
 * NULL sets none.
 */
void action_config_take_environment(struct action_config *config, json_t *environment)
    __attribute__((nonnull(1)));
/* Wipes the keys and frees the texts; NULL and a partially read one are allowed. */
void action_config_done(struct action_config *config);
/* The cap on foreground time-outs in seconds, 0 when there is none. */
double action_config_foreground_cap_s(const struct action_config *config) NONNULL MUST_CHECK;
/* Time that a command of the older action API may run without output. */
int64_t action_config_run_silence_ms(const struct action_config *config) NONNULL MUST_CHECK;

#endif
