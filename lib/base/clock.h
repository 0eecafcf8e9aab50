/*
 * Two clocks: monotonic for durations, UTC for timestamps. Tests can set both.
 *
 * Formats: an event's timestamp is naive with six digits (2026-01-15T10:30:00.123456); created_at
 * and similar fields end in Z. deft runs in UTC, so both denote the same time.
 */
#ifndef DEFT_BASE_CLOCK_H
#define DEFT_BASE_CLOCK_H

#include <stdint.h>

#include "base/attr.h"

struct error;

/* "2026-01-15T10:30:00.123456Z" and a NUL. */
#define CLOCK_TEXT_BYTES 28

/* Monotonic milliseconds; only differences are meaningful. */
int64_t clock_monotonic_ms(void) MUST_CHECK;
int64_t clock_monotonic_us(void) MUST_CHECK;
/* Microseconds since 1970-01-01T00:00:00Z. */
int64_t clock_utc_us(void) MUST_CHECK;

/* Writes the naive form, 26 characters. */
void clock_format_naive(int64_t utc_us, char text[CLOCK_TEXT_BYTES]) NONNULL;
/* Writes the form with Z, 27 characters. */
void clock_format_z(int64_t utc_us, char text[CLOCK_TEXT_BYTES]) NONNULL;
/*
 * Reads ISO 8601: date, T or space, time, optional fraction, optional zone (Z, +hh:mm); without a
 * zone it is UTC, and a date alone is its midnight. ERROR_INVALID otherwise, and outside the years
 * 1 to 9999. RFC 3339, section 5.6.
 */
int clock_parse(const char *text, int64_t *utc_us_out, struct error *err) NONNULL MUST_CHECK;

#endif
