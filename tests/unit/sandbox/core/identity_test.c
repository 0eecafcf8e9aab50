/*
 * The server's users after its start: in a child, which as root takes on both users for good.
 * Skipped without root.
 */
#include "sandbox/core/identity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "sandbox/actions/journal_file.h"
#include "sandbox/core/account.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/folder.h"
#include "unit/sandbox/sandbox_test.h"

enum { SERVER = 23457, COMMANDS = 23456, GROUP = 23458, IMAGES = 10001, OTHER = 7, SKIPPED = 99 };
enum { DEPTH = 16 }; /* the last level of a home that is given */

/* A child's exit code: 0, or the line of the check that failed. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            _exit(__LINE__ % 90 + 1);                                                              \
    } while (false)

/* Runs the child's part; skips the test where the host does not let it. */
static void run(void (*child)(const char *folder))
{
    char folder[] = "/tmp/deft-identity-XXXXXX";
    int status = 0;
    pid_t pid = 0;

    if (geteuid() != 0)
        skip();
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chmod(folder, S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH), 0);
    pid = fork();
    if (pid == 0) {
        child(folder);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    folder_remove(folder);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == SKIPPED)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

static bool is_user(uid_t real, uid_t effective, uid_t saved)
{
    uid_t r = 0;
    uid_t e = 0;
    uid_t s = 0;

    return getresuid(&r, &e, &s) == 0 && r == real && e == effective && s == saved;
}

static bool has_no_capability(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0, 0, 0}};

    if (syscall(SYS_capget, &header, data) != 0)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(data); i++) {
        if ((data[i].effective | data[i].permitted | data[i].inheritable) != 0)
            return false;
    }
    return prctl(PR_CAPBSET_READ, (unsigned long)CAP_CHOWN, 0UL, 0UL, 0UL) == 0 &&
           prctl(PR_CAPBSET_READ, (unsigned long)CAP_SYS_ADMIN, 0UL, 0UL, 0UL) == 0;
}

/* As some engines start a program: root's capabilities may be handed on to what it executes. */
static void inherit_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0, 0, 0}};

    CHECK(syscall(SYS_capget, &header, data) == 0);
    for (size_t i = 0; i < ARRAY_SIZE(data); i++)
        data[i].inheritable = data[i].permitted;
    CHECK(syscall(SYS_capset, &header, data) == 0);
}

static void make_file(const char *folder, const char *name, uid_t uid)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    int fd = -1;

    strbuf_appendf(&path, "%s/%s", folder, name);
    fd = open(path.text, O_CREAT | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR);
    CHECK(fd >= 0 && fchown(fd, uid, GROUP) == 0);
    fd_close(&fd);
}

static uid_t owner_of(const char *folder, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct stat info = {0};

    strbuf_appendf(&path, "%s/%s", folder, name);
    CHECK(lstat(path.text, &info) == 0);
    return info.st_uid;
}

static void become_both(const char *folder)
{
    const struct action_config config = {
        .server_uid = SERVER, .command_uid = COMMANDS, .gid = GROUP, .journal_dir = folder};
    struct error err = ERROR_INIT;
    struct stat info = {0};

    make_file(folder, "journal", COMMANDS);
    inherit_capabilities();
    CHECK(identity_take(&config, &err) == 0);
    CHECK(is_user(SERVER, COMMANDS, SERVER));
    CHECK(getgid() == GROUP && getegid() == GROUP && getgroups(0, NULL) == 1);
    CHECK(has_no_capability());
    CHECK(stat(folder, &info) == 0 && info.st_uid == SERVER && info.st_gid == GROUP);
    CHECK(owner_of(folder, "journal") == SERVER);
    identity_open_as_server();
    CHECK(is_user(SERVER, SERVER, COMMANDS));
    identity_open_as_commands();
    CHECK(is_user(SERVER, COMMANDS, SERVER));
}

static void server_is_both_users_and_has_no_right_besides(void **state)
{
    (void)state;
    run(become_both);
}

static void on_line(void *owner, json_t *record, int64_t offset, size_t len)
{
    (void)owner;
    (void)record;
    (void)offset;
    (void)len;
}

/* Of the folder that is the server's; files are the commands' again afterwards. */
static void keep_journal(const char *folder)
{
    const struct action_config config = {
        .server_uid = SERVER, .command_uid = COMMANDS, .gid = GROUP, .journal_dir = folder};
    const struct journal_reader reader = {NULL, on_line};
    CLEANUP(strbuf_done) struct strbuf empty = STRBUF_INIT;
    struct journal_file file = {.fd = -1};
    struct error err = ERROR_INIT;

    CHECK(chmod(folder, S_IRWXU) == 0);
    CHECK(identity_take(&config, &err) == 0);
    CHECK(journal_file_open(&file, folder, &reader, &err) == 0);
    CHECK(is_user(SERVER, COMMANDS, SERVER));
    CHECK(journal_file_replace(&file, &empty, &err) == 0);
    CHECK(is_user(SERVER, COMMANDS, SERVER));
    journal_file_close(&file);
    identity_open_as_server();
    CHECK(owner_of(folder, "journal") == SERVER);
}

