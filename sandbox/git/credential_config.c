#include "sandbox/git/credential_config.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/text.h"
#include "sandbox/git/credential_helper.h"
#include "sandbox/git/git.h"

/* In the repository's .git folder, and removed with it. */
#define INSIDE_FILE "/deft-credentials"
/* git's folder for submodules; the trailing slash matches everything below. */
#define INSIDE_FOLDER "/modules/"

void credential_settings_done(struct credential_settings *settings)
{
    strbuf_done(&settings->none);
    strbuf_done(&settings->helper);
}

/* "credential.https://host.helper" */
static void append_key(const char *origin, struct strbuf *out)
{
    strbuf_appendf(out, "credential.%s.helper", origin);
}

/* The helper as git's shell command: this program. */
static void append_helper(struct strbuf *out)
{
    char own[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);

    own[len > 0 ? len : 0] = '\0';
    strbuf_append_char(out, '!');
    shell_word_append(out, own);
    strbuf_append(out, " " CREDENTIAL_HELPER_WORD);
}

/*
 * The empty one first: it disables helpers of the image or the user, some of which would write the
 * credential to a file.
 */
void credential_settings_fill(struct credential_settings *settings, const char *origin)
{
    append_key(origin, &settings->none);
    strbuf_append_char(&settings->none, '=');
    strbuf_append(&settings->helper, settings->none.text);
    append_helper(&settings->helper);
}

/* where: "--local", or "--file=" and a file name. */
static int write_helper(const struct git *git, const char *where, const char *origin,
                        struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf helper = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;

    append_key(origin, &key);
    append_helper(&helper);
    if (git_run(git, GIT_ARGS("config", where, "--replace-all", key.text, ""), &said, err) < 0)
        return -1;
    return git_run(git, GIT_ARGS("config", where, "--add", key.text, helper.text), &said, err);
}

int credential_config_keep(const struct git *git, const char *origin, struct error *err)
{
    return write_helper(git, "--local", origin, err);
}

/* Escapes a folder name, since git reads a pattern there. */
static void append_pattern(const char *folder, struct strbuf *out)
{
    for (; *folder != '\0'; folder++) {
        if (strchr("*?[\\", *folder) != NULL)
            strbuf_append_char(out, '\\');
        strbuf_append_char(out, *folder);
    }
}

int credential_config_keep_inside(const struct git *git, const char *git_dir, const char *place,
                                  const char *origin, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf where = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf file = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;

    strbuf_appendf(&where, "--file=%s" INSIDE_FILE, git_dir);
    if (write_helper(git, where.text, origin, err) < 0)
        return -1;
    strbuf_append(&key, "includeIf.gitdir:");
    append_pattern(place, &key);
    strbuf_append(&key, INSIDE_FOLDER ".path");
    strbuf_appendf(&file, "%s" INSIDE_FILE, place);
    return git_run(git, GIT_ARGS("config", "--global", "--replace-all", key.text, file.text), &said,
                   err);
}
