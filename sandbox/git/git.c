#include "sandbox/git/git.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/child_process.h"
#include "sandbox/core/program.h"
#include "sandbox/git/credentials.h"

enum { MAX_ARGS = 160, MAX_OUTPUT_BYTES = 32 * 1024 * 1024 };

const char git_empty_tree[] = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/* The files may belong to another user of the sandbox; nothing in the repository is executed. */
static const char *const common_args[] = {
    "--no-pager", "--no-optional-locks",    "-c", "safe.directory=*",
    "-c",         "core.fsmonitor=false",   "-c", "core.quotePath=false",
    "-c",         "log.showSignature=false"};

void git_done(struct git *git)
{
    mem_freep(&git->program);
    mem_freep(&git->folder);
    child_process_environment_free(git->environment);
    git->environment = NULL;
}

static const char *search_path(char *const *environment)
{
    for (; *environment != NULL; environment++) {
        if (text_starts_with(*environment, "PATH="))
            return *environment + strlen("PATH=");
    }
    return "";
}

int git_open(struct git *git, const char *folder, struct error *err)
{
    git->environment = child_process_environment_new(CHILD_PROCESS_TERMINAL, folder);
    git->program = child_process_find_program("git", search_path(git->environment));
    if (git->program == NULL)
        return error_set(err, ERROR_INVALID, "The sandbox has no git");
    git->folder = mem_dup_text(folder);
    return 0;
}

void git_put_variable(struct git *git, const char *name, const char *value)
{
    CLEANUP(strbuf_done) struct strbuf entry = STRBUF_INIT;
    size_t n = 0;

    while (git->environment[n] != NULL)
        n++;
    strbuf_appendf(&entry, "%s=%s", name, value);
    git->environment = mem_resize(git->environment, (n + 2) * sizeof(*git->environment));
    git->environment[n] = strbuf_take(&entry);
    git->environment[n + 1] = NULL;
}

void git_use_index(struct git *git, const char *path)
{
    git_put_variable(git, "GIT_INDEX_FILE", path);
}

static int run_git(const struct git *git, const char *const *args, int out_fd,
                   struct program_result *result, struct error *err)
{
    const char *argv[MAX_ARGS + 1] = {"git", "-C", git->folder};
    size_t n = 3;

    for (size_t i = 0; i < ARRAY_SIZE(common_args); i++)
        argv[n++] = common_args[i];
    for (; *args != NULL && n < MAX_ARGS; args++)
        argv[n++] = *args;
    return program_run(&(struct program){.path = git->program,
                                         .argv = argv,
                                         .envp = git->environment,
                                         .out_fd = out_fd,
                                         .max_out_bytes = MAX_OUTPUT_BYTES},
                       result, err);
}

/* Masks before cutting to the message's length: a partial password would not be recognized. */
static int tell_failure(const struct git *git, const char *command, const struct strbuf *complaint,
                        struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;

    if (git->hidden != NULL)
        credentials_mask_append(git->hidden, complaint->text, complaint->len, &words);
    else
        strbuf_append_bytes(&words, complaint->text, complaint->len);
    return error_set(err, ERROR_INVALID, "git %s: %s", command,
                     words.len > 0 ? words.text : "it failed");
}

static int run_well(const struct git *git, const char *const *args, int out_fd, struct strbuf *out,
                    struct error *err)
{
    CLEANUP(program_result_done) struct program_result result = PROGRAM_RESULT_INIT;

    if (run_git(git, args, out_fd, &result, err) < 0)
        return -1;
    while (text_equal(args[0], "-c"))
        args += 2; /* the command follows its settings */
    if (result.exit_code != 0)
        return tell_failure(git, args[0], &result.complaint, err);
    if (out != NULL)
        strbuf_append_bytes(out, result.out.text, result.out.len);
    return 0;
}

int git_run(const struct git *git, const char *const *args, struct strbuf *out, struct error *err)
{
    return run_well(git, args, -1, out, err);
}

int git_run_to(const struct git *git, const char *const *args, int fd, struct error *err)
{
    return run_well(git, args, fd, NULL, err);
}

bool git_ask(const struct git *git, const char *const *args, struct strbuf *line_out)
{
    CLEANUP(program_result_done) struct program_result result = PROGRAM_RESULT_INIT;
    struct error ignored = ERROR_INIT;
    size_t len = 0;

    if (run_git(git, args, -1, &result, &ignored) < 0 || result.exit_code != 0)
        return false;
    len = strcspn(result.out.text, "\n");
    strbuf_reset(line_out);
    strbuf_append_bytes(line_out, result.out.text, len);
    return len > 0;
}

