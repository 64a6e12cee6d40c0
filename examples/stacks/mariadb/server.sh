#!/bin/sh
# server.sh makes the databases at the first start, then runs the server.
set -eu
if [ ! -e /data/made ]; then
	rm -rf /data/*
	mariadb-install-db --no-defaults --auth-root-authentication-method=normal --datadir=/data --user=root
	echo "CREATE USER IF NOT EXISTS 'root'@'%'; GRANT ALL ON *.* TO 'root'@'%'; CREATE DATABASE IF NOT EXISTS test;" | tr ';' '\n' | sed '/^ *$/d; s/$/;/' >/data/grants.sql
	: >/data/made
fi
exec /usr/sbin/mariadbd --no-defaults --user=root --datadir=/data --socket=/tmp/mariadb.sock --skip-name-resolve --init-file=/data/grants.sql
