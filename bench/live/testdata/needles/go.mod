module needles

go 1.26.0

require github.com/bloodhound-dst/bloodhound v0.0.0

replace github.com/bloodhound-dst/bloodhound => ../../../..
