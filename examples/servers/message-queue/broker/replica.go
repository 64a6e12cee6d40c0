package main

import "cmp"

// replica is the protocol by which the brokers keep one log, as a step function: no clock, disk, network or goroutine.
// It is Raft (Ongaro and Ousterhout, 2014) without snapshots: an epoch has one leader, elected by a majority; an entry counts
// when a majority has it on disk; a vote makes sure that the candidate has all that is committed.
type replica struct {
	id    string
	peers []string // the others
	// countReplies is the planted mistake: any answer of a follower counts as its copy of what was sent, also one that
	// refuses it.
	countReplies bool

	// On disk before anything is answered.
	epoch    int
	votedFor string
	log      []entry

	leading   bool
	standing  bool // a candidate of this epoch
	leader    string
	votes     map[string]bool
	committed int            // how many entries count
	have      map[string]int // leader: how many entries a follower certainly has
	send      map[string]int // leader: the first entry to send next
	// changed is the first entry that the disk does not have; unsaved says that epoch or vote changed.
	changed int
	unsaved bool
}

type entry struct {
	Epoch int `json:"epoch"`
	command
}

type voteRequest struct {
	Candidate        string
	Epoch            int
	Length, LastTerm int // of the candidate's log, and the epoch of its last entry
}

type voteReply struct {
	Epoch   int
	Granted bool
}

// appendRequest says: after the first After entries, the last of them of AfterEpoch, come these.
type appendRequest struct {
	Leader            string
	Epoch             int
	After, AfterEpoch int
	Entries           []entry
	Committed         int
}

// appendReply is accepted, or a refusal: by a later epoch, or because the logs differ before After; then Length is where to try.
type appendReply struct {
	Epoch    int
	Accepted bool
	Length   int
}

func newReplica(id string, peers []string) *replica {
	return &replica{id: id, peers: peers, have: map[string]int{}, send: map[string]int{}, votes: map[string]bool{}}
}

func (r *replica) majority() int { return (len(r.peers)+1)/2 + 1 }

// epochAt is the epoch of the last of the first n entries.
func (r *replica) epochAt(n int) int {
	if n == 0 {
		return 0
	}
	return r.log[n-1].Epoch
}

// enter moves to a later epoch, as a follower that knows no leader yet.
func (r *replica) enter(epoch int) {
	if epoch > r.epoch {
		r.epoch, r.votedFor, r.unsaved = epoch, "", true
		r.leader = ""
		r.leading, r.standing = false, false
	}
}

// stand begins an election.
func (r *replica) stand() voteRequest {
	r.enter(r.epoch + 1)
	r.votedFor, r.standing = r.id, true
	r.votes = map[string]bool{r.id: true}
	return voteRequest{r.id, r.epoch, len(r.log), r.epochAt(len(r.log))}
}

func (r *replica) onVote(q voteRequest) voteReply {
	r.enter(q.Epoch)
	complete := cmp.Or(cmp.Compare(q.LastTerm, r.epochAt(len(r.log))), cmp.Compare(q.Length, len(r.log))) >= 0
	if q.Epoch == r.epoch && complete && (r.votedFor == "" || r.votedFor == q.Candidate) {
		r.unsaved = r.unsaved || r.votedFor == ""
		r.votedFor = q.Candidate
		return voteReply{r.epoch, true}
	}
	return voteReply{Epoch: r.epoch}
}

// onVoteReply reports whether the vote made this broker the leader.
func (r *replica) onVoteReply(from string, asked int, a voteReply) bool {
	r.enter(a.Epoch)
	if !r.standing || asked != r.epoch || !a.Granted {
		return false
	}
	r.votes[from] = true
	if len(r.votes) < r.majority() {
		return false
	}
	r.standing, r.leading, r.leader = false, true, r.id
	for _, p := range r.peers {
		r.have[p], r.send[p] = 0, len(r.log)
	}
	// Entries of earlier epochs count as soon as one of this epoch does.
	r.add(command{Op: opBegin})
	return true
}

// add appends a command to the leader's log and returns its place, counted from 1.
func (r *replica) add(c command) int {
	r.changed = min(r.changed, len(r.log))
	r.log = append(r.log, entry{r.epoch, c})
	return len(r.log)
}

func (r *replica) appendFor(peer string) appendRequest {
	after := r.send[peer]
	return appendRequest{r.id, r.epoch, after, r.epochAt(after), r.log[after:len(r.log):len(r.log)], r.committed}
}

// onAppend takes over what the leader of the epoch has. Dropped are entries of this broker that the leader does not have.
func (r *replica) onAppend(q appendRequest) (reply appendReply, dropped int) {
	r.enter(q.Epoch)
	if q.Epoch < r.epoch {
		return appendReply{Epoch: r.epoch}, 0
	}
	r.leader, r.standing = q.Leader, false
	if q.After > len(r.log) || r.epochAt(q.After) != q.AfterEpoch {
		return appendReply{Epoch: r.epoch, Length: min(len(r.log), q.After-1)}, 0
	}
	for i, e := range q.Entries {
		at := q.After + i
		if at < len(r.log) && r.log[at].Epoch == e.Epoch {
			continue
		}
		dropped += len(r.log) - at
		r.changed = min(r.changed, at)
		r.log = append(r.log[:at:at], q.Entries[i:]...)
		break
	}
	upTo := q.After + len(q.Entries)
	r.committed = max(min(r.committed, len(r.log)), min(q.Committed, upTo))
	return appendReply{r.epoch, true, upTo}, dropped
}

// onAppendReply counts an answer to what was sent to a follower.
func (r *replica) onAppendReply(from string, q appendRequest, a appendReply) {
	if r.countReplies && r.leading && q.Epoch == r.epoch {
		r.counts(from, q.After+len(q.Entries))
	}
	r.enter(a.Epoch)
	switch {
	case !r.leading || q.Epoch != r.epoch:
	case a.Accepted:
		r.counts(from, a.Length)
		r.send[from] = max(r.send[from], a.Length)
	default:
		r.send[from] = max(a.Length, 0)
	}
}

// counts notes that a follower has the first n entries. Those that a majority has count, if the last of them is of this epoch.
func (r *replica) counts(peer string, n int) {
	r.have[peer] = max(r.have[peer], n)
	for n := len(r.log); n > r.committed && r.epochAt(n) == r.epoch; n-- {
		copies := 1
		for _, p := range r.peers {
			if r.have[p] >= n {
				copies++
			}
		}
		if copies >= r.majority() {
			r.committed = n
		}
	}
}
