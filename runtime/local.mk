# runtime
bin_PROGRAMS += deft-runtime
RUNTIME_SOURCES = \
	runtime/api/admin.c runtime/api/admin.h \
	runtime/api/api.c \
	runtime/backend/backend.c runtime/backend/backend.h \
	runtime/backend/bridge.c runtime/backend/bridge.h \
	runtime/api/build_api.c runtime/api/build_api.h \
	runtime/build/build_context.c runtime/build/build_context.h \
	runtime/build/build_form.c runtime/build/build_form.h \
	runtime/images/builder.c runtime/images/builder.h \
	runtime/choice.c runtime/choice.h \
	runtime/docker/docker_settings.h \
	runtime/docker/docker.c runtime/docker/docker.h \
	runtime/docker/docker_body.c runtime/docker/docker_body.h \
	runtime/backend/sandbox_users.c runtime/backend/sandbox_users.h \
	runtime/docker/docker_build.c \
	runtime/docker/docker_disk.c \
	runtime/docker/docker_image.c \
	runtime/docker/docker_parts.c runtime/docker/docker_parts.h \
	runtime/docker/docker_pause.c \
	runtime/docker/docker_prepare.c \
	runtime/docker/docker_rest.c runtime/docker/docker_spares.c \
	runtime/docker/docker_start.c \
	runtime/docker/docker_sweep.c \
	runtime/docker/docker_watch.c \
	runtime/build/dockerfile.c runtime/build/dockerfile.h \
	runtime/lifecycle/doubt.c runtime/lifecycle/doubt.h \
	runtime/egress/dns.c runtime/egress/dns.h \
	runtime/egress/egress.c runtime/egress/egress.h runtime/egress/egress_parts.h runtime/egress/egress_resolver.c \
	runtime/egress/egress_book.c runtime/egress/egress_book.h runtime/egress/egress_book_rules.c \
	runtime/egress/egress_policy.c runtime/egress/egress_policy.h \
	runtime/docker/engine.c runtime/docker/engine.h \
	runtime/backend/failure.c runtime/backend/failure.h \
	runtime/docker/frames.c runtime/docker/frames.h \
	runtime/core/gate.c runtime/core/gate.h \
	runtime/api/front_route.h \
	runtime/api/http_front.c runtime/api/http_front.h \
	runtime/api/image_api.c runtime/api/image_api.h \
	runtime/images/image_name.c runtime/images/image_name.h \
	runtime/build/image_source.c runtime/build/image_source.h \
	runtime/egress/iptables.c runtime/egress/iptables.h \
	runtime/lifecycle/life.c runtime/lifecycle/life.h \
	runtime/lifecycle/life_begin.c runtime/lifecycle/life_begin.h \
	runtime/core/demand.c runtime/core/demand.h \
	runtime/core/handover.c runtime/core/handover.h \
	runtime/backend/layout.h \
	runtime/core/metrics.c runtime/core/metrics.h \
	runtime/egress/name_tally.c runtime/egress/name_tally.h \
	runtime/egress/nflog.c runtime/egress/nflog.h runtime/egress/nflog_parse.c \
	runtime/lifecycle/pool.c runtime/lifecycle/pool.h \
	runtime/bwrap/process_settings.h \
	runtime/bwrap/process.c \
	runtime/bwrap/process.h \
	runtime/bwrap/process_box.c \
	runtime/bwrap/process_command.c \
	runtime/bwrap/process_command.h \
	runtime/bwrap/process_end.c \
	runtime/bwrap/process_group.c \
	runtime/bwrap/process_group.h \
	runtime/bwrap/process_home.c \
	runtime/bwrap/process_parts.h \
	runtime/bwrap/process_prepare.c \
	runtime/bwrap/process_spawn.c \
	runtime/bwrap/process_spawn.h \
	runtime/bwrap/process_start.c \
	runtime/bwrap/process_tree.c \
	runtime/bwrap/process_tree.h \
	runtime/bwrap/process_watch.c \
	runtime/lifecycle/reconciler.c runtime/lifecycle/reconciler.h \
	runtime/lifecycle/reconcile.c runtime/lifecycle/reconcile.h \
	runtime/egress/refusals.c runtime/egress/refusals.h \
	runtime/api/refusals_api.c runtime/api/refusals_api.h \
	runtime/egress/resolver.c runtime/egress/resolver.h \
	runtime/lifecycle/rest.c runtime/lifecycle/rest.h \
	runtime/core/row.c runtime/core/row.h \
	runtime/egress/rules.c runtime/egress/rules.h \
	runtime/egress/rules_log.c runtime/egress/rules_log.h \
	runtime/backend/seccomp_filter.c runtime/backend/seccomp_filter.h \
	runtime/core/service.c runtime/core/service.h \
	runtime/backend/spares.c runtime/backend/spares.h \
	runtime/backend/spawn.c runtime/backend/spawn.h \
	runtime/core/spec.c runtime/core/spec.h \
	runtime/core/state.c runtime/core/state.h \
	runtime/backend/subnet.c runtime/backend/subnet.h \
	runtime/egress/tally.c runtime/egress/tally.h \
	runtime/docker/tar.c runtime/docker/tar.h \
	runtime/core/tenant.c runtime/core/tenant.h \
	runtime/api/view.c runtime/api/view.h \
	runtime/api/warm_api.c runtime/api/warm_api.h
