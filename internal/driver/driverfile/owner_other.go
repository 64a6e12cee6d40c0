//go:build !unix

package driverfile

func onlyOurs(string) error { return nil }