bool git_has_repository(const struct git *git)
{
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;

    return git_ask(git, GIT_ARGS("rev-parse", "--is-inside-work-tree"), &answer) &&
           text_equal(answer.text, "true");
}

static bool find_commit(const struct git *git, const char *name, struct strbuf *commit_out)
{
    CLEANUP(strbuf_done) struct strbuf object = STRBUF_INIT;

    if (name[0] == '\0' || name[0] == '-')
        return false;
    strbuf_appendf(&object, "%s^{commit}", name);
    return git_ask(git, GIT_ARGS("rev-parse", "--verify", "--quiet", object.text), commit_out);
}

int git_find_commit(const struct git *git, const char *name, struct strbuf *commit_out,
                    struct error *err)
{
    if (!find_commit(git, name, commit_out))
        return error_set(err, ERROR_INVALID, "Unknown revision: %s", name);
    return 0;
}

void git_find_parent(const struct git *git, const char *commit, struct strbuf *parent_out)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;

    strbuf_appendf(&name, "%s^1", commit);
    if (!git_ask(git, GIT_ARGS("rev-parse", "--verify", "--quiet", name.text), parent_out))
        strbuf_append(parent_out, git_empty_tree);
}

static bool is_clean(const struct git *git)
{
    CLEANUP(program_result_done) struct program_result result = PROGRAM_RESULT_INIT;
    struct error ignored = ERROR_INIT;

    return run_git(git, GIT_ARGS("diff", "--quiet", "--no-ext-diff", "HEAD", "--"), -1, &result,
                   &ignored) == 0 &&
           result.exit_code == 0;
}

/* The branch's upstream, unless it equals HEAD and no file has changed. */
static bool find_upstream(const struct git *git, const char *head, struct strbuf *base_out)
{
    CLEANUP(strbuf_done) struct strbuf branch = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;

    if (!find_commit(git, "@{upstream}", base_out)) {
        if (!git_ask(git, GIT_ARGS("symbolic-ref", "--quiet", "--short", "HEAD"), &branch))
            return false;
        strbuf_appendf(&name, "refs/remotes/origin/%s", branch.text);
        if (!find_commit(git, name.text, base_out))
            return false;
    }
    return !text_equal(base_out->text, head) || !is_clean(git);
}

/* The merge base with the origin's default branch, else that branch. */
static bool find_default_branch(const struct git *git, struct strbuf *base_out)
{
    static const char *const names[] = {"refs/remotes/origin/HEAD", "refs/remotes/origin/main",
                                        "refs/remotes/origin/master"};
    CLEANUP(strbuf_done) struct strbuf tip = STRBUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (!find_commit(git, names[i], &tip))
            continue;
        if (!git_ask(git, GIT_ARGS("merge-base", "HEAD", tip.text), base_out))
            strbuf_append(base_out, tip.text);
        return true;
    }
    return false;
}

static bool find_local_branch(const struct git *git, struct strbuf *base_out)
{
    static const char *const names[] = {"refs/heads/main", "refs/heads/master"};
    CLEANUP(strbuf_done) struct strbuf tip = STRBUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (find_commit(git, names[i], &tip) &&
            git_ask(git, GIT_ARGS("merge-base", "HEAD", tip.text), base_out))
            return true;
    }
    return false;
}

static int find_given(const struct git *git, const char *ref, struct strbuf *base_out,
                      struct error *err)
{
    if (find_commit(git, ref, base_out))
        return 0;
    if (!text_equal(ref, "HEAD"))
        return error_set(err, ERROR_INVALID, "Unknown revision: %s", ref);
    strbuf_append(base_out, git_empty_tree);
    return 0;
}

int git_find_base(const struct git *git, const char *ref, struct strbuf *base_out,
                  struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;

    if (ref != NULL)
        return find_given(git, ref, base_out, err);
    if (!find_commit(git, "HEAD", &head)) {
        strbuf_append(base_out, git_empty_tree);
        return 0;
    }
    if (find_upstream(git, head.text, base_out))
        return 0;
    strbuf_reset(base_out);
    if (!find_default_branch(git, base_out) && !find_local_branch(git, base_out))
        strbuf_append(base_out, head.text);
    return 0;
}
