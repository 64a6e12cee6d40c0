#!/bin/sh
set -eu
mkdir -p .bloodhound/bin
[ -e .bloodhound/bin/object.so ] || gcc -shared -fPIC -o .bloodhound/bin/object.so object.c
