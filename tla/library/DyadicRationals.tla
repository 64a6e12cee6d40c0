---- MODULE DyadicRationals ----
\* Fractions [num, den] in lowest terms, whose denominator is a power of two.
LOCAL INSTANCE Integers
LOCAL INSTANCE Sequences
LOCAL INSTANCE TLC

LOCAL Lowest(n, d) ==
  LET halved[k \in 0..d] == \* n and d without the factors 2 that both have, k at most
        IF k = 0 THEN <<n, d>>
        ELSE LET f == halved[k - 1] IN IF f[1] % 2 = 0 /\ f[2] % 2 = 0 THEN <<f[1] \div 2, f[2] \div 2>> ELSE f
      end == IF n = 0 THEN <<0, 1>> ELSE halved[d]
  IN  [num |-> end[1], den |-> end[2]]

Zero == [num |-> 0, den |-> 1]
One == [num |-> 1, den |-> 1]
IsDyadicRational(r) == \E i \in 0..r.den : 2^i = r.den
Add(p, q) == Lowest(p.num * q.den + q.num * p.den, p.den * q.den)
Half(p) == Lowest(p.num, 2 * p.den)
PrettyPrint(p) == IF p.den = 1 THEN ToString(p.num) ELSE ToString(p.num) \o "/" \o ToString(p.den)
====
