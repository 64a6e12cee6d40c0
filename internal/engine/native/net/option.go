package net

import (
	"encoding/binary"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// options are what setsockopt sets; the zero value is Linux' default except for the sizes.
type options struct {
	ReuseAddr, ReusePort, KeepAlive, Broadcast, V6Only bool
	FreeBind, PassCred, NoDelay, Cork, QuickAck        bool
	NoMulticastLoop, SndBufSet, RcvBufSet, Linger      bool
	SndBuf, RcvBuf                                     int64
	RcvLowat, LingerS, SynCount                        int
	KeepIdleS, KeepIntervalS, KeepCount                int
	UserTimeoutMs, DeferAcceptS                        int
	// SndTimeoutNs and RcvTimeoutNs are for the kernel to act on.
	SndTimeoutNs, RcvTimeoutNs int64
	Device, Congestion         string
	// GroupIndex is the interface that multicasts leave by, if it was chosen; 0 is what routes say.
	GroupIndex int
	// Others are options that have no effect here but read back as they were set.
	Others []option
}

type option struct{ Level, Name, Value int }

// Levels and names of socket options, with Linux' numbers for x86-64.
const (
	SOL_SOCKET = 1
	SOL_IP     = 0
	SOL_TCP    = 6
	SOL_UDP    = 17
	SOL_IPV6   = 41

	SO_DEBUG              = 1
	SO_REUSEADDR          = 2
	SO_TYPE               = 3
	SO_ERROR              = 4
	SO_DONTROUTE          = 5
	SO_BROADCAST          = 6
	SO_SNDBUF             = 7
	SO_RCVBUF             = 8
	SO_KEEPALIVE          = 9
	SO_OOBINLINE          = 10
	SO_PRIORITY           = 12
	SO_LINGER             = 13
	SO_REUSEPORT          = 15
	SO_PASSCRED           = 16
	SO_PEERCRED           = 17
	SO_RCVLOWAT           = 18
	SO_SNDLOWAT           = 19
	SO_RCVTIMEO           = 20
	SO_SNDTIMEO           = 21
	SO_BINDTODEVICE       = 25
	SO_ATTACH_FILTER      = 26
	SO_DETACH_FILTER      = 27
	SO_TIMESTAMP          = 29
	SO_ACCEPTCONN         = 30
	SO_SNDBUFFORCE        = 32
	SO_RCVBUFFORCE        = 33
	SO_TIMESTAMPNS        = 35
	SO_MARK               = 36
	SO_TIMESTAMPING       = 37
	SO_PROTOCOL           = 38
	SO_DOMAIN             = 39
	SO_RXQ_OVFL           = 40
	SO_SELECT_ERR_QUEUE   = 45
	SO_BUSY_POLL          = 46
	SO_MAX_PACING_RATE    = 47
	SO_INCOMING_CPU       = 49
	SO_INCOMING_NAPI_ID   = 56
	SO_COOKIE             = 57
	SO_ZEROCOPY           = 60
	SO_BINDTOIFINDEX      = 62
	SO_RCVTIMEO_NEW       = 66
	SO_SNDTIMEO_NEW       = 67
	TCP_NODELAY           = 1
	TCP_MAXSEG            = 2
	TCP_CORK              = 3
	TCP_KEEPIDLE          = 4
	TCP_KEEPINTVL         = 5
	TCP_KEEPCNT           = 6
	TCP_SYNCNT            = 7
	TCP_LINGER2           = 8
	TCP_DEFER_ACCEPT      = 9
	TCP_WINDOW_CLAMP      = 10
	TCP_INFO              = 11
	TCP_QUICKACK          = 12
	TCP_CONGESTION        = 13
	TCP_THIN_LINEAR       = 16
	TCP_USER_TIMEOUT      = 18
	TCP_FASTOPEN          = 23
	TCP_TIMESTAMP         = 24
	TCP_NOTSENT_LOWAT     = 25
	TCP_FASTOPEN_CONNECT  = 30
	TCP_ULP               = 31
	IP_TOS                = 1
	IP_TTL                = 2
	IP_PKTINFO            = 8
	IP_MTU_DISCOVER       = 10
	IP_RECVERR            = 11
	IP_RECVTTL            = 12
	IP_RECVTOS            = 13
	IP_MTU                = 14
	IP_FREEBIND           = 15
	IP_TRANSPARENT        = 19
	IP_BIND_ADDRESS_NO_PT = 24
	IP_MULTICAST_IF       = 32
	IP_MULTICAST_TTL      = 33
	IP_MULTICAST_LOOP     = 34
	IP_ADD_MEMBERSHIP     = 35
	IP_DROP_MEMBERSHIP    = 36
	IP_MULTICAST_ALL      = 49
	IP_LOCAL_PORT_RANGE   = 51
	IPV6_UNICAST_HOPS     = 16
	IPV6_MULTICAST_IF     = 17
	IPV6_MULTICAST_HOPS   = 18
	IPV6_MULTICAST_LOOP   = 19
	IPV6_ADD_MEMBERSHIP   = 20
	IPV6_DROP_MEMBERSHIP  = 21
	IPV6_MTU_DISCOVER     = 23
	IPV6_MTU              = 24
	IPV6_RECVERR          = 25
	IPV6_V6ONLY           = 26
	IPV6_RECVPKTINFO      = 49
	IPV6_RECVHOPLIMIT     = 51
	IPV6_RECVTCLASS       = 66
	IPV6_TCLASS           = 67
	IPV6_DONTFRAG         = 62
	IPV6_TRANSPARENT      = 75
	UDP_CORK              = 1
)

// stored lists the integer options that are accepted, read back, and have no effect here, with their defaults.
var stored = map[[2]int]int{
	{SOL_SOCKET, SO_DEBUG}: 0, {SOL_SOCKET, SO_DONTROUTE}: 0, {SOL_SOCKET, SO_OOBINLINE}: 0, {SOL_SOCKET, SO_PRIORITY}: 0,
	{SOL_SOCKET, SO_TIMESTAMP}: 0, {SOL_SOCKET, SO_TIMESTAMPNS}: 0, {SOL_SOCKET, SO_MARK}: 0, {SOL_SOCKET, SO_TIMESTAMPING}: 0,
	{SOL_SOCKET, SO_RXQ_OVFL}: 0, {SOL_SOCKET, SO_SELECT_ERR_QUEUE}: 0, {SOL_SOCKET, SO_BUSY_POLL}: 0, {SOL_SOCKET, SO_INCOMING_CPU}: -1,
	{SOL_SOCKET, SO_ZEROCOPY}: 0, {SOL_SOCKET, SO_MAX_PACING_RATE}: -1,
	{SOL_TCP, TCP_MAXSEG}: 536, {SOL_TCP, TCP_LINGER2}: finTimeoutS, {SOL_TCP, TCP_WINDOW_CLAMP}: 0, {SOL_TCP, TCP_THIN_LINEAR}: 0,
	{SOL_TCP, TCP_FASTOPEN}: 0, {SOL_TCP, TCP_TIMESTAMP}: 0, {SOL_TCP, TCP_NOTSENT_LOWAT}: 0, {SOL_TCP, TCP_FASTOPEN_CONNECT}: 0,
	{SOL_IP, IP_TOS}: 0, {SOL_IP, IP_TTL}: 64, {SOL_IP, IP_PKTINFO}: 0, {SOL_IP, IP_MTU_DISCOVER}: 1, {SOL_IP, IP_RECVERR}: 0,
	{SOL_IP, IP_RECVTTL}: 0, {SOL_IP, IP_RECVTOS}: 0, {SOL_IP, IP_BIND_ADDRESS_NO_PT}: 0, {SOL_IP, IP_MULTICAST_TTL}: 1,
	{SOL_IP, IP_MULTICAST_ALL}: 1, {SOL_IP, IP_LOCAL_PORT_RANGE}: 0, {SOL_IP, IP_MULTICAST_IF}: 0,
	{SOL_IPV6, IPV6_UNICAST_HOPS}: 64, {SOL_IPV6, IPV6_MULTICAST_IF}: 0, {SOL_IPV6, IPV6_MULTICAST_HOPS}: 1,
	{SOL_IPV6, IPV6_MTU_DISCOVER}: 1, {SOL_IPV6, IPV6_RECVERR}: 0, {SOL_IPV6, IPV6_RECVPKTINFO}: 0, {SOL_IPV6, IPV6_RECVHOPLIMIT}: 0,
	{SOL_IPV6, IPV6_RECVTCLASS}: 0, {SOL_IPV6, IPV6_TCLASS}: 0, {SOL_IPV6, IPV6_DONTFRAG}: 0,
	{SOL_UDP, UDP_CORK}: 0,
}

// flag finds the option that is a plain switch.
func (o *options) flag(level, name int) *bool {
	switch [2]int{level, name} {
	case [2]int{SOL_SOCKET, SO_REUSEADDR}:
		return &o.ReuseAddr
	case [2]int{SOL_SOCKET, SO_REUSEPORT}:
		return &o.ReusePort
	case [2]int{SOL_SOCKET, SO_KEEPALIVE}:
		return &o.KeepAlive
	case [2]int{SOL_SOCKET, SO_BROADCAST}:
		return &o.Broadcast
	case [2]int{SOL_SOCKET, SO_PASSCRED}:
		return &o.PassCred
	case [2]int{SOL_TCP, TCP_NODELAY}:
		return &o.NoDelay
	case [2]int{SOL_TCP, TCP_CORK}:
		return &o.Cork
	case [2]int{SOL_IP, IP_FREEBIND}, [2]int{SOL_IP, IP_TRANSPARENT}, [2]int{SOL_IPV6, IPV6_TRANSPARENT}:
		return &o.FreeBind
	case [2]int{SOL_IPV6, IPV6_V6ONLY}:
		return &o.V6Only
	}
	return nil
}

// number finds the option that is a number within bounds; 0 is the default.
func (s *State) number(sk *sock, level, name int) (at *int, low, high, byDefault int) {
	o, tuned := &sk.Opt, sk.tuned(s)
	switch [2]int{level, name} {
	case [2]int{SOL_TCP, TCP_KEEPIDLE}:
		return &o.KeepIdleS, 1, 32767, tuned.KeepIdleS
	case [2]int{SOL_TCP, TCP_KEEPINTVL}:
		return &o.KeepIntervalS, 1, 32767, tuned.KeepIntervalS
	case [2]int{SOL_TCP, TCP_KEEPCNT}:
		return &o.KeepCount, 1, 127, tuned.KeepCount
	case [2]int{SOL_TCP, TCP_SYNCNT}:
		return &o.SynCount, 1, 127, tuned.SynRetries
	case [2]int{SOL_TCP, TCP_USER_TIMEOUT}:
		return &o.UserTimeoutMs, 0, 1<<31 - 1, 0
	}
	return nil, 0, 0, 0
}

// applies reports whether a level exists for a socket.
func (sk *sock) applies(level int) bool {
	switch level {
	case SOL_SOCKET:
		return true
	case SOL_IP:
		return sk.Family == AF_INET || sk.Family == AF_INET6
	case SOL_IPV6:
		return sk.Family == AF_INET6
	case SOL_TCP:
		return sk.TCP != nil
	case SOL_UDP:
		return sk.isUDP()
	}
	return false
}

// SetOption is setsockopt(2).
func (s *State) SetOption(env Env, id SockID, level, name int, value []byte) errno.Errno {
	sk := s.sock(id)
	if sk == nil {
		return errno.EBADF
	}
	if !sk.applies(level) {
		if sk.Unix != nil || level == 270 { // SOL_NETLINK's switches change nothing here
			if level == 270 && sk.Family == AF_NETLINK {
				return errno.OK
			}
			return errno.EOPNOTSUPP
		}
		return errno.ENOPROTOOPT
	}
	switch [2]int{level, name} {
	case [2]int{SOL_SOCKET, SO_BINDTODEVICE}:
		return sk.bindToDevice(s, cString(value))
	case [2]int{SOL_TCP, TCP_CONGESTION}:
		if c := cString(value); c != "cubic" && c != "reno" {
			return errno.ENOENT
		}
		sk.Opt.Congestion = cString(value)
		return errno.OK
	case [2]int{SOL_TCP, TCP_ULP}:
		return errno.ENOENT
	case [2]int{SOL_IP, IP_ADD_MEMBERSHIP}, [2]int{SOL_IP, IP_DROP_MEMBERSHIP},
		[2]int{SOL_IPV6, IPV6_ADD_MEMBERSHIP}, [2]int{SOL_IPV6, IPV6_DROP_MEMBERSHIP}:
		return s.setMembership(sk, level, name, value)
	case [2]int{SOL_IP, IP_MULTICAST_IF}:
		s.setGroupInterface(sk, value)
		return errno.OK
	case [2]int{SOL_SOCKET, SO_ATTACH_FILTER}, [2]int{SOL_SOCKET, SO_DETACH_FILTER}:
		return errno.ENOPROTOOPT
	case [2]int{SOL_SOCKET, SO_LINGER}:
		if len(value) < 8 {
			return errno.EINVAL
		}
		sk.Opt.Linger = binary.LittleEndian.Uint32(value) != 0
		sk.Opt.LingerS = int(binary.LittleEndian.Uint32(value[4:]))
		return errno.OK
	case [2]int{SOL_SOCKET, SO_RCVTIMEO}, [2]int{SOL_SOCKET, SO_RCVTIMEO_NEW}:
		return setTimeout(&sk.Opt.RcvTimeoutNs, value)
	case [2]int{SOL_SOCKET, SO_SNDTIMEO}, [2]int{SOL_SOCKET, SO_SNDTIMEO_NEW}:
		return setTimeout(&sk.Opt.SndTimeoutNs, value)
	}
	v := 0
	switch {
	case len(value) >= 4:
		v = int(int32(binary.LittleEndian.Uint32(value)))
	case len(value) >= 1 && level != SOL_SOCKET && level != SOL_TCP:
		v = int(value[0])
	default:
		return errno.EINVAL
	}
	return s.setNumber(env, sk, level, name, v)
}

func (s *State) setNumber(env Env, sk *sock, level, name, v int) errno.Errno {
	if f := sk.Opt.flag(level, name); f != nil {
		if f == &sk.Opt.V6Only && sk.Named {
			return errno.EINVAL
		}
		*f = v != 0
		if f == &sk.Opt.KeepAlive {
			sk.armKeepalive(s, env)
		}
		return errno.OK
	}
	if level == SOL_IPV6 && name == IPV6_MULTICAST_IF {
		sk.Opt.GroupIndex = v
	}
	if at, low, high, _ := s.number(sk, level, name); at != nil {
		if v < low || v > high {
			return errno.EINVAL
		}
		*at = v
		sk.armKeepalive(s, env)
		return errno.OK
	}
	switch [2]int{level, name} {
	case [2]int{SOL_SOCKET, SO_BINDTOIFINDEX}:
		return sk.bindToIndex(s, v)
	case [2]int{SOL_TCP, TCP_MAXSEG}:
		if v != 0 && (v < tcpMinMSS || v > 32767) {
			return errno.EINVAL
		}
		sk.Opt.store(level, name, v)
	case [2]int{SOL_SOCKET, SO_SNDBUF}, [2]int{SOL_SOCKET, SO_SNDBUFFORCE}:
		sk.Opt.SndBuf, sk.Opt.SndBufSet = bufferSize(v, sndBufMin), true
		if sk.TCP != nil {
			sk.offerSpace(s, env)
		}
	case [2]int{SOL_SOCKET, SO_RCVBUF}, [2]int{SOL_SOCKET, SO_RCVBUFFORCE}:
		sk.Opt.RcvBuf, sk.Opt.RcvBufSet = bufferSize(v, rcvBufMin), true
	case [2]int{SOL_SOCKET, SO_RCVLOWAT}:
		if v < 0 {
			v = 1<<31 - 1
		}
		sk.Opt.RcvLowat = max(v, 1)
	case [2]int{SOL_TCP, TCP_DEFER_ACCEPT}:
		sk.Opt.DeferAcceptS = max(v, 0)
	case [2]int{SOL_TCP, TCP_QUICKACK}:
		sk.Opt.QuickAck = v == 0 // stored inverted: it is on by default
	case [2]int{SOL_IP, IP_MULTICAST_LOOP}, [2]int{SOL_IPV6, IPV6_MULTICAST_LOOP}:
		sk.Opt.NoMulticastLoop = v == 0
	case [2]int{SOL_IPV6, IPV6_MTU}: // what is sent is never cut into packets; it is read back of connected sockets alone
		if v != 0 && v < minMTU6 {
			return errno.EINVAL
		}
	default:
		if _, ok := stored[[2]int{level, name}]; !ok {
			return errno.ENOPROTOOPT
		}
		sk.Opt.store(level, name, v)
	}
	return errno.OK
}

const minMTU6 = 1280 // IPV6_MIN_MTU

const tcpMinMSS = 88 // TCP_MIN_MSS: room for the largest options and 8 bytes

// bufferSize doubles what the program asked for, as Linux does for its own overhead.
func bufferSize(v int, low int64) int64 { return max(2*min(int64(uint32(v)), bufUserMax), low) }

func (l *options) store(level, name, v int) {
	for i := range l.Others {
		if o := &l.Others[i]; o.Level == level && o.Name == name {
			o.Value = v
			return
		}
	}
	others := make([]option, 0, len(l.Others)+1) // children of a listener share the old slice
	l.Others = append(append(others, l.Others...), option{level, name, v})
}

func setTimeout(at *int64, value []byte) errno.Errno {
	if len(value) < 16 {
		return errno.EINVAL
	}
	sec, usec := int64(binary.LittleEndian.Uint64(value)), int64(binary.LittleEndian.Uint64(value[8:]))
	if usec < 0 || usec >= 1e6 {
		return errno.EDOM
	}
	if *at = 0; sec >= 0 && sec < 1<<33 {
		*at = sec*second + usec*1000
	}
	return errno.OK
}

// OptionValue is what SetOption takes from a value: what a program has left unset behind it means nothing, and a filter is a pointer.
func OptionValue(level, name int, value []byte) []byte {
	size := 4
	switch [2]int{level, name} {
	case [2]int{SOL_SOCKET, SO_BINDTODEVICE}, [2]int{SOL_TCP, TCP_CONGESTION}, [2]int{SOL_TCP, TCP_ULP}:
		return []byte(cString(value))
	case [2]int{SOL_SOCKET, SO_ATTACH_FILTER}, [2]int{SOL_SOCKET, SO_DETACH_FILTER}:
		return nil
	case [2]int{SOL_IP, IP_ADD_MEMBERSHIP}, [2]int{SOL_IP, IP_DROP_MEMBERSHIP}, [2]int{SOL_IP, IP_MULTICAST_IF}:
		size = 12
	case [2]int{SOL_IPV6, IPV6_ADD_MEMBERSHIP}, [2]int{SOL_IPV6, IPV6_DROP_MEMBERSHIP}:
		size = 20
	case [2]int{SOL_SOCKET, SO_LINGER}:
		size = 8
	case [2]int{SOL_SOCKET, SO_RCVTIMEO}, [2]int{SOL_SOCKET, SO_RCVTIMEO_NEW}, [2]int{SOL_SOCKET, SO_SNDTIMEO}, [2]int{SOL_SOCKET, SO_SNDTIMEO_NEW}:
		size = 16
	}
	return value[:min(len(value), size)]
}

func cString(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// setGroupInterface takes an in_addr, an ip_mreq or an ip_mreqn: see ip(7). An interface that is not there is none.
func (s *State) setGroupInterface(sk *sock, value []byte) {
	sk.Opt.GroupIndex = 0
	var local []byte
	switch {
	case len(value) >= 12:
		local, sk.Opt.GroupIndex = value[4:8], int(binary.LittleEndian.Uint32(value[8:]))
	case len(value) >= 8:
		local = value[4:8]
	case len(value) >= 4:
		local = value[:4]
	default:
		return
	}
	if sk.Opt.GroupIndex == 0 {
		ip := ipv4(local[0], local[1], local[2], local[3])
		for at, i := range s.Nodes[sk.Node].NICs {
			if i.owns(ip) {
				sk.Opt.GroupIndex = ethernetIndex + at
			}
		}
	}
}

func (s *State) setMembership(sk *sock, level, name int, value []byte) errno.Errno {
	var group IP
	switch {
	case level == SOL_IP && len(value) >= 8:
		group = ipv4(value[0], value[1], value[2], value[3])
	case level == SOL_IPV6 && len(value) >= 20:
		copy(group[:], value)
	default:
		return errno.EINVAL
	}
	if !group.isMulticast() {
		return errno.EINVAL
	}
	at := -1
	for i, g := range sk.Groups {
		if g == group {
			at = i
		}
	}
	if name == IP_ADD_MEMBERSHIP || name == IPV6_ADD_MEMBERSHIP {
		switch {
		case at >= 0:
			return errno.EADDRINUSE
		case len(sk.Groups) >= maxGroups:
			return errno.ENOBUFS
		}
		sk.Groups = append(sk.Groups, group)
		return errno.OK
	}
	if at < 0 {
		return errno.EADDRNOTAVAIL
	}
	sk.Groups = append(sk.Groups[:at:at], sk.Groups[at+1:]...)
	return errno.OK
}

// GetOption is getsockopt(2): at most limit bytes of the value.
func (s *State) GetOption(id SockID, level, name, limit int) ([]byte, errno.Errno) {
	sk := s.sock(id)
	if sk == nil {
		return nil, errno.EBADF
	}
	if !sk.applies(level) {
		if sk.Unix != nil || sk.Family == AF_INET {
			return nil, errno.EOPNOTSUPP
		}
		return nil, errno.ENOPROTOOPT
	}
	value, e := s.option(sk, level, name)
	if e != errno.OK {
		return nil, e
	}
	return value[:min(len(value), max(limit, 0))], errno.OK
}

func int32Bytes(v ...int) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	return b
}

func timeBytes(ns int64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(ns/second))
	return binary.LittleEndian.AppendUint64(b, uint64(ns%second/1000))
}

