#include "unit/sandbox/files/files_tests.h"

#include "base/json.h"

int main(void)
{
    int n_failed = 0;

    json_setup();
    n_failed += upload_tests();
    n_failed += download_tests();
    n_failed += directories_tests();
    n_failed += archive_tests();
    n_failed += project_files_tests();
    return n_failed > 0;
}
