#!/bin/sh
# Measures what exploring costs GoBGP: ./cost.sh own|shared|replay [FLAGS of this program]
# own, shared: GoBGP is on CPU 0 and handles as many updates as it can, which come from CPU 1. Explorers are on CPU 1, or on CPU 0 as GoBGP is.
# replay: two GoBGPs receive the same updates at their times, for 15 minutes; the second one is explored.
# CGROUP, if it is set, is a control group that explorers join: it gives them a share of a CPU that is never idle.
cd "$(dirname "$0")" || exit 2
what=$1
case $what in own) cpus='cpu_list: [1], ' ;; shared) cpus='cpu_list: [0], ' ;; replay) cpus= ;; *) sed -n '2,5s/^# //p' "$0" >&2; exit 2 ;; esac
shift
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
./build.sh "$dir/gobgp" || exit
cat > "$dir/live.yaml" <<END
budget: {${cpus}memory_bytes: 2000000000${CGROUP:+, cgroup: $CGROUP}}
nodes:
  gobgp: {socket: $dir/socket}
END
# A session of its own: the kernel may share CPUs among sessions, whatever priorities they have.
live="setsid ${BLOODHOUND_LIVE:-bloodhound-live} --config $dir/live.yaml"
export BLOODHOUND_LIVE_SOCKET="$dir/socket"
if [ "$what" = replay ]; then
	env -u BLOODHOUND_LIVE_SOCKET "$dir/gobgp" -replay 15m "$@" & without=$!
	"$dir/gobgp" -replay 15m "$@" > "$dir/with" & with=$!
	until [ -s "$dir/with" ]; do kill -0 $with || exit; sleep 1; done # it has its table
	$live > "$dir/log" & live=$!
	wait $without
	wait $with
	kill $live
	wait $live
	echo "explored:"
	cat "$dir/with" "$dir/log"
else
	taskset -c 1 "$dir/gobgp" -cpu 0 -phase 60s -compare "$live --once" "$@"
fi
