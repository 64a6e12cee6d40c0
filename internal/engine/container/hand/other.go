//go:build !linux

package hand

import (
	"errors"
	"io"
	"os"
)

var errLinux = errors.New("containers run Linux")

func run([]string, io.Reader, io.Writer) error { return errLinux }

type network struct{}

func newNetwork() *network                         { return &network{} }
func (*network) lacks([]string) map[string]string  { return nil }
func (*network) lose(*Lose) error                  { return errLinux }
func (*network) regain(string) (int64, error)      { return 0, errLinux }
func (*network) shape(*Shape) error                { return errLinux }
func (*network) unshape(string) (int64, error)     { return 0, errLinux }
func (*network) names(string) (int64, error)       { return 0, errLinux }
func (*network) reset([]string) (int64, error)     { return 0, errLinux }
func (*network) counts() (map[string]int64, error) { return nil, errLinux }
func (*network) arrived() (int64, error)           { return 0, errLinux }

func reserve(*os.File) {}
