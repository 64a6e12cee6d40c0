----------------------------- MODULE CasPaxos -----------------------------
(* A register that changes by compare and set, without a log (Rystsov,       *)
(* "CASPaxos: Replicated State Machines without logs", 2018): whoever wants  *)
(* to change it asks a majority of acceptors for what they accepted last,    *)
(* takes the value of the highest ballot, changes it, and has a majority     *)
(* accept the result. Ballots are numbers, each of one proposer; 0 is that   *)
(* of the value at the beginning.                                            *)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS Acceptors, Ballots, Values, Nothing

VARIABLES
  promised,  \* by each acceptor: the highest ballot that it has promised to
  accepted,  \* by each acceptor: the ballot whose value it has
  promises,  \* that were made: ballot, acceptor, and what it had accepted by then
  changes,   \* by ballot: the ballot whose value it replaces, and the new value
  takers     \* <<ballot, acceptor>>: who has accepted what

vars == <<promised, accepted, promises, changes, takers>>

Majority(Q) == 2 * Cardinality(Q) > Cardinality(Acceptors)

Init ==
  /\ promised = [a \in Acceptors |-> 0]
  /\ accepted = [a \in Acceptors |-> 0]
  /\ promises = {}
  /\ changes = (0 :> [from |-> 0, value |-> Nothing])
  /\ takers = {}

Promise(a, b) ==
  /\ b > promised[a]
  /\ promised' = [promised EXCEPT ![a] = b]
  /\ promises' = promises \cup {[ballot |-> b, acceptor |-> a, accepted |-> accepted[a]]}
  /\ UNCHANGED <<accepted, changes, takers>>

\* A proposer that has the promises of Q puts a value in the place of that of the ballot from.
Propose(b, Q, from, value) ==
  LET heard == {p \in promises : p.ballot = b /\ p.acceptor \in Q} IN
  /\ b \notin DOMAIN changes
  /\ Majority(Q)
  /\ {p.acceptor : p \in heard} = Q
  /\ \A p \in heard : p.accepted <= from
  /\ \E p \in heard : p.accepted = from
  /\ changes' = (b :> [from |-> from, value |-> value]) @@ changes
  /\ UNCHANGED <<promised, accepted, promises, takers>>

Accept(a, b) ==
  /\ b \in DOMAIN changes
  /\ b >= promised[a]
  /\ promised' = [promised EXCEPT ![a] = b]
  /\ accepted' = [accepted EXCEPT ![a] = b]
  /\ takers' = takers \cup {<<b, a>>}
  /\ UNCHANGED <<promises, changes>>

Next ==
  \/ \E a \in Acceptors, b \in Ballots : Promise(a, b) \/ Accept(a, b)
  \/ \E b \in Ballots, Q \in SUBSET Acceptors, from \in Ballots \cup {0}, value \in Values : Propose(b, Q, from, value)

Spec == Init /\ [][Next]_vars

Decided(b) == Majority({a \in Acceptors : <<b, a>> \in takers})
Shown(a) == <<promised[a], accepted[a], changes[accepted[a]].value>>
ValueOf(b) == changes[b].value

\* What was decided is not passed over: each later change builds upon it, or upon one that does.
Chain == \A b, c \in DOMAIN changes : Decided(b) /\ c > b => changes[c].from >= b
Symmetric == Permutations(Acceptors)
============================================================================
