#!/bin/sh
set -eu
mkdir -p /srv/web/kv /tmp/nginx
chown www-data /srv/web/kv /tmp/nginx
exec nginx -p "$PWD/" -c nginx.conf -g "daemon off;"
