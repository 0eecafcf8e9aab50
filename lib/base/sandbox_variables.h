/*
 * Variables that the runtime sets in a sandbox, for its programs and for what deft-action tells an
 * agent of the place that it works in.
 */
#ifndef DEFT_BASE_SANDBOX_VARIABLES_H
#define DEFT_BASE_SANDBOX_VARIABLES_H

/* The name of its image. */
#define SANDBOX_IMAGE_VARIABLE "DEFT_SANDBOX_IMAGE"
/* Where it may connect: `internet` (no private networks), `none`, or `list` and destinations. */
#define SANDBOX_EGRESS_VARIABLE "DEFT_SANDBOX_EGRESS"

#endif
