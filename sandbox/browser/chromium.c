#include "sandbox/browser/chromium.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/child_process.h"
#include "sandbox/core/identity.h"

enum { THEIR_INPUT = 3, THEIR_OUTPUT = 4, OPEN_FOLDERS = 16 };

static const char usual_places[] =
    "/usr/local/bin:/usr/bin:/bin:/snap/bin:/opt/google/chrome:/usr/lib/chromium";

static const char *const names[] = {
    "chromium", "chromium-browser",      "google-chrome", "google-chrome-stable",
    "chrome",   "chrome-headless-shell", "headless_shell"};

/* Relative to a folder of Playwright's cache. */
static const char *const playwright_programs[] = {"chrome-linux/chrome", "chrome-linux64/chrome",
                                                  "chrome-linux/headless_shell"};

/*
 * No Chromium sandbox: it needs user namespaces or a set-uid helper, and our containers allow
 * neither; docs/decisions/0023-browser.md. Frames of other sites stay in the page's own process, so
 * that one session reaches them and memory is saved.
 */
static const char *const flags[] = {
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-crash-reporter",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-sync",
    "--disable-site-isolation-trials",
    "--disable-features=IsolateOrigins,site-per-process,Translate,MediaRouter,HttpsUpgrades",
    "--metrics-recording-only",
    "--mute-audio",
    "--password-store=basic",
    "--use-mock-keychain",
    "--window-size=1280,900",
};

static bool is_program(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && identity_has_access(path, X_OK);
}

/* NULL when the cache folder has no program that can be executed. */
static char *find_in_version(const char *cache, const char *version)
{
    for (size_t i = 0; i < ARRAY_SIZE(playwright_programs); i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

        strbuf_appendf(&path, "%s/%s/%s", cache, version, playwright_programs[i]);
        if (is_program(path.text))
            return strbuf_take(&path);
    }
    return NULL;
}

static char *find_in_cache(const char *cache)
{
    DIR *dir = opendir(cache);
    const struct dirent *entry = NULL;
    char *found = NULL;

    if (dir == NULL)
        return NULL;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread, a stream of its own */
    for (entry = readdir(dir); entry != NULL && found == NULL; entry = readdir(dir)) {
        if (text_starts_with(entry->d_name, "chromium"))
            found = find_in_version(cache, entry->d_name);
    }
    (void)closedir(dir);
    return found;
}

/* A variable of the image, borrowed; "" when unset. */
static const char *image_variable(const char *name)
{
    size_t len = strlen(name);

    for (char *const *entry = environ; *entry != NULL; entry++) {
        if (text_starts_with(*entry, name) && (*entry)[len] == '=')
            return *entry + len + 1;
    }
    return "";
}

char *chromium_find_in_playwright(void)
{
    CLEANUP(strbuf_done) struct strbuf home = STRBUF_INIT;
    const char *cache = image_variable("PLAYWRIGHT_BROWSERS_PATH");
    char *found = find_in_cache(cache);

    strbuf_appendf(&home, "%s/.cache/ms-playwright", image_variable("HOME"));
    if (found == NULL)
        found = find_in_cache(home.text);
    if (found == NULL)
        found = find_in_cache("/ms-playwright");
    return found;
}

char *chromium_find(const char *wanted)
{
    CLEANUP(strbuf_done) struct strbuf places = STRBUF_INIT;
    char *found = NULL;

    if (wanted[0] != '\0')
        return is_program(wanted) ? mem_dup_text(wanted) : NULL;
    strbuf_appendf(&places, "%s:%s", image_variable("PATH"), usual_places);
    for (size_t i = 0; i < ARRAY_SIZE(names) && found == NULL; i++)
        found = child_process_find_program(names[i], places.text);
    return found != NULL ? found : chromium_find_in_playwright();
}

static int make_profile(struct chromium *chromium, struct error *err)
{
    char path[] = "/tmp/deft-browser-XXXXXX";

    if (chromium->profile != NULL)
        return 0;
    if (mkdtemp(path) == NULL)
        return error_set(err, ERROR_UNAVAILABLE, "creating a profile for the browser: %m");
    chromium->profile = mem_dup_text(path);
    return 0;
}

struct pipes {
    int ours_write;
    int theirs_read;
    int ours_read;
    int theirs_write;
};

static void pipes_done(struct pipes *pipes)
{
    fd_close(&pipes->ours_write);
    fd_close(&pipes->theirs_read);
    fd_close(&pipes->ours_read);
    fd_close(&pipes->theirs_write);
}

