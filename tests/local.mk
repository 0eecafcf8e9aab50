# tests
include tests/unit/support/local.mk
include tests/bench/local.mk
include tests/unit/fcgi/local.mk
include tests/unit/client/local.mk
include tests/unit/llm/local.mk
include tests/unit/worker/local.mk
include tests/lint/local.mk
