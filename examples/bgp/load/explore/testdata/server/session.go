package server

import (
	"iter"
	"net/netip"
	"time"

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

// Hold waits until no message is handled and no operation is under way, and has others wait until it is released.
func (s *BgpServer) Hold() (release func()) {
	s.shared.mu.Lock()
	return s.shared.mu.Unlock
}
