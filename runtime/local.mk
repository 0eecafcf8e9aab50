# runtime
bin_PROGRAMS += deft-runtime
noinst_LIBRARIES += libruntime.a
libruntime_a_SOURCES = \
	runtime/api/admin_auth.c runtime/api/admin_auth.h \
	runtime/api/api.c \
	runtime/api/build_api.c runtime/api/build_api.h \
	runtime/api/denials_api.c runtime/api/denials_api.h \
	runtime/api/front_body.c runtime/api/front_body.h \
	runtime/api/front_route.h \
	runtime/api/http_front.c runtime/api/http_front.h \
	runtime/api/image_api.c runtime/api/image_api.h \
	runtime/api/runtime_json.c runtime/api/runtime_json.h \
	runtime/api/warm_api.c runtime/api/warm_api.h \
	runtime/backend/backend.c runtime/backend/backend.h \
	runtime/backend/bridge.c runtime/backend/bridge.h \
	runtime/backend/command_run.c runtime/backend/command_run.h \
	runtime/backend/failure_reason.c runtime/backend/failure_reason.h \
	runtime/backend/mount_paths.h \
	runtime/backend/prealloc.c runtime/backend/prealloc.h \
	runtime/backend/sandbox_users.c runtime/backend/sandbox_users.h \
	runtime/backend/seccomp_filter.c runtime/backend/seccomp_filter.h \
	runtime/backend/subnet.c runtime/backend/subnet.h \
	runtime/backend_select.c runtime/backend_select.h \
	runtime/build/build_context.c runtime/build/build_context.h \
	runtime/build/build_form.c runtime/build/build_form.h \
	runtime/build/dockerfile.c runtime/build/dockerfile.h \
	runtime/build/dockerfile_text.c runtime/build/dockerfile_text.h \
	runtime/build/dockerfile_variables.c runtime/build/dockerfile_variables.h \
	runtime/build/image_source.c runtime/build/image_source.h \
	runtime/bwrap/box.c runtime/bwrap/box.h \
	runtime/bwrap/box_end.c runtime/bwrap/box_end.h \
	runtime/bwrap/box_start.c runtime/bwrap/box_start.h \
	runtime/bwrap/box_watch.c runtime/bwrap/box_watch.h \
	runtime/bwrap/bwrap_arguments.c runtime/bwrap/bwrap_arguments.h \
	runtime/bwrap/bwrap_backend.c runtime/bwrap/bwrap_backend.h \
	runtime/bwrap/bwrap_host.h \
	runtime/bwrap/bwrap_image.c runtime/bwrap/bwrap_image.h \
	runtime/bwrap/bwrap_settings.h \
	runtime/bwrap/cgroup.c runtime/bwrap/cgroup.h \
	runtime/bwrap/home_folder.c runtime/bwrap/home_folder.h \
	runtime/bwrap/host_prepare.c runtime/bwrap/host_prepare.h \
	runtime/bwrap/process_spawn.c runtime/bwrap/process_spawn.h \
	runtime/bwrap/process_tree.c runtime/bwrap/process_tree.h \
	runtime/core/id_set.c runtime/core/id_set.h \
	runtime/core/pool_sizing.c runtime/core/pool_sizing.h \
	runtime/core/runtime_lock.c runtime/core/runtime_lock.h \
	runtime/core/runtime_metrics.c runtime/core/runtime_metrics.h \
	runtime/core/runtime_record.c runtime/core/runtime_record.h \
	runtime/core/runtime_state.c runtime/core/runtime_state.h \
	runtime/core/sandbox_init.c runtime/core/sandbox_init.h \
	runtime/core/service.c runtime/core/service.h \
	runtime/core/start_queue.c runtime/core/start_queue.h \
	runtime/core/start_spec.c runtime/core/start_spec.h \
	runtime/core/tenant.c runtime/core/tenant.h \
	runtime/docker/cleanup.c runtime/docker/cleanup.h \
	runtime/docker/container.c runtime/docker/container.h \
	runtime/docker/container_config.c runtime/docker/container_config.h \
	runtime/docker/container_events.c runtime/docker/container_events.h \
	runtime/docker/container_idle.c runtime/docker/container_idle.h \
	runtime/docker/container_pause.c runtime/docker/container_pause.h \
	runtime/docker/container_start.c runtime/docker/container_start.h \
	runtime/docker/disk_limits.c runtime/docker/disk_limits.h \
	runtime/docker/docker.c runtime/docker/docker.h \
	runtime/docker/docker_backend.c runtime/docker/docker_backend.h \
	runtime/docker/docker_settings.h \
	runtime/docker/engine.c runtime/docker/engine.h \
	runtime/docker/home_volumes.c runtime/docker/home_volumes.h \
	runtime/docker/image_build.c runtime/docker/image_build.h \
	runtime/docker/image_lookup.c runtime/docker/image_lookup.h \
	runtime/docker/log_demux.c runtime/docker/log_demux.h \
	runtime/docker/network.c runtime/docker/network.h \
	runtime/docker/prealloc_refill.c runtime/docker/prealloc_refill.h \
	runtime/docker/shared_objects.c runtime/docker/shared_objects.h \
	runtime/docker/tar.c runtime/docker/tar.h \
	runtime/docker/volume.c runtime/docker/volume.h \
	runtime/egress/denial_counter.c runtime/egress/denial_counter.h \
	runtime/egress/dns_answer.c runtime/egress/dns_answer.h \
	runtime/egress/dns_denial_counter.c runtime/egress/dns_denial_counter.h \
	runtime/egress/dns_message.c runtime/egress/dns_message.h \
	runtime/egress/dns_server.c runtime/egress/dns_server.h \
	runtime/egress/dns_sockets.c runtime/egress/dns_sockets.h \
	runtime/egress/dns_tcp.c runtime/egress/dns_tcp.h \
	runtime/egress/dnsmasq_command.c runtime/egress/dnsmasq_command.h \
	runtime/egress/egress.c runtime/egress/egress.h \
	runtime/egress/egress_loader.c runtime/egress/egress_loader.h \
	runtime/egress/egress_denials.c runtime/egress/egress_denials.h \
	runtime/egress/egress_state.h \
	runtime/egress/egress_policy.c runtime/egress/egress_policy.h \
	runtime/egress/egress_table.c runtime/egress/egress_table.h \
	runtime/egress/egress_table_rules.c runtime/egress/egress_table_rules.h \
	runtime/egress/firewall.c runtime/egress/firewall.h \
	runtime/egress/firewall_log.c runtime/egress/firewall_log.h \
	runtime/egress/iptables.c runtime/egress/iptables.h \
	runtime/egress/nflog.c runtime/egress/nflog.h \
	runtime/egress/nflog_parse.c runtime/egress/nflog_parse.h \
	runtime/images/build_queue.c runtime/images/build_queue.h \
	runtime/images/image_name.c runtime/images/image_name.h \
	runtime/lifecycle/idle_reaper.c runtime/lifecycle/idle_reaper.h \
	runtime/lifecycle/lifecycle.c runtime/lifecycle/lifecycle.h \
	runtime/lifecycle/lifecycle_create.c runtime/lifecycle/lifecycle_create.h \
	runtime/lifecycle/liveness_check.c runtime/lifecycle/liveness_check.h \
	runtime/lifecycle/reconcile.c runtime/lifecycle/reconcile.h \
	runtime/lifecycle/reconcile_queue.c runtime/lifecycle/reconcile_queue.h \
	runtime/lifecycle/warm_pool.c runtime/lifecycle/warm_pool.h
