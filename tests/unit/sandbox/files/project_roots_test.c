/*
 * Repositories of folders, as files of git show them.
 */
#include "sandbox/files/project_roots.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/folder.h"
#include "unit/sandbox/sandbox_test.h"

/* A temporary folder. */
struct tree {
    char path[32];
};

static void tree_done(struct tree *tree)
{
    folder_remove(tree->path);
}

static struct tree tree_new(void)
{
    struct tree tree = {"/tmp/deft-roots.XXXXXX"};

    assert_non_null(mkdtemp(tree.path));
    return tree;
}

static void add_folder(const struct tree *tree, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_appendf(&path, "%s/%s", tree->path, name);
    assert_int_equal(mkdir(path.text, S_IRWXU), 0);
}

static void add_file(const struct tree *tree, const char *name, const char *text)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(fd_close) int fd = -1;
    struct error err = ERROR_INIT;

    strbuf_appendf(&path, "%s/%s", tree->path, name);
    fd = open(path.text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, text, strlen(text), &err), 0);
}

static void assert_member(const struct tree *tree, const char *folder, const char *member,
                          const char *value)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    json_auto_t *summary = NULL;

    strbuf_appendf(&path, "%s%s", tree->path, folder);
    summary = project_summary(path.text);
    assert_string_equal(json_text_or(summary, member, "none"), value);
}

static void folder_of_a_repository_has_its_branch(void **state)
{
    CLEANUP(tree_done) struct tree tree = tree_new();

    (void)state;
    add_folder(&tree, ".git");
    add_folder(&tree, "src");
    add_file(&tree, ".git/HEAD", "ref: refs/heads/a/b\n");
    assert_member(&tree, "", "branch", "a/b");
    assert_member(&tree, "/src", "branch", "a/b");
    assert_member(&tree, "/src/missing", "repository", tree.path);
    add_file(&tree, ".git/HEAD", "0123abcd\n");
    assert_member(&tree, "", "commit", "0123abcd");
    assert_member(&tree, "", "branch", "none");
}

/* A worktree's .git is a file that names the folder. */
static void worktree_has_its_own_branch(void **state)
{
    CLEANUP(tree_done) struct tree tree = tree_new();

    (void)state;
    add_folder(&tree, "tree");
    add_folder(&tree, "meta");
    add_file(&tree, "tree/.git", "gitdir: ../meta\n");
    add_file(&tree, "meta/HEAD", "ref: refs/heads/other\n");
    assert_member(&tree, "/tree", "branch", "other");
    add_file(&tree, "tree/.git", "gitdir: /dev/zero\n");
    assert_member(&tree, "/tree", "branch", "none");
}

static void lone_clone_counts(void **state)
{
    CLEANUP(tree_done) struct tree tree = tree_new();
    CLEANUP(strbuf_done) struct strbuf clone = STRBUF_INIT;

    (void)state;
    add_folder(&tree, "one");
    add_folder(&tree, "one/.git");
    add_folder(&tree, "plain");
    add_file(&tree, "one/.git/HEAD", "ref: refs/heads/main");
    assert_member(&tree, "", "branch", "main");
    /* The folder may be in another repository, as when all work is in one. */
    add_folder(&tree, "plain/.git");
    add_folder(&tree, "plain/work");
    add_folder(&tree, "plain/work/three");
    add_folder(&tree, "plain/work/three/.git");
    add_file(&tree, "plain/work/three/.git/HEAD", "ref: refs/heads/third");
    assert_member(&tree, "/plain/work", "branch", "third");
    assert_member(&tree, "/plain", "branch", "none");
    add_folder(&tree, "two");
    add_folder(&tree, "two/.git");
    project_clone_find(tree.path, &clone);
    assert_string_equal(clone.text, "");
    assert_member(&tree, "", "repository", "none");
}

static void runtime_tells_the_image_the_egress_policy_and_the_ports(void **state)
{
    static const char *const variables[][2] = {{"DEFT_SANDBOX_IMAGE", "deft-sandbox:1"},
                                               {"DEFT_SANDBOX_EGRESS", "list a.org"},
                                               {"WORKER_1", "12000"},
                                               {"WORKER_2", "9999"}};
    CLEANUP(tree_done) struct tree tree = tree_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
        assert_int_equal(unsetenv(variables[i][0]), 0);
    assert_member(&tree, "", "image", "none");
    assert_member(&tree, "", "egress", "none");
    assert_member(&tree, "", "ports", "none");
    for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
        assert_int_equal(setenv(variables[i][0], variables[i][1], 1), 0);
    assert_member(&tree, "", "image", "deft-sandbox:1");
    assert_member(&tree, "", "egress", "list a.org");
    assert_member(&tree, "", "ports", "12000, 9999");
    assert_int_equal(unsetenv("WORKER_1"), 0);
    assert_member(&tree, "", "ports", "9999");
}

int project_roots_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folder_of_a_repository_has_its_branch),
        cmocka_unit_test(worktree_has_its_own_branch),
        cmocka_unit_test(lone_clone_counts),
        cmocka_unit_test(runtime_tells_the_image_the_egress_policy_and_the_ports),
    };

    return cmocka_run_group_tests_name("sandbox/project_roots", tests, NULL, NULL);
}
