#!/bin/sh
set -eu
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
chown -R postgres /database
chmod 700 /database
exec start-stop-daemon --start --quiet --chuid postgres --exec "$bin/postgres" -- -D /database \
	-c listen_addresses='*' -c unix_socket_directories=/tmp -c shared_buffers=8MB -c log_min_messages=warning
