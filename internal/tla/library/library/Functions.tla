---- MODULE Functions ----
\* Functions as sets of pairs: parts, inverses and kinds of them. IsInjective, AntiFunction, FoldFunction and FoldFunctionOnSet are built in.
EXTENDS Integers, Folds

Restrict(f, S) == [x \in S |-> f[x]]
RestrictDomain(f, Test(_)) == [x \in {y \in DOMAIN f : Test(y)} |-> f[x]]
RestrictValues(f, Test(_)) == [x \in {y \in DOMAIN f : Test(f[y])} |-> f[x]]
IsRestriction(part, f) == DOMAIN part \subseteq DOMAIN f /\ \A x \in DOMAIN part : part[x] = f[x]
Pointwise(f, g, Op(_, _)) == [x \in DOMAIN f |-> Op(f[x], g[x])]
Inverse(f, S, T) == [t \in T |-> CHOOSE s \in S : (\E x \in DOMAIN f : f[x] = t) => f[s] = t]
Injection(S, T) == {f \in [S -> T] : IsInjective(f)}
Surjection(S, T) == {f \in [S -> T] : T \subseteq Range(f)}
Bijection(S, T) == {f \in [S -> T] : IsInjective(f) /\ T \subseteq Range(f)}
ExistsInjection(S, T) == Injection(S, T) # {}
ExistsSurjection(S, T) == Surjection(S, T) # {}
ExistsBijection(S, T) == Bijection(S, T) # {}
SumFunctionOnSet(f, S) == FoldFunctionOnSet(+, 0, f, S)
SumFunction(f) == FoldFunction(+, 0, f)
====
