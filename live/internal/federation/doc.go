// Package federation checks routers of several domains together, while no domain shows another its table or its policy.
// A domain answers for copies of its own router: a message is delivered to a copy, and the answer is a Verdict of a few
// bits and an opaque handle for each neighbour to which the copy would send something. The messages that the copy would
// send go from domain to domain, to the copy of the neighbour's router. It follows the federated part of Canini et al.,
// "Toward Online Testing of Federated and Heterogeneous Distributed Systems" (USENIX ATC 2011).
//
// Router is the interface between a domain and its router, of whatever make. Domain answers peers: it keeps the copies
// of sessions, budgets and the signed Log of its verdicts. Client calls a domain. Check starts at one domain and
// follows messages through all of them. Origins are compared by an oblivious protocol (RFC 9497), by which neither side
// sees the other's prefixes.
//
// Domains connect by TLS 1.3. Both sides show a certificate of an ed25519 key that the other's configuration names; no
// authority signs it.
package federation
