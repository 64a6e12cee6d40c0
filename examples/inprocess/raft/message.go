package raft

import pb "go.etcd.io/raft/v3/raftpb"

// message is one of the library's on its way.
type message struct{ *pb.Message }

// Digest identifies messages.
func (m message) Digest() uint64 {
	h := sum(basis)
	h.add(uint64(m.GetType()))
	h.add(m.GetTerm())
	h.add(m.GetLogTerm())
	h.add(m.GetIndex())
	h.add(m.GetCommit())
	h.add(m.GetRejectHint())
	if m.GetReject() {
		h.add(1)
	}
	h.bytes(m.GetContext())
	for _, e := range m.GetEntries() {
		h.add(e.GetTerm())
		h.add(e.GetIndex())
		h.bytes(e.GetData())
	}
	if s := m.GetSnapshot(); s != nil {
		h.add(s.GetMetadata().GetIndex())
		h.add(s.GetMetadata().GetTerm())
		h.bytes(s.GetData())
	}
	return uint64(h)
}

// sum is a hash of numbers and bytes.
type sum uint64

const basis = 14695981039346656037

func (h *sum) add(x uint64) {
	*h = (*h ^ sum(x)) * 1099511628211
	*h ^= *h >> 29
}

func (h *sum) bytes(p []byte) {
	for _, c := range p {
		h.add(uint64(c))
	}
}
