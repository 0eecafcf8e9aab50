/*
 * Allocation that cannot fail: out of memory ends the process here, so no caller has an untested
 * NULL path. jansson allocates through the same functions (json_setup()).
 */
#ifndef DEFT_BASE_MEM_H
#define DEFT_BASE_MEM_H

#include <stddef.h>

#include "base/attr.h"

/* size bytes, zeroed; never NULL, also for 0. The caller frees with mem_free(). */
void *mem_alloc(size_t size) MUST_CHECK __attribute__((malloc, returns_nonnull));
/* count objects of size bytes, zeroed; ends the process when the product overflows. */
void *mem_alloc_array(size_t count, size_t size) MUST_CHECK __attribute__((returns_nonnull));
/* Grows or shrinks; new bytes are not zeroed. memory may be NULL. */
void *mem_resize(void *memory, size_t size) MUST_CHECK __attribute__((returns_nonnull));
/* A copy of text. The caller frees with mem_free(). */
char *mem_dup_text(const char *text) NONNULL MUST_CHECK __attribute__((returns_nonnull));
/* A copy of len bytes, followed by a NUL. */
char *mem_dup_bytes(const void *bytes, size_t len) MUST_CHECK __attribute__((returns_nonnull));
/* Frees; NULL is fine. */
void mem_free(void *memory);
/* For CLEANUP(mem_freep) on a char pointer. */
void mem_freep(char **text) NONNULL;

/* Moves a pointer out of a CLEANUP variable. */
#define TAKE_PTR(pointer)                                                                          \
    __extension__({                                                                                \
        __typeof__(pointer) taken_ = (pointer);                                                    \
        (pointer) = NULL;                                                                          \
        taken_;                                                                                    \
    })

#define NEW(type) ((type *)mem_alloc(sizeof(type)))

#endif
