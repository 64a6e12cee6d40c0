package server

import (
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/eapache/channels"

	"github.com/osrg/gobgp/v4/internal/pkg/table"
	"github.com/osrg/gobgp/v4/pkg/config/oc"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
)

// Session makes an established session with a neighbour that has no connection: what the neighbour sends are calls of receive. It goes the way of a message that was read from a
// connection (fsmHandler.recvMessageWithError and recvMessageloop). Nothing is sent to this neighbour, and none waits for its messages. A message that would reset the session is dropped.
func (s *BgpServer) Session(address netip.Addr, asn uint32, id netip.Addr) (receive func(message []byte) error, has func(prefix netip.Prefix) bool, err error) {
	conf := &oc.Neighbor{Config: oc.NeighborConfig{NeighborAddress: address, PeerAs: asn}}
	global := &s.bgpConfig.Global
	if err := oc.SetDefaultNeighborConfigValues(conf, nil, global); err != nil {
		return nil, nil, err
	}
	conf.State.PeerAs, conf.State.RemoteRouterId = asn, id
	peer := newPeer(global, conf, bgp.BGP_FSM_ESTABLISHED, s.globalRib, s.policy, s.logger)
	peer.fsm.isEBGP = conf.IsEBGPPeer(global)
	families := map[bgp.Family]bgp.BGPAddPathMode{bgp.RF_IPv4_UC: bgp.BGP_ADD_PATH_NONE}
	peer.fsm.familyMap.Store(families)
	peer.peerInfo.Store(table.NewPeerInfo(global, conf, asn, global.Config.As, id, global.Config.RouterId, address, address))
	receive = func(message []byte) error {
		header := &bgp.BGPHeader{}
		if err := header.DecodeFromBytes(message[:bgp.BGP_HEADER_LENGTH]); err != nil {
			return err
		}
		m, err := bgp.ParseBGPBody(header, message[bgp.BGP_HEADER_LENGTH:], &bgp.MarshallingOption{AddPath: families})
		if err != nil {
			return err
		}
		update := m.Body.(*bgp.BGPUpdate)
		if ok, err := bgp.ValidateUpdateMsg(update, families, peer.fsm.isEBGP, false, false); !ok {
			return err
		}
		table.UpdatePathAttrs4ByteAs(s.logger, update)
		s.handleFSMMessage(peer, &fsmMsg{MsgType: fsmMsgBGPMessage, MsgData: m, timestamp: time.Now(), payload: message})
		return nil
	}
	has = func(prefix netip.Prefix) bool {
		nlri, err := bgp.NewIPAddrPrefix(prefix)
		if err != nil {
			return false
		}
		t, _ := s.globalRib.GetTable(bgp.RF_IPv4_UC)
		d := t.GetDestination(nlri)
		if d == nil {
			return false
		}
		for _, p := range d.GetAllKnownPathList() {
			if p.GetSource().Address == address {
				return true
			}
		}
		return false
	}
	return receive, has, nil
}

// Origins are the prefixes of the table, with the AS that each best route has as its origin; 0 is none.
func (s *BgpServer) Origins() (count int, all iter.Seq2[netip.Prefix, uint32]) {
	t, _ := s.globalRib.GetTable(bgp.RF_IPv4_UC)
	bests := t.Bests(table.GLOBAL_RIB_NAME, 0)
	return len(bests), func(yield func(netip.Prefix, uint32) bool) {
		for _, path := range bests {
			if p, ok := path.GetNlri().(*bgp.IPAddrPrefix); ok && !yield(p.Prefix, path.GetSourceAs()) {
				return
			}
		}
	}
}

