/* As git's credential helper the program is run by git, as deft-action is. */
#include "unit/sandbox/git/git_tests.h"

#include "base/json.h"
#include "base/text.h"
#include "sandbox/git/credential_helper.h"

int main(int argc, char **argv)
{
    int n_failed = 0;

    if (argc == 3 && text_equal(argv[1], CREDENTIAL_HELPER_WORD))
        return credential_helper_run(argv[2]);
    json_setup();
    n_failed += git_base_tests();
    n_failed += git_routes_tests();
    n_failed += git_diff_tests();
    n_failed += clone_tests();
    n_failed += git_hooks_tests();
    n_failed += fetch_copy_tests();
    n_failed += credential_helper_tests();
    return n_failed > 0;
}
