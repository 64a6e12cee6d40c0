#!/bin/sh
# A cluster of databases made from nothing, and its server.
set -eu
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
data=/tmp/data
"$bin/initdb" -D "$data" -A trust -U postgres --no-sync
echo "host all all all trust" >> "$data/pg_hba.conf"
exec "$bin/postgres" -D "$data" -c listen_addresses='*' -c unix_socket_directories=/tmp -c log_min_messages=warning