func bit(b bool) []byte {
	if b {
		return int32Bytes(1)
	}
	return int32Bytes(0)
}

func (s *State) option(sk *sock, level, name int) ([]byte, errno.Errno) {
	if f := sk.Opt.flag(level, name); f != nil {
		return bit(*f), errno.OK
	}
	if at, _, _, byDefault := s.number(sk, level, name); at != nil {
		if *at == 0 {
			return int32Bytes(byDefault), errno.OK
		}
		return int32Bytes(*at), errno.OK
	}
	if level == SOL_SOCKET {
		if v, ok := s.socketOption(sk, name); ok {
			return v, errno.OK
		}
	}
	switch [2]int{level, name} {
	case [2]int{SOL_TCP, TCP_CONGESTION}:
		name := sk.Opt.Congestion
		if name == "" {
			name = "cubic"
		}
		b := make([]byte, 16)
		copy(b, name)
		return b, errno.OK
	case [2]int{SOL_TCP, TCP_ULP}:
		return nil, errno.OK
	case [2]int{SOL_TCP, TCP_QUICKACK}:
		return bit(!sk.Opt.QuickAck), errno.OK
	case [2]int{SOL_TCP, TCP_DEFER_ACCEPT}:
		return int32Bytes(sk.Opt.DeferAcceptS), errno.OK
	case [2]int{SOL_TCP, TCP_INFO}:
		return s.tcpInfo(sk), errno.OK
	case [2]int{SOL_IP, IP_MULTICAST_LOOP}, [2]int{SOL_IPV6, IPV6_MULTICAST_LOOP}:
		return bit(!sk.Opt.NoMulticastLoop), errno.OK
	case [2]int{SOL_IP, IP_MTU}, [2]int{SOL_IPV6, IPV6_MTU}:
		if !sk.Connected {
			return nil, errno.ENOTCONN
		}
		return int32Bytes(s.mtu(sk)), errno.OK
	}
	for _, o := range sk.Opt.Others {
		if o.Level == level && o.Name == name {
			return int32Bytes(o.Value), errno.OK
		}
	}
	if level == SOL_TCP && name == TCP_MAXSEG && sk.TCP.State != closed && sk.TCP.State != listen {
		return int32Bytes(s.mtu(sk) - 52), errno.OK
	}
	if level == SOL_TCP && name == TCP_LINGER2 {
		return int32Bytes(sk.tuned(s).FinTimeoutS), errno.OK
	}
	if v, ok := stored[[2]int{level, name}]; ok {
		return int32Bytes(v), errno.OK
	}
	return nil, errno.ENOPROTOOPT
}

