/*
 * The command that starts a sandbox.
 */
#include "runtime/bwrap/bwrap_arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "unit/runtime/bwrap/bwrap_fixture.h"

static size_t find(const struct arguments *arguments, const char *text)
{
    size_t i = 0;

    while (i < arguments->n && !text_equal(arguments->items[i], text))
        i++;
    return i;
}

static struct bwrap_paths places_of(const char *root)
{
    return (struct bwrap_paths){.root = root,
                                .agent_build = "/f",
                                .workspace = "/w",
                                .journal = "/j",
                                .user = "/u",
                                .tmp_bytes = 5,
                                .shm_bytes = 6,
                                .has_seccomp = true};
}

static void sandbox_has_namespaces_of_its_own(void **state)
{
    static const char *const wanted[] = {"--unshare-user", "--unshare-pid", "--unshare-ipc",
                                         "--unshare-uts",  "--unshare-net", "--seccomp",
                                         "--new-session",  "--as-pid-1"};
    CLEANUP(arguments_done) struct arguments arguments = {.items = NULL};
    struct bwrap_paths places = places_of("");
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(bwrap_arguments_append(&arguments, &places, &err), 0);
    assert_string_equal(arguments.items[0], "bwrap");
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
        assert_true(find(&arguments, wanted[i]) < arguments.n);
    assert_null(arguments.items[arguments.n]);
    /* The root is closed when all is in its place. */
    assert_in_range(find(&arguments, "--remount-ro"), find(&arguments, "/workspace") + 1,
                    arguments.n - 1);
}

static void host_network_is_kept_only_when_asked_for(void **state)
{
    CLEANUP(arguments_done) struct arguments arguments = {.items = NULL};
    struct bwrap_paths places = places_of("");
    struct error err = ERROR_INIT;

    (void)state;
    places.has_host_network = true;
    assert_int_equal(bwrap_arguments_append(&arguments, &places, &err), 0);
    assert_int_equal(find(&arguments, "--unshare-net"), arguments.n);
    assert_true(find(&arguments, "/etc/resolv.conf") < arguments.n);
}

static void host_shows_its_programs_and_not_its_users(void **state)
{
    static const char *const hidden[] = {"/etc", "/home", "/root", "/var", "/etc/shadow"};
    CLEANUP(arguments_done) struct arguments arguments = {.items = NULL};
    struct bwrap_paths places = places_of("");
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(bwrap_arguments_append(&arguments, &places, &err), 0);
    assert_true(find(&arguments, "/usr") < arguments.n);
    assert_true(find(&arguments, "/f/passwd") < arguments.n);
    for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
        assert_int_equal(find(&arguments, hidden[i]), arguments.n);
}

/* Of an image's root: what the sandbox has of its own is not taken, nor is what is hidden. */
static void tree_shows_its_programs_and_nothing_of_its_own(void **state)
{
    static const char *const kept[] = {"usr", "etc"};
    static const char *const left[] = {"home",      "tmp", "proc",  ".dockerenv",
                                       "workspace", "dev", "sys",   "run",
                                       "boot",      "mnt", "media", "lost+found"};
    CLEANUP(arguments_done) struct arguments arguments = {.items = NULL};
    char root[] = "/tmp/deft-tree-XXXXXX";
    struct bwrap_paths places = places_of(root);
    struct error err = ERROR_INIT;
    char path[64] = "";
    size_t link = 0;

    (void)state;
    assert_non_null(mkdtemp(root));
    assert_int_equal(chdir(root), 0);
    assert_int_equal(symlink("usr/bin", "bin"), 0);
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
        assert_int_equal(mkdir(kept[i], 0700), 0);
    for (size_t i = 0; i < ARRAY_SIZE(left); i++)
        assert_int_equal(mkdir(left[i], 0700), 0);
    assert_int_equal(bwrap_arguments_append(&arguments, &places, &err), 0);
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", root, kept[i]);
        assert_true(find(&arguments, path) < arguments.n);
        assert_int_equal(rmdir(kept[i]), 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(left); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", root, left[i]);
        assert_int_equal(find(&arguments, path), arguments.n);
        assert_int_equal(rmdir(left[i]), 0);
    }
    (void)snprintf(path, sizeof(path), "%s/..", root);
    assert_int_equal(find(&arguments, path), arguments.n);
    link = find(&arguments, "--symlink");
    assert_string_equal(arguments.items[link + 1], "usr/bin");
    assert_string_equal(arguments.items[link + 2], "/bin");
    assert_int_equal(unlink("bin"), 0);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(root), 0);
}

