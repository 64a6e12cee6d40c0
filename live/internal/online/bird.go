package online

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/prefixset"
	"github.com/bloodhound-dst/bloodhound/live/internal/config"
	"github.com/bloodhound-dst/bloodhound/live/internal/router/probe"
	"github.com/bloodhound-dst/bloodhound/live/internal/search"
)

// Probed counts the work of exploring a session of a BIRD, besides its findings.
type Probed struct {
	Routes        int // prefixes of BIRD's table
	Announcements int // combinations of path and communities that prefixes were tried with
	More          int // ranges that are not among the findings
}

// rangesMax is how many ranges of prefixes are findings of one checkpoint.
const rangesMax = 100

// findings are the ranges of prefixes that a neighbour can take over, each with the announcement that does it.
func findings(s probe.Session, list []*bgp.Attributes, leaks []prefixset.Set, all prefixset.Set) (found []search.Finding, more int) {
	for i, r := range all.Ranges() {
		if i >= rangesMax {
			more++
			continue
		}
		first := firstOf(r)
		a := list[0]
		for j := range list {
			if leaks[j].Contains(first) {
				a = list[j]
				break
			}
		}
		f := search.Finding{What: fmt.Sprintf("%s (AS%d) can take over %v", s.Name, s.AS, r), Path: i + 1, Paths: 1, Inputs: []search.Value{
			value("prefix", 32, number(r.Prefix.Addr())), value("length", 8, uint64(r.Prefix.Bits())),
			value("ge", 8, uint64(r.Min)), value("le", 8, uint64(r.Max)),
		}}
		origin, _ := a.Path.Origin()
		f.Inputs = append(f.Inputs, value("origin", 32, uint64(origin)))
		for _, c := range a.Communities {
			f.Inputs = append(f.Inputs, value("community", 32, uint64(c)))
		}
		found = append(found, f)
	}
	return found, more
}

func value(name string, bits uint8, v uint64) search.Value {
	return search.Value{Name: name, Width: bits, Value: v}
}

func number(a netip.Addr) (n uint64) {
	for _, b := range a.As4() {
		n = n<<8 | uint64(b)
	}
	return n
}

// firstOf is the first and shortest prefix of a range.
func firstOf(r prefixset.Range) netip.Prefix { return netip.PrefixFrom(r.Prefix.Addr(), r.Min) }

// rangeOf is the range that a finding is about.
func rangeOf(f *search.Finding) (r prefixset.Range, ok bool) {
	v := map[string]uint64{}
	for _, in := range f.Inputs {
		v[in.Name] = in.Value
	}
	n, length := v["prefix"], int(v["length"])
	r.Prefix = netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}), length)
	r.Min, r.Max = int(v["ge"]), int(v["le"])
	return r, len(v) >= 5 && r.Prefix.IsValid() && r.Prefix == r.Prefix.Masked() && length <= r.Min && r.Min <= r.Max && r.Max < prefixset.Lengths
}

// birdConfig reads a configuration with the files that it includes in their places.
func birdConfig(name string, text []byte) (string, error) { return expand(name, text, 0) }

var include = regexp.MustCompile(`(?m)^([^#\n]*?)\binclude\s+"([^"\n]+)"\s*;`)

func expand(name string, text []byte, depth int) (string, error) {
	const deepest = 8 // as in BIRD
	if depth > deepest {
		return "", fmt.Errorf("%s: files are included at a deeper level than BIRD allows", name)
	}
	var failed error
	out := include.ReplaceAllStringFunc(string(text), func(all string) string {
		m := include.FindStringSubmatch(all)
		if strings.Contains(m[1], "/*") {
			return all
		}
		file := m[2]
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(name), file)
		}
		files, err := filepath.Glob(file)
		if err == nil && len(files) == 0 && !strings.ContainsAny(file, "*?[") {
			err = fmt.Errorf("%s includes %s, which does not exist", name, file)
		}
		parts := []string{m[1]}
		for _, f := range files {
			inner, read := os.ReadFile(f)
			if err == nil {
				err = read
			}
			if err == nil {
				var part string
				part, err = expand(f, inner, depth+1)
				parts = append(parts, part)
			}
		}
		if failed == nil {
			failed = err
		}
		return strings.Join(parts, "\n")
	})
	return out, failed
}

// birdFile is the configuration that a BIRD was started with.
func birdFile(n *config.BIRD, pid int) (string, error) {
	if n.Config != "" {
		return n.Config, nil
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return "", err
	}
	args := strings.Split(string(line), "\x00")
	for i, a := range args {
		file, ok := strings.CutPrefix(a, "-c")
		if !ok {
			continue
		}
		if file == "" && i+1 < len(args) {
			file = args[i+1]
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(fmt.Sprintf("/proc/%d/cwd", pid), file)
		}
		return file, nil
	}
	return "/etc/bird/bird.conf", nil
}
