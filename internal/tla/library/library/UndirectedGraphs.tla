---- MODULE UndirectedGraphs ----
\* Graphs [node |-> N, edge |-> E] where E has sets of the one or two nodes that an edge joins.
LOCAL INSTANCE Naturals
LOCAL INSTANCE Sequences
LOCAL INSTANCE FiniteSets

LOCAL Joins(e, N) == \E a, b \in N : e = {a, b}
LOCAL Neighbours(S, E) == {n \in UNION E : \E m \in S : {m, n} \in E}
LOCAL RECURSIVE Grown(_, _, _)
LOCAL Grown(S, N, E) == LET T == S \cup (Neighbours(S, E) \cap N) IN IF T = S THEN S ELSE Grown(T, N, E)
LOCAL Component(n, G) == Grown({n}, G.node, G.edge)

IsUndirectedGraph(G) == G = [node |-> G.node, edge |-> G.edge] /\ \A e \in G.edge : Joins(e, G.node)
IsLoopFreeUndirectedGraph(G) == IsUndirectedGraph(G) /\ \A e \in G.edge : Cardinality(e) = 2
UndirectedSubgraph(G) == {H \in [node : SUBSET G.node, edge : SUBSET G.edge] : IsUndirectedGraph(H)}
Path(G) == {p \in Seq(G.node) : p # <<>> /\ \A i \in 1..Len(p) - 1 : {p[i], p[i + 1]} \in G.edge}
SimplePath(G) ==
  {p \in UNION {[1..n -> G.node] : n \in 1..Cardinality(G.node)} :
     /\ \A i \in 1..Len(p) - 1 : {p[i], p[i + 1]} \in G.edge
     /\ \A i, j \in 1..Len(p) : p[i] = p[j] => i = j}
AreConnectedIn(m, n, G) == m \in G.node /\ n \in Component(m, G)
ConnectedComponents(G) == {Component(n, G) : n \in G.node}
IsStronglyConnected(G) == ConnectedComponents(G) = {G.node}
UndirectedGraphs(S) == [node : {S}, edge : SUBSET {{s, t} : s, t \in S}]
====
