#include "sandbox/ports/ports.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/action_server.h"
#include "sandbox/http/server_request.h"

enum { TABLE_MAX_BYTES = 4 * 1024 * 1024, ADDRESS_MAX = 33, STATE_LISTEN = 0x0A, HEX = 16 };

static const char *const tables[] = {"/proc/net/tcp", "/proc/net/tcp6"};

/* An address in the kernel's format: words in host byte order. */
static bool is_loopback(const char *address)
{
    size_t len = strlen(address);

    if (len == 8)
        return text_ends_with(address, "7F");
    return text_equal(address, "00000000000000000000000001000000") ||
           (text_starts_with(address, "0000000000000000FFFF0000") && text_ends_with(address, "7F"));
}

/* "  0: 00000000:1435 00000000:0000 0A …", proc(5). False for the heading. */
static bool read_line(const char *line, char address[ADDRESS_MAX], long *port, long *state)
{
    const char *at = line + strcspn(line, ":\n");
    char *end = NULL;
    size_t len = 0;

    if (*at != ':')
        return false;
    at += 1 + strspn(at + 1, " ");
    len = strspn(at, "0123456789ABCDEF");
    if (len == 0 || len >= ADDRESS_MAX || at[len] != ':')
        return false;
    memcpy(address, at, len);
    address[len] = '\0';
    *port = strtol(at + len + 1, &end, HEX);
    at = end + strspn(end, " ");
    at += strcspn(at, " \n");
    if (*at != ' ')
        return false;
    *state = strtol(at, &end, HEX);
    return end != at;
}

void ports_read(const char *table, char listens[PORTS_MAX])
{
    const char *line = table;

    while (line != NULL && *line != '\0') {
        const char *next = strchr(line, '\n');
        char address[ADDRESS_MAX] = "";
        long port = 0;
        long state = 0;

        if (read_line(line, address, &port, &state) && state == STATE_LISTEN && port >= 0 &&
            port < PORTS_MAX && !is_loopback(address))
            listens[port] = 1;
        line = next != NULL ? next + 1 : NULL;
    }
}

static void read_all(char listens[PORTS_MAX])
{
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        struct error ignored = ERROR_INIT;

        error_ignore(file_read(tables[i], TABLE_MAX_BYTES, &text, &ignored),
                     "a kernel may have no IPv6");
        ports_read(text.len > 0 ? text.text : "", listens);
    }
}

bool ports_has_listener(int port)
{
    CLEANUP(mem_freep) char *listens = mem_alloc(PORTS_MAX);

    read_all(listens);
    return port > 0 && port < PORTS_MAX && listens[port] != 0;
}

void ports_handle_listening(struct server_request *request)
{
    CLEANUP(mem_freep) char *listens = mem_alloc(PORTS_MAX);
    json_auto_t *body = json_object();
    json_t *ports = json_array();

    read_all(listens);
    for (int port = 1; port < PORTS_MAX; port++) {
        if (listens[port] != 0 && port != request->server->config->port)
            json_push(ports, json_integer(port));
    }
    json_put(body, "ports", ports);
    server_request_answer_json(request, 200, body);
}
