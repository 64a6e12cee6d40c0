module github.com/bloodhound-dst/bloodhound/examples/handlers/dns

go 1.26.0

require github.com/bloodhound-dst/bloodhound/live v0.1.0

require (
	github.com/bloodhound-dst/bloodhound v0.1.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace (
	github.com/bloodhound-dst/bloodhound => ../../..
	github.com/bloodhound-dst/bloodhound/live => ../../../live
)
