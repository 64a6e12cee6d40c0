package federation

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
)

// birdRoute is a route as `show route` of BIRD 2 prints it.
type birdRoute struct {
	prefix   netip.Prefix
	protocol string
	bgp      bool
	origin   uint32   // of a path that ends with an AS
	path     bgp.Path // `show route all` alone has it
}

var (
	// A prefix, which further routes to it leave out; how packets go; and the protocol with the time since when.
	birdHead = regexp.MustCompile(`^(\S*)\s+\S[^\[]*\[(\S+) [^\]]*\]`)
	// The last AS of the path, if there is one, and ORIGIN.
	birdOrigin = regexp.MustCompile(`\[(?:AS([0-9]+))?[ie?]\]$`)
	birdReply  = regexp.MustCompile(`^([0-9]{4})[- ]`)
)

// readBIRD reads the reply to `show route` up to its end, and calls yield for each route, until that does not want more.
func readBIRD(r io.Reader, yield func(birdRoute) bool) error {
	var route birdRoute
	have := false
	code := ""
	in := bufio.NewScanner(r)
	for in.Scan() {
		text := in.Text()
		if m := birdReply.FindStringSubmatch(text); m != nil {
			code, text = m[1], text[len(m[0]):]
		} else {
			text = strings.TrimPrefix(text, " ") // goes on with the code of the line before
		}
		head := birdHead.FindStringSubmatch(text)
		switch {
		case code == "0000" || code == "8001": // the end, or no such network
			if have {
				yield(route)
			}
			return nil
		case strings.HasPrefix(code, "8") || strings.HasPrefix(code, "9"):
			return fmt.Errorf("BIRD answers: %s", text)
		case code == "1007" && head != nil:
			if have && !yield(route) {
				return nil
			}
			next := birdRoute{prefix: route.prefix, protocol: head[2]}
			if head[1] != "" {
				p, err := netip.ParsePrefix(head[1])
				if err != nil {
					return fmt.Errorf("BIRD's reply has %q where a prefix should be", head[1])
				}
				next.prefix = p
			}
			if m := birdOrigin.FindStringSubmatch(text); m != nil {
				next.bgp = true
				asn, _ := strconv.ParseUint("0"+m[1], 10, 32)
				next.origin = uint32(asn)
			}
			route, have = next, true
		case strings.HasPrefix(strings.TrimSpace(text), "BGP.as_path:"):
			var err error
			if route.path, err = birdPath(text); err != nil {
				return err
			}
		}
	}
	if err := in.Err(); err != nil {
		return err
	}
	return fmt.Errorf("BIRD's reply: %w", io.ErrUnexpectedEOF)
}

// birdPath reads a path: ASes, and sets of them in braces.
func birdPath(text string) (path bgp.Path, err error) {
	_, text, _ = strings.Cut(text, ":")
	text = strings.NewReplacer("{", " { ", "}", " } ").Replace(text)
	set := false
	for word := range strings.FieldsSeq(text) {
		switch word {
		case "{":
			set = true
			path = append(path, bgp.Segment{Set: true})
		case "}":
			set = false
		default:
			asn, err := strconv.ParseUint(word, 10, 32)
			if err != nil {
				return nil, fmt.Errorf("BIRD's reply has a path of %q", text)
			}
			if last := len(path) - 1; !set && (last < 0 || path[last].Set) {
				path = append(path, bgp.Segment{})
			}
			s := &path[len(path)-1]
			s.ASNs = append(s.ASNs, uint32(asn))
		}
	}
	return path, nil
}

// birdSessions are the names of the protocols that have sessions with neighbours, in the reply to `show protocols all`.
func birdSessions(text string, neighbours map[string]netip.Addr) map[string]string {
	list := map[string]string{}
	protocol := ""
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "1002-"); ok {
			protocol = strings.Fields(name + " ?")[0]
		}
		if address, ok := strings.CutPrefix(strings.TrimSpace(line), "Neighbor address:"); ok {
			for name, a := range neighbours {
				if a.String() == strings.TrimSpace(address) {
					list[protocol] = name
				}
			}
		}
	}
	return list
}
