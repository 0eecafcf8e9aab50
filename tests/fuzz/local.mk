# tests/fuzz: one target per parser of outside bytes. `make check` plays each corpus and variants of
# it. libFuzzer looks further, in a build tree of its own:
#   ../configure CC=clang --enable-fuzz --with-sanitizer=fuzzer-no-link,address,undefined
#   make fuzz-model_tool_call && ./fuzz-model_tool_call -max_total_time=60 corpus/
EXTRA_DIST += tests/fuzz/corpus tests/fuzz/json_setup.h
MODEL_FUZZ_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) -I$(top_srcdir)/tests

check_PROGRAMS += replay-model_front_matter replay-model_masker replay-model_preview_answer replay-model_settings replay-model_plugin_source replay-model_start_request replay-model_text_template replay-model_tool_call

replay_model_front_matter_SOURCES = tests/fuzz/model_front_matter.c tests/fuzz/replay.c
replay_model_front_matter_CPPFLAGS = $(MODEL_FUZZ_CPPFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/model_front_matter"'
replay_model_front_matter_LDADD = $(MODEL_LIBS)

replay_model_masker_SOURCES = tests/fuzz/model_masker.c tests/fuzz/replay.c
replay_model_masker_CPPFLAGS = $(MODEL_FUZZ_CPPFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/model_masker"'
replay_model_masker_LDADD = $(MODEL_LIBS)

replay_model_preview_answer_SOURCES = tests/fuzz/model_preview_answer.c tests/fuzz/replay.c
replay_model_preview_answer_CPPFLAGS = $(MODEL_FUZZ_CPPFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/model_preview_answer"'
replay_model_preview_answer_LDADD = $(MODEL_LIBS)

replay_model_settings_SOURCES = tests/fuzz/model_settings.c tests/fuzz/replay.c
replay_model_settings_CPPFLAGS = $(MODEL_FUZZ_CPPFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/model_settings"'
replay_model_settings_LDADD = $(MODEL_LIBS)

replay_model_plugin_source_SOURCES = tests/fuzz/model_plugin_source.c tests/fuzz/replay.c
replay_model_plugin_source_CPPFLAGS = $(MODEL_FUZZ_CPPFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/model_plugin_source"'
replay_model_plugin_source_LDADD = $(MODEL_LIBS)
replay_model_start_request_SOURCES = tests/fuzz/model_start_request.c tests/fuzz/replay.c
replay_model_start_request_CPPFLAGS = $(MODEL_FUZZ_CPPFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/model_start_request"'
replay_model_start_request_LDADD = libtestcatalogue.a $(MODEL_LIBS)

replay_model_text_template_SOURCES = tests/fuzz/model_text_template.c tests/fuzz/replay.c
replay_model_text_template_CPPFLAGS = $(MODEL_FUZZ_CPPFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/model_text_template"'
replay_model_text_template_LDADD = $(MODEL_LIBS)

replay_model_tool_call_SOURCES = tests/fuzz/model_tool_call.c tests/fuzz/replay.c
replay_model_tool_call_CPPFLAGS = $(MODEL_FUZZ_CPPFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/model_tool_call"'
replay_model_tool_call_LDADD = libtestcatalogue.a $(MODEL_LIBS)

if FUZZ
EXTRA_PROGRAMS += fuzz-model_front_matter fuzz-model_masker fuzz-model_preview_answer fuzz-model_settings fuzz-model_plugin_source fuzz-model_start_request fuzz-model_text_template fuzz-model_tool_call

fuzz_model_front_matter_SOURCES = tests/fuzz/model_front_matter.c
fuzz_model_front_matter_CPPFLAGS = $(MODEL_FUZZ_CPPFLAGS)
fuzz_model_front_matter_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_model_front_matter_LDADD = $(MODEL_LIBS)

fuzz_model_masker_SOURCES = tests/fuzz/model_masker.c
fuzz_model_masker_CPPFLAGS = $(MODEL_FUZZ_CPPFLAGS)
fuzz_model_masker_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_model_masker_LDADD = $(MODEL_LIBS)

fuzz_model_preview_answer_SOURCES = tests/fuzz/model_preview_answer.c
fuzz_model_preview_answer_CPPFLAGS = $(MODEL_FUZZ_CPPFLAGS)
fuzz_model_preview_answer_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_model_preview_answer_LDADD = $(MODEL_LIBS)

fuzz_model_settings_SOURCES = tests/fuzz/model_settings.c
fuzz_model_settings_CPPFLAGS = $(MODEL_FUZZ_CPPFLAGS)
fuzz_model_settings_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_model_settings_LDADD = $(MODEL_LIBS)

fuzz_model_plugin_source_SOURCES = tests/fuzz/model_plugin_source.c
fuzz_model_plugin_source_CPPFLAGS = $(MODEL_FUZZ_CPPFLAGS)
fuzz_model_plugin_source_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_model_plugin_source_LDADD = $(MODEL_LIBS)
fuzz_model_start_request_SOURCES = tests/fuzz/model_start_request.c
fuzz_model_start_request_CPPFLAGS = $(MODEL_FUZZ_CPPFLAGS)
fuzz_model_start_request_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_model_start_request_LDADD = libtestcatalogue.a $(MODEL_LIBS)

fuzz_model_text_template_SOURCES = tests/fuzz/model_text_template.c
fuzz_model_text_template_CPPFLAGS = $(MODEL_FUZZ_CPPFLAGS)
fuzz_model_text_template_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_model_text_template_LDADD = $(MODEL_LIBS)

fuzz_model_tool_call_SOURCES = tests/fuzz/model_tool_call.c
fuzz_model_tool_call_CPPFLAGS = $(MODEL_FUZZ_CPPFLAGS)
fuzz_model_tool_call_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_model_tool_call_LDADD = libtestcatalogue.a $(MODEL_LIBS)
endif
