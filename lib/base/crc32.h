/*
 * CRC-32 as in zip, gzip and PNG (ISO 3309; polynomial 0xEDB88320).
 */
#ifndef DEFT_BASE_CRC32_H
#define DEFT_BASE_CRC32_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

uint32_t crc32_of(const void *bytes, size_t len) MUST_CHECK;

#endif
