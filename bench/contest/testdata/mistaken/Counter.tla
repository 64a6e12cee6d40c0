---- MODULE Counter ----
EXTENDS Naturals
VARIABLE n
Init == n = 0
Up == n' = n + 1
Shown == n
====
