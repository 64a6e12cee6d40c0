------------------------------- MODULE Commit -------------------------------
(* Two-phase commit as its processes log it: a coordinator collects votes of *)
(* participants and decides. What was prepared and decided survives crashes, *)
(* the votes that the coordinator has heard do not.                          *)
EXTENDS FiniteSets

CONSTANT Participants

VARIABLES state, votes, decision
vars == <<state, votes, decision>>

Init ==
  /\ state = [p \in Participants |-> "working"]
  /\ votes = {}
  /\ decision = "none"

Prepare(p) ==
  /\ state[p] = "working"
  /\ state' = [state EXCEPT ![p] = "prepared"]
  /\ UNCHANGED <<votes, decision>>

Vote(p) ==
  /\ decision = "none"
  /\ state[p] = "prepared"
  /\ votes' = votes \cup {p}
  /\ UNCHANGED <<state, decision>>

Decide(what) ==
  /\ decision = "none"
  /\ what = "commit" => votes = Participants
  /\ decision' = what
  /\ UNCHANGED <<state, votes>>

Learn(p, what) ==
  /\ decision = what
  /\ state[p] \in {"working", "prepared"}
  /\ what = "commit" => state[p] = "prepared"
  /\ state' = [state EXCEPT ![p] = what]
  /\ UNCHANGED <<votes, decision>>

\* A node loses what is only in its memory: of a coordinator, the votes.
Crash(n) ==
  /\ votes' = IF n \in Participants THEN votes ELSE {}
  /\ UNCHANGED <<state, decision>>

Recover(n) == UNCHANGED vars

Next ==
  \/ \E p \in Participants : Prepare(p) \/ Vote(p) \/ Crash(p) \/ Recover(p)
  \/ \E p \in Participants, what \in {"commit", "abort"} : Decide(what) \/ Learn(p, what)
  \/ Crash("coordinator")

Spec == Init /\ [][Next]_vars

StateOf(p) == state[p]
Votes == Cardinality(votes)
Agreed == ~ \E p, q \in Participants : state[p] = "commit" /\ state[q] = "abort"
=============================================================================