libruntime_a_CPPFLAGS = $(deft_runtime_CPPFLAGS)
deft_runtime_SOURCES = runtime/main.c runtime/runtime_settings.c runtime/runtime_settings.h
deft_runtime_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir) $(JANSSON_CFLAGS) $(CRYPTO_CFLAGS) $(SECCOMP_CFLAGS) $(MNL_CFLAGS)
deft_runtime_LDADD = libruntime.a $(CONFINE_LIBS) libweb.a $(AUTH_LIBS) $(STORE_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS) $(BASE_LIBS) $(FCGI_LIBS) $(ZLIB_LIBS) $(SECCOMP_LIBS) $(MNL_LIBS) -lpthread

# resolver: becomes dnsmasq, for sandboxes
bin_PROGRAMS += deft-resolver
deft_resolver_SOURCES = runtime/resolver_main.c runtime/egress/dnsmasq_command.c runtime/egress/dnsmasq_command.h \
	runtime/backend/bridge.c runtime/egress/egress_policy.c runtime/egress/firewall.c runtime/backend/command_run.c
deft_resolver_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir) $(JANSSON_CFLAGS) $(CRYPTO_CFLAGS)
deft_resolver_LDADD = $(CONFINE_LIBS) $(BASE_LIBS)

dist_pkgdata_DATA = runtime/seccomp.json

