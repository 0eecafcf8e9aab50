# relay: between a process and the logger of its output
bin_PROGRAMS += deft-relay
deft_relay_SOURCES = relay/main.c
deft_relay_LDADD = libbase.a
