---- MODULE FiniteSetsExt ----
\* More about finite sets. FoldSet, kSubset, Max and Min are built in.
EXTENDS Integers, FiniteSets, Folds, Functions

SumSet(S) == FoldSet(+, 0, S)
ProductSet(S) == FoldSet(LAMBDA x, y : x * y, 1, S)
ReduceSet(Op(_, _), S, base) == FoldSet(Op, base, S)
MapThenSumSet(F(_), S) == MapThenFoldSet(+, 0, F, LAMBDA T : CHOOSE x \in T : TRUE, S)
FlattenSet(S) == UNION S
SymDiff(S, T) == (S \ T) \cup (T \ S)
Quantify(S, P(_)) == Cardinality({x \in S : P(x)})
Choices(Sets) == {Range(f) : f \in {g \in [Sets -> UNION Sets] : \A S \in Sets : g[S] \in S}}
ChooseUnique(S, P(_)) == CHOOSE x \in S : P(x) /\ \A y \in S : P(y) => y = x
====
