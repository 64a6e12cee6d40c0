#!/bin/sh
# Builds redis-server, redis-cli and RedisRaft, with one of the seeded bugs if it is named, into ../.bloodhound/bin.
# REDIS and REDISRAFT name git repositories to take the sources from.
set -eu
bug=${1:-none}
redis=${REDIS:-https://github.com/redis/redis} redisraft=${REDISRAFT:-https://github.com/RedisLabs/redisraft}
redis_commit=7.2.6 redisraft_commit=ade4aa8e6aa5c3b21678a1998309825f06567d4f
here=$(cd "$(dirname "$0")" && pwd)
bin=$here/../.bloodhound/bin sources=$here/../.bloodhound/sources
mkdir -p "$bin" "$sources"

checkout() { # repository, commit, folder
	[ -d "$3" ] && return
	git clone --quiet --no-checkout "$1" "$3.new"
	git -C "$3.new" -c advice.detachedHead=false checkout --quiet "$2"
	mv "$3.new" "$3"
}

if ! [ -x "$bin/redis-server" ]; then
	checkout "$redis" $redis_commit "$sources/redis"
	make -s -C "$sources/redis" MALLOC=libc BUILD_TLS=no USE_SYSTEMD=no >/dev/null
	cp "$sources/redis/src/redis-server" "$sources/redis/src/redis-cli" "$bin"
fi
so=$bin/redisraft-$bug.so
[ -f "$so" ] && exit
checkout "$redisraft" $redisraft_commit "$sources/redisraft"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$sources/redisraft/src" "$sources/redisraft/deps" "$work"
cd "$work"
case $bug in
none) ;;
*) sed -i -f "$here/$bug.sed" deps/raft/src/raft_server.c src/*.c ;;
esac
echo '#define REDISRAFT_GIT_SHA1 "00000000"' >src/buildinfo.h
cc -w -O2 -g -fPIC -shared -std=gnu99 -D_POSIX_C_SOURCE=200112L -D_GNU_SOURCE -Wl,-Bsymbolic -Ideps -Ideps/common -Ideps/raft/include \
	src/*.c deps/raft/src/*.c deps/common/*.c deps/hiredis/alloc.c deps/hiredis/async.c deps/hiredis/hiredis.c deps/hiredis/net.c \
	deps/hiredis/read.c deps/hiredis/sds.c deps/hiredis/sockcompat.c -lpthread -lm -o "$so.new"
mv "$so.new" "$so"
