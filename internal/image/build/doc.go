// Package build makes images from Dockerfiles (https://docs.docker.com/reference/dockerfile/), without a daemon.
//
// Dockerfiles are read by BuildKit's own parser. A stage is a list of steps; each makes a new [state] out of the one before it:
// a configuration, and layers of the store. COPY and ADD make a layer of entries whose contents lie in the store already or in
// the context. RUN is given away to a [Runner], which executes the command in a world that has nothing but the tree so far, and
// comes back with what it has changed there: so a step runs without privileges, reaches nothing, and makes the same layer each
// time. Stages that the target does not need are not built.
//
// # Time
//
// No step knows the time of day. Files of the context get the time [epoch], and the clock of a step begins behind the latest
// time of what it is based on, so that make(1) finds results younger than sources.
//
// # Cache
//
// The key of a step stands for all that it is made from: the key of the step before, the instruction after expansion, and the
// digests of the files of the context that it copies, or the key of the stage. What a step has led to is kept in the store by its
// key, and so is the image of a target, which is looked up before any step: where nothing has changed, a build costs the
// digests of the context's files.
//
// # Caches of RUN --mount=type=cache
//
// begin empty, and what a step leaves in one is there for later steps of the same stage, and of the stages that begin with it. So
// they are a part of a step's state like layers, which no other build changes.
package build
