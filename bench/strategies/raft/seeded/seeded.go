// Package seeded has mistakes for the worlds of package raft: fixes of etcd's Raft library that are taken back, and what people who
// write Raft get wrong, in the library or in what uses it. Each is there alone.
package seeded

import "github.com/bloodhound-dst/bloodhound/examples/inprocess/raft"

// Bug is a mistake.
type Bug struct {
	Name         string
	Source       string // the commit of go.etcd.io/raft/v3 that is taken back, or "classic"
	What         string // what goes wrong, and what that needs
	Edits        []Edit
	Flaw         func(*raft.Options) // a mistake of what uses the library
	raft.Options                     // a world in which it can show
}

// World is the world that is searched for a bug.
func (b *Bug) World() raft.Options {
	o := b.Options
	if b.Flaw != nil {
		b.Flaw(&o)
	}
	return o
}

// Find gives a bug by its name.
func Find(name string) (*Bug, bool) {
	for i := range All {
		if All[i].Name == name {
			return &All[i], true
		}
	}
	return nil, false
}

// All are the mistakes.
var All = []Bug{
	{
		Name: "append-after-compaction", Source: "76f1249",
		What: "a leader whose window to a follower is full sends an empty append from an entry that it has compacted, with no term; a follower " +
			"that lost what filled the window takes it, and the commit index with it",
		Edits: []Edit{
			{"raft.go", "prevTerm, err := r.raftLog.term(prevIndex)\n",
				"prevTerm, err := r.raftLog.zeroTermOnOutOfBounds(r.raftLog.term(prevIndex)), error(nil)\n"},
			{"log.go", "	t, err := l.term(id.index)\n	if err != nil {\n		return false\n	}\n	return t == id.term\n",
				"	return l.zeroTermOnOutOfBounds(l.term(id.index)) == id.term\n"},
		},
		Options: raft.Options{Steps: 200, Load: 3, Compact: 2, Inflight: 2, MessageBytes: 1},
	},
	{
		Name: "conflict-hint", Source: "0c22de0",
		What: "a follower that looks for where its log parts from a leader's panics if it comes to an entry that is compacted; a leader's log " +
			"would have to have an older term than what the follower knows to be committed",
		Edits: []Edit{{"raft.go", "	hintIndex, hintTerm := r.raftLog.findConflictByTerm(hintIndex, m.GetLogTerm())\n",
			"	hintIndex, _ = r.raftLog.findConflictByTerm(hintIndex, m.GetLogTerm())\n	hintTerm, err := r.raftLog.term(hintIndex)\n	if " +
				"err != nil {\n		panic(fmt.Sprintf(\"term(%d) must be valid, but got %v\", hintIndex, err))\n	}\n"}},
		Options: raft.Options{Steps: 200, Load: 3, Compact: 2, Spares: 1, Reconfigure: true, Faults: rough},
	},
	{
		Name: "append-bounds", Source: "235a62a",
		What: "an append whose first conflict lies beyond its last entry is not refused by name; none has one",
		Edits: []Edit{{"log.go",
			"		if ci-offset > uint64(len(a.entries)) {\n			l.logger.Panicf(\"index, %d, is out of range [%d]\", ci-offset, " +
				"len(a.entries))\n		}\n", ""}},
		Options: raft.Options{Steps: 200, Load: 3, Compact: 2, Faults: rough},
	},
	{
		Name: "next-below-match", Source: "6439482",
		What:    "a leader that probes a follower goes back below what it knows to match, after a rejection that was overtaken",
		Edits:   []Edit{{"tracker/progress.go", "pr.Next = max(min(rejected, matchHint+1), pr.Match+1)", "pr.Next = max(min(rejected, matchHint+1), 1)"}},
		Options: raft.Options{Steps: 200, Load: 2, Silence: 5, MessageBytes: 1, Faults: rough},
	},
	{
		Name: "inflight-bytes", Source: "e419ba5",
		What: "what was in flight to a follower counts on after the window was emptied, so that it gets no more entries from this leader; needs " +
			"a window bounded in bytes",
		Edits:   []Edit{{"tracker/inflights.go", "	in.bytes = 0\n", ""}},
		Options: raft.Options{Steps: 200, Load: 2, Silence: 8, Inflight: 16, InflightBytes: 40, MessageBytes: 20, CatchUp: true},
	},
	{
		Name: "apply-pagination", Source: "2e0653d",
		What: "entries that are being applied do not count, so that more is applied at the same time than should be; needs asynchronous writes",
		Edits: []Edit{
			{"log.go", "	l.applyingEntsSize += size\n", ""},
			{"log.go", "	l.applyingEntsPaused = l.applyingEntsSize >= l.maxApplyingEntsSize ||\n		i < l.maxAppliableIndex(allowUnstable)\n", ""},
		},
		Options: raft.Options{Load: 4, Async: true, ReadyBytes: 40},
	},
	{
		Name: "read-context", Source: "63903dd",
		What: "answers to heartbeats for a read confirm a later one with the same context, which a deposed leader then answers with what is stale",
		Edits: []Edit{
			{"read_only.go", "	ro.unconfirmedReads = append(ro.unconfirmedReads, &readIndexRequest{req: req, index: commitIndex})\n",
				"	for _, r := range ro.unconfirmedReads {\n		if string(r.req.GetEntries()[0].GetData()) == " +
					"string(req.GetEntries()[0].GetData()) {\n			return\n		}\n	}\n	ro.unconfirmedReads = " +
					"append(ro.unconfirmedReads, &readIndexRequest{req: req, index: commitIndex})\n"},
			{"read_only.go", "	if len(ctx) != 0 {\n		ro.acks[from] = max(ro.acks[from], binary.LittleEndian.Uint64(ctx))\n	}\n",
				"	for i, r := range ro.unconfirmedReads {\n		if string(r.req.GetEntries()[0].GetData()) == string(ctx) {\n" +
					"			ro.acks[from] = max(ro.acks[from], ro.confirmedReads+uint64(i)+1)\n		}\n	}\n"},
			{"read_only.go",
				"	unconfirmedReadPosition := ro.confirmedReads + uint64(len(ro.unconfirmedReads))\n	encLastIndex := make([]byte, 8)\n" +
					"	binary.LittleEndian.PutUint64(encLastIndex, unconfirmedReadPosition)\n	return encLastIndex\n",
				"	return ro.unconfirmedReads[len(ro.unconfirmedReads)-1].req.GetEntries()[0].GetData()\n"},
			{"read_only.go", "	\"encoding/binary\"\n\n", ""},
		},
		Options: raft.Options{Steps: 300, Clients: 3, ReuseContexts: true, NoPreVote: true, NoCheckQuorum: true, ElectionTicks: 5, Faults: paused},
	},
	{
		Name: "vote-stale-log", Source: "classic",
		What:  "a server votes for a candidate whose log is older than its own",
		Edits: []Edit{{"raft.go", "if canVote && r.raftLog.isUpToDate(candLastID) {", "if canVote {"}},
	},
	{
		Name: "vote-forgotten", Source: "classic",
		What: "a server that starts again does not know for whom it has voted, and votes again",
		Flaw: func(o *raft.Options) { o.ForgetVote = true },
	},
	{
		Name: "quorum-one-less", Source: "classic",
		What:  "an entry is committed by one server less than a majority",
		Edits: []Edit{{"quorum/majority.go", "pos := n - (n/2 + 1)", "pos := n - max(n/2, 1)"}},
	},
	{
		Name: "commit-earlier-term", Source: "classic",
		What: "a leader commits an entry of an earlier term by counting who has it; a third leader, who does not, then takes it away (figure 8 " +
			"of the Raft paper)",
		Edits:   []Edit{{"log.go", "if at.term != 0 && at.index > l.committed && l.matchTerm(at) {", "if at.term != 0 && at.index > l.committed {"}},
		Options: raft.Options{Steps: 300, MessageBytes: 1, NoPreVote: true, NoCheckQuorum: true, ElectionTicks: 5},
	},
	{
		Name: "append-without-term", Source: "classic",
		What: "a follower appends after an entry that has another term than the leader's",
		Edits: []Edit{{"log.go", "	if !l.matchTerm(a.prev) {\n		return 0, false\n",
			"	if a.prev.index > l.lastIndex() {\n		return 0, false\n"}},
		Options: raft.Options{Steps: 200, Load: 1},
	},
	{
		Name: "truncate-matching", Source: "classic",
		What: "a follower cuts its log at the first entry of an append, also where it has that entry: one that comes late takes away what was " +
			"acknowledged since",
		Edits: []Edit{{"log.go", "	ci := l.findConflict(a.entries)\n",
			"	ci := l.findConflict(a.entries)\n	if len(a.entries) > 0 {\n		ci = a.prev.index + 1\n	}\n"}},
		Options: raft.Options{Load: 2, Faults: rough},
	},
	{
		Name: "commit-beyond-append", Source: "classic",
		What: "a follower takes over the leader's commit index for all that it has, and not only for what it is known to have in common with the leader",
		Edits: []Edit{
			{"log.go", "	l.commitTo(min(committed, lastnewi))\n", "	l.commitTo(min(committed, l.lastIndex()))\n"},
			{"raft.go", "	commit := min(pr.Match, r.raftLog.committed)\n", "	commit := r.raftLog.committed\n"},
			{"raft.go", "	r.raftLog.commitTo(m.GetCommit())\n", "	r.raftLog.commitTo(min(m.GetCommit(), r.raftLog.lastIndex()))\n"},
		},
		Options: raft.Options{Steps: 200, Load: 2},
	},
	{
		Name: "acknowledge-early", Source: "classic",
		What:    "a server acknowledges votes and entries before they are stored, and a crash takes them",
		Flaw:    func(o *raft.Options) { o.AckEarly = true },
		Options: raft.Options{Steps: 200, Async: true, Slow: 10},
	},
	{
		Name: "configure-early", Source: "classic",
		What:    "a change of the configuration takes effect when it is appended, and stays though its entry goes",
		Flaw:    func(o *raft.Options) { o.ApplyEarly = true },
		Options: raft.Options{Steps: 200, Spares: 2, Reconfigure: true},
	},
	{
		Name: "count-learners", Source: "classic",
		What: "who only learns counts in the majority that commits an entry",
		Edits: []Edit{{"tracker/tracker.go", "	return uint64(p.Voters.CommittedIndex(matchAckIndexer(p.Progress)))\n",
			"	all := quorum.MajorityConfig{}\n	for id := range p.Progress {\n		all[id] = struct{}{}\n	}\n	return " +
				"uint64(quorum.JointConfig{all, p.Voters[1]}.CommittedIndex(matchAckIndexer(p.Progress)))\n"}},
		Options: raft.Options{Steps: 200, Learners: 2},
	},
	{
		Name: "stay-leader", Source: "classic",
		What: "a leader does not listen to who has a higher term",
		Edits: []Edit{{"raft.go", "		default:\n			r.logger.Infof(\"%x [term: %d] received a %s message with higher term from",
			"		case r.state == StateLeader:\n			return nil\n		default:\n			r.logger.Infof(\"%x [term: %d] received a " +
				"%s message with higher term from"}},
		Options: raft.Options{Steps: 200, NoCheckQuorum: true, NoPreVote: true, CatchUp: true, Faults: parted},
	},
	{
		Name: "read-without-quorum", Source: "classic",
		What:    "a leader answers a read without asking whether it still leads",
		Edits:   []Edit{{"raft.go", "	switch r.readOnly.option {\n	// If more", "	switch ReadOnlyLeaseBased {\n	// If more"}},
		Options: raft.Options{Steps: 200, Clients: 2, NoPreVote: true, NoCheckQuorum: true, ElectionTicks: 5, Faults: parted},
	},
	{
		Name: "snapshot-without-members", Source: "classic",
		What:    "a snapshot has the configuration of the beginning, and who starts from it counts the wrong servers",
		Flaw:    func(o *raft.Options) { o.ForgetMembers = true },
		Options: raft.Options{Steps: 200, Spares: 1, Compact: 3, Reconfigure: true},
	},
	{
		Name: "check-quorum-ignored", Source: "classic",
		What:    "a leader that no quorum answers goes on to lead",
		Edits:   []Edit{{"raft.go", "		if !r.trk.QuorumActive() {", "		if !r.trk.QuorumActive() && r.state != StateLeader {"}},
		Options: raft.Options{Faults: parted},
	},
}

// What three servers suffer: a network that loses, repeats and reorders, one that is parted, and servers that stand still.
var (
	rough  = []string{"crash on n1, n2, n3 rate 0.5% for 50ms..300ms", "drop rate 2%", "duplicate rate 2%", "reorder rate 5% for 10ms..200ms"}
	parted = []string{"crash on n1, n2, n3 rate 0.3% for 50ms..300ms", "partition on n1, n2, n3 rate 0.7% for 100ms..500ms"}
	paused = []string{"crash on n1, n2, n3 rate 0.2% for 50ms..300ms", "pause on n1, n2, n3 rate 1% for 200ms..600ms"}
)
