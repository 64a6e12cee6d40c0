---- MODULE BagsExt ----
\* More about bags. FoldBag is built in.
LOCAL INSTANCE Bags
LOCAL INSTANCE Integers
LOCAL INSTANCE TLC
LOCAL INSTANCE Folds

BagAdd(B, e) == [x \in DOMAIN B \cup {e} |-> (IF x \in DOMAIN B THEN B[x] ELSE 0) + (IF x = e THEN 1 ELSE 0)]
BagRemove(B, e) ==
  LET left == IF e \in DOMAIN B /\ B[e] = 1 THEN DOMAIN B \ {e} ELSE DOMAIN B
  IN  [x \in left |-> IF x = e THEN B[x] - 1 ELSE B[x]]
BagRemoveAll(B, e) == [x \in DOMAIN B \ {e} |-> B[x]]
MapThenFoldBag(op(_, _), base, f(_), choose(_), B) ==
  LET RECURSIVE Times(_, _)
      Times(x, n) == CASE n > 1 -> op(Times(x, n - 1), f(x)) [] n = 1 -> op(base, f(x))
  IN  MapThenFoldSet(op, base, LAMBDA x : Times(x, B[x]), LAMBDA S : CHOOSE x \in S : TRUE, DOMAIN B)
SumBag(B) == FoldBag(+, 0, B)
ProductBag(B) == FoldBag(LAMBDA x, y : x * y, 1, B)
====
