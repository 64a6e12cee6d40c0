---- MODULE Quorum ----
\* Sets of subsets of S of which any two meet, and which have with each subset all that hold it.
QuorumSystem(S) ==
  {Q \in SUBSET SUBSET S :
     /\ Q # {}
     /\ \A q, r \in Q : q \cap r # {}
     /\ \A q \in Q : \A r \in SUBSET S : q \subseteq r => r \in Q}
====