static void missing_tree_is_an_error(void **state)
{
    CLEANUP(arguments_done) struct arguments arguments = {.items = NULL};
    struct bwrap_paths places = places_of("/nowhere");
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(bwrap_arguments_append(&arguments, &places, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
}

/* From the namespaces on, without the host's files. */
static void command_is_written_in_order(void **state)
{
    static const struct bwrap_mount views[] = {{"/g1", "/sys/fs/cgroup/a"},
                                               {"/g2", "/sys/fs/cgroup/b"}};
    static const char expected[] =
        "bwrap --unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try"
        " --as-pid-1 --unshare-net --uid 10001 --gid 10001 --hostname sandbox --new-session"
        " --json-status-fd 4 --seccomp 5"
        " --proc /proc --dev /dev"
        " --size 6 --perms 1777 --tmpfs /dev/shm --size 5 --perms 1777 --tmpfs /tmp"
        " --size 5 --perms 1777 --tmpfs /var/tmp --size 6 --perms 1777 --tmpfs /run"
        " --ro-bind /f /.deft --bind /j /.deft-j --bind /w /workspace --bind /u /home/deft"
        " --ro-bind /g1 /sys/fs/cgroup/a --ro-bind /g2 /sys/fs/cgroup/b"
        " --remount-ro / --chdir /workspace";
    CLEANUP(arguments_done) struct arguments arguments = {.items = NULL};
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    char root[] = "/tmp/deft-tree-XXXXXX";
    struct bwrap_paths places = places_of(root);
    struct error err = ERROR_INIT;

    (void)state;
    assert_non_null(mkdtemp(root));
    places.views = views;
    places.n_views = 2;
    assert_int_equal(bwrap_arguments_append(&arguments, &places, &err), 0);
    for (size_t i = 0; i < arguments.n; i++)
        strbuf_appendf(&words, "%s%s", i > 0 ? " " : "", arguments.items[i]);
    assert_string_equal(words.text, expected);
    assert_int_equal(rmdir(root), 0);
}

static void filter_is_optional(void **state)
{
    CLEANUP(arguments_done) struct arguments arguments = {.items = NULL};
    struct bwrap_paths places = places_of("");
    struct error err = ERROR_INIT;

    (void)state;
    places.has_seccomp = false;
    assert_int_equal(bwrap_arguments_append(&arguments, &places, &err), 0);
    assert_int_equal(find(&arguments, "--seccomp"), arguments.n);
    assert_int_equal(find(&arguments, "/etc/resolv.conf"), arguments.n);
}

static void host_shows_settings_that_programs_need(void **state)
{
    static const char *const shown[] = {
        "alternatives",  "bash.bashrc", "ca-certificates", "ca-certificates.conf",
        "fonts",         "inputrc",     "ld.so.cache",     "ld.so.conf",
        "ld.so.conf.d",  "localtime",   "mime.types",      "nanorc",
        "nsswitch.conf", "perl",        "profile",         "protocols",
        "python3",       "services",    "ssl/certs",       "ssl/openssl.cnf",
        "terminfo",      "vim",         "chromium"};
    static const char *const own[] = {"passwd", "group"};
    CLEANUP(arguments_done) struct arguments arguments = {.items = NULL};
    struct bwrap_paths places = places_of("");
    struct error err = ERROR_INIT;
    char from[64] = "";
    char to[64] = "";

    (void)state;
    assert_int_equal(bwrap_arguments_append(&arguments, &places, &err), 0);
    for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
        size_t at = 0;

        (void)snprintf(to, sizeof(to), "/etc/%s", shown[i]);
        at = find(&arguments, to);
        assert_true(at + 1 < arguments.n);
        assert_string_equal(arguments.items[at - 1], "--ro-bind-try");
        assert_string_equal(arguments.items[at + 1], to);
    }
    for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
        size_t at = 0;

        (void)snprintf(from, sizeof(from), "/f/%s", own[i]);
        (void)snprintf(to, sizeof(to), "/etc/%s", own[i]);
        at = find(&arguments, from);
        assert_string_equal(arguments.items[at - 1], "--ro-bind");
        assert_string_equal(arguments.items[at + 1], to);
    }
}

int test_bwrap_arguments(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sandbox_has_namespaces_of_its_own),
        cmocka_unit_test(host_network_is_kept_only_when_asked_for),
        cmocka_unit_test(host_shows_its_programs_and_not_its_users),
        cmocka_unit_test(tree_shows_its_programs_and_nothing_of_its_own),
        cmocka_unit_test(command_is_written_in_order),
        cmocka_unit_test(filter_is_optional),
        cmocka_unit_test(host_shows_settings_that_programs_need),
        cmocka_unit_test(missing_tree_is_an_error),
    };

    return cmocka_run_group_tests_name("runtime/bwrap_arguments", tests, NULL, NULL);
}
