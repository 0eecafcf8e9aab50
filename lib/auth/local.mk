# lib/auth
