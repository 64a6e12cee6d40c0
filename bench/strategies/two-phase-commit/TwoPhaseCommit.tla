-------------------------- MODULE TwoPhaseCommit --------------------------
(* Two-phase commit: a coordinator asks participants whether they can       *)
(* commit, and tells them what was decided. What is decided, and that a     *)
(* participant is prepared, survives crashes; votes that the coordinator    *)
(* has heard do not.                                                        *)
EXTENDS FiniteSets

CONSTANT Participants

VARIABLES
  state,     \* of each participant: working, prepared, committed, aborted
  decision,  \* of the coordinator: none, commit, abort
  votes      \* participants that the coordinator knows to be prepared

vars == <<state, decision, votes>>

Init ==
  /\ state = [p \in Participants |-> "working"]
  /\ decision = "none"
  /\ votes = {}

Prepare(p) ==
  /\ state[p] = "working"
  /\ state' = [state EXCEPT ![p] = "prepared"]
  /\ UNCHANGED <<decision, votes>>

Refuse(p) ==
  /\ state[p] = "working"
  /\ state' = [state EXCEPT ![p] = "aborted"]
  /\ UNCHANGED <<decision, votes>>

Vote(p) ==
  /\ decision = "none"
  /\ state[p] = "prepared"
  /\ votes' = votes \cup {p}
  /\ UNCHANGED <<state, decision>>

Commit ==
  /\ decision = "none"
  /\ votes = Participants
  /\ decision' = "commit"
  /\ UNCHANGED <<state, votes>>

Abort ==
  /\ decision = "none"
  /\ decision' = "abort"
  /\ UNCHANGED <<state, votes>>

Learn(p) ==
  \/ /\ decision = "commit"
     /\ state[p] = "prepared"
     /\ state' = [state EXCEPT ![p] = "committed"]
     /\ UNCHANGED <<decision, votes>>
  \/ /\ decision = "abort"
     /\ state[p] \in {"working", "prepared"}
     /\ state' = [state EXCEPT ![p] = "aborted"]
     /\ UNCHANGED <<decision, votes>>

Restart ==
  /\ votes' = {}
  /\ UNCHANGED <<state, decision>>

Next ==
  \/ \E p \in Participants : Prepare(p) \/ Refuse(p) \/ Vote(p) \/ Learn(p)
  \/ Commit \/ Abort \/ Restart

Spec == Init /\ [][Next]_vars /\ \A p \in Participants : WF_vars(Learn(p))

StateOf(p) == state[p]
Voted(p) == p \in votes
Decision == decision
Votes == Cardinality(votes)

\* What searches may tell apart: all that a decision needs, or less.
Middle == <<decision, state>>
Coarse == <<decision, {state[p] : p \in Participants}>>

Consistent == ~ \E p, q \in Participants : state[p] = "committed" /\ state[q] = "aborted"
Valid == decision = "commit" => \A p \in Participants : state[p] \in {"prepared", "committed"}
Ends == decision # "none" ~> \A p \in Participants : state[p] \in {"committed", "aborted"}
============================================================================