// socketOption is the value of an option of the level SOL_SOCKET.
func (s *State) socketOption(sk *sock, name int) (value []byte, ok bool) {
	switch name {
	case SO_TYPE:
		return int32Bytes(sk.Type), true
	case SO_PROTOCOL:
		return int32Bytes(sk.Protocol), true
	case SO_DOMAIN:
		return int32Bytes(sk.Family), true
	case SO_ACCEPTCONN:
		return bit(sk.Accept != nil), true
	case SO_ERROR:
		return int32Bytes(int(sk.takeError())), true
	case SO_SNDBUF, SO_SNDBUFFORCE:
		return int32Bytes(int(sk.Opt.SndBuf)), true
	case SO_RCVBUF, SO_RCVBUFFORCE:
		return int32Bytes(int(sk.Opt.RcvBuf)), true
	case SO_RCVLOWAT:
		return int32Bytes(sk.Opt.RcvLowat), true
	case SO_SNDLOWAT:
		return int32Bytes(1), true
	case SO_LINGER:
		return append(bit(sk.Opt.Linger), int32Bytes(sk.Opt.LingerS)...), true
	case SO_RCVTIMEO, SO_RCVTIMEO_NEW:
		return timeBytes(sk.Opt.RcvTimeoutNs), true
	case SO_SNDTIMEO, SO_SNDTIMEO_NEW:
		return timeBytes(sk.Opt.SndTimeoutNs), true
	case SO_PEERCRED:
		if sk.Unix == nil || sk.Unix.PeerCred == (Cred{}) {
			return int32Bytes(0, -1, -1), true
		}
		c := sk.Unix.PeerCred
		return int32Bytes(int(c.PID), int(c.UID), int(c.GID)), true
	case SO_BINDTODEVICE:
		if sk.Opt.Device == "" {
			return nil, true
		}
		return append([]byte(sk.Opt.Device), 0), true
	case SO_BINDTOIFINDEX:
		return int32Bytes(sk.deviceIndex(s)), true
	case SO_COOKIE:
		return binary.LittleEndian.AppendUint64(nil, uint64(sk.ID)), true
	case SO_INCOMING_NAPI_ID:
		return int32Bytes(0), true
	}
	return nil, false
}

