/*
 * Packets that the kernel shows: what is told has one of our reasons, however the bytes lie.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "runtime/egress/denial_counter.h"
#include "runtime/egress/nflog_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void hear(void *context, const struct denied_packet *packet)
{
    struct denial_counter *counter = context;

    assert(packet->reason < DENIED_N_REASONS);
    assert(denial_reason_to_string(packet->reason)[0] != '\0');
    denial_counter_note(counter, packet, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    CLEANUP(denial_counter_done) struct denial_counter counter = DENIAL_COUNTER_INIT;

    nflog_parse(bytes, len, hear, &counter);
    return 0;
}
