#include "unit/sandbox/sandbox_test.h"

#include "base/json.h"

int main(void)
{
    int n_failed = 0;

    json_setup();
    n_failed += account_tests();
    n_failed += identity_tests();
    n_failed += browser_tests();
    n_failed += capture_tests();
    n_failed += chunked_tests();
    n_failed += credentials_tests();
    n_failed += git_address_tests();
    n_failed += inside_tests();
    n_failed += editor_tests();
    n_failed += ports_tests();
    n_failed += exports_tests();
    n_failed += journal_tests();
    n_failed += keys_tests();
    n_failed += multipart_tests();
    n_failed += preview_door_tests();
    n_failed += repository_tests();
    n_failed += shell_record_tests();
    n_failed += statements_tests();
    n_failed += terminal_text_tests();
    return n_failed > 0;
}
