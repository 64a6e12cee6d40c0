package keys

import "github.com/bloodhound-dst/bloodhound/internal/config/schema"

// Federation is federation.yaml.
var Federation = shape{Kind: schema.Section, Open: true, Fields: []field{
	{Name: "name", Shape: aText, Says: "Name of this domain, by which its peers know it."},
	{Name: "asn", Shape: anASN, Says: "Number of its AS."},
	{Name: "key", Shape: aText, Says: "File of its private key, which `bloodhound live federate key` makes."},
	{Name: "listen", Shape: aText, Says: "Host and port at which it answers peers."},
	{Name: "log", Shape: aText, Says: "File of the signed log of all that it has answered.", Default: "verdicts.log"},
	{Name: "received", Shape: aText, Says: "File of what peers have signed for this domain.", Default: "received.log"},
	{Name: "router", Shape: of(
		field{Name: "bird", Shape: of(
			field{Name: "pid_file", Shape: aText, Says: "File with the number of BIRD's process (its option -P)."},
			field{Name: "control", Shape: aText, Says: "BIRD's control socket (its option -s)."},
		), Says: "A running BIRD 2."},
		field{Name: "service", Shape: of(
			field{Name: "socket", Shape: aText, Says: "Socket at which the program listens: its `BLOODHOUND_LIVE_SOCKET`."},
		), Says: "A running program in Go that offers a `live.Router`."},
	), Says: "The router of which copies are made."},
	{Name: "peers", Shape: namedWith(of(
		field{Name: "key", Shape: aText, Says: "Public key, which `bloodhound live federate key` prints on the peer's side."},
		field{Name: "address", Shape: aText, Says: "Host and port at which the peer answers."},
		field{Name: "session", Shape: aText, Says: "Address of the peer's end of the BGP session with this router.",
			Default: "none; the peer takes part in checks, and is no neighbour"},
		field{Name: "prefixes", Shape: texts,
			Says: "What the peer may try, and send in a check, such as `198.51.100.0/22 le 24`.", Default: "all prefixes up to /24"},
		field{Name: "queries", Shape: wholeFrom(0),
			Says: "Maximum number of answers about messages, hops and origins, for as long as the log is kept.", Default: "10000"},
		field{Name: "queries_per_minute", Shape: wholeFrom(0), Says: "Maximum number of queries a minute.", Default: "600"},
	)), Says: "Other domains, by the names that they give to themselves."},
}}

var anASN = shape{Kind: schema.Whole, Min: 1, Max: 1<<32 - 1}
