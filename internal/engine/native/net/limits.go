package net

// Limits and fixed figures. Linux' own name is given where there is one.
const (
	maxSocketsDefault  = 1 << 17 // sockets of all nodes, closed ones that still speak included
	maxBytesDefault    = 1 << 30 // payload in all queues
	maxMarks           = 64      // withheld things remembered for one socket
	maxHeld            = 1 << 20 // packets that wait for the end of a clog on one link
	maxRightsInFlight  = 253     // SCM_MAX_FD
	maxGroups          = 64      // multicast memberships of one socket (igmp_max_memberships is 20)
	issStep            = 1 << 36 // bytes that one direction of a connection may carry
	maxUDPPayloadBytes = 65507   // 65535 - 20 - 8

	somaxconn          = 4096
	maxDgramQueue      = 10 // net.unix.max_dgram_qlen
	ephemeralFirst     = 32768
	ephemeralLast      = 60999
	udpPortSkip        = 10000 // UDP begins further up: programs on Linux do not meet equal ports of both protocols
	maxSegmentLoopback = 65483 // loopback MTU less headers
	maxSegmentLink     = 14480 // 10 segments of 1448 bytes: the initial window as one offloaded segment

	second = int64(1e9)
	milli  = int64(1e6)

	rtoMinNs          = 200 * milli
	rtoMaxNs          = 120 * second
	rtoSynNs          = second
	synRetries        = 6  // tcp_syn_retries
	synAckRetries     = 5  // tcp_synack_retries
	dataRetries       = 15 // tcp_retries2
	orphanRetries     = 8  // tcp_orphan_retries
	timeWaitNs        = 60 * second
	finTimeoutS       = 60         // tcp_fin_timeout
	keepIdleS         = 7200       // tcp_keepalive_time
	keepIntervalS     = 75         // tcp_keepalive_intvl
	keepCount         = 9          // tcp_keepalive_probes
	timeWaitReuseNs   = second     // tcp_tw_reuse
	neighbourFailNs   = 3 * second // mcast_solicit 3 * retrans_time 1 s
	resolverLatencyNs = 200_000

	sndBufTCP         = 16384
	sndBufTCPLink     = 87040
	sndBufTCPLoopback = 2626560
	sndBufTCPMax      = 4194304
	rcvBufTCP         = 131072
	rcvBufTCPMax      = 6291456
	bufDatagram       = 212992 // net.core.wmem_default and rmem_default
	bufUserMax        = 212992 // net.core.wmem_max and rmem_max
	sndBufMin         = 4608
	rcvBufMin         = 2304

	chunkBytes = 16384 // unsent writes are gathered into chunks of this size
)
