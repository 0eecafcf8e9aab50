/*
 * What a pattern is made into: steps of a small machine. Distances are relative, so that a part can
 * be moved and repeated. Only pattern_make.c and pattern.c include this.
 */
#ifndef DEFT_BASE_PATTERN_OP_H
#define DEFT_BASE_PATTERN_OP_H

#include <stddef.h>
#include <stdint.h>

enum pattern_op_kind {
    OP_SET,      /* a byte of the set */
    OP_SPLIT,    /* go on at `first`; where that fails, at `second` */
    OP_JUMP,     /* go on at `first` */
    OP_BEGIN,    /* the text's beginning */
    OP_END,      /* its end, or before a newline at its end */
    OP_VERY_END, /* its end */
    OP_EDGE,     /* a word begins or ends here */
    OP_NO_EDGE,
    OP_AHEAD,     /* up to OP_AHEAD_END matches from here on; go on at `first` */
    OP_NOT_AHEAD, /* it does not */
    OP_AHEAD_END,
    OP_MATCH,
};

struct pattern_op {
    enum pattern_op_kind kind;
    int first;
    int second;
    uint64_t set[4];
};

struct pattern {
    struct pattern_op *ops;
    size_t n;
    size_t size;
};

#endif
