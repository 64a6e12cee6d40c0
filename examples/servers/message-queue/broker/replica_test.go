package main

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// trio are three replicas whose messages the test carries by hand.
func trio(countReplies bool) map[string]*replica {
	all := map[string]*replica{}
	names := []string{"a", "b", "c"}
	for i, n := range names {
		all[n] = newReplica(n, slices.Delete(slices.Clone(names), i, i+1))
		all[n].countReplies = countReplies
	}
	return all
}

// elect lets a candidate ask one other.
func elect(t *testing.T, all map[string]*replica, candidate, voter string) {
	t.Helper()
	q := all[candidate].stand()
	if !all[candidate].onVoteReply(voter, q.Epoch, all[voter].onVote(q)) {
		t.Fatalf("%s does not become the leader by the vote of %s", candidate, voter)
	}
}

// replicate carries one request and its answer.
func replicate(all map[string]*replica, from, to string) appendReply {
	q := all[from].appendFor(to)
	a, _ := all[to].onAppend(q)
	all[from].onAppendReply(to, q, a)
	return a
}

// TestRefusalIsNoCopy is the mistake in its smallest form: a was cut off, c leads the next epoch, and the network heals.
func TestRefusalIsNoCopy(t *testing.T) {
	for _, mistake := range []bool{false, true} {
		all := trio(mistake)
		elect(t, all, "a", "b")
		replicate(all, "a", "b")
		replicate(all, "a", "c")
		place := all["a"].add(command{Op: opPublish, ID: "m"})
		elect(t, all, "c", "b")
		if a := replicate(all, "a", "b"); a.Accepted {
			t.Fatal("b accepts what a deposed leader sends")
		}
		if counts := all["a"].committed >= place; counts != mistake {
			t.Errorf("with the mistake %v, the entry counts: %v", mistake, counts)
		}
		if all["a"].leading {
			t.Error("a still leads")
		}
	}
}

func TestVotesGoToWhoHasAllThatCounts(t *testing.T) {
	all := trio(false)
	elect(t, all, "a", "b")
	replicate(all, "a", "b")
	q := all["c"].stand()
	if a := all["b"].onVote(q); a.Granted {
		t.Error("b votes for c, which lacks an entry that counts")
	}
	if again := all["b"].onVote(voteRequest{"a", q.Epoch, 1, 1}); !again.Granted {
		t.Error("b has no vote for a, which has it")
	}
	if second := all["b"].onVote(voteRequest{"c", q.Epoch, 9, 9}); second.Granted {
		t.Error("b votes twice in an epoch")
	}
}

// TestWhatCountsStays plays random elections and deliveries: entries that once counted stay where they are, on all replicas.
func TestWhatCountsStays(t *testing.T) {
	names := []string{"a", "b", "c"}
	counted := 0
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 1))
		all := trio(false)
		var certain []entry
		type sent struct {
			from, to string
			q        appendRequest
		}
		var underWay []sent
		for range 120 {
			x, y := all[names[random.IntN(3)]], all[names[random.IntN(3)]]
			switch random.IntN(5) {
			case 0:
				if x != y && random.IntN(3) == 0 {
					q := x.stand()
					x.onVoteReply(y.id, q.Epoch, y.onVote(q))
				}
			case 1:
				if x.leading {
					x.add(command{Op: opPublish})
				}
			case 2:
				if x.leading && x != y {
					underWay = append(underWay, sent{x.id, y.id, x.appendFor(y.id)})
				}
			default:
				if len(underWay) > 0 { // in any order, and some twice
					m := underWay[random.IntN(len(underWay))]
					a, _ := all[m.to].onAppend(m.q)
					all[m.from].onAppendReply(m.to, m.q, a)
				}
			}
			for _, r := range all {
				for i := range r.committed {
					if i == len(certain) {
						certain = append(certain, r.log[i])
					}
					if r.log[i] != certain[i] {
						t.Fatalf("seed %d: entry %d of %s is %+v, and %+v counted there", seed, i, r.id, r.log[i], certain[i])
					}
				}
			}
		}
		counted += len(certain)
	}
	if counted < 2000 {
		t.Errorf("only %d entries ever counted", counted)
	}
}
