# lib/client
