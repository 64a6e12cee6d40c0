---------------------------- MODULE Membership ----------------------------
(* Raft whose members change one at a time. Messages are not modelled: what  *)
(* a leader sends is a part of its log, to which it only ever appends, and   *)
(* so it is enough to keep the log of each term's leader. Each entry has the *)
(* members that the cluster has from it on. A new leader begins with one     *)
(* that changes nothing, since only by it does it learn what is committed.   *)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
  Servers,
  Careful,    \* leaders commit an entry of their term before they change the members
  MaxTerm, MaxLength

VARIABLES
  term,     \* of each server: the latest that it knows
  log,      \* of each server
  bids,     \* candidacies: term, server, and what its log was like
  votes,    \* <<term, voter, candidate>>
  books,    \* by term: its leader, the leader's log, how much of it is committed, how much of it each server has stored
  leading   \* the servers that believe that they lead

vars == <<term, log, bids, votes, books, leading>>

Last(l) == IF l = <<>> THEN 0 ELSE l[Len(l)].term
Members(l) == IF l = <<>> THEN Servers ELSE l[Len(l)].members
Changes(l) == {i \in DOMAIN l : l[i].members # Members(SubSeq(l, 1, i - 1))}
Majority(Q, C) == 2 * Cardinality(Q \cap C) > Cardinality(C)
Most(a, b) == IF a > b THEN a ELSE b

Init ==
  /\ term = [s \in Servers |-> 0]
  /\ log = [s \in Servers |-> <<>>]
  /\ bids = {}
  /\ votes = {}
  /\ books = [t \in {} |-> 0]
  /\ leading = {}

\* A server comes to know a term; a leader of an earlier one leads no more.
Enter(s, t) ==
  /\ term' = [term EXCEPT ![s] = t]
  /\ leading' = IF t > term[s] THEN leading \ {s} ELSE leading

Timeout(s) ==
  /\ s \notin leading
  /\ s \in Members(log[s])
  /\ term' = [term EXCEPT ![s] = @ + 1]
  /\ bids' = bids \cup {[term |-> term[s] + 1, server |-> s, length |-> Len(log[s]), last |-> Last(log[s])]}
  /\ votes' = votes \cup {<<term[s] + 1, s, s>>}
  /\ UNCHANGED <<log, books, leading>>

Vote(s, c, t) ==
  /\ t >= term[s]
  /\ \E b \in bids :
       /\ b.term = t /\ b.server = c
       /\ b.last > Last(log[s]) \/ (b.last = Last(log[s]) /\ b.length >= Len(log[s]))
  /\ \A v \in votes : v[1] = t /\ v[2] = s => v[3] = c
  /\ votes' = votes \cup {<<t, s, c>>}
  /\ Enter(s, t)
  /\ UNCHANGED <<log, bids, books>>

Lead(s) ==
  /\ s \notin leading
  /\ term[s] \notin DOMAIN books
  /\ <<term[s], s, s>> \in votes
  /\ Majority({v[2] : v \in {w \in votes : w[1] = term[s] /\ w[3] = s}}, Members(log[s]))
  /\ books' = (term[s] :> [leader |-> s, log |-> log[s], commit |-> 0,
                           stored |-> [r \in Servers |-> IF r = s THEN Len(log[s]) ELSE 0]]) @@ books
  /\ leading' = leading \cup {s}
  /\ UNCHANGED <<term, log, bids, votes>>

\* A leader adds an entry to its log.
Add(s, members) ==
  LET all == Append(log[s], [term |-> term[s], members |-> members]) IN
  /\ log' = [log EXCEPT ![s] = all]
  /\ books' = [books EXCEPT ![term[s]].log = all, ![term[s]].stored[s] = Len(all)]
  /\ UNCHANGED <<term, bids, votes, leading>>

Begin(s) ==
  /\ s \in leading
  /\ Last(log[s]) < term[s]
  /\ Add(s, Members(log[s]))

Change(s, members) ==
  LET b == books[term[s]] IN
  /\ s \in leading
  /\ Careful => b.commit > 0
  /\ \A i \in Changes(b.log) : i <= b.commit \/ b.log[i].term < term[s]
  /\ s \in members
  /\ Cardinality((members \ Members(b.log)) \cup (Members(b.log) \ members)) = 1
  /\ Add(s, members)

\* A server takes n entries of the leader of a term, which follow upon the entry at an index that it has.
Accept(s, t, at, n) ==
  LET b == books[t]  upto == at + n IN
  /\ t \in DOMAIN books
  /\ t >= term[s]
  /\ b.leader # s
  /\ upto <= Len(b.log)
  /\ at <= Len(log[s])
  /\ at > 0 => log[s][at].term = b.log[at].term
  /\ log' = [log EXCEPT ![s] = IF upto <= Len(@) /\ (upto > 0 => @[upto].term = b.log[upto].term) THEN @ ELSE SubSeq(b.log, 1, upto)]
  /\ books' = [books EXCEPT ![t].stored[s] = Most(@, upto)]
  /\ Enter(s, t)
  /\ UNCHANGED <<bids, votes>>

Commit(s, n) ==
  LET t == term[s]  b == books[t] IN
  /\ s \in leading
  /\ n > b.commit
  /\ n <= Len(b.log)
  /\ b.log[n].term = t
  /\ Majority({r \in Servers : b.stored[r] >= n}, Members(b.log))
  /\ books' = [books EXCEPT ![t].commit = n]
  /\ UNCHANGED <<term, log, bids, votes, leading>>

\* A server learns of a later term, and of nothing else.
See(s, t) ==
  /\ t > term[s]
  /\ \E b \in bids : b.term = t
  /\ Enter(s, t)
  /\ UNCHANGED <<log, bids, votes, books>>

Restart(s) ==
  /\ leading' = leading \ {s}
  /\ UNCHANGED <<term, log, bids, votes, books>>

Next ==
  \/ \E s \in Servers : Timeout(s) \/ Lead(s) \/ Begin(s) \/ Restart(s)
  \/ \E s, c \in Servers, t \in 1..MaxTerm : Vote(s, c, t)
  \/ \E s \in Servers, members \in SUBSET Servers : Change(s, members)
  \/ \E s \in Servers, t \in 1..MaxTerm, at, n \in 0..MaxLength : Accept(s, t, at, n)
  \/ \E s \in Servers, n \in 1..MaxLength : Commit(s, n)
  \/ \E s \in Servers, t \in 1..MaxTerm : See(s, t)

Spec == Init /\ [][Next]_vars

Shown(s) == <<term[s], Len(log[s]), Last(log[s]), s \in leading>>

\* What a term's leader has committed is in the log of the leader of each later term.
Complete ==
  \A t, u \in DOMAIN books : t < u =>
    /\ books[t].commit <= Len(books[u].log)
    /\ \A i \in 1..books[t].commit : books[u].log[i] = books[t].log[i]

Bounded == \A s \in Servers : term[s] <= MaxTerm /\ Len(log[s]) <= MaxLength
Symmetric == Permutations(Servers)
============================================================================
