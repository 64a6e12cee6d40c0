#!/bin/sh
# Each operation ends with what came back; one that comes back otherwise than it should ends the client.
set -u
key=/tmp/key
cp .bloodhound/bin/user $key
chmod 600 $key
options="-F none -i $key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes -o LogLevel=ERROR"
head -c 100000 /dev/urandom >/tmp/sent

told() { printf '%s\n' "$1" >>"$BLOODHOUND_REPORT"; }
try() { # try NAME WANTED COMMAND...
	name=$1 wanted=$2
	shift 2
	told "{\"client\":\"c\",\"type\":\"invoke\",\"op\":\"$name\"}"
	got=$("$@")
	if [ "$got" != "$wanted" ]; then
		echo "$name: got '$got', want '$wanted'"
		exit 1
	fi
	told '{"client":"c","type":"ok"}'
}
copied() { "$@" && cmp /tmp/sent /tmp/back && rm /tmp/back; }
in_jail() {
	printf 'cd files\nput /tmp/sent there\nget there /tmp/back\npwd\n' | sftp $options -b - bob@server | tail -n 1
	cmp /tmp/sent /tmp/back
}

try user "1200 /home/alice" ssh $options alice@server 'echo $(id -u) $PWD'
try root "0 server" ssh $options root@server 'echo $(id -u) $(hostname)'
try pipe "$(cksum </tmp/sent)" sh -c "ssh $options alice@server 'tee copy | cksum' </tmp/sent"
try put "" scp -q $options /tmp/sent alice@server:scp
try get "" copied scp -q $options alice@server:scp /tmp/back
try old "" copied scp -q -O $options alice@server:scp /tmp/back
try jail "Remote working directory: /files" in_jail
