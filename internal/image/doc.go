// Package image brings container images (OCI image specification 1.1, and Docker's formats before it) to this machine and
// keeps them unpacked, for all worlds.
//
// # The store
//
// A [Store] is a folder:
//
//	files/ab/<sha256>     the content of a regular file, read-only, named by its digest
//	layers/<diff id>      what one layer says about names: a [Layer]
//	images/<image id>     the configuration of an image, as its author wrote it; the id is its digest
//	references/<sha256>   which image a reference meant when it was last pulled
//	builds/<sha256>       what a step of a Dockerfile made (package image/build)
//	partial/<digest>      a compressed layer on its way; an interrupted pull continues at its end
//
// No name of an archive ever becomes a name of this machine: a layer's tree is data, and only contents are files. So a
// hostile layer has nothing to climb with, no privilege is needed for owners, modes and links, and a file system that folds
// case or forbids colons does no harm. Everything is written beside its place and renamed, an index after the contents that
// it names, so that what is there is whole.
package image
