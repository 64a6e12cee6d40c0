package config

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFederation(t *testing.T) {
	load := func(text string) (*Federation, error) {
		path := filepath.Join(t.TempDir(), "federation.yaml")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		f, _, err := LoadFederation(path)
		return f, err
	}
	const key = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	const head = "name: b\nasn: 4200000000\nkey: b.pem\nlisten: 127.0.0.1:7443\nrouter: {bird: {pid_file: pid, control: /run/ctl}}\n"
	f, err := load(head + "log: l\npeers:\n  a: {key: " + key +
		", address: 'a.example:1', session: 192.0.2.1, prefixes: [10.0.0.0/8 le 24, 192.0.2.0/24], queries: 5, queries_per_minute: 2}\n  c: {key: " +
		key + ", address: 'c:1'}\n")
	if err != nil {
		t.Fatal(err)
	}
	a, c := f.Peers[0], f.Peers[1]
	if f.Name != "b" || f.ASN != 4200000000 || !filepath.IsAbs(f.Key) || f.Listen != "127.0.0.1:7443" ||
		filepath.Base(f.Log) != "l" || !filepath.IsAbs(f.PIDFile) || f.Control != "/run/ctl" {
		t.Errorf("%+v", f)
	}
	if a.Name != "a" || len(a.Key) != 32 || a.Address != "a.example:1" || a.Session != netip.MustParseAddr("192.0.2.1") ||
		len(a.Prefixes) != 2 || a.Queries != 5 || a.QueriesPerMinute != 2 {
		t.Errorf("%+v", a)
	}
	if c.Session.IsValid() || c.Queries != 10_000 || c.QueriesPerMinute != 600 || len(c.Prefixes) != 1 || c.Prefixes[0].Max != 24 {
		t.Errorf("%+v", c)
	}
	peer := func(text string) string { return head + "peers: {a: {" + text + "}}\n" }
	good := "key: " + key + ", address: 'a:1'"
	for text, problem := range map[string]string{
		"":      "there is no name",
		head:    "there is no peer",
		"- a\n": "a configuration cannot be a list",
		strings.Replace(peer(good), "asn: 4200000000\n", "", 1):                                            "there is no asn",
		strings.Replace(peer(good), "key: b.pem\n", "", 1):                                                 "there is no key",
		strings.Replace(peer(good), "127.0.0.1:7443", "127.0.0.1", 1):                                      "missing port",
		strings.Replace(peer(good), "asn: 42", "asn: 0", 1):                                                "asn",
		strings.Replace(peer(good), "bird:", "quagga:", 1):                                                 "unknown",
		strings.Replace(peer(good), "pid_file: pid, ", "", 1):                                              "there is no pid_file",
		strings.Replace(peer(good), "router: {bird: {pid_file: pid, control: /run/ctl}}", "router: {}", 1): "kind",
		peer("address: 'a:1'"):                           "there is no key",
		peer("key: x, address: 'a:1'"):                   "not a public key",
		peer("key: " + key):                              "there is no address",
		peer(good + ", session: x"):                      "unable to parse IP",
		peer(good + ", prefixes: [10.0.0.1/8]"):          "bits beyond its length",
		peer(good + ", querys: 1"):                       `did you mean "queries"?`,
		strings.Replace(peer(good), "{a: {", "{b: {", 1): "differs from this domain's",
	} {
		if f, err := load(text); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%q gives %+v, %v instead of %q", text, f, err, problem)
		}
	}
}
