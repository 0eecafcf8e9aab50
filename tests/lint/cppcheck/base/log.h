/*
 * Stands in for lib/base/log.h when cppcheck reads: it does not know __VA_OPT__.
 */
#ifndef DEFT_BASE_LOG_H
#define DEFT_BASE_LOG_H

#define LOG_STR(field, value) field, value
#define LOG_INT(field, value) field, value
#define LOG_DOUBLE(field, value) field, value
#define LOG_ERROR(err) "error", (err)->message
#define log_debug(...) log_line(__VA_ARGS__)
#define log_info(...) log_line(__VA_ARGS__)
#define log_warning(...) log_line(__VA_ARGS__)
#define log_error(...) log_line(__VA_ARGS__)

#endif
