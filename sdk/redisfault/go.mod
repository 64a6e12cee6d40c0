module github.com/bloodhound-dst/bloodhound/sdk/redisfault

go 1.26.0

require (
	github.com/bloodhound-dst/bloodhound v0.1.0
	github.com/redis/go-redis/v9 v9.23.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/klauspost/compress v1.19.2 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/bloodhound-dst/bloodhound => ../..
