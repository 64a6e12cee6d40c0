#!/bin/sh
# Records the files that a bloodhound writes: record.sh BLOODHOUND NAME, from the root of the repository.
set -eu
bloodhound=$(realpath "$1")
root=$PWD
here=$root/internal/cli/testdata/versions
to=$here/$2
[ ! -e "$to" ] || { echo "$to is there already, and recorded files are not changed" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
project=$work/coin
mkdir -p "$project/root" "$to/project/root" "$to/configs"
cp "$here/coin/bloodhound.yaml" "$project/"
cp "$here/coin/coin" "$project/root/"

cd "$project"
"$bloodhound" explore . --keep-going >"$work/log" 2>&1 || [ $? -eq 1 ]
cp -r bloodhound.yaml root "$to/project/"
cp -r .bloodhound/failures "$to/project/"
mkdir "$to/state"
cp -r .bloodhound/failures .bloodhound/evidence .bloodhound/corpus "$to/state/"

"$bloodhound" worker . --for 3s --slice 1s --store "$work/store" >"$work/log" 2>&1 || [ $? -eq 1 ]
mkdir "$to/store"
for part in bloodhound-store log blob; do
	[ ! -e "$work/store/$part" ] || cp -r "$work/store/$part" "$to/store/"
done
"$bloodhound" db export --store "$work/store" -o "$work/export.jsonl"
sha256sum <"$work/export.jsonl" | cut -d' ' -f1 >"$to/export.sha256"
grep -v '^{"blob":.\{16384\}' "$work/export.jsonl" >"$to/export.jsonl"

cat >"$to/tape.txt" <<'TAPE'
tape 1
seed 3
default fault/** 4..
set fault/crash/n2 2 = 1
default n2/** 5..9
reseed node/n1/** 7.. seed 99
reseed ** 0.. seed 7 ready
reseed ** 0.. seed 8 after 1500000000ns
TAPE
"$bloodhound" run --tape "$to/tape.txt" . >"$work/log" 2>&1 || [ $? -eq 1 ]

for name in cache-cluster checkout dedup-backup etcd quickstart redis; do
	mkdir "$to/configs/$name"
	for file in bloodhound.yaml compose.yaml; do
		[ ! -e "$root/examples/$name/$file" ] || cp "$root/examples/$name/$file" "$to/configs/$name/"
	done
	cp -r "$to/configs/$name" "$work/$name"
	(cd "$work/$name" && "$bloodhound" config . --json) | sed "s,$work/$name,DIR,g" | tr -s ' \n' ' ' >"$to/configs/$name/resolved.json"
done
