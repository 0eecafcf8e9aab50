#include "unit/sandbox/tools_tests.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/json.h"

/* An editor has the same port wherever it runs; another program with these tests may run next to
 * this one. */
static int n_failed_with_editor_port(void)
{
    char path[sizeof("/tmp/deft-test-editor-port-") + 20];
    int n_failed = 0;
    int fd = -1;

    (void)snprintf(path, sizeof(path), "/tmp/deft-test-editor-port-%ld", (long)getuid());
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || lockf(fd, F_LOCK, 0) < 0) {
        perror(path);
        return 1;
    }
    n_failed += ports_routes_tests();
    n_failed += server_status_tests();
    (void)close(fd);
    return n_failed;
}

int main(void)
{
    int n_failed = 0;

    json_setup();
    n_failed += editor_commands_tests();
    n_failed += mcp_program_tests();
    n_failed += mcp_programs_tests();
    n_failed += mcp_replies_tests();
    n_failed += mcp_reports_tests();
    n_failed += preview_connections_tests();
    n_failed += action_config_tests();
    n_failed += n_failed_with_editor_port();
    return n_failed > 0;
}
