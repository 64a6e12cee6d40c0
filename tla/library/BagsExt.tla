---- MODULE BagsExt ----
\* More about bags. FoldBag is built in.
LOCAL INSTANCE Bags
LOCAL INSTANCE Integers
LOCAL INSTANCE TLC
LOCAL INSTANCE Folds

BagAdd(B, e) == B (+) (e :> 1)
BagRemove(B, e) == B (-) (e :> 1)
BagRemoveAll(B, e) == [x \in DOMAIN B \ {e} |-> B[x]]
MapThenFoldBag(op(_, _), base, f(_), choose(_), B) ==
  LET RECURSIVE Times(_, _)
      Times(x, n) == IF n = 0 THEN base ELSE op(Times(x, n - 1), f(x))
  IN  MapThenFoldSet(op, base, LAMBDA x : Times(x, B[x]), LAMBDA S : CHOOSE x \in S : TRUE, DOMAIN B)
SumBag(B) == FoldBag(+, 0, B)
ProductBag(B) == FoldBag(LAMBDA x, y : x * y, 1, B)
====
