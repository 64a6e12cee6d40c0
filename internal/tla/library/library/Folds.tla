---- MODULE Folds ----
\* MapThenFoldSet is built in.
====
