module github.com/bloodhound-dst/bloodhound/bench/bugs/server

go 1.26.8

require github.com/akrylysov/pogreb v0.10.2