static void journal_is_the_servers_alone(void **state)
{
    (void)state;
    run(keep_journal);
}

static void become_commands(const char *folder)
{
    const struct action_config config = {
        .server_uid = SERVER, .command_uid = COMMANDS, .gid = GROUP, .journal_dir = folder};
    struct error err = ERROR_INIT;

    CHECK(identity_take(&config, &err) == 0);
    CHECK(identity_become_commands() == 0);
    CHECK(is_user(COMMANDS, COMMANDS, COMMANDS));
    CHECK(setuid(SERVER) < 0 && seteuid(SERVER) < 0 && setuid(0) < 0);
}

static void program_cannot_become_the_server_again(void **state)
{
    (void)state;
    run(become_commands);
}

/* This process alone sees another /etc/passwd, and a file system of its own below the home. */
static void mount_passwd(const char *folder, const char *home, const char *mounted)
{
    CLEANUP(strbuf_done) struct strbuf passwd = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    int fd = -1;

    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        _exit(SKIPPED);
    strbuf_appendf(&passwd, "root:x:0:0::/root:/bin/sh\nimage:x:%d:1::%s:/bin/sh\n", IMAGES, home);
    strbuf_appendf(&path, "%s/passwd", folder);
    fd = open(path.text, O_CREAT | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR);
    CHECK(fd >= 0 && write(fd, passwd.text, passwd.len) == (ssize_t)passwd.len);
    fd_close(&fd);
    if (mount(path.text, "/etc/passwd", NULL, MS_BIND, NULL) < 0 ||
        mount("none", mounted, "tmpfs", 0, "size=64k") < 0)
        _exit(SKIPPED);
    CHECK(chown(mounted, IMAGES, GROUP) == 0);
}

/* A chain of folders below the home, as deep as it is given, and a file one level below. */
static void make_chain(const char *home, struct strbuf *deepest)
{
    strbuf_append(deepest, home);
    for (int i = 0; i < DEPTH; i++) {
        strbuf_append(deepest, "/d");
        CHECK(mkdir(deepest->text, S_IRWXU) == 0 && chown(deepest->text, IMAGES, GROUP) == 0);
    }
    make_file(deepest->text, "beyond", IMAGES);
}

static void give(const char *folder)
{
    CLEANUP(strbuf_done) struct strbuf deepest = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf home = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf mounted = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf link = STRBUF_INIT;
    CLEANUP(account_done) struct account account = ACCOUNT_INIT;

    strbuf_appendf(&home, "%s/home", folder);
    strbuf_appendf(&mounted, "%s/home/mounted", folder);
    strbuf_appendf(&link, "%s/home/link", folder);
    CHECK(mkdir(home.text, S_IRWXU) == 0 && chown(home.text, IMAGES, GROUP) == 0);
    CHECK(mkdir(mounted.text, S_IRWXU) == 0 && chown(mounted.text, IMAGES, GROUP) == 0);
    mount_passwd(folder, home.text, mounted.text);
    make_file(home.text, "own", IMAGES);
    make_file(home.text, "others", OTHER);
    make_file(mounted.text, "far", IMAGES);
    make_file(folder, "outside", IMAGES);
    CHECK(symlink("../outside", link.text) == 0 && lchown(link.text, IMAGES, GROUP) == 0);
    make_chain(home.text, &deepest);
    /* A number of fewer digits would move the lines that follow. */
    account_give(IMAGES, OTHER);
    CHECK(owner_of(home.text, "own") == IMAGES);
    account_give(IMAGES, COMMANDS);
    account_read(COMMANDS, &account);
    CHECK(strcmp(account.name.text, "image") == 0);
    CHECK(owner_of(folder, "home") == COMMANDS && owner_of(home.text, "own") == COMMANDS);
    CHECK(owner_of(home.text, "link") == COMMANDS && owner_of(folder, "outside") == IMAGES);
    CHECK(owner_of(deepest.text, ".") == COMMANDS && owner_of(deepest.text, "beyond") == IMAGES);
    CHECK(owner_of(home.text, "others") == OTHER);
    CHECK(owner_of(home.text, "mounted") == IMAGES && owner_of(mounted.text, "far") == IMAGES);
}

static void account_of_the_image_is_given_with_what_is_its_own(void **state)
{
    (void)state;
    run(give);
}

int identity_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(server_is_both_users_and_has_no_right_besides),
        cmocka_unit_test(journal_is_the_servers_alone),
        cmocka_unit_test(program_cannot_become_the_server_again),
        cmocka_unit_test(account_of_the_image_is_given_with_what_is_its_own),
    };

    return cmocka_run_group_tests_name("sandbox/identity", tests, NULL, NULL);
}