func (s *State) mtu(sk *sock) int {
	if s.Nodes[sk.Node].local(sk.Remote.IP) {
		return loopbackMTU
	}
	return ethernetMTU
}

// tcpInfoBytes is the size of struct tcp_info in Linux 6.
const tcpInfoBytes = 280

// tcpInfo is a struct tcp_info (linux/tcp.h) up to tcpi_total_retrans, with what the model knows.
func (s *State) tcpInfo(sk *sock) []byte {
	t := sk.TCP
	rtt := int(s.roundTrip(sk.Node, t.Peer)/1000) + 50
	mss := s.mtu(sk) - 52
	b := make([]byte, 8, tcpInfoBytes)
	copy(b, []byte{byte(t.State), 0, byte(t.Retries), byte(t.Probes), byte(t.Retries), 7, 0x77})
	if t.Retries > 0 {
		b[1] = 4 // TCP_CA_Loss
	}
	inFlight := 0
	if mss > 0 {
		inFlight = int(t.SndMax-t.SndUna+int64(mss)-1) / mss
	}
	b = append(b, int32Bytes(int(sk.rto(s)/1000), 40000, mss, mss, inFlight, 0, 0, 0, 0,
		0, 0, 0, 0, s.mtu(sk), int(sk.Opt.RcvBuf/2), rtt, rtt/2, 1<<31-1, 10, mss, 3,
		0, int(sk.Opt.RcvBuf/2), int(t.Retrans))...)
	return b[:tcpInfoBytes]
}

// Timeouts are SO_RCVTIMEO and SO_SNDTIMEO in nanoseconds; 0 is forever.
func (s *State) Timeouts(id SockID) (receiveNs, sendNs int64) {
	if sk := s.sock(id); sk != nil {
		return sk.Opt.RcvTimeoutNs, sk.Opt.SndTimeoutNs
	}
	return 0, 0
}

// RcvLowat is how many bytes a blocking read waits for at least.
func (s *State) RcvLowat(id SockID) int {
	if sk := s.sock(id); sk != nil {
		return sk.Opt.RcvLowat
	}
	return 1
}
