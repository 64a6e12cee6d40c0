#!/bin/sh
# Each operation is a process that publishes one message.
told() { printf '%s\n' "$1" >>"$BLOODHOUND_REPORT"; }
for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29; do
	told '{"client":"c","type":"invoke","op":"publish"}'
	LD_PRELOAD=$PWD/.bloodhound/bin/object.so mosquitto_pub -h broker -t topic -m "message $i" -q 1 || exit 1
	told '{"client":"c","type":"ok"}'
done
