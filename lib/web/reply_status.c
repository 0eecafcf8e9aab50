#include "web/reply_status.h"

#include <stddef.h>

#include "base/attr.h"

static const int error_status[ERROR_N_CODES] = {
    [ERROR_NONE] = 500,        [ERROR_INVALID] = 422,    [ERROR_UNAUTHENTICATED] = 401,
    [ERROR_FORBIDDEN] = 403,   [ERROR_NOT_FOUND] = 404,  [ERROR_CONFLICT] = 409,
    [ERROR_STALE] = 409,       [ERROR_TOO_LARGE] = 413,  [ERROR_RATE_LIMITED] = 429,
    [ERROR_TIMEOUT] = 504,     [ERROR_CANCELLED] = 503,  [ERROR_UNAVAILABLE] = 503,
    [ERROR_UNSUPPORTED] = 501, [ERROR_MEDIA_TYPE] = 415, [ERROR_SLOW_CLIENT] = 408,
    [ERROR_INTERNAL] = 500,
};

struct phrase_row {
    int status;
    const char *phrase;
};

static const struct phrase_row phrases[] = {
    {200, "OK"},
    {201, "Created"},
    {204, "No Content"},
    {206, "Partial Content"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
};

int reply_status(enum error_code code)
{
    return error_status[code];
}

const char *reply_phrase(int status)
{
    for (size_t i = 0; i < ARRAY_SIZE(phrases); i++) {
        if (phrases[i].status == status)
            return phrases[i].phrase;
    }
    return "Unknown";
}
