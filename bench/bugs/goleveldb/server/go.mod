module github.com/bloodhound-dst/bloodhound/bench/bugs/goleveldb/server

go 1.26.8

require github.com/syndtr/goleveldb v1.0.0

require github.com/golang/snappy v0.0.0-20180518054509-2e65f85255db // indirect
