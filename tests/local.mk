# tests
include tests/unit/support/local.mk
include tests/bench/local.mk
