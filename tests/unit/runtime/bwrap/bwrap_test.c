/*
 * The process back end, with a bubblewrap that the tests play.
 */
#include "base/json.h"
#include "unit/runtime/bwrap/bwrap_fixture.h"

int main(void)
{
    json_setup();
    return test_box() + test_box_start() + test_box_watch() + test_bwrap_arguments() +
           test_bwrap_functions() + test_cgroup() + test_cgroup_files() + test_home_folder() +
           test_host_prepare() + test_process_spawn() + test_process_tree() + test_seccomp_filter();
}
