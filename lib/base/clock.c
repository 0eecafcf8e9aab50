#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"

enum { US_PER_S = 1000000 };

/* Years 1 to 9999, which are written with four digits. */
static const int64_t first_s = -62135596800;
static const int64_t last_s = 253402300799;

static int64_t read_clock_us(clockid_t id)
{
    struct timespec now = {0};

    (void)!clock_gettime(id, &now);
    return (int64_t)now.tv_sec * US_PER_S + now.tv_nsec / 1000;
}

int64_t clock_monotonic_us(void)
{
    return read_clock_us(CLOCK_MONOTONIC);
}

int64_t clock_monotonic_ms(void)
{
    return clock_monotonic_us() / 1000;
}

int64_t clock_utc_us(void)
{
    return read_clock_us(CLOCK_REALTIME);
}

static void format(int64_t utc_us, const char *zone, char text[CLOCK_TEXT_BYTES])
{
    int64_t fraction_us = utc_us % US_PER_S;
    time_t seconds = 0;
    struct tm parts = {0};
    char wide[80];

    if (fraction_us < 0)
        fraction_us += US_PER_S;
    seconds = (time_t)((utc_us - fraction_us) / US_PER_S);
    if (gmtime_r(&seconds, &parts) == NULL)
        parts = (struct tm){.tm_year = 70, .tm_mday = 1};
    (void)snprintf(wide, sizeof(wide), "%04d-%02d-%02dT%02d:%02d:%02d.%06d%s", parts.tm_year + 1900,
                   parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                   (int)fraction_us, zone);
    wide[CLOCK_TEXT_BYTES - 1] = '\0';
    memcpy(text, wide, CLOCK_TEXT_BYTES);
}

void clock_format_naive(int64_t utc_us, char text[CLOCK_TEXT_BYTES])
{
    format(utc_us, "", text);
}

void clock_format_z(int64_t utc_us, char text[CLOCK_TEXT_BYTES])
{
    format(utc_us, "Z", text);
}

static const char *parse_fraction(const char *at, int *us_out)
{
    int scale = US_PER_S / 10;

    if (*at != '.' && *at != ',')
        return at;
    for (at++; *at >= '0' && *at <= '9'; at++) {
        *us_out += (*at - '0') * scale;
        scale /= 10;
    }
    return at;
}

/* A number of exactly n digits, and the characters of which one must follow, if any. */
struct clock_part {
    int n;
    int *value;
    const char *behind;
};

/* Reads the parts in order; NULL when the text does not match. */
static const char *parse_parts(const char *at, const struct clock_part *parts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int value = 0;

        for (int k = 0; k < parts[i].n; k++, at++) {
            if (*at < '0' || *at > '9')
                return NULL;
            value = value * 10 + (*at - '0');
        }
        *parts[i].value = value;
        if (parts[i].behind[0] == '\0')
            continue;
        if (*at == '\0' || strchr(parts[i].behind, *at) == NULL)
            return NULL;
        at++;
    }
    return at;
}

/* Seconds east of UTC; NULL when the text is not a zone. */
static const char *parse_zone(const char *at, int *offset_s_out)
{
    int hours = 0;
    int minutes = 0;
    const struct clock_part wide[] = {{2, &hours, ":"}, {2, &minutes, ""}};
    const struct clock_part narrow[] = {{2, &hours, ""}, {2, &minutes, ""}};
    const char *end = NULL;
    char sign = *at;

    if (sign == '\0')
        return at;
    if (sign == 'Z' || sign == 'z')
        return at + 1;
    if (sign != '+' && sign != '-' && sign != ' ')
        return NULL;
    end = parse_parts(at + 1, wide, ARRAY_SIZE(wide));
    if (end == NULL)
        end = parse_parts(at + 1, narrow, ARRAY_SIZE(narrow));
    if (hours > 23 || minutes > 59)
        return NULL;
    *offset_s_out = (hours * 60 + minutes) * 60 * (sign == '-' ? -1 : 1);
    return end;
}

static int is_in_range(const struct tm *parts)
{
    return parts->tm_mon >= 0 && parts->tm_mon < 12 && parts->tm_mday >= 1 &&
           parts->tm_mday <= 31 && parts->tm_hour >= 0 && parts->tm_hour < 24 &&
           parts->tm_min >= 0 && parts->tm_min < 60 && parts->tm_sec >= 0 && parts->tm_sec <= 60;
}

/* timegm() turns February 31 into March 3. */
static int is_in_calendar(const struct tm *parts)
{
    struct tm day = {.tm_year = parts->tm_year, .tm_mon = parts->tm_mon, .tm_mday = parts->tm_mday};

    (void)timegm(&day);
    return day.tm_mday == parts->tm_mday;
}

/*
 * Reads the text after the date: nothing, which is midnight UTC, or the time and its zone. NULL
 * when it does not match.
 */
static const char *parse_time(const char *at, struct tm *parts, int *fraction_us_out,
                              int *offset_s_out)
{
    const struct clock_part fields[] = {
        {2, &parts->tm_hour, ":"}, {2, &parts->tm_min, ":"}, {2, &parts->tm_sec, ""}};

    if (*at == '\0')
        return at;
    if (strchr("T t", *at) == NULL)
        return NULL;
    at = parse_parts(at + 1, fields, ARRAY_SIZE(fields));
    if (at == NULL)
        return NULL;
    return parse_zone(parse_fraction(at, fraction_us_out), offset_s_out);
}

int clock_parse(const char *text, int64_t *utc_us_out, struct error *err)
{
    struct tm parts = {0};
    const struct clock_part fields[] = {
        {4, &parts.tm_year, "-"}, {2, &parts.tm_mon, "-"}, {2, &parts.tm_mday, ""}};
    int fraction_us = 0;
    int offset_s = 0;
    int64_t utc_s = 0;
    const char *at = parse_parts(text, fields, ARRAY_SIZE(fields));

    if (at != NULL)
        at = parse_time(at, &parts, &fraction_us, &offset_s);
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
    if (at == NULL || *at != '\0' || !is_in_range(&parts) || !is_in_calendar(&parts))
        return error_set(err, ERROR_INVALID, "'%.40s' is not a date and time", text);
    utc_s = (int64_t)timegm(&parts) - offset_s;
    if (utc_s < first_s || utc_s > last_s)
        return error_set(err, ERROR_INVALID, "'%.40s' is outside the years 1 to 9999", text);
    *utc_us_out = utc_s * US_PER_S + fraction_us;
    return 0;
}
