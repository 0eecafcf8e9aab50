#include "base/crash.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"

/* The exit status that a shell reports after kill -9. */
#define KILLED_EXIT_STATUS 137

#define X(constant, text) text,
static const char *const crash_names[] = {CRASH_POINTS(X)};
#undef X

/* The point whose name is the first len bytes of text, or CRASH_N_POINTS. */
static enum crash_name crash_find(const char *text, size_t len)
{
    size_t found = CRASH_N_POINTS;

    for (size_t i = 0; i < CRASH_N_POINTS; i++) {
        if (strlen(crash_names[i]) == len && strncmp(crash_names[i], text, len) == 0)
            found = i;
    }
    return (enum crash_name)found;
}

int crash_points_init(struct crash_points *points, const char *text, struct error *err)
{
    const char *colon = strchr(text, ':');
    int64_t n = 0;

    points->armed = CRASH_N_POINTS;
    atomic_init(&points->n_left, 0);
    atomic_init(&points->is_expected, false);
    if (text[0] == '\0')
        return 0;
    if (colon == NULL)
        return error_set(err, ERROR_INVALID, "DEFT_CRASH_AT: expected name:n");
    points->armed = crash_find(text, (size_t)(colon - text));
    if (points->armed == CRASH_N_POINTS)
        return error_set(err, ERROR_INVALID, "DEFT_CRASH_AT: no such point");
    if (text_parse_int(colon + 1, 1, INT32_MAX, &n, err) < 0)
        return error_wrap(err, "DEFT_CRASH_AT");
    atomic_store(&points->n_left, (long)n);
    return 0;
}

void crash_point(struct crash_points *points, enum crash_name name)
{
    if (points == NULL || points->armed != name || atomic_fetch_sub(&points->n_left, 1) != 1)
        return;
    log_warning("crash_point.reached", LOG_STR("point", crash_names[name]));
    _exit(KILLED_EXIT_STATUS);
}

void crash_expect_sent(struct crash_points *points, enum crash_name name)
{
    if (points->armed == name)
        atomic_store(&points->is_expected, true);
}

void crash_sent(struct crash_points *points)
{
    if (points != NULL && atomic_exchange(&points->is_expected, false))
        crash_point(points, points->armed);
}
