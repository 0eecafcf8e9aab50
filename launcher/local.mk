# launcher: starts nginx and PostgreSQL with no more rights than they need
bin_PROGRAMS += deft-launch
deft_launch_SOURCES = launcher/main.c
deft_launch_LDADD = $(CONFINE_LIBS) $(BASE_LIBS)
