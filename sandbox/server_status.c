#include "config.h"

#include "sandbox/server_status.h"

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/action_server.h"
#include "sandbox/http/server_request.h"
#include "sandbox/legacy/legacy_actions.h"

enum { MS_PER_S = 1000, PERCENT = 100, MAX_PROC_BYTES = 16384 };

static void answer_status(struct server_request *request, const char *status)
{
    json_auto_t *body = json_object();

    json_put_text(body, "status", status);
    server_request_answer_json(request, 200, body);
}

void server_status_handle_alive(struct server_request *request)
{
    answer_status(request, "ok");
}

void server_status_handle_ready(struct server_request *request)
{
    answer_status(request, "ready");
}

/* --- what this process uses --- */

/* The number after a name in a file of /proc, times `unit`; 0 when absent. */
static json_int_t number_of(const char *file, const char *name, json_int_t unit)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error ignored = ERROR_INIT;
    const char *at = NULL;

    if (file_read(file, MAX_PROC_BYTES, &text, &ignored) < 0)
        return 0;
    at = strstr(text.text, name);
    return at != NULL ? (json_int_t)strtoll(at + strlen(name), NULL, 10) * unit : 0;
}

static double percent_of(double part, double whole)
{
    return whole > 0 ? PERCENT * part / whole : 0;
}

static json_t *memory_used(void)
{
    json_t *memory = json_object();
    json_int_t rss = number_of("/proc/self/status", "VmRSS:", 1024);
    json_int_t all = number_of("/proc/meminfo", "MemTotal:", 1024);

    json_put(memory, "rss", json_integer(rss));
    json_put(memory, "vms", json_integer(number_of("/proc/self/status", "VmSize:", 1024)));
    json_put(memory, "percent", json_real(percent_of((double)rss, (double)all)));
    return memory;
}

static json_t *disk_used(void)
{
    json_t *disk = json_object();
    struct statvfs info = {0};
    double unit = 0;
    double total = 0;
    double available = 0;
    double used = 0;

    (void)statvfs("/", &info);
    unit = (double)info.f_frsize;
    total = unit * (double)info.f_blocks;
    available = unit * (double)info.f_bavail;
    used = unit * (double)(info.f_blocks - info.f_bfree);
    json_put(disk, "total", json_integer((json_int_t)total));
    json_put(disk, "used", json_integer((json_int_t)used));
    json_put(disk, "free", json_integer((json_int_t)available));
    json_put(disk, "percent", json_real(percent_of(used, used + available)));
    return disk;
}

static json_t *io_done(void)
{
    json_t *io = json_object();

    json_put(io, "read_bytes", json_integer(number_of("/proc/self/io", "\nread_bytes:", 1)));
    json_put(io, "write_bytes", json_integer(number_of("/proc/self/io", "\nwrite_bytes:", 1)));
    return io;
}

/* Average since the start: no earlier sample is kept. */
static double cpu_percent(const struct action_server *server)
{
    struct timespec used = {0};
    double elapsed_ms = (double)(clock_monotonic_ms() - server->started_ms);

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return percent_of((double)used.tv_sec * MS_PER_S + (double)used.tv_nsec / 1e6, elapsed_ms);
}

static json_t *resources(const struct action_server *server)
{
    json_t *all = json_object();

    json_put(all, "cpu_percent", json_real(cpu_percent(server)));
    json_put(all, "memory", memory_used());
    json_put(all, "disk", disk_used());
    json_put(all, "io", io_done());
    return all;
}

/* Seconds since an action last started or ended; 0 while one runs. */
static double idle_s(const struct action_server *server)
{
    if (legacy_actions_are_busy(server->legacy))
        return 0;
    return (double)(clock_monotonic_ms() - server->last_action_ms) / MS_PER_S;
}

void server_status_handle_info(struct server_request *request)
{
    const struct action_server *server = request->server;
    json_auto_t *body = json_object();
    int64_t uptime_ms = clock_monotonic_ms() - server->started_ms;
    double cap_s = action_config_foreground_cap_s(server->config);

    json_put(body, "uptime", json_real((double)uptime_ms / MS_PER_S));
    json_put(body, "idle_time", json_real(idle_s(server)));
    json_put(body, "resources", resources(server));
    json_put_text(body, "title", "deft-action");
    json_put_text(body, "version", PACKAGE_VERSION);
    if (cap_s > 0) {
        json_put(body, "runtime_idle_timeout_seconds", json_real(cap_s / 0.9));
        json_put(body, "max_foreground_terminal_timeout_seconds", json_real(cap_s));
    }
    server_request_answer_json(request, 200, body);
}
