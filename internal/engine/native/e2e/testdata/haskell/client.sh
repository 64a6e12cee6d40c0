#!/bin/sh
# Clients ask for pages of the journal and digest them.
set -u
say() { echo "$1" >>"$BLOODHOUND_REPORT"; }
client() {
	n=0
	while [ $n -lt 10 ]; do
		n=$((n + 1))
		say '{"client":"'$1'","type":"invoke","op":"get","key":"balance"}'
		if curl -s --max-time 10 http://web:5000/accounttransactions/assets:cash >page-$1; then
			say '{"client":"'$1'","type":"ok","output":"'$(grep -o '"floatingPoint":97' page-$1 | head -1 | tr -dc 0-9)'"}'
		else
			say '{"client":"'$1'","type":"info"}'
		fi
	done
}
# What the journal says was there before.
say '{"client":"a","type":"invoke","op":"put","key":"balance","input":"97"}'
say '{"client":"a","type":"ok"}'
client a &
client b &
wait
tr , '\n' <page-a >lines
lines=$(wc -l <lines)
# That the other program works counts as an operation.
say '{"client":"digest","type":"invoke","op":"put","key":"digest","input":"1"}'
if .bloodhound/bin/digest <lines | grep "^$((lines + 1)) lines, .* digests, 0 constants wrong$"; then
	say '{"client":"digest","type":"ok"}'
fi
