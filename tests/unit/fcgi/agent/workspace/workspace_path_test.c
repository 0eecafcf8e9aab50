#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fcgi/agent/workspace/workspace_path.h"

static void paths_below_the_directory_are_inside(void **state)
{
    (void)state;
    assert_true(workspace_path_is_inside("/workspace/project", "/workspace/project"));
    assert_true(workspace_path_is_inside("/workspace/project/", "/workspace/project"));
    assert_true(workspace_path_is_inside("/workspace/project/a/b", "/workspace/project/"));
    assert_true(workspace_path_is_inside("/workspace//project/./a/../b", "/workspace/project"));
    assert_true(workspace_path_is_inside("/etc", "/"));
}

static void paths_beside_and_above_are_outside(void **state)
{
    (void)state;
    assert_false(workspace_path_is_inside("/workspace", "/workspace/project"));
    assert_false(workspace_path_is_inside("/workspace/projector", "/workspace/project"));
    assert_false(workspace_path_is_inside("/workspace/project/../x", "/workspace/project"));
    assert_false(workspace_path_is_inside("/../../etc", "/workspace/project"));
    assert_false(workspace_path_is_inside("workspace/project/a", "/workspace/project"));
    assert_false(workspace_path_is_inside("", "/workspace/project"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_below_the_directory_are_inside),
        cmocka_unit_test(paths_beside_and_above_are_outside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
