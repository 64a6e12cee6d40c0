module github.com/bloodhound-dst/bloodhound/examples/redis

go 1.26.0
