// Package net is the virtual network of a world: TCP, UDP, unix and netlink sockets of all nodes, the links
// between them, names, and what faults do to all that.
//
// It is pure. State is plain data: it holds no goroutine, channel, function, wall clock, real socket or real id;
// objects refer to each other by number, and encoding/gob may copy a State between any two calls, after which the
// copy continues exactly like the original. Effects (the time, draws from the tape, wake-ups, the ledger of faults)
// go through an Env that is passed into each call and never stored.
//
// # How a kernel uses it
//
// Every call answers at once. A call that would block answers EAGAIN (connect: EINPROGRESS); the kernel then parks
// the thread and tries again after Env.Wake named the socket. NextDue reports when the network next does something
// by itself; Advance does everything that is due at Env.Now. World time is the kernel's alone.
//
// # TCP
//
// TCP is a small but real state machine (RFC 9293): handshake, cumulative acknowledgements, receive window,
// retransmission with exponential back-off, zero-window probes, keepalive, half-close, TIME_WAIT, RST. So what a
// partition, a dead machine, a restarted machine or a lost acknowledgement do to a connection follows from the
// protocol and is not listed case by case. Simplifications, all of them invisible to a reader of the byte stream:
//
//   - A segment carries up to maxSegment bytes (as with segmentation and receive offload); there is no congestion
//     window, no Nagle delay and no delayed acknowledgement.
//   - Segments of one direction of a connection stay in order on a link. A lost segment is repeated after the
//     retransmission timeout (200 ms + round trip, doubling to 120 s), and what follows it waits.
//   - Pure acknowledgements have the base latency and are lost to partitions only.
//   - Buffers: the send queue holds SO_SNDBUF bytes of payload, the receive window is half of SO_RCVBUF. Both
//     start at Linux' values (tcp_wmem 4096 16384 4194304, tcp_rmem 4096 131072 6291456) and, unless the program
//     set them, double when a whole buffer has gone through. On loopback a connection starts with 2626560 bytes of
//     send buffer, on a link with 87040.
//
// Traffic within one node (127/8, ::1, own addresses) has no latency and suffers no fault: like on Linux it has
// arrived when the call returns. Traffic to another node arrives through the event heap.
//
// # Chance
//
// Draws come from streams named after the local identity of what they decide: "net/n1>n2:8080/3/c2s/drop" is the
// third connection from n1 to port 8080 of n2 (counted from 0), client to server. Datagrams draw from
// "net/n1>n2:53/udp/drop", or "net/n2:53>n1/udp/drop" where only the source port is a known one. A stream is drawn
// from once for each packet while its rate (or jitter) is above 0.
//
// # Observation of faults
//
// When a fault withholds something, the sockets concerned get a mark: when it was due, which fault, which
// readiness. Overdue reports to the kernel, when it gives a thread that waited a result, which faults that thread has
// seen. It goes no further than the two ends of a connection: that a third program waits because one of them does
// counts as no observation, and of a datagram that was lost only the receiver has a mark. Duplicated and reordered
// datagrams report themselves through Env.Observed when they are read.
//
// # Limits
//
// All queues are bounded: see Config and the constants of limits.go. The first limit that was reached is named in
// State.Exceeded.
package net
