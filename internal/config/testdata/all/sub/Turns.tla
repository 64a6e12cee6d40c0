---- MODULE Turns ----
EXTENDS Naturals
VARIABLE n
Init == n = 0
Turn(k) == k > n /\ n' = k
Again == UNCHANGED n
Next == Turn(n + 1) \/ Again
Half == n \div 2
Last(node) == n
====
