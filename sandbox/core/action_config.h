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

struct config {
    struct secret api_key;  /* unset with `open`, and while dormant */
    struct secret init_key; /* of POST /api/init; wiped by it */
    /* By which this server proves itself; unset where it has no other key. */
    struct secret proof_key;
    /* What commands of /api/bash may show to this server's own /api routes; worth nothing else. */
    char command_key[CRYPTO_TOKEN_BYTES];
    int64_t open;
    int64_t port;
    int64_t socket;         /* 0: none */
    int64_t preview_socket; /* 0: none */
    int64_t server_uid;     /* 0: the server keeps the user that it was started as */
    int64_t command_uid;
    int64_t gid;
    int64_t account_uid; /* of the image; 0: none */
    const char *bind;
    const char *workspace;
    const char *journal_dir;
    const char *save_dir; /* of output that is too long; "": nowhere */
    const char *log_level;
    const char *idle_timeout; /* seconds, may be nonsense; then off */
    const char *run_silence;  /* the same, of the older action API */
    int64_t no_change_ms;
    const char *browser; /* its program; "": what the image has */
    int64_t browser_wait_ms;
    int64_t browser_timeout_ms;
};

/* The settings of struct config. */
extern const struct setting action_settings[];
extern const size_t action_settings_n;

/*
 * Checks what was read, and makes up what no variable says. ERROR_INVALID names the variable that
 * is wrong.
 */
int config_check(struct config *config, struct error *err) NONNULL MUST_CHECK;
/* True while the server waits for POST /api/init to bring its key: nothing else is served. */
bool config_is_dormant(const struct config *config) NONNULL MUST_CHECK;
/*
 * Ends that: requests must show `key` from now on, and the init key opens nothing any more.
 * proof_key: as base/sandbox_key.h says; NULL: the one that comes from `key`.
 */
void config_take_keys(struct config *config, const char *key, const char *proof_key)
    __attribute__((nonnull(1, 2)));
/* Sets variables for all that is started from now on, as if the server had begun with them; NULL
 * sets none. */
void config_take_environment(struct config *config, json_t *environment)
    __attribute__((nonnull(1)));
/* Wipes the keys and releases the texts; NULL and a half-read one are fine. */
void config_done(struct config *config);
/* The cap on foreground time-outs in seconds, 0 when there is none. */
double config_foreground_cap_s(const struct config *config) NONNULL MUST_CHECK;
/* How long a command of the older action API may be silent. */
int64_t config_run_silence_ms(const struct config *config) NONNULL MUST_CHECK;

#endif
