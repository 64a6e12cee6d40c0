echo error: no data folder >&2
exec sleep 1000
