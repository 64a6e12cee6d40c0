module github.com/bloodhound-dst/bloodhound/examples/inprocess/bank

go 1.26.0

require github.com/bloodhound-dst/bloodhound v0.1.0

require (
	github.com/anishathalye/porcupine v1.3.1 // indirect
	github.com/expr-lang/expr v1.17.8 // indirect
	github.com/ianlancetaylor/demangle v0.0.0-20260724033716-83e58baca724 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
