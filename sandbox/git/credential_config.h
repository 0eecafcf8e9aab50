/*
 * What a repository's configuration says of credentials: where to ask (credential_helper.h), for
 * one origin, and nobody else. No credential stands in it.
 *
 * Blocks: runs git. Threading: no state.
 */
#ifndef DEFT_SANDBOX_GIT_CREDENTIAL_CONFIG_H
#define DEFT_SANDBOX_GIT_CREDENTIAL_CONFIG_H

#include "base/attr.h"
#include "base/strbuf.h"

struct error;
struct git;

/* Two settings for a single command (git -c …): the first empties the list of helpers. */
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

/* The repository asks by itself from now on. */
int credential_config_keep(const struct git *git, const char *origin,
                           struct error *err) NONNULL MUST_CHECK;
/*
 * So do the repositories inside it (submodules), which have configurations of their own: the user's
 * names a file for them. git_dir: of the repository, a folder; place: where that folder will be.
 */
int credential_config_keep_inside(const struct git *git, const char *git_dir, const char *place,
                                  const char *origin, struct error *err) NONNULL MUST_CHECK;

#endif
