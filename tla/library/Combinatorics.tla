---- MODULE Combinatorics ----
EXTENDS Naturals

factorial[n \in Nat] == IF n = 0 THEN 1 ELSE n * factorial[n - 1]

LOCAL RECURSIVE Ways(_, _)
LOCAL Ways(n, k) == IF k = 0 THEN 1 ELSE (Ways(n - 1, k - 1) * n) \div k
choose(n, k) == Ways(n, k)
====
