#!/bin/sh
# Holds when a majority of the nodes follow the same leader, and it leads.
exec "$(dirname "$0")/.bloodhound/bin/kv" leader http://n1:8080 http://n2:8080 http://n3:8080
