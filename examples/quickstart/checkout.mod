// The store needs no module. Its tests need Bloodhound, from the checkout: go test -modfile=checkout.mod ./kv
module github.com/bloodhound-dst/bloodhound/examples/quickstart

go 1.26.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/bloodhound-dst/bloodhound v0.1.0
)

require (
	github.com/expr-lang/expr v1.17.8 // indirect
	github.com/klauspost/compress v1.19.2 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/bloodhound-dst/bloodhound => ../..
