# tests
include tests/unit/support/local.mk