deft_runtime_SOURCES = runtime/main.c $(RUNTIME_SOURCES)
deft_runtime_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir) $(JANSSON_CFLAGS) $(CRYPTO_CFLAGS) $(SECCOMP_CFLAGS)
deft_runtime_LDADD = $(CONFINE_LIBS) $(AUTH_LIBS) $(STORE_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS) $(BASE_LIBS) $(FCGI_LIBS) $(ZLIB_LIBS) $(SECCOMP_LIBS) -lpthread

# resolver: becomes dnsmasq, for sandboxes
bin_PROGRAMS += deft-resolver
deft_resolver_SOURCES = runtime/resolver_main.c runtime/egress/resolver.c runtime/egress/resolver.h \
	runtime/backend/bridge.c runtime/egress/egress_policy.c runtime/egress/rules.c runtime/backend/spawn.c
deft_resolver_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir) $(JANSSON_CFLAGS) $(CRYPTO_CFLAGS)
deft_resolver_LDADD = $(CONFINE_LIBS) $(BASE_LIBS)

dist_pkgdata_DATA = runtime/seccomp.json

check_PROGRAMS += runtime_test
runtime_test_SOURCES = \
	tests/unit/runtime/build/build_context_test.c \
	tests/unit/runtime/build/build_form_test.c \
	tests/unit/runtime/core/demand_test.c \
	tests/unit/runtime/egress/dns_test.c \
	tests/unit/runtime/docker/docker_body_test.c \
	tests/unit/runtime/build/dockerfile_test.c \
	tests/unit/runtime/egress/egress_book_test.c \
	tests/unit/runtime/egress/egress_policy_test.c \
	tests/unit/runtime/backend/failure_test.c \
	tests/unit/runtime/docker/frames_test.c \
	tests/unit/runtime/core/gate_test.c \
	tests/unit/runtime/egress/nflog_test.c \
	tests/unit/runtime/bwrap/process_group_test.c \
	tests/unit/runtime/bwrap/process_test.c \
	tests/unit/runtime/egress/resolver_test.c \
	tests/unit/runtime/egress/rules_log_test.c \
	tests/unit/runtime/egress/rules_test.c \
	tests/unit/runtime/runtime_test.c \
	tests/unit/runtime/runtime_test.h \
	tests/unit/runtime/backend/sandbox_users_test.c \
	tests/unit/runtime/backend/spares_test.c \
	tests/unit/runtime/core/spec_test.c \
	tests/unit/runtime/core/state_test.c \
	tests/unit/runtime/egress/tally_test.c \
	tests/unit/runtime/docker/tar_test.c \
	$(RUNTIME_SOURCES)
runtime_test_CPPFLAGS = $(deft_runtime_CPPFLAGS) -I$(top_srcdir)/tests -DDEFT_TOP_SRCDIR='"$(abs_top_srcdir)"' $(CMOCKA_CFLAGS)
runtime_test_LDADD = $(AUTH_LIBS) $(STORE_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS) $(BASE_LIBS) $(FCGI_LIBS) $(ZLIB_LIBS) $(SECCOMP_LIBS) $(CMOCKA_LIBS) -lpthread
