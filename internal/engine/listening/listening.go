// Package listening finds the ports on which programs of a Linux network namespace listen.
package listening

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// listens is the state TCP_LISTEN in the tables of the kernel (proc_pid_net(5)).
const listens = "0A"

// Ports gives the TCP ports, in order, on which programs listen that other machines can reach. folder is
// /proc/PID/net of a process of the namespace. A kernel without IPv6 has no table of it.
func Ports(folder string) ([]int, error) {
	var ports []int
	for _, table := range []string{"tcp", "tcp6"} {
		file, err := os.Open(filepath.Join(folder, table))
		if table == "tcp6" && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(file)
		for lines.Scan() {
			port, ok, err := listener(lines.Text())
			if err != nil {
				file.Close()
				return nil, fmt.Errorf("%s: %w", file.Name(), err)
			}
			if ok && !slices.Contains(ports, port) {
				ports = append(ports, port)
			}
		}
		err = errors.Join(lines.Err(), file.Close())
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(ports)
	return ports, nil
}

// listener reads a line of a table: its second word is the local address and port, in hexadecimal digits, and the
// fourth the state.
func listener(line string) (port int, ok bool, err error) {
	words := strings.Fields(line)
	if len(words) < 4 || words[3] != listens {
		return 0, false, nil
	}
	address, number, _ := strings.Cut(words[1], ":")
	raw, err := hex.DecodeString(address)
	if err != nil {
		return 0, false, err
	}
	for i := 0; i+4 <= len(raw); i += 4 { // groups of four bytes, in the byte order of the machine, which is little-endian
		slices.Reverse(raw[i : i+4])
	}
	ip, valid := netip.AddrFromSlice(raw)
	p, err := strconv.ParseUint(number, 16, 16)
	if err != nil || !valid {
		return 0, false, fmt.Errorf("no address and port: %q", words[1])
	}
	return int(p), !ip.Unmap().IsLoopback(), nil
}
