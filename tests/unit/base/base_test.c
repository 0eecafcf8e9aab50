#include "unit/base/base_test.h"

#include <stdlib.h>

#include "base/json.h"

int main(void)
{
    int n_failed = 0;

    json_setup();
    n_failed += chunked_tests();
    n_failed += clock_tests();
    n_failed += confine_calls_tests();
    n_failed += confine_tests();
    n_failed += crash_tests();
    n_failed += crypto_tests();
    n_failed += encode_tests();
    n_failed += error_tests();
    n_failed += event_stream_tests();
    n_failed += fernet_tests();
    n_failed += file_tests();
    n_failed += json_tests();
    n_failed += lines_tests();
    n_failed += lock_tests();
    n_failed += log_tests();
    n_failed += mem_tests();
    n_failed += multipart_tests();
    n_failed += process_tests();
    n_failed += query_tests();
    n_failed += sandbox_key_tests();
    n_failed += secret_tests();
    n_failed += settings_tests();
    n_failed += strbuf_tests();
    n_failed += text_tests();
    n_failed += text_folder_tests();
    n_failed += uuid_tests();
    n_failed += zip_tests();
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