// Deliver has a copy of the server take a message of a neighbour with which a session is established, the way that recvMessageWithError and recvMessageloop go, and calls send for each message that it would then
// write to a connection. closed says that the session with the neighbour is reset.
func (s *BgpServer) Deliver(from netip.Addr, message []byte, send func(to netip.Addr, message []byte)) (closed bool, err error) {
	peer := s.neighborMap[from]
	if peer == nil || peer.State() != bgp.BGP_FSM_ESTABLISHED {
		return false, fmt.Errorf("GoBGP has no session with %v", from)
	}
	for _, p := range s.neighborMap { // goroutines of the process read the channels that there were
		p.fsm.outgoingCh = channels.NewInfiniteChannel()
	}
	families := peer.fsm.familyMap.Load().(map[bgp.Family]bgp.BGPAddPathMode)
	options := &bgp.MarshallingOption{AddPath: families, Use2ByteAS: peer.fsm.twoByteAsTrans, ExtendedMessage: peer.fsm.extendedMessage.Load()}
	header := &bgp.BGPHeader{}
	if err := header.DecodeFromBytes(message[:min(len(message), bgp.BGP_HEADER_LENGTH)]); err != nil {
		return true, nil
	}
	h, handling := peer.fsm.h, bgp.ERROR_HANDLING_NONE
	m, err := bgp.ParseBGPBody(header, message[bgp.BGP_HEADER_LENGTH:], options)
	if m == nil {
		return true, nil
	}
	if err != nil {
		handling = h.handlingError(m, err, peer.fsm.isTreatAsWithdraw)
	}
	update, isUpdate := m.Body.(*bgp.BGPUpdate)
	if isUpdate && handling == bgp.ERROR_HANDLING_NONE {
		if ok, err := bgp.ValidateUpdateMsg(update, families, peer.fsm.isEBGP, peer.fsm.isConfed, h.allowLoopback); !ok {
			handling = h.handlingError(m, err, peer.fsm.isTreatAsWithdraw)
		}
	}
	if handling == bgp.ERROR_HANDLING_SESSION_RESET {
		return true, nil
	}
	if isUpdate {
		table.UpdatePathAttrs4ByteAs(s.logger, update)
	}
	s.handleFSMMessage(peer, &fsmMsg{MsgType: fsmMsgBGPMessage, MsgData: m, handling: handling, timestamp: time.Now(), payload: message})
	addresses := slices.SortedFunc(maps.Keys(s.neighborMap), netip.Addr.Compare)
	for _, to := range addresses {
		if err := s.neighborMap[to].sends(func(b []byte) { send(to, b) }); err != nil {
			return false, err
		}
	}
	return false, nil
}

// sends calls send for the messages of what is to go out, as sendMessageloop makes them.
func (peer *peer) sends(send func(message []byte)) error {
	var paths []*table.Path
	for out := peer.fsm.outgoingCh; out.Len() > 0; {
		if m, ok := (<-out.Out()).(*fsmOutgoingMsg); ok {
			paths = append(paths, m.Paths...)
		}
	}
	options := &bgp.MarshallingOption{AddPath: peer.fsm.familyMap.Load().(map[bgp.Family]bgp.BGPAddPathMode), ExtendedMessage: peer.fsm.extendedMessage.Load()}
	for _, m := range table.CreateUpdateMsgFromPaths(paths, options) {
		if peer.fsm.twoByteAsTrans {
			table.UpdatePathAttrs2ByteAs(m.Body.(*bgp.BGPUpdate))
			table.UpdatePathAggregator2ByteAs(m.Body.(*bgp.BGPUpdate))
		}
		b, err := m.Serialize(options)
		if err != nil {
			return err
		}
		send(b)
	}
	return nil
}

// Routes are the routes of the table to a prefix, the best one first: the neighbour that each is from, which is not valid for the server's own, and its path.
func (s *BgpServer) Routes(p netip.Prefix, yield func(from netip.Addr, path []uint32, aggregated bool)) {
	nlri, err := bgp.NewIPAddrPrefix(p)
	if err != nil {
		return
	}
	t, _ := s.globalRib.GetTable(bgp.RF_IPv4_UC)
	d := t.GetDestination(nlri)
	if d == nil {
		return
	}
	for _, path := range d.GetAllKnownPathList() {
		from := path.GetSource().Address
		if path.IsLocal() {
			from = netip.Addr{}
		}
		sequence := path.GetAsSeqList()
		yield(from, sequence, len(path.GetAsList()) > len(sequence))
	}
}

// Hold waits until no message is handled and no operation is under way, and has others wait until it is released.
func (s *BgpServer) Hold() (release func()) {
	s.shared.mu.Lock()
	return s.shared.mu.Unlock
}
