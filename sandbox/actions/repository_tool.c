#include "sandbox/actions/repository_tool.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/action_observation.h"
#include "sandbox/core/identity.h"
#include "sandbox/git/clone.h"
#include "sandbox/git/git.h"
#include "sandbox/git/git_hooks.h"
#include "sandbox/git/workspace_repository.h"

enum { DEFAULT_WAIT_MS = 600000, MAX_WAIT_MS = 3600000 };

struct repository_tool_step {
    const char *name;
    int (*run)(const struct repository_call *order, json_t *facts, struct strbuf *words,
               struct error *err);
};

static bool has_file(const char *path, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf file = STRBUF_INIT;

    strbuf_appendf(&file, "%s/%s", path, name);
    return identity_has_access(file.text, R_OK);
}

/* Describes the repository: path, setup script, branch and commit. */
static void put_repository(json_t *facts, const char *path)
{
    CLEANUP(git_done) struct git git = GIT_INIT;
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    struct error ignored = ERROR_INIT;

    json_put_text(facts, "path", path);
    json_put(facts, "has_setup", json_boolean(has_file(path, ".openhands/setup.sh")));
    if (git_open(&git, path, &ignored) < 0)
        return;
    if (git_ask(&git, GIT_ARGS("symbolic-ref", "--quiet", "--short", "HEAD"), &line))
        json_put(facts, "branch", json_text(line.text, line.len));
    if (git_ask(&git, GIT_ARGS("rev-parse", "--verify", "--quiet", "HEAD"), &line))
        json_put(facts, "commit", json_text(line.text, line.len));
}

static int run_clone(const struct repository_call *order, json_t *facts, struct strbuf *words,
                     struct error *err)
{
    CLEANUP(clone_result_done) struct clone_result result = CLONE_RESULT_INIT;
    const struct clone_order clone = {
        .url = json_text_or(order->args, "url", ""),
        .folder = order->working_dir,
        .name = json_text_or(order->args, "name", NULL),
        .branch = json_text_or(order->args, "branch", NULL),
        .credentials = order->credentials,
    };

    if (clone_run(&clone, &result, err) < 0)
        return -1;
    put_repository(facts, result.path.text);
    json_put(facts, "was_there", json_boolean(result.was_there));
    if (result.problem.len > 0)
        return error_set(err, ERROR_INVALID, "%s", result.problem.text);
    strbuf_appendf(words, result.was_there ? "The repository is already in %s." : "Cloned into %s.",
                   result.path.text);
    return 0;
}

/* git refuses to work in another user's files unless their folder is listed in safe.directory. */
static void call_safe(const char *folder)
{
    CLEANUP(git_done) struct git git = GIT_INIT;
    CLEANUP(strbuf_done) struct strbuf known = STRBUF_INIT;
    struct error ignored = ERROR_INIT;

    if (git_open(&git, folder, &ignored) < 0)
        return;
    if (git_ask(&git,
                GIT_ARGS("config", "--global", "--fixed-value", "--get", "safe.directory", folder),
                &known))
        return;
    error_ignore(git_run(&git, GIT_ARGS("config", "--global", "--add", "safe.directory", folder),
                         &known, &ignored),
                 "the home may be read-only; the folder usually belongs to this user");
}

static int run_init(const struct repository_call *order, json_t *facts, struct strbuf *words,
                    struct error *err)
{
    if (workspace_repository_make_folder(order->working_dir, err) < 0 ||
        workspace_repository_init(order->working_dir, err) < 0)
        return -1;
    call_safe(order->working_dir);
    put_repository(facts, order->working_dir);
    strbuf_appendf(words, "%s is a repository.", order->working_dir);
    return 0;
}

static int run_hooks(const struct repository_call *order, json_t *facts, struct strbuf *words,
                     struct error *err)
{
    bool is_installed = false;

    if (git_hooks_install(order->working_dir, &is_installed, err) < 0)
        return -1;
    json_put(facts, "is_installed", json_boolean(is_installed));
    strbuf_append(words, is_installed ? "The pre-commit hook is installed."
                                      : "The repository has no pre-commit script.");
    return 0;
}

static const struct repository_tool_step steps[] = {
    {"clone", run_clone},
    {"init", run_init},
    {"hooks", run_hooks},
};

static const struct repository_tool_step *find_step(const json_t *args)
{
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        if (text_equal(json_text_or(args, "step", ""), steps[i].name))
            return &steps[i];
    }
    return NULL;
}

int repository_tool_check(const json_t *args, struct error *err)
{
    if (find_step(args) == NULL)
        return error_set(err, ERROR_INVALID, "args.step must be clone, init or hooks");
    return 0;
}

int64_t repository_tool_deadline_ms(const json_t *args)
{
    int64_t wait_ms = json_int_or(args, "timeout_ms", DEFAULT_WAIT_MS);

    return wait_ms > 0 && wait_ms < MAX_WAIT_MS ? wait_ms : MAX_WAIT_MS;
}

static json_t *make_observation(json_t *facts, const char *words, size_t len, bool is_error)
{
    json_put(facts, "content", action_observation_content(words, len));
    json_put(facts, "is_error", json_boolean(is_error));
    json_put_text(facts, "kind", "RepositoryObservation");
    return facts;
}

json_t *repository_tool_failure(const char *why)
{
    return make_observation(json_object(), why, strlen(why), true);
}

json_t *repository_tool_run(const void *what)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    const struct repository_call *order = what;
    json_t *facts = json_object();
    struct error err = ERROR_INIT;
    int rc = find_step(order->args)->run(order, facts, &words, &err);

    if (rc < 0)
        strbuf_append(&words, err.message);
    return make_observation(facts, words.text, words.len, rc < 0);
}
