---------------------------- MODULE Leadership ----------------------------
(* Raft's election of leaders, without its log: a leader works in rounds,    *)
(* each of which a majority must acknowledge. Some links between servers     *)
(* lose all that is sent, for ever.                                          *)
(*                                                                           *)
(* What must come to pass needs time to be told of. Where Timely is TRUE,    *)
(* messages are so much faster than timeouts that nobody loses patience      *)
(* while an election gets on. Terms lie on a circle there, of which only a   *)
(* small part is in use at once: so there are finitely many states, though   *)
(* terms may grow for ever.                                                  *)
EXTENDS Integers, FiniteSets

CONSTANTS
  Servers,
  Cut,          \* <<from, to>>: links that lose all
  PreVote,      \* who has lost patience first asks whether a majority has, too
  CheckQuorum,  \* a leader that no majority acknowledges leads no more
  Timely

VARIABLES
  term,    \* of each server: the latest that it knows
  role,    \* follower, asking, candidate, leader
  behind,  \* by server: who supports it in what it does, itself included
  done     \* flips with each round

vars == <<term, role, behind, done>>

Later(t) == t + 1
Newer(t, u) == t > u
LaterOnCircle(t) == (t + 1) % 5
NewerOnCircle(t, u) == (t - u) % 5 \in {1, 2}

DeafOne == {<<2, 1>>, <<3, 1>>}   \* 1 is heard and hears nobody
LinkDown == {<<1, 2>>, <<2, 1>>}  \* 1 and 2 hear 3 only
AllLinks == {}

Hears(r, s) == <<s, r>> \notin Cut
Majority(Q) == 2 * Cardinality(Q) > Cardinality(Servers)
Following(r) == \E l \in Servers \ {r} : role[l] = "leader" /\ Hears(r, l) /\ ~Newer(term[r], term[l])

Hearable(r, s) == role[s] \in {"candidate", "leader"} /\ Hears(r, s) /\ Newer(term[s], term[r])
Answerable(s, r) == role[s] # "follower" /\ Hears(r, s) /\ Hears(s, r) /\ Newer(term[r], term[s])
Supportable(r, s) == role[s] = "asking" /\ r # s /\ Hears(r, s) /\ Hears(s, r) /\ role[r] # "leader" /\ ~Following(r)

\* No election gets on.
Quiet ==
  /\ \A r, s \in Servers : ~Hearable(r, s) /\ ~Answerable(s, r)
  /\ \A r, s \in Servers : Supportable(r, s) => r \in behind[s]
  /\ \A s \in Servers : role[s] \in {"asking", "candidate"} => ~Majority(behind[s])

Impatient(s) == role[s] # "leader" /\ (Timely => ~Following(s) /\ Quiet)

Init ==
  /\ term = [s \in Servers |-> 0]
  /\ \/ /\ role = [s \in Servers |-> "follower"]
        /\ behind = [s \in Servers |-> {}]
     \/ /\ Timely \* links may have failed long after the beginning
        /\ \E l \in Servers : /\ role = [s \in Servers |-> IF s = l THEN "leader" ELSE "follower"]
                              /\ behind = [s \in Servers |-> IF s = l THEN {l} ELSE {}]
  /\ done = 0

Ask(s) ==
  /\ PreVote
  /\ Impatient(s)
  /\ role' = [role EXCEPT ![s] = "asking"]
  /\ behind' = [behind EXCEPT ![s] = {s}]
  /\ UNCHANGED <<term, done>>

Support(r, s) ==
  /\ PreVote
  /\ role[r] # "leader"
  /\ Timely => Supportable(r, s)
  /\ behind' = [behind EXCEPT ![s] = IF role[s] = "asking" THEN @ \cup {r} ELSE @]
  /\ UNCHANGED <<term, role, done>>

Campaign(s) ==
  /\ PreVote => role[s] = "asking"
  /\ PreVote => Majority(behind[s])
  /\ ~PreVote => Impatient(s)
  /\ term' = [term EXCEPT ![s] = Later(@)]
  /\ role' = [role EXCEPT ![s] = "candidate"]
  /\ behind' = [behind EXCEPT ![s] = {s}]
  /\ UNCHANGED done

\* A server hears from a candidate or leader of a newer term, for which it votes if it still can.
Adopt(r, s, t) ==
  /\ Newer(t, term[r])
  /\ t = term[s] \/ (~Timely /\ Newer(term[s], t))
  /\ Timely => Hearable(r, s)
  /\ term' = [term EXCEPT ![r] = t]
  /\ role' = [role EXCEPT ![r] = "follower"]
  /\ behind' = [behind EXCEPT ![r] = {}, ![s] = IF t = term[s] /\ role[s] = "candidate" /\ Hears(s, r) THEN @ \cup {r} ELSE @]
  /\ UNCHANGED done

\* A server is answered with a newer term than its own.
Learn(s, r, t) ==
  /\ Newer(t, term[s])
  /\ t = term[r] \/ (~Timely /\ Newer(term[r], t))
  /\ Timely => Answerable(s, r)
  /\ term' = [term EXCEPT ![s] = t]
  /\ role' = [role EXCEPT ![s] = "follower"]
  /\ behind' = [behind EXCEPT ![s] = {}]
  /\ UNCHANGED done

Win(s) ==
  /\ role[s] = "candidate"
  /\ Majority(behind[s])
  /\ role' = [role EXCEPT ![s] = "leader"]
  /\ behind' = [behind EXCEPT ![s] = {s}]
  /\ UNCHANGED <<term, done>>

Ack(r, s, t) ==
  /\ t = term[r]
  /\ role[r] # "leader"
  /\ Timely => r # s /\ role[s] = "leader" /\ t = term[s] /\ Hears(r, s)
  /\ role' = [role EXCEPT ![r] = "follower"]
  /\ behind' = [behind EXCEPT ![r] = {}, ![s] = IF role[s] = "leader" /\ t = term[s] /\ Hears(s, r) THEN @ \cup {r} ELSE @]
  /\ UNCHANGED <<term, done>>

Round(s) ==
  /\ role[s] = "leader"
  /\ Majority(behind[s])
  /\ behind' = [behind EXCEPT ![s] = {s}]
  /\ done' = 1 - done
  /\ UNCHANGED <<term, role>>

Resign(s) ==
  /\ CheckQuorum
  /\ role[s] = "leader"
  /\ Timely => ~Majority({s} \cup {r \in Servers : Hears(r, s) /\ Hears(s, r)})
  /\ role' = [role EXCEPT ![s] = "follower"]
  /\ behind' = [behind EXCEPT ![s] = {}]
  /\ UNCHANGED <<term, done>>

Next ==
  \/ \E s \in Servers : Ask(s) \/ Campaign(s) \/ Win(s) \/ Round(s) \/ Resign(s)
  \/ \E r, s \in Servers : Support(r, s) \/ Adopt(r, s, term[s]) \/ Learn(s, r, term[r]) \/ Ack(r, s, term[s])

\* Whoever can do something for long enough does it.
Fair ==
  /\ \A s \in Servers : WF_vars(Ask(s)) /\ WF_vars(Campaign(s)) /\ WF_vars(Win(s)) /\ WF_vars(Round(s)) /\ WF_vars(Resign(s))
  /\ \A r, s \in Servers : WF_vars(Support(r, s)) /\ WF_vars(Adopt(r, s, term[s])) /\ WF_vars(Learn(s, r, term[r])) /\ WF_vars(Ack(r, s, term[s]))

Spec == Init /\ [][Next]_vars /\ Fair

Shown(s) == <<term[s], role[s]>>
Done == done

OneLeader == \A s, r \in Servers : s # r /\ role[s] = "leader" /\ role[r] = "leader" => term[s] # term[r]
NearBy == \A s, r \in Servers : term[s] = term[r] \/ Newer(term[s], term[r]) \/ Newer(term[r], term[s])
Progress == []<>(done = 0) /\ []<>(done = 1)
===========================================================================