check_PROGRAMS += runtime_test
runtime_test_SOURCES = \
	tests/unit/runtime/backend/command_run_test.c \
	tests/unit/runtime/backend/failure_reason_test.c \
	tests/unit/runtime/backend/prealloc_test.c \
	tests/unit/runtime/backend/sandbox_users_test.c \
	tests/unit/runtime/build/build_context_test.c \
	tests/unit/runtime/build/build_form_test.c \
	tests/unit/runtime/build/dockerfile_test.c \
	tests/unit/runtime/build/dockerfile_text_test.c \
	tests/unit/runtime/build/dockerfile_variables_test.c \
	tests/unit/runtime/build/image_source_test.c \
	tests/unit/runtime/core/pool_sizing_test.c \
	tests/unit/runtime/core/runtime_lock_test.c \
	tests/unit/runtime/core/runtime_metrics_test.c \
	tests/unit/runtime/core/runtime_record_test.c \
	tests/unit/runtime/core/runtime_state_test.c \
	tests/unit/runtime/core/service_test.c \
	tests/unit/runtime/core/start_queue_test.c \
	tests/unit/runtime/core/start_spec_test.c \
	tests/unit/runtime/core/tenant_test.c \
	tests/unit/runtime/docker/container_config_test.c \
	tests/unit/runtime/docker/log_demux_test.c \
	tests/unit/runtime/docker/tar_test.c \
	tests/unit/runtime/egress/denial_counter_test.c \
	tests/unit/runtime/egress/dns_answer_test.c \
	tests/unit/runtime/egress/dns_message_test.c \
	tests/unit/runtime/egress/dns_sockets_test.c \
	tests/unit/runtime/egress/dns_tcp_test.c \
	tests/unit/runtime/egress/dnsmasq_command_test.c \
	tests/unit/runtime/egress/egress_policy_test.c \
	tests/unit/runtime/egress/egress_settings_test.c \
	tests/unit/runtime/egress/egress_table_test.c \
	tests/unit/runtime/egress/firewall_log_test.c \
	tests/unit/runtime/egress/firewall_test.c \
	tests/unit/runtime/egress/iptables_test.c \
	tests/unit/runtime/egress/nflog_parse_test.c \
	tests/unit/runtime/egress/nflog_test.c \
	tests/unit/runtime/runtime_test.c tests/unit/runtime/runtime_test.h
runtime_test_CPPFLAGS = $(deft_runtime_CPPFLAGS) -I$(top_srcdir)/tests -DDEFT_TOP_SRCDIR='"$(abs_top_srcdir)"' $(CMOCKA_CFLAGS)
runtime_test_LDADD = libruntime.a libweb.a $(AUTH_LIBS) $(STORE_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS) $(BASE_LIBS) $(FCGI_LIBS) $(ZLIB_LIBS) $(SECCOMP_LIBS) $(MNL_LIBS) $(CMOCKA_LIBS) -lpthread

