// Package dumps compares how live reads MRT files of real routers with two other readers: bgpdump and GoBGP.
package dumps

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/cursor"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/mrt"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	gobgp "github.com/osrg/gobgp/v4/pkg/packet/mrt"
)

// samples holds files written by BIRD, OpenBGPD and Quagga: the source of Debian's package mrtparse, which .ci/run unpacks.
const samples = "/usr/src/mrtparse-1.6/samples"

var files = []string{"openbgpd_bgp", "openbgpd_rib_table", "openbgpd_rib_table-v2", "quagga_bgp", "quagga_rib"}

// Two samples of BIRD have ADD-PATH (RFC 8050), which live refuses record by record. It reads the records around them.
func TestReadsOnAfterAddPath(t *testing.T) {
	needSamples(t)
	for name, want := range map[string]int{"bird-mrtdump_bgp": 12, "bird_bgp": 12} {
		path := filepath.Join(samples, name)
		if records, lines := readAll(t, path); records < want {
			t.Errorf("%s: %d records and %d lines were read", name, records, len(lines))
		}
	}
}

// Every line of IPv4 that bgpdump prints of a real file, live prints as well, and no other.
func TestAgreesWithBgpdump(t *testing.T) {
	program := needs.Program(t, "bgpdump")
	needSamples(t)
	for _, name := range files {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(samples, name)
			cmd := exec.Command(program, "-m", path)
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for line := range strings.Lines(string(out)) {
				if line = strings.TrimSpace(line); ipv4Route(line) {
					want = append(want, line)
				}
			}
			got := linesOf(t, path)
			if name == "openbgpd_rib_table" { // bgpdump takes the AGGREGATOR's eight bytes for six
				dropAggregators(got)
				dropAggregators(want)
			}
			if len(want) == 0 || strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("%d lines, and bgpdump prints %d:\n%s", len(got), len(want), firstDifference(got, want))
			}
		})
	}
}

// GoBGP's parser counts as many routes of IPv4 by prefix in each real file as live reads.
func TestAgreesWithGoBGP(t *testing.T) {
	needSamples(t)
	for _, name := range files {
		if name == "openbgpd_rib_table" {
			continue // TABLE_DUMP, which GoBGP does not read
		}
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(samples, name)
			got := map[string]int{}
			for _, line := range linesOf(t, path) {
				fields := strings.Split(line, "|")
				got[fields[2]+" "+fields[5]]++
			}
			if want := routesByGoBGP(t, path); len(want) == 0 || !maps.Equal(got, want) {
				t.Errorf("routes %v, and GoBGP reads %v", got, want)
			}
		})
	}
}

// routesByGoBGP counts events of routes, such as "A 10.0.0.0/8".
func routesByGoBGP(t *testing.T, path string) map[string]int {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	scanner.Split(gobgp.SplitMrt)
	routes := map[string]int{}
	for scanner.Scan() {
		record := scanner.Bytes()
		header, err := gobgp.ParseHeader(record[:gobgp.MRT_COMMON_HEADER_LEN])
		if err != nil {
			t.Fatal(err)
		}
		message, err := gobgp.ParseBody(record[gobgp.MRT_COMMON_HEADER_LEN:], header)
		if err != nil {
			t.Logf("GoBGP: %v", err)
			continue
		}
		switch body := message.Body.(type) {
		case *gobgp.Rib:
			if prefix, ok := body.Prefix.(*bgp.IPAddrPrefix); ok && prefix.Prefix.Addr().Is4() {
				routes["B "+prefix.Prefix.String()] += len(body.Entries)
			}
		case *gobgp.BGP4MPMessage:
			update, ok := body.BGPMessage.Body.(*bgp.BGPUpdate)
			if !ok {
				continue
			}
			for _, route := range update.WithdrawnRoutes {
				routes["W "+route.NLRI.String()]++
			}
			for _, route := range update.NLRI {
				routes["A "+route.NLRI.String()]++
			}
		}
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	return routes
}

func needSamples(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(samples); err != nil {
		needs.Missing(t, "the source of mrtparse", "there is no "+samples+"; .ci/run has the commands that put it there")
	}
}

func dropAggregators(lines []string) {
	for i, line := range lines {
		fields := strings.Split(line, "|")
		lines[i] = strings.Join(fields[:13], "|")
	}
}

func linesOf(t *testing.T, path string) []string {
	t.Helper()
	_, lines := readAll(t, path)
	return lines
}

// readAll reads a file and goes on after a record with a mistake.
func readAll(t *testing.T, path string) (records int, lines []string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r := mrt.NewReader(bufio.NewReader(file))
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return records, lines
		}
		if mistake := new(cursor.Error); errors.As(err, &mistake) {
			t.Logf("%s: %v", filepath.Base(path), err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		records++
		for line := range mrt.Lines(rec, r.Index()) {
			lines = append(lines, line.String())
		}
	}
}

// ipv4Route reports whether a line of bgpdump has a route of IPv4, and not a state of a session.
func ipv4Route(line string) bool {
	fields := strings.Split(line, "|")
	if len(fields) < 6 {
		return false
	}
	prefix, err := netip.ParsePrefix(fields[5])
	return err == nil && prefix.Addr().Is4()
}

func firstDifference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		var a, b string
		if i < len(got) {
			a = got[i]
		}
		if i < len(want) {
			b = want[i]
		}
		if a != b {
			return fmt.Sprintf("line %d:\n got  %s\n want %s", i+1, a, b)
		}
	}
	return ""
}
