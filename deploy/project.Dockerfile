# An image of a project, for compose.yaml and kubernetes/bloodhound.yaml: Bloodhound, and the project with its programs already built.
#
#   docker build -f deploy/project.Dockerfile -t bloodhound-project PROJECT
#   docker run --rm --security-opt seccomp=unconfined bloodhound-project test /srv/project
#
# Projects that share a store need a `name:` in their bloodhound.yaml, for here the folder of each is called project.
# PROJECT is the folder with all that `build:` reads, often the root of a repository. Where bloodhound.yaml lies below it, name its
# folder: --build-arg FOLDER=test/bloodhound. BLOODHOUND is the image that deploy/Dockerfile has made.
# BUILDER has the tools that `build:` needs: --build-arg BUILDER=rust:1-bookworm. A program that it links dynamically needs libraries as
# new as BUILDER's in the image, so let both be of one release of Debian.
ARG BLOODHOUND=bloodhound
ARG BUILDER=golang:1.26-bookworm

FROM ${BLOODHOUND} AS bloodhound

FROM ${BUILDER} AS build
ARG FOLDER=.
COPY --from=bloodhound /usr/local/bin/bloodhound /usr/local/bin/bloodhound
COPY . /srv/project
RUN bloodhound build /srv/project/${FOLDER}

FROM bloodhound
COPY --from=build --chown=1000:1000 /srv/project /srv/project
# No verb builds again: the image has no tools to do it, and its files may be read-only.
ENV BLOODHOUND_BUILT=/srv/project
