---- MODULE Combinatorics ----
EXTENDS Naturals
LOCAL INSTANCE TLC

factorial[n \in Nat] == IF n = 0 THEN 1 ELSE n * factorial[n - 1]

LOCAL RECURSIVE Ways(_, _)
LOCAL Ways(n, k) == IF k = 0 THEN 1 ELSE (Ways(n - 1, k - 1) * n) \div k
choose(n, k) == IF n \in Nat /\ k \in Nat THEN Ways(n, k) ELSE Assert(FALSE, "choose needs natural numbers")
====
