#!/bin/sh
# The program digest, whose dynamic symbols lie in an executable segment.
set -eu
mkdir -p .bloodhound/bin
rustc -O -C link-arg=-fuse-ld=bfd -C link-arg=-Wl,-z,noseparate-code -o .bloodhound/bin/digest digest.rs
