package contract

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
)

// Names is a server of DNS (RFC 1035) that serves these records, over UDP and TCP:
//
//	one.contract.test    A      10.0.0.1
//	two.contract.test    A      10.0.0.2, 10.0.0.3
//	alias.contract.test  CNAME  one.contract.test
//	text.contract.test   TXT    "v=1; all"
//	contract.test        MX     10 one.contract.test
//	_x._tcp.contract.test SRV   5 7 8080 two.contract.test
//	1.0.0.10.in-addr.arpa PTR   one.contract.test
//
// Nothing else below contract.test exists.
type Names struct{ Address string } // host:port

// Resolutions returns the clauses of a DNS server.
func Resolutions() []Clause[Names] {
	ctx := context.Background()
	over := func(network string, n Names) *net.Resolver {
		return &net.Resolver{PreferGo: true, StrictErrors: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, n.Address)
		}}
	}
	hosts := func(n Names, network, name string, want ...string) error {
		got, err := over(network, n).LookupNetIP(ctx, "ip4", name)
		var texts []string
		for _, a := range got {
			texts = append(texts, a.String())
		}
		slices.Sort(texts)
		return equal(name, texts, err, want...)
	}
	return []Clause[Names]{
		{"a name has its address", func(n Names) error { return hosts(n, "udp", "one.contract.test.", "10.0.0.1") }},
		{"TCP answers as UDP does", func(n Names) error { return hosts(n, "tcp", "one.contract.test.", "10.0.0.1") }},
		{"a name has all of its addresses", func(n Names) error { return hosts(n, "udp", "two.contract.test.", "10.0.0.2", "10.0.0.3") }},
		{"names are compared without case", func(n Names) error { return hosts(n, "udp", "OnE.Contract.TEST.", "10.0.0.1") }},
		{"an alias leads to the address", func(n Names) error { return hosts(n, "udp", "alias.contract.test.", "10.0.0.1") }},
		{"an alias has its name", func(n Names) error {
			name, err := over("udp", n).LookupCNAME(ctx, "alias.contract.test.")
			return equal("the canonical name of alias", []string{name}, err, "one.contract.test.")
		}},
		{"text", func(n Names) error {
			got, err := over("udp", n).LookupTXT(ctx, "text.contract.test.")
			return equal("text", got, err, "v=1; all")
		}},
		{"a domain has its mail server", func(n Names) error {
			got, err := over("udp", n).LookupMX(ctx, "contract.test.")
			var texts []string
			for _, mx := range got {
				texts = append(texts, fmt.Sprintf("%d %s", mx.Pref, mx.Host))
			}
			return equal("the mail servers", texts, err, "10 one.contract.test.")
		}},
		{"a service has its place", func(n Names) error {
			_, got, err := over("udp", n).LookupSRV(ctx, "x", "tcp", "contract.test.")
			var texts []string
			for _, s := range got {
				texts = append(texts, fmt.Sprintf("%d %d %d %s", s.Priority, s.Weight, s.Port, s.Target))
			}
			return equal("the services", texts, err, "5 7 8080 two.contract.test.")
		}},
		{"an address has its name", func(n Names) error {
			got, err := over("udp", n).LookupAddr(ctx, "10.0.0.1")
			return equal("the names of 10.0.0.1", got, err, "one.contract.test.")
		}},
		{"a name that does not exist is not found", func(n Names) error { return notFound(over("udp", n).LookupNetIP(ctx, "ip4", "none.contract.test.")) }},
		{"a name without such a record has none", func(n Names) error { return notFound(over("udp", n).LookupTXT(ctx, "one.contract.test.")) }},
	}
}

func equal(what string, got []string, err error, want ...string) error {
	if err != nil {
		return err
	}
	for i := range got {
		got[i] = strings.TrimSpace(got[i])
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s: %q, not %q", what, got, want)
	}
	return nil
}

// notFound checks that the answer is that there is nothing, and no failure of the server.
func notFound[T any](got []T, err error) error {
	var e *net.DNSError
	if err == nil || !errors.As(err, &e) || !e.IsNotFound {
		return fmt.Errorf("the answer is %v, %v, and not that there is nothing", got, err)
	}
	return nil
}
