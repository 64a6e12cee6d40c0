---- MODULE Relation ----
\* Relations over a set S: as Boolean functions R of pairs, and, with names that end in Under, as operators.
EXTENDS Naturals, FiniteSets

IsReflexive(R, S) == \A x \in S : R[x, x]
IsReflexiveUnder(Op(_, _), S) == \A x \in S : Op(x, x)
IsIrreflexive(R, S) == \A x \in S : ~R[x, x]
IsIrreflexiveUnder(Op(_, _), S) == \A x \in S : ~Op(x, x)
IsSymmetric(R, S) == \A x, y \in S : R[x, y] <=> R[y, x]
IsSymmetricUnder(Op(_, _), S) == \A x, y \in S : Op(x, y) <=> Op(y, x)
IsAntiSymmetric(R, S) == \A x, y \in S : R[x, y] /\ R[y, x] => x = y
IsAntiSymmetricUnder(Op(_, _), S) == \A x, y \in S : Op(x, y) /\ Op(y, x) => x = y
IsAsymmetric(R, S) == \A x, y \in S : ~(R[x, y] /\ R[y, x])
IsAsymmetricUnder(Op(_, _), S) == \A x, y \in S : ~(Op(x, y) /\ Op(y, x))
IsTransitive(R, S) == \A x, y, z \in S : R[x, y] /\ R[y, z] => R[x, z]
IsTransitiveUnder(Op(_, _), S) == \A x, y, z \in S : Op(x, y) /\ Op(y, z) => Op(x, z)
IsStrictlyPartiallyOrdered(R, S) == IsIrreflexive(R, S) /\ IsAntiSymmetric(R, S) /\ IsTransitive(R, S)
IsStrictlyPartiallyOrderedUnder(Op(_, _), S) == IsIrreflexiveUnder(Op, S) /\ IsAntiSymmetricUnder(Op, S) /\ IsTransitiveUnder(Op, S)
IsPartiallyOrdered(R, S) == IsReflexive(R, S) /\ IsAntiSymmetric(R, S) /\ IsTransitive(R, S)
IsPartiallyOrderedUnder(Op(_, _), S) == IsReflexiveUnder(Op, S) /\ IsAntiSymmetricUnder(Op, S) /\ IsTransitiveUnder(Op, S)
IsStrictlyTotallyOrdered(R, S) == IsStrictlyPartiallyOrdered(R, S) /\ \A x, y \in S : x # y => R[x, y] \/ R[y, x]
IsStrictlyTotallyOrderedUnder(Op(_, _), S) == IsStrictlyPartiallyOrderedUnder(Op, S) /\ \A x, y \in S : x # y => Op(x, y) \/ Op(y, x)
IsTotallyOrdered(R, S) == IsPartiallyOrdered(R, S) /\ \A x, y \in S : R[x, y] \/ R[y, x]
IsTotallyOrderedUnder(Op(_, _), S) == IsPartiallyOrderedUnder(Op, S) /\ \A x, y \in S : Op(x, y) \/ Op(y, x)
TransitiveClosure(R, S) ==
  LET within[T \in SUBSET S] == \* through members of T only (Warshall)
        IF T = {} THEN [p \in S \X S |-> R[p[1], p[2]]]
        ELSE LET z == CHOOSE z \in T : TRUE
                 W == within[T \ {z}]
             IN  [p \in S \X S |-> W[p] \/ (W[p[1], z] /\ W[z, p[2]])]
  IN  within[S]
ReflexiveTransitiveClosure(R, S) == LET C == TransitiveClosure(R, S) IN [p \in S \X S |-> p[1] = p[2] \/ C[p]]
IsConnected(R, S) == LET C == ReflexiveTransitiveClosure(R, S) IN \A x, y \in S : C[x, y]
====
