---- MODULE SequencesExt ----
\* More about sequences. What takes more than TLA+, or stops at the first item it looks for, is built in.
EXTENDS Sequences, Naturals, FiniteSets, FiniteSetsExt, Folds, Functions, Bags, TLC

ToBag(s) == [x \in ToSet(s) |-> Cardinality({i \in DOMAIN s : s[i] = x})]
SetToSortSeq(S, Op(_, _)) == SortSeq(SetToSeq(S), Op)
SetToAllKPermutations(S) == UNION {SetToSeqs(T) : T \in SUBSET S}
TupleOf(S, n) == [1..n -> S]
SeqOf(S, n) == UNION {[1..k -> S] : k \in 0..n}
BoundedSeq(S, n) == SeqOf(S, n)
IsSorted(s, Op(_, _)) == \A i, j \in 1..Len(s) : i < j => Op(s[i], s[j])
Remove(s, e) == SelectSeq(s, LAMBDA x : x # e)
ReplaceAll(s, old, new) == [i \in 1..Len(s) |-> IF s[i] = old THEN new ELSE s[i]]
InsertAt(s, i, e) == SubSeq(s, 1, i - 1) \o <<e>> \o SubSeq(s, i, Len(s))
ReplaceAt(s, i, e) == [s EXCEPT ![i] = e]
RemoveAt(s, i) == SubSeq(s, 1, i - 1) \o SubSeq(s, i + 1, Len(s))
Cons(e, s) == <<e>> \o s
Snoc(e, s) == Append(s, e)
Front(s) == SubSeq(s, 1, Len(s) - 1)
Last(s) == s[Len(s)]
IsPrefix(s, t) == Len(s) <= Len(t) /\ s = SubSeq(t, 1, Len(s))
IsStrictPrefix(s, t) == IsPrefix(s, t) /\ Len(s) # Len(t)
IsSuffix(s, t) == Len(s) <= Len(t) /\ \A back \in 0..Len(s) - 1 : s[Len(s) - back] = t[Len(t) - back]
IsStrictSuffix(s, t) == IsSuffix(s, t) /\ s # t
Prefixes(s) == {SubSeq(s, 1, n) : n \in 0..Len(s)}
CommonPrefixes(S) == {p \in UNION {Prefixes(s) : s \in S} : \A s \in S : IsPrefix(p, s)}
LongestCommonPrefix(S) == LET s == CHOOSE s \in S : \A t \in S : Len(s) <= Len(t)
                              Apart == {i \in 1..Len(s) : \E t \in S : SubSeq(t, i, i) # SubSeq(s, i, i)}
                          IN  SubSeq(s, 1, Min(Apart \cup {Len(s) + 1}) - 1)
SeqMod(a, b) == IF a % b = 0 THEN b ELSE a % b
FlattenSeq(ss) == IF Len(ss) = 0 THEN ss ELSE FoldLeft(LAMBDA s, t : s \o t, ss[1], Tail(ss)) \* sequences, or strings
FoldLeftDomain(Op(_, _), base, s) == FoldLeft(Op, base, [i \in DOMAIN s |-> i])
FoldRightDomain(Op(_, _), s, base) == FoldRight(Op, [i \in DOMAIN s |-> i], base)
Zip(s, t) == [i \in 1..Min({Len(s), Len(t)}) |-> <<s[i], t[i]>>]
Interleave(s, t) ==
  CASE Len(s) # Len(t) -> Assert(FALSE, "Interleave: the sequences differ in length")
    [] s = <<>> -> <<s, t>>
    [] OTHER -> [i \in 1..2 * Len(s) |-> IF i % 2 = 1 THEN <<s[(i + 1) \div 2]>> ELSE <<t[i \div 2]>>]
SubSeqs(s) == {SubSeq(s, i + 1, j) : i, j \in 0..Len(s)}
IndexFirstSubSeq(s, t) == Min({i \in 1..Len(t) - Len(s) + 1 : SubSeq(t, i, i + Len(s) - 1) = s})
ReplaceSubSeqAt(i, r, s, t) == SubSeq(t, 1, i - 1) \o r \o SubSeq(t, i + Len(s), Len(t))
====
