# relay: between a process and the logger of what it prints
bin_PROGRAMS += deft-relay
deft_relay_SOURCES = relay/main.c
deft_relay_LDADD = libbase.a
