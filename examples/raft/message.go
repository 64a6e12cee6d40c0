package raft

import pb "go.etcd.io/raft/v3/raftpb"

// message is one of the library's on its way.
type message struct{ *pb.Message }

// Digest tells messages apart.
func (m message) Digest() uint64 {
	h := uint64(14695981039346656037)
	add := func(x uint64) { h = (h ^ x) * 1099511628211; h ^= h >> 29 }
	add(uint64(m.GetType()))
	add(m.GetTerm())
	add(m.GetLogTerm())
	add(m.GetIndex())
	add(m.GetCommit())
	add(m.GetRejectHint())
	if m.GetReject() {
		add(1)
	}
	for _, c := range m.GetContext() {
		add(uint64(c))
	}
	for _, e := range m.GetEntries() {
		add(e.GetTerm())
		add(e.GetIndex())
		for _, c := range e.GetData() {
			add(uint64(c))
		}
	}
	return h
}
