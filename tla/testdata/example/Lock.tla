---- MODULE Lock ----
\* A lock that a process tests and takes in two steps.
EXTENDS FiniteSets, Naturals
CONSTANT Processes
VARIABLES saw, holds
vars == <<saw, holds>>

Init == saw = {} /\ holds = {}
See(p) == holds = {} /\ p \notin saw /\ saw' = saw \cup {p} /\ UNCHANGED holds
Take(p) == p \in saw /\ holds' = holds \cup {p} /\ saw' = saw \ {p}
Release(p) == p \in holds /\ holds' = holds \ {p} /\ UNCHANGED saw
Next == \E p \in Processes : See(p) \/ Take(p) \/ Release(p)
Spec == Init /\ [][Next]_vars

OneHolder == Cardinality(holds) <= 1
====
