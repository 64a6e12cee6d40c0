//go:build !unix

package program

func onlyOurs(string) error { return nil }
