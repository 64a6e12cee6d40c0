module github.com/bloodhound-dst/bloodhound/examples/quickstart

go 1.26.0
