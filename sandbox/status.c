#include "config.h"

#include "sandbox/status.h"

#include "base/clock.h"
#include "base/json.h"
#include "sandbox/action_config.h"
#include "sandbox/http.h"
#include "sandbox/server.h"

enum { MS_PER_S = 1000 };

static void answer_status(struct request *request, const char *status)
{
    json_auto_t *body = json_object();

    json_put_text(body, "status", status);
    request_answer_json(request, 200, body);
}

void status_handle_alive(struct request *request)
{
    answer_status(request, "ok");
}

void status_handle_ready(struct request *request)
{
    answer_status(request, "ready");
}

void status_handle_info(struct request *request)
{
    json_auto_t *body = json_object();
    int64_t uptime_ms = clock_monotonic_ms() - request->server->started_ms;
    double cap_s = config_foreground_cap_s(request->server->config);

    json_put(body, "uptime", json_integer(uptime_ms / MS_PER_S));
    json_put_text(body, "title", "deft-action");
    json_put_text(body, "version", PACKAGE_VERSION);
    if (cap_s > 0) {
        json_put(body, "runtime_idle_timeout_seconds", json_real(cap_s / 0.9));
        json_put(body, "max_foreground_terminal_timeout_seconds", json_real(cap_s));
    }
    request_answer_json(request, 200, body);
}
