//go:build !embed_driver

package driverfile

// embedded is empty where the go command alone builds bloodhound, which cannot build one program for another.
var embedded []byte