static int make_pipes(struct pipes *pipes, struct error *err)
{
    int to[2] = {-1, -1};
    int from[2] = {-1, -1};

    if (pipe2(to, O_CLOEXEC) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "pipe: %m");
    pipes->theirs_read = to[0];
    pipes->ours_write = to[1];
    if (pipe2(from, O_CLOEXEC) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "pipe: %m");
    pipes->ours_read = from[0];
    pipes->theirs_write = from[1];
    (void)fcntl(pipes->ours_write, F_SETFL, O_NONBLOCK);
    return 0;
}

/* flags[], the profile and the first page; the caller frees the array but not its texts. */
static char **make_arguments(char *program, char *profile_flag)
{
    char **argv = mem_alloc_array(ARRAY_SIZE(flags) + 4, sizeof(*argv));
    size_t n = 0;

    argv[n++] = program;
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
        argv[n++] = (char *)(uintptr_t)flags[i]; /* execve() does not write to them */
    argv[n++] = profile_flag;
    argv[n++] = (char *)(uintptr_t)"about:blank";
    return argv;
}

/* Temporary files go into the profile, so they are removed with it. */
static char **make_environment(const char *workspace, const char *profile)
{
    CLEANUP(strbuf_done) struct strbuf entry = STRBUF_INIT;
    char **environment = child_process_environment_new(CHILD_PROCESS_TERMINAL, workspace);
    size_t n = 0;

    strbuf_appendf(&entry, "TMPDIR=%s", profile);
    while (environment[n] != NULL && !text_starts_with(environment[n], "TMPDIR="))
        n++;
    if (environment[n] == NULL) {
        environment = mem_resize(environment, (n + 2) * sizeof(*environment));
        environment[n + 1] = NULL;
    }
    mem_free(environment[n]);
    environment[n] = strbuf_take(&entry);
    return environment;
}

static int start_program(struct chromium *chromium, char *program, const char *folder,
                         const struct pipes *pipes, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf profile_flag = STRBUF_INIT;
    CLEANUP(fd_close) int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    const struct child_process_fd fds[] = {{nothing, STDIN_FILENO},
                                           {nothing, STDOUT_FILENO},
                                           {nothing, STDERR_FILENO},
                                           {pipes->theirs_read, THEIR_INPUT},
                                           {pipes->theirs_write, THEIR_OUTPUT}};
    char **environment = make_environment(folder, chromium->profile);
    struct child_process_spec spec = {.path = program,
                                      .envp = environment,
                                      .working_dir = chromium->profile,
                                      .fds = fds,
                                      .n_fds = ARRAY_SIZE(fds)};
    char **argv = NULL;
    int rc = 0;

    strbuf_appendf(&profile_flag, "--user-data-dir=%s", chromium->profile);
    argv = make_arguments(program, profile_flag.text);
    spec.argv = argv;
    rc = child_process_start(&spec, &chromium->pid, err);
    mem_free(argv);
    child_process_environment_free(environment);
    return rc;
}

/* A killed browser leaves its lock, a dangling symlink. */
static void unlock_profile(const struct chromium *chromium)
{
    static const char *const locks[] = {"SingletonLock", "SingletonSocket", "SingletonCookie"};

    for (size_t i = 0; i < ARRAY_SIZE(locks); i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

        strbuf_appendf(&path, "%s/%s", chromium->profile, locks[i]);
        (void)unlink(path.text);
    }
}

int chromium_start(struct chromium *chromium, const char *wanted, const char *folder,
                   struct error *err)
{
    CLEANUP(mem_freep) char *program = chromium_find(wanted);
    CLEANUP(pipes_done) struct pipes pipes = {-1, -1, -1, -1};

    if (program == NULL)
        return error_set(err, ERROR_UNSUPPORTED,
                         "This sandbox has no browser: no Chromium was found in its image.");
    if (make_profile(chromium, err) < 0 || make_pipes(&pipes, err) < 0)
        return -1;
    unlock_profile(chromium);
    if (start_program(chromium, program, folder, &pipes, err) < 0)
        return -1;
    chromium->to_fd = fd_take(&pipes.ours_write);
    chromium->from_fd = fd_take(&pipes.ours_read);
    return 0;
}

void chromium_stop(struct chromium *chromium)
{
    fd_close(&chromium->to_fd);
    fd_close(&chromium->from_fd);
    if (chromium->pid > 0) {
        /* It leads the process group of its renderers. */
        (void)kill(-chromium->pid, SIGKILL);
        while (waitpid(chromium->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    chromium->pid = 0;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info;
    (void)type;
    (void)where;
    (void)remove(path);
    return 0;
}

void chromium_done(struct chromium *chromium)
{
    if (chromium == NULL)
        return;
    chromium_stop(chromium);
    if (chromium->profile != NULL)
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
        (void)nftw(chromium->profile, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    mem_free(chromium->profile);
    chromium->profile = NULL;
}
