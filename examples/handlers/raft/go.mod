module github.com/bloodhound-dst/bloodhound/examples/handlers/raft

go 1.26.0

require (
	github.com/bloodhound-dst/bloodhound/live v0.1.0
	go.etcd.io/raft/v3 v3.6.0
)

require (
	github.com/bloodhound-dst/bloodhound v0.1.0 // indirect
	github.com/gogo/protobuf v1.3.2 // indirect
	github.com/golang/protobuf v1.5.4 // indirect
	golang.org/x/sys v0.49.0 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
)

replace (
	github.com/bloodhound-dst/bloodhound => ../../..
	github.com/bloodhound-dst/bloodhound/live => ../../../live
)
