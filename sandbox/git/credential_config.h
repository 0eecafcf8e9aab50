/*
 * git configuration that makes a repository ask our helper (credential_helper.h) for credentials,
 * for one origin only. It contains no credential.
 *
 * Blocks: runs git. Threading: no state.
 */
#ifndef DEFT_SANDBOX_GIT_CREDENTIAL_CONFIG_H
#define DEFT_SANDBOX_GIT_CREDENTIAL_CONFIG_H

#include "base/attr.h"
#include "base/strbuf.h"

struct error;
struct git;

/* Two settings for a single command (git -c …): the first clears the list of helpers. */
struct credential_settings {
    struct strbuf none;
    struct strbuf helper;
};

/* clang-format off */
#define CREDENTIAL_SETTINGS_INIT {STRBUF_INIT, STRBUF_INIT}
/* clang-format on */

void credential_settings_done(struct credential_settings *settings);
/* origin: of git_address_origin(). */
void credential_settings_fill(struct credential_settings *settings, const char *origin) NONNULL;

/* Stores the helper in the repository's configuration. */
int credential_config_keep(const struct git *git, const char *origin,
                           struct error *err) NONNULL MUST_CHECK;
/*
 * Does so for its submodules, which have configurations of their own: the user's configuration
 * includes a file for them. git_dir: current path of the repository's .git folder; place: its later
 * path.
 */
int credential_config_keep_inside(const struct git *git, const char *git_dir, const char *place,
                                  const char *origin, struct error *err) NONNULL MUST_CHECK;

#endif
