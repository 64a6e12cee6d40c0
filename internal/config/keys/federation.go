package keys

import "github.com/bloodhound-dst/bloodhound/internal/config/schema"

// Federation is federation.yaml.
var Federation = shape{Kind: schema.Section, Open: true, Fields: []field{
	{Name: "name", Shape: aText, Says: "Name by which peers know this domain."},
	{Name: "asn", Shape: anASN, Says: "Number of its AS."},
	{Name: "key", Shape: aText, Says: "File of its private key, made by `bloodhound live federate key`."},
	{Name: "listen", Shape: aText, Says: "Host and port for peers."},
	{Name: "log", Shape: aText, Says: "File of the signed log of all answers.", Default: "verdicts.log"},
	{Name: "received", Shape: aText, Says: "File of signed messages from peers.", Default: "received.log"},
	{Name: "router", Shape: sectionOf(
		field{Name: "bird", Shape: sectionOf(
			field{Name: "pid_file", Shape: aText, Says: "File with BIRD's process number (option -P)."},
			field{Name: "control", Shape: aText, Says: "BIRD's control socket (option -s)."},
		), Says: "A running BIRD 2."},
		field{Name: "service", Shape: sectionOf(
			field{Name: "socket", Shape: aText, Says: "The program's `BLOODHOUND_LIVE_SOCKET`."},
		), Says: "A running Go program that offers a `live.Router`."},
	), Says: "The router to copy."},
	{Name: "peers", Shape: namedWith(sectionOf(
		field{Name: "key", Shape: aText, Says: "Public key, printed by `bloodhound live federate key` on the peer's side."},
		field{Name: "address", Shape: aText, Says: "Host and port of the peer."},
		field{Name: "session", Shape: aText, Says: "Address of the peer's end of the BGP session with this router.",
			Default: "none; the peer takes part in checks without being a neighbour"},
		field{Name: "prefixes", Shape: texts,
			Says: "Prefixes that the peer may try and send in a check, such as `198.51.100.0/22 le 24`.", Default: "all prefixes up to /24"},
		field{Name: "queries", Shape: wholeFrom(0),
			Says: "Maximum number of answers about messages, hops and origins, for as long as the log is kept.", Default: "10000"},
		field{Name: "queries_per_minute", Shape: wholeFrom(0), Says: "Maximum number of queries a minute.", Default: "600"},
	)), Says: "Other domains, by their own names."},
}}

var anASN = shape{Kind: schema.Whole, Min: 1, Max: 1<<32 - 1}
