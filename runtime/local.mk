# runtime
bin_PROGRAMS += deft-runtime
RUNTIME_SOURCES = \
	runtime/admin.c runtime/admin.h \
	runtime/api.c \
	runtime/backend.c runtime/backend.h \
	runtime/bridge.c runtime/bridge.h \
	runtime/build_api.c runtime/build_api.h \
	runtime/build_context.c runtime/build_context.h \
	runtime/build_form.c runtime/build_form.h \
	runtime/builder.c runtime/builder.h \
	runtime/choice.c runtime/choice.h \
	runtime/docker.c runtime/docker.h \
	runtime/docker_body.c runtime/docker_body.h \
	runtime/sandbox_users.c runtime/sandbox_users.h \
	runtime/docker_build.c \
	runtime/docker_disk.c \
	runtime/docker_image.c \
	runtime/docker_parts.c runtime/docker_parts.h \
	runtime/docker_pause.c \
	runtime/docker_prepare.c \
	runtime/docker_rest.c runtime/docker_spares.c \
	runtime/docker_start.c \
	runtime/docker_sweep.c \
	runtime/docker_watch.c \
	runtime/dockerfile.c runtime/dockerfile.h \
	runtime/doubt.c runtime/doubt.h \
	runtime/dns.c runtime/dns.h \
	runtime/egress.c runtime/egress.h runtime/egress_parts.h runtime/egress_resolver.c \
	runtime/egress_book.c runtime/egress_book.h runtime/egress_book_rules.c \
	runtime/egress_policy.c runtime/egress_policy.h \
	runtime/engine.c runtime/engine.h \
	runtime/failure.c runtime/failure.h \
	runtime/frames.c runtime/frames.h \
	runtime/gate.c runtime/gate.h \
	runtime/http_front.c runtime/http_front.h \
	runtime/image_api.c runtime/image_api.h \
	runtime/image_name.c runtime/image_name.h \
	runtime/image_source.c runtime/image_source.h \
	runtime/iptables.c runtime/iptables.h \
	runtime/life.c runtime/life.h \
	runtime/life_begin.c runtime/life_begin.h \
	runtime/demand.c runtime/demand.h \
	runtime/handover.c runtime/handover.h \
	runtime/layout.h \
	runtime/metrics.c runtime/metrics.h \
	runtime/name_tally.c runtime/name_tally.h \
	runtime/nflog.c runtime/nflog.h runtime/nflog_parse.c \
	runtime/pool.c runtime/pool.h \
	runtime/process.c \
	runtime/process.h \
	runtime/process_box.c \
	runtime/process_command.c \
	runtime/process_command.h \
	runtime/process_end.c \
	runtime/process_group.c \
	runtime/process_group.h \
	runtime/process_home.c \
	runtime/process_parts.h \
	runtime/process_prepare.c \
	runtime/process_spawn.c \
	runtime/process_spawn.h \
	runtime/process_start.c \
	runtime/process_tree.c \
	runtime/process_tree.h \
	runtime/process_watch.c \
	runtime/reconcile.c runtime/reconcile.h \
	runtime/refusals.c runtime/refusals.h \
	runtime/refusals_api.c runtime/refusals_api.h \
	runtime/resolver.c runtime/resolver.h \
	runtime/rest.c runtime/rest.h \
	runtime/row.c runtime/row.h \
	runtime/rules.c runtime/rules.h \
	runtime/rules_log.c runtime/rules_log.h \
	runtime/seccomp_filter.c runtime/seccomp_filter.h \
	runtime/service.c runtime/service.h \
	runtime/spares.c runtime/spares.h \
	runtime/spawn.c runtime/spawn.h \
	runtime/spec.c runtime/spec.h \
	runtime/state.c runtime/state.h \
	runtime/subnet.c runtime/subnet.h \
	runtime/tally.c runtime/tally.h \
	runtime/tar.c runtime/tar.h \
	runtime/tenant.c runtime/tenant.h \
	runtime/view.c runtime/view.h \
	runtime/warm_api.c runtime/warm_api.h
deft_runtime_SOURCES = runtime/main.c $(RUNTIME_SOURCES)
deft_runtime_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir) $(JANSSON_CFLAGS) $(CRYPTO_CFLAGS) $(SECCOMP_CFLAGS)
deft_runtime_LDADD = $(CONFINE_LIBS) $(AUTH_LIBS) $(STORE_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS) $(BASE_LIBS) $(FCGI_LIBS) $(ZLIB_LIBS) $(SECCOMP_LIBS) -lpthread

# resolver: becomes dnsmasq, for sandboxes
bin_PROGRAMS += deft-resolver
deft_resolver_SOURCES = runtime/resolver_main.c runtime/resolver.c runtime/resolver.h \
	runtime/bridge.c runtime/egress_policy.c runtime/rules.c runtime/spawn.c
deft_resolver_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir) $(JANSSON_CFLAGS) $(CRYPTO_CFLAGS)
deft_resolver_LDADD = $(CONFINE_LIBS) $(BASE_LIBS)

dist_pkgdata_DATA = runtime/seccomp.json

check_PROGRAMS += runtime_test
runtime_test_SOURCES = \
	tests/unit/runtime/build_context_test.c \
	tests/unit/runtime/build_form_test.c \
	tests/unit/runtime/demand_test.c \
	tests/unit/runtime/dns_test.c \
	tests/unit/runtime/docker_body_test.c \
	tests/unit/runtime/dockerfile_test.c \
	tests/unit/runtime/egress_book_test.c \
	tests/unit/runtime/egress_policy_test.c \
	tests/unit/runtime/failure_test.c \
	tests/unit/runtime/frames_test.c \
	tests/unit/runtime/gate_test.c \
	tests/unit/runtime/nflog_test.c \
	tests/unit/runtime/process_group_test.c \
	tests/unit/runtime/process_test.c \
	tests/unit/runtime/resolver_test.c \
	tests/unit/runtime/rules_log_test.c \
	tests/unit/runtime/rules_test.c \
	tests/unit/runtime/runtime_test.c \
	tests/unit/runtime/runtime_test.h \
	tests/unit/runtime/sandbox_users_test.c \
	tests/unit/runtime/spares_test.c \
	tests/unit/runtime/spec_test.c \
	tests/unit/runtime/state_test.c \
	tests/unit/runtime/tally_test.c \
	tests/unit/runtime/tar_test.c \
	$(RUNTIME_SOURCES)
runtime_test_CPPFLAGS = $(deft_runtime_CPPFLAGS) -I$(top_srcdir)/tests -DDEFT_TOP_SRCDIR='"$(abs_top_srcdir)"' $(CMOCKA_CFLAGS)
runtime_test_LDADD = $(AUTH_LIBS) $(STORE_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS) $(BASE_LIBS) $(FCGI_LIBS) $(ZLIB_LIBS) $(SECCOMP_LIBS) $(CMOCKA_LIBS) -lpthread
