---- MODULE BagsExt ----
\* More about bags. FoldBag is built in.
LOCAL INSTANCE Bags
LOCAL INSTANCE Integers
LOCAL INSTANCE TLC

BagAdd(B, e) == B (+) (e :> 1)
BagRemove(B, e) == B (-) (e :> 1)
BagRemoveAll(B, e) == [x \in DOMAIN B \ {e} |-> B[x]]
SumBag(B) == FoldBag(+, 0, B)
ProductBag(B) == FoldBag(LAMBDA x, y : x * y, 1, B)
====