# Has a PostgreSQL of its own.
check_PROGRAMS += runtime_lifecycle_test
runtime_lifecycle_test_SOURCES = \
	tests/unit/runtime/api/admin_auth_test.c \
	tests/unit/runtime/api/api_fixture.c tests/unit/runtime/api/api_fixture.h \
	tests/unit/runtime/api/api_test.c \
	tests/unit/runtime/api/build_api_test.c \
	tests/unit/runtime/api/http_front_test.c \
	tests/unit/runtime/api/warm_api_test.c \
	tests/unit/runtime/egress/egress_service_test.c \
	tests/unit/runtime/images/build_queue_test.c \
	tests/unit/runtime/images/image_name_test.c \
	tests/unit/runtime/lifecycle/create_race_test.c \
	tests/unit/runtime/lifecycle/idle_reaper_test.c \
	tests/unit/runtime/lifecycle/lifecycle_test.c \
	tests/unit/runtime/lifecycle/reconcile_test.c \
	tests/unit/runtime/lifecycle/service_fixture.c tests/unit/runtime/lifecycle/service_fixture.h \
	tests/unit/runtime/lifecycle/start_test.c \
	tests/unit/runtime/lifecycle/warm_pool_test.c \
	tests/unit/client/test_server.c tests/unit/client/test_server.h
runtime_lifecycle_test_CPPFLAGS = $(runtime_test_CPPFLAGS) -I$(top_srcdir)/tests/unit
runtime_lifecycle_test_LDADD = libtestsupport.a $(runtime_test_LDADD)

# Plays bubblewrap.
check_PROGRAMS += runtime_bwrap_test
runtime_bwrap_test_SOURCES = \
	tests/unit/runtime/bwrap/box_start_test.c \
	tests/unit/runtime/bwrap/box_test.c \
	tests/unit/runtime/bwrap/box_watch_test.c \
	tests/unit/runtime/bwrap/bwrap_arguments_test.c \
	tests/unit/runtime/bwrap/bwrap_fixture.c tests/unit/runtime/bwrap/bwrap_fixture.h \
	tests/unit/runtime/bwrap/bwrap_functions_test.c \
	tests/unit/runtime/bwrap/bwrap_test.c \
	tests/unit/runtime/bwrap/cgroup_files_test.c \
	tests/unit/runtime/bwrap/cgroup_test.c \
	tests/unit/runtime/bwrap/home_folder_test.c \
	tests/unit/runtime/bwrap/host_prepare_test.c \
	tests/unit/runtime/bwrap/process_spawn_test.c \
	tests/unit/runtime/bwrap/process_tree_test.c \
	tests/unit/runtime/bwrap/seccomp_filter_test.c
runtime_bwrap_test_CPPFLAGS = $(runtime_test_CPPFLAGS)
runtime_bwrap_test_LDADD = libtestsupport.a libruntime.a $(BASE_LIBS) $(SECCOMP_LIBS) $(CMOCKA_LIBS) -lpthread

# Plays a container engine at its socket.
check_PROGRAMS += runtime_docker_test
runtime_docker_test_SOURCES = \
	tests/unit/runtime/docker/cleanup_test.c \
	tests/unit/runtime/docker/container_test.c \
	tests/unit/runtime/docker/docker_fixture.c tests/unit/runtime/docker/docker_fixture.h \
	tests/unit/runtime/docker/docker_test.c \
	tests/unit/runtime/docker/engine_test.c \
	tests/unit/runtime/docker/events_test.c \
	tests/unit/runtime/docker/fake_engine.c tests/unit/runtime/docker/fake_engine.h \
	tests/unit/runtime/docker/home_test.c \
	tests/unit/runtime/docker/image_build_test.c \
	tests/unit/runtime/docker/image_lookup_test.c \
	tests/unit/runtime/docker/network_test.c \
	tests/unit/runtime/docker/shared_objects_test.c \
	tests/unit/runtime/docker/start_test.c
runtime_docker_test_CPPFLAGS = $(runtime_lifecycle_test_CPPFLAGS)
runtime_docker_test_LDADD = $(runtime_lifecycle_test_LDADD)
